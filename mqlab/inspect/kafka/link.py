"""A connection to a user's broker: TLS and SASL as its client's settings say, answers checked.

Raw requests, because librdkafka has no DescribeProducers, ListTransactions and
DescribeTransactions, and hands out no markers. What answers may be anything: a length is compared
with what is there before room is made for it, and whatever is wrong becomes one sentence.

Source: SaslClientAuthenticator, ScramSaslClient (clients, Kafka 4.3); RFC 5802.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import ssl
import struct
from pathlib import Path

from kio.index import load_response_schema
from kio.serial.errors import SerialError

from ...kernel.text import BadValue, Text, Words, say_cause
from ...real.kafka.wire import Raw
from ...serve.kafka.wire.shape import Misfit, walker
from ..reading import Unreadable

ANSWER_S = 10.0
LARGEST = 64 << 20  # bytes of an answer
SCRAM = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
JAVA = {
    "ssl.truststore.location": "ssl.ca.location (a PEM file)",
    "ssl.keystore.location": "ssl.certificate.location and ssl.key.location (PEM files)",
    "sasl.jaas.config": "sasl.username and sasl.password",
}
NO_TLS = Words("no TLS with {address}: {why}; look at ssl.* in --config")
NO_KAFKA = Words(
    "what answers at {address} does not speak Kafka's {protocol}: name a listener of a broker, and "
    "with --config the settings of a client that may read (security.protocol …)"
)
BROKEN = (
    OSError, EOFError, AssertionError, Misfit, ValueError, LookupError, struct.error, SerialError
)  # fmt: skip
"""What a connection and what comes over it can raise."""


def read_settings(path: str) -> dict[str, str]:
    """Read a client's settings from a file of lines `name=value`, with librdkafka's names; none
    where `path` is "". Raises Unreadable where the file cannot be read, for another line, a setting
    of the Java client, or a security protocol or SASL mechanism that is not supported."""
    if not path:
        return {}
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable("cannot read --config {}: {}", path, say_cause(error)) from error
    settings = {}
    for number, line in enumerate(lines, 1):
        name, equals, value = line.strip().partition("=")
        if name and not name.startswith("#"):
            if not equals:
                raise Unreadable("--config {}, line {}: expected name=value", path, number)
            settings[name.strip()] = value.strip()
    for name, own_name in JAVA.items():
        if name in settings:
            raise Unreadable(
                "--config {}: {} is a setting of the Java client; use {}", path, name, own_name
            )
    protocol = settings.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise Unreadable("--config {}: security.protocol is one of {}", path, ", ".join(PROTOCOLS))
    mechanism = _sasl_mechanism(settings)
    if protocol.startswith("SASL") and mechanism not in ("PLAIN", *SCRAM):
        raise Unreadable(
            "--config {}: only PLAIN and {} are supported, not {}; inspect the output of "
            "kafka-transactions.sh and kafka-consumer-groups.sh instead",
            path,
            ", ".join(SCRAM),
            mechanism,
        )
    return settings


def _sasl_mechanism(settings: dict[str, str]) -> str:
    return settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "GSSAPI")).upper()


class Link(Raw):
    """Raise Unreadable where nothing, or something else, answers."""

    def __init__(self, address: str, settings: dict[str, str]) -> None:
        """Connect to a broker at `address` (HOST:PORT), with TLS and SASL as a client's `settings`
        say, and ask it which versions of each request it offers (`versions`). Raises Unreadable,
        with what to do, where that fails."""
        protocol = settings.get("security.protocol", "PLAINTEXT").upper()
        try:
            super().__init__(address, ANSWER_S)
        except (OSError, ValueError, OverflowError) as error:
            raise Unreadable(
                "no broker answers at {}: {}; name one that is running, as HOST:PORT",
                address,
                say_cause(error),
            ) from error
        try:
            if protocol.endswith("SSL"):
                self.socket = _wrap_in_tls(self.socket, address, settings)
            self.versions = self.ask_versions()
            if protocol.startswith("SASL"):
                self._log_in(settings)
        except Unreadable:
            self.close()
            raise
        except BROKEN as error:
            self.close()
            raise Unreadable(_explain(address, protocol, error)) from error

    def offers(self, api: int, version: int) -> bool:
        low, high = self.versions.get(api, (0, -1))
        return low <= version <= high

    def read_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._read(4))
        if not 0 <= size <= LARGEST:
            raise BadValue("a response of {} bytes", size)
        return self._read(size)

    def _read_head(self, api: int, version: int, corr: int) -> tuple[bytes, int]:
        frame, at = super()._read_head(api, version, corr)
        schema = load_response_schema(api, version)
        if walker(schema)(frame, at) != len(frame):
            raise Misfit("bytes after an answer")
        return frame, at

    def _log_in(self, settings: dict[str, str]) -> None:
        """Log in with SASL, PLAIN or SCRAM (RFC 5802). Raises Unreadable where the broker refuses
        the mechanism or the password; ValueError where its answer is not SCRAM's; that the broker
        knows the password too is not checked."""
        mechanism = _sasl_mechanism(settings)
        user, secret = settings.get("sasl.username", ""), settings.get("sasl.password", "")
        answer = self.ask(17, 1, mechanism=mechanism)  # SaslHandshake
        if answer.error_code.value:
            raise Unreadable(
                "the broker does not accept {}, only {}: change sasl.mechanism",
                mechanism,
                ", ".join(answer.mechanisms),
            )
        if mechanism == "PLAIN":
            self._authenticate(f"\0{user}\0{secret}".encode())
            return
        # SCRAM: the client proves that it knows the password by its key, XORed with a signature
        # over the messages exchanged (r: nonces, s: salt, i: iterations, p: proof)
        user_name = user.replace("=", "=3D").replace(",", "=2C")
        nonce = base64.b64encode(os.urandom(18)).decode()
        first = f"n={user_name},r={nonce}"
        reply = self._authenticate(f"n,,{first}".encode()).decode()
        fields = dict(part.split("=", 1) for part in reply.split(","))
        if not fields["r"].startswith(nonce):
            raise ValueError("SCRAM with another nonce")
        # the hash's name, and how often it is applied: as the broker says, within reason
        kind, rounds = SCRAM[mechanism], min(int(fields["i"]), 1_000_000)
        salted = hashlib.pbkdf2_hmac(kind, secret.encode(), base64.b64decode(fields["s"]), rounds)
        key = hmac.digest(salted, b"Client Key", kind)
        last = f"c=biws,r={fields['r']}"  # biws: "n,," in base64, no channel binding
        signature = hmac.digest(
            hashlib.new(kind, key).digest(), f"{first},{reply},{last}".encode(), kind
        )
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        self._authenticate(f"{last},p={proof}".encode())

    def _authenticate(self, data: bytes) -> bytes:
        answer = self.ask(36, 2, auth_bytes=data)
        if answer.error_code.value:
            raise Unreadable(
                "the broker rejects this user: {}; check sasl.username and sasl.password",
                answer.error_message or answer.error_code.name,
            )
        return bytes(answer.auth_bytes)


def _wrap_in_tls(plain: socket.socket, address: str, settings: dict[str, str]) -> ssl.SSLSocket:
    """Wrap a socket in TLS as the ssl.* settings say: certificates of the server's CA and of the
    client, and whether the broker's certificate and host name are verified (both are by default).
    Raises Unreadable where a file cannot be used, ssl.SSLError where the broker is refused."""
    try:
        context = ssl.create_default_context(cafile=settings.get("ssl.ca.location"))
        if "ssl.certificate.location" in settings:
            context.load_cert_chain(
                settings["ssl.certificate.location"],
                settings.get("ssl.key.location"),
                settings.get("ssl.key.password"),
            )
    except (OSError, ssl.SSLError) as error:
        raise Unreadable("cannot use the ssl.* files in --config: {}", error) from error
    if settings.get("enable.ssl.certificate.verification") == "false" or settings.get(
        "ssl.endpoint.identification.algorithm"
    ) in ("", "none"):  # as the settings of the client may say
        context.check_hostname = False
        if settings.get("enable.ssl.certificate.verification") == "false":
            context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain, server_hostname=address.rpartition(":")[0].strip("[]"))


def _explain(address: str, protocol: str, error: Exception) -> Text:
    if isinstance(error, ssl.SSLError):
        return NO_TLS(address=address, why=error.reason or error)
    return NO_KAFKA(address=address, protocol=protocol)
