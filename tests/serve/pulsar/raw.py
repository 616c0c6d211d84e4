"""A client that is nothing but bytes: one connection, commands by hand, what the broker sends."""

from __future__ import annotations

import itertools
import json
import socket
import time
import urllib.request
from typing import Any, Self

from mqlab.pulsar.messages import TxnID
from mqlab.serve.pulsar.wire.commands import (
    Command,
    cut_frame,
    decode_command,
    encode_command,
    read_metadata,
    write_message,
)
from mqlab.serve.pulsar.wire.proto import MessageMetadata

PATIENCE_S = 600
SHARED = 1
COMMIT, ABORT = 0, 1
INDIVIDUAL = 0


def make_message(text: bytes, sequence: int = 0, **more: Any) -> bytes:
    metadata = MessageMetadata(producer_name="raw", sequence_id=sequence, publish_time=1, **more)
    return write_message(metadata, text)


def read_text(message: bytes) -> str:
    _, start = read_metadata(message)
    return message[start:].decode()


def ask_admin(address: str, method: str, path: str, body: str = "") -> tuple[int, Any]:
    """The status of an answer of the admin interface, and its JSON."""
    url = f"http://{address}{path}"
    request = urllib.request.Request(url, body.encode() or None, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        return error.code, None


class Raw:
    """`came`: messages that the broker has sent, in its order; `told`: its other commands that
    answer nothing."""

    def __init__(self, address: str, timeout_s: float = PATIENCE_S, connected: bool = True) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.came: list[Command] = []
        self.told: list[Command] = []
        self._numbers = itertools.count(1)
        self._buffer = bytearray()
        if connected:
            self.tell("CONNECT", client_version="raw", protocol_version=21)
            assert self.hear().name == "CONNECTED"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    # -- commands ----------------------------------------------------------------------------

    def tell(self, name: str, message: bytes = b"", **fields: Any) -> None:
        self.socket.sendall(encode_command(name, fields, message))

    def hear(self) -> Command:
        """The next command. Raises EOFError where the broker has closed the connection."""
        while (frame := cut_frame(self._buffer)) is None:
            data = self.socket.recv(1 << 16)
            if not data:
                raise EOFError("the broker has closed the connection")
            self._buffer += data
        return decode_command(frame)

    def ask(self, name: str, **fields: Any) -> Command:
        """The answer to a command that has a number; what else comes meanwhile is kept."""
        number = next(self._numbers)
        self.tell(name, request_id=number, **fields)
        return self._wait(lambda c: getattr(c.body, "request_id", None) == number)

    def _wait(self, is_it: Any) -> Command:
        while not is_it(heard := self.hear()):
            (self.came if heard.name == "MESSAGE" else self.told).append(heard)
        return heard

    # -- producers and consumers -------------------------------------------------------------

    def produce(self, topic: str, number: int = 0, **more: Any) -> Command:
        return self.ask("PRODUCER", topic=topic, producer_id=number, **more)

    def send(
        self, text: str, number: int = 0, sequence: int = 0, says: Any = None, **more: Any
    ) -> Command:
        """`says`: fields of the message's metadata; a transaction of the command is in it too,
        unless they are given."""
        if says is None:
            says = {name: bits for name, bits in more.items() if name.startswith("txnid_")}
        self.tell(
            "SEND", make_message(text.encode(), **{"sequence": sequence, **says}),
            producer_id=number, sequence_id=sequence, **more,
        )  # fmt: skip
        return self._wait(lambda c: c.name in ("SEND_RECEIPT", "SEND_ERROR"))

    def subscribe(
        self, topic: str, name: str = "billing", number: int = 0, kind: int = SHARED, **more: Any
    ) -> Command:
        fields = {"consumer_id": number, "initialPosition": 1, **more}
        answer = self.ask("SUBSCRIBE", topic=topic, subscription=name, subType=kind, **fields)
        self.tell("FLOW", consumer_id=number, messagePermits=1_000)
        return answer

    def receive(self, count: int, wait_s: float = PATIENCE_S) -> list[str]:
        """The texts of so many messages, or of those that came until then."""
        return [read_text(command.message) for command in self.take(count, wait_s)]

    def take(self, count: int, wait_s: float = PATIENCE_S) -> list[Command]:
        """So many messages, or those that came until then, as they came."""
        until = time.monotonic() + wait_s
        while len(self.came) < count and (left := until - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                heard = self.hear()
            except TimeoutError:
                break
            finally:
                self.socket.settimeout(PATIENCE_S)
            (self.came if heard.name == "MESSAGE" else self.told).append(heard)
        found, self.came = self.came[:count], self.came[count:]
        return found

    # -- transactions ------------------------------------------------------------------------

    def begin(self, timeout_ms: int = 60_000) -> TxnID:
        self.ask("TC_CLIENT_CONNECT_REQUEST", tc_id=0)
        body = self.ask("NEW_TXN", txn_ttl_millis=timeout_ms, tc_id=0).body
        return TxnID(body.txnid_most_bits, body.txnid_least_bits)

    def send_in(self, txn: TxnID, topic: str, text: str, **more: Any) -> Command:
        added = self.ask("ADD_PARTITION_TO_TXN", partitions=[topic], **bits(txn))
        assert not added.body.HasField("error")
        return self.send(text, **bits(txn), **more)

    def ack_in(
        self, txn: TxnID, topic: str, message: Any, name: str = "billing", number: int = 0
    ) -> Command:
        """Acknowledge the message of this id, one by one."""
        where = [{"topic": topic, "subscription": name}]
        added = self.ask("ADD_SUBSCRIPTION_TO_TXN", subscription=where, **bits(txn))
        assert not added.body.HasField("error")
        return self.ask(
            "ACK", consumer_id=number, ack_type=INDIVIDUAL, message_id=[message], **bits(txn)
        )

    def end(self, txn: TxnID, action: int) -> Command:
        return self.ask("END_TXN", txn_action=action, **bits(txn))


def bits(txn: TxnID) -> dict[str, int]:
    return {"txnid_most_bits": txn.most, "txnid_least_bits": txn.least}
