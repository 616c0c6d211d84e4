"""How fast one raw client is against a server: transactions and messages a second.

A client of nothing but sockets, so that what is measured is the server. Measuring, not testing: the
figures depend on the machine and on what else it does.
"""

from __future__ import annotations

import itertools
import socket
import time
import uuid
from collections.abc import Callable
from typing import Any

from .front.topics import ASSIGN
from .wire.commands import Command, cut_frame, decode_command, encode_command, write_message
from .wire.proto import MessageMetadata

BODY = b"v" * 100
UNDER_WAY = 64  # messages that the client has not heard the receipt of
TIMEOUT_MS = 600_000
PRODUCER = 0


class Sender:
    """One connection of a producer, to a topic that nobody has used. `address`: host and port, with
    or without pulsar:// in front."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("pulsar://").rstrip("/").rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()
        self._numbers, self._sequence = itertools.count(1), itertools.count()
        self.topic = f"persistent://public/default/bench-{uuid.uuid4().hex[:8]}"
        self.tell("CONNECT", client_version="mqlab bench", protocol_version=21)
        self.hear()
        self.ask("LOOKUP", topic=self.topic)  # which makes a real broker take it
        self.ask("PRODUCER", topic=self.topic, producer_id=PRODUCER)

    def close(self) -> None:
        self._socket.close()

    def tell(self, name: str, message: bytes = b"", **fields: Any) -> None:
        self._socket.sendall(encode_command(name, fields, message))

    def ask(self, name: str, **fields: Any) -> Command:
        self.tell(name, request_id=next(self._numbers), **fields)
        return self.hear()

    def hear(self) -> Command:
        """The next answer. Raises ConnectionError where the server has gone, or refuses."""
        while True:
            while (frame := cut_frame(self._buffer)) is None:
                data = self._socket.recv(1 << 18)
                if not data:
                    raise ConnectionError("the server has closed the connection")
                self._buffer += data
            answer = decode_command(frame)
            if answer.name == "PING":
                self.tell("PONG")
                continue
            if "error" in answer.body.DESCRIPTOR.fields_by_name and answer.body.HasField("error"):
                raise ConnectionError(f"refused: {answer.body.message}")
            return answer

    def send_message(self, **txn: int) -> None:
        number = next(self._sequence)
        metadata = MessageMetadata(
            producer_name=self.topic,
            sequence_id=number,
            publish_time=int(time.time() * 1000),
            **txn,
        )
        message = write_message(metadata, BODY)
        self.tell("SEND", message, producer_id=PRODUCER, sequence_id=number, **txn)

    def connect_coordinator(self) -> None:
        self.ask("LOOKUP", topic=f"{ASSIGN}-partition-0")
        self.ask("TC_CLIENT_CONNECT_REQUEST", tc_id=0)

    def run_transaction(self) -> None:
        """Of one message; each request when the one before it is answered."""
        begun = self.ask("NEW_TXN", txn_ttl_millis=TIMEOUT_MS, tc_id=0).body
        txn = {
            "txnid_most_bits": begun.txnid_most_bits,
            "txnid_least_bits": begun.txnid_least_bits,
        }
        self.ask("ADD_PARTITION_TO_TXN", partitions=[self.topic], **txn)
        self.send_message(**txn)
        self.hear()
        self.ask("END_TXN", txn_action=0, **txn)  # COMMIT


def transactions_per_second(address: str, seconds: float = 5.0) -> float:
    """One after the other: begun, a topic added, a message sent, committed."""
    sender, done = Sender(address), 0
    sender.connect_coordinator()
    start = time.perf_counter()
    while not done or (passed := time.perf_counter() - start) < seconds:
        sender.run_transaction()
        done += 1
    sender.close()
    return done / passed


def messages_per_second(address: str, messages: int = 20_000) -> float:
    """Plain messages of 100 bytes, so many under way at once, until all have a receipt."""
    sender, heard = Sender(address), 0
    start = time.perf_counter()
    for sent in range(messages):
        sender.send_message()
        if sent - heard >= UNDER_WAY:
            sender.hear()
            heard += 1
    while heard < messages:
        sender.hear()
        heard += 1
    sender.close()
    return messages / (time.perf_counter() - start)


FIGURES: dict[str, Callable[[str], float]] = {
    "transactions/s, one after the other": transactions_per_second,
    "messages/s": messages_per_second,
}
