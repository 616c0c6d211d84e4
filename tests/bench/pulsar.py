"""How fast one raw client is with a server: transactions and messages a second.

A client of nothing but sockets, so that what is measured is the server. Measuring, not testing: the
figures depend on the machine and on what else it does.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable
from typing import Any

from mqlab.serve.pulsar.front.topics import ASSIGN
from mqlab.serve.pulsar.wire.commands import (
    Command,
    cut_frame,
    decode_command,
    encode_command,
    write_message,
)
from mqlab.serve.pulsar.wire.proto import MessageMetadata

from .servers import RawConnection, count_per_second, pipeline_per_second

BODY = b"v" * 100
TIMEOUT_MS = 600_000
PRODUCER = 0


class Sender(RawConnection):
    """One connection of a producer, to a topic that was never used. `address`: host and port, with
    or without pulsar:// in front."""

    def __init__(self, address: str) -> None:
        super().__init__(address.removeprefix("pulsar://").rstrip("/"), cut_frame)
        self._numbers, self._sequence = itertools.count(1), itertools.count()
        self.topic = f"persistent://public/default/bench-{uuid.uuid4().hex[:8]}"
        self.send("CONNECT", client_version="make bench", protocol_version=21)
        self.hear()
        self.ask("LOOKUP", topic=self.topic)  # which makes a real broker take it
        self.ask("PRODUCER", topic=self.topic, producer_id=PRODUCER)

    def send(self, name: str, message: bytes = b"", **fields: Any) -> None:
        self.socket.sendall(encode_command(name, fields, message))

    def ask(self, name: str, **fields: Any) -> Command:
        self.send(name, request_id=next(self._numbers), **fields)
        return self.hear()

    def hear(self) -> Command:
        """The next answer. Raises ConnectionError where the server has gone, or refuses."""
        while True:
            answer = decode_command(self.read_frame())
            if answer.name == "PING":
                self.send("PONG")
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
        self.send("SEND", message, producer_id=PRODUCER, sequence_id=number, **txn)

    def connect_coordinator(self) -> None:
        self.ask("LOOKUP", topic=f"{ASSIGN}-partition-0")
        self.ask("TC_CLIENT_CONNECT_REQUEST", tc_id=0)

    def run_transaction(self) -> None:
        """Of one message; each request when the one before it is answered."""
        begun = self.ask("NEW_TXN", txn_ttl_millis=TIMEOUT_MS, tc_id=0).body
        txn = {"txnid_most_bits": begun.txnid_most_bits, "txnid_least_bits": begun.txnid_least_bits}
        self.ask("ADD_PARTITION_TO_TXN", partitions=[self.topic], **txn)
        self.send_message(**txn)
        self.hear()
        self.ask("END_TXN", txn_action=0, **txn)  # COMMIT


def transactions_per_second(address: str, seconds: float = 5.0) -> float:
    """One after the other: begun, a topic added, a message sent, committed."""
    sender = Sender(address)
    sender.connect_coordinator()
    figure = count_per_second(sender.run_transaction, seconds)
    sender.close()
    return figure


def messages_per_second(address: str, messages: int = 20_000) -> float:
    """Plain messages of 100 bytes, so many in flight at once, until all have a receipt."""
    sender = Sender(address)
    figure = pipeline_per_second(lambda _: sender.send_message(), sender.hear, messages)
    sender.close()
    return figure


FIGURES: dict[str, Callable[[str], float]] = {
    "transactions/s, one after the other": transactions_per_second,
    "messages/s": messages_per_second,
}
