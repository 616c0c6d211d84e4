"""Commands that no well-behaved client sends, and what comes of each: numbers that nobody has
opened or that are in use, and schemas of no type.

The same bytes go to a real Pulsar (`make real`) and to this project's server (`make test`, beside
what the real one has answered).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mqlab.serve.pulsar.wire.commands import MAX_MESSAGE, Command, write_bits
from mqlab.serve.pulsar.wire.proto import ERRORS
from tests.serve.pulsar.raw import Raw, make_message

RECORDED = Path(__file__).with_name("commands.jsonl")
SPACE = "persistent://public/default"
NONE, STRING = ({"name": "", "schema_data": b"", "type": kind} for kind in (0, 1))
EARLIEST = {"ledgerId": (1 << 64) - 1, "entryId": (1 << 64) - 1}
LATEST = {"ledgerId": (1 << 63) - 1, "entryId": (1 << 63) - 1}
SILENCE_S = 0.5
#: answers that a broker may give to a command of another number, or to nobody
UNASKED = ("PING", "ACTIVE_CONSUMER_CHANGE")
Step = tuple[str, dict[str, Any]]


def produce(topic: str, number: int = 0, **more: Any) -> Step:
    return "PRODUCER", {"topic": f"{SPACE}/{topic}", "producer_id": number, **more}


def send(number: int = 0, sequence: int = 0, **more: Any) -> Step:
    return "SEND", {"producer_id": number, "sequence_id": sequence, **more}


def batch(count: int, sequence: int = 0) -> Step:
    """A batch that says that it has so many messages, in as many bytes as they need."""
    says = {"num_messages_in_batch": count}
    return send(sequence=sequence, num_messages=count, size=max(6, count), says=says)


def claimed(count: int, sequence: int) -> Step:
    """A batch of one byte that says that it has so many messages."""
    return send(sequence=sequence, num_messages=count, says={"num_messages_in_batch": count})


def chunk(number: int, size: int) -> Step:
    """One of two, its body of so many bytes."""
    says = {"uuid": "u", "num_chunks_from_msg": 2, "chunk_id": number % 2}
    return send(sequence=number, size=size, is_chunk=True,
                says={**says, "total_chunk_msg_size": 2 * size})  # fmt: skip


def properties(count: int, size: int, sequence: int = 0) -> Step:
    pairs = [{"key": f"k{number}", "value": "v" * size} for number in range(count)]
    return send(sequence=sequence, says={"properties": pairs})


def flow(permits: int) -> Step:
    return of_consumer("FLOW", messagePermits=permits)


def subscribe(topic: str, number: int = 0, name: str = "s", **more: Any) -> Step:
    fields = {"topic": f"{SPACE}/{topic}", "subscription": name, "consumer_id": number}
    return "SUBSCRIBE", {**fields, "subType": 1, "initialPosition": 1, **more}


def reader(topic: str, number: int, initial: int) -> Step:
    """Of what comes after the latest message."""
    more = {"durable": False, "start_message_id": LATEST, "initialPosition": initial}
    return subscribe(topic, number, f"r{number}", subType=0, **more)


def pend(done: Sequence[int] = ()) -> Step:
    """Acknowledge in a transaction a batch of three that comes later, or these of it."""
    batch = {"ledgerId": 1 << 40, "entryId": 0, "ack_set": done, "batch_size": 3}
    txn = {"txnid_most_bits": 0, "txnid_least_bits": 1 << 40}
    return of_consumer("ACK", ack_type=0, message_id=[batch], request_id=1, **txn)


def of_producer(name: str, number: int = 0) -> Step:
    return name, {"producer_id": number}


def of_consumer(name: str, number: int = 0, **more: Any) -> Step:
    return name, {"consumer_id": number, **more}


#: each on a connection of its own, to topics of its own
STORIES: dict[str, tuple[Step, ...]] = {
    "a producer of no schema": (
        produce("none", schema=NONE),
        ("GET_SCHEMA", {"topic": f"{SPACE}/none"}),
        produce("none", 1, schema=STRING),
        produce("none", 2, schema=NONE),
        produce("none", 3),
        ("GET_SCHEMA", {"topic": f"{SPACE}/none"}),
    ),
    "a consumer of no schema": (
        subscribe("eaten", schema=NONE),
        ("GET_SCHEMA", {"topic": f"{SPACE}/eaten"}),
        produce("eaten", schema=STRING),
        subscribe("eaten", 1, "t", schema=NONE),
        subscribe("eaten", 2, "u", schema=STRING),
    ),
    "a consumer of no schema where something lies": (
        produce("lies"), send(), subscribe("lies", schema=NONE),
        subscribe("lies", 1, "t", schema=STRING),
    ),
    "no schema by its name": (
        produce("named"),
        ("GET_OR_CREATE_SCHEMA", {"topic": f"{SPACE}/named", "schema": NONE}),
        ("GET_OR_CREATE_SCHEMA", {"topic": f"{SPACE}/named", "schema": STRING}),
        ("GET_OR_CREATE_SCHEMA", {"topic": f"{SPACE}/named", "schema": NONE}),
    ),
    "a message of a number that nobody opened": (send(7),),
    "a message of a producer that was closed": (
        produce("closed"), send(), of_producer("CLOSE_PRODUCER"), send(sequence=1),
    ),
    "a producer's number again": (
        produce("again", producer_name="shop"), send(),
        produce("again", producer_name="shop"), send(sequence=1),
    ),
    "a producer's number for another topic": (
        produce("here"), send(), produce("there"), send(sequence=1), subscribe("here"), flow(2),
    ),
    "the end of a producer that nobody opened": (of_producer("CLOSE_PRODUCER", 7),),
    "a consumer that nobody opened": (
        of_consumer("FLOW", 7, messagePermits=1),
        of_consumer("ACK", 7, ack_type=0, message_id=[EARLIEST]),
        of_consumer("ACK", 7, ack_type=0, message_id=[EARLIEST], request_id=3),
        of_consumer("REDELIVER_UNACKNOWLEDGED_MESSAGES", 7),
        of_consumer("GET_LAST_MESSAGE_ID", 7),
        of_consumer("SEEK", 7, message_id=EARLIEST),
        of_consumer("UNSUBSCRIBE", 7),
        of_consumer("CLOSE_CONSUMER", 7),
    ),
    "a consumer's number again": (
        produce("twice"), send(), subscribe("twice"), flow(1), subscribe("twice"), flow(1),
        of_consumer("CLOSE_CONSUMER"), subscribe("twice"),
    ),
    "a consumer's number for another topic": (
        produce("mine"), send(), subscribe("mine"), subscribe("yours"), flow(1),
        of_consumer("UNSUBSCRIBE"),
    ),
    "a reader that begins beyond the end": (
        produce("short"), send(), reader("short", 0, 1), flow(1), reader("short", 1, 0),
        of_consumer("FLOW", 1, messagePermits=1),
    ),
    "part of a batch that a transaction holds whole": (
        subscribe("whole"), pend(), pend(write_bits((0,), 3)), of_consumer("UNSUBSCRIBE"),
    ),
    "a seek where another consumer waits": (
        produce("sought"), send(), subscribe("sought", subType=2),
        subscribe("sought", 1, subType=2), of_consumer("SEEK", message_id=EARLIEST),
    ),
    "permits and batches": (
        produce("paid"), batch(3), batch(4, 1), send(sequence=2), subscribe("paid", subType=0),
        flow(2), flow(1), flow(3), flow(2), subscribe("paid", 1, "t"),
        of_consumer("FLOW", 1, messagePermits=2), of_consumer("FLOW", 1, messagePermits=1),
    ),
    "a consumer that was closed": (
        produce("left"), send(), subscribe("left"), of_consumer("CLOSE_CONSUMER"),
        of_consumer("FLOW", messagePermits=1), of_consumer("CLOSE_CONSUMER"),
        of_consumer("UNSUBSCRIBE"),
    ),
    "an acknowledgement of nothing": (
        subscribe("of-none"), of_consumer("ACK", ack_type=0, message_id=[], request_id=2),
    ),
    "a partition of a topic that has none": (
        produce("alone-partition-1"), subscribe("alone-partition-1"),
    ),
    "permits that are none": (
        produce("few"), send(), subscribe("few"), of_consumer("FLOW", messagePermits=0),
    ),
    #: limits, at one below, at, and one above: sizes are of the whole message
    "messages about maxMessageSize": (
        produce("limit-long"), subscribe("limit-long"),
        *(send(sequence=n, size=MAX_MESSAGE - 20 + n) for n in range(3)), send(sequence=3),
        flow(1), flow(1), flow(1), flow(1),
    ),
    "properties about 32,767 characters": (
        produce("limit-told"), subscribe("limit-told"),
        *(properties(1, size, n) for n, size in enumerate((32_766, 32_767, 32_768))),
        *(properties(1, size, n + 3) for n, size in enumerate((65_534, 65_535, 65_536))),
        properties(10_000, 10, 6), send(sequence=7), *(flow(1) for _ in range(8)),
    ),
    "batches about batchingMaxMessages": (
        produce("limit-many"), subscribe("limit-many"),
        batch(1), batch(999, 1), batch(1_000, 2),
        batch(1_001, 3), batch(65_535, 4), send(sequence=5),
        flow(1), flow(999), flow(1_000), flow(1_001),
    ),
    "batches of no message, and of more than fit in": (
        produce("limit-none"), subscribe("limit-none"),
        claimed(0, 0), claimed(-1, 1), claimed(2, 2), batch(65_536, 3), batch(65_537, 4),
        send(sequence=5), flow(1), flow(2),
    ),
    "chunks about maxMessageSize": (
        produce("limit-cut"), subscribe("limit-cut"),
        *(chunk(n, MAX_MESSAGE + n - 2) for n in range(4)), send(sequence=4),
        *(flow(1) for _ in range(5)),
    ),
    "names of subscriptions": (
        *(subscribe("limit-s", n, "s" * size)
          for n, size in enumerate((0, 1, 254, 255, 256, 4_000))),
        subscribe("limit-s", 6, " "), subscribe("limit-s", 7, "a/b"),
        subscribe("limit-s", 8, "a b"),
    ),
    "names of producers": (
        *(produce("limit-made", n, producer_name="p" * size)
          for n, size in enumerate((1, 254, 255, 256, 4_000))),
        produce("limit-made", 5, producer_name=" "), produce("limit-made", 6, producer_name="a/b"),
    ),
    "names of topics": (
        produce("", 0), produce("a/b", 1), produce("a/b/c", 2),
        *(produce("t" * size, 3 + n) for n, size in enumerate((1, 254, 255, 256, 512))),
        produce("a b", 8), produce("a__transaction_pending_ack", 9),
    ),
    "names of topics that are longer": (
        produce("t" * 513), produce("t" * 4_000, 1), produce("t" * 65_536, 2),
    ),
    "sequence ids about the largest": (
        produce("limit-counted"), send(sequence=(1 << 31) - 1), send(sequence=1 << 31),
        send(sequence=(1 << 63) - 1), send(sequence=1 << 63),
    ),
    "permits about the largest": (
        produce("limit-permitted"), send(), send(sequence=1), subscribe("limit-permitted"), flow(1),
        flow((1 << 31) - 1),
    ),
    "connected twice": (("CONNECT", {"client_version": "raw", "protocol_version": 21}),),
    "what only a broker says": (("SUCCESS", {"request_id": 1}),),
}  # fmt: skip
#: commands that have a number, by which they are answered
NUMBERED = (
    "PRODUCER", "SUBSCRIBE", "CLOSE_PRODUCER", "CLOSE_CONSUMER", "UNSUBSCRIBE", "SEEK",
    "GET_LAST_MESSAGE_ID", "GET_SCHEMA", "GET_OR_CREATE_SCHEMA",
)  # fmt: skip


def tell(address: str, stories: Mapping[str, tuple[Step, ...]] = STORIES) -> Iterator[list[Any]]:
    """[story, command, what came of it] of each command; "closed": the connection."""
    for story, steps in stories.items():
        with Raw(address) as raw:
            for topic in sorted({str(fields["topic"]) for _, fields in steps if "topic" in fields}):
                raw.ask("PARTITIONED_METADATA", topic=topic)
                raw.ask("LOOKUP", topic=topic)
            for number, (name, fields) in enumerate(steps, 1):
                came = take(raw, name, fields, number)
                yield [story, name, came]
                if came[-1:] == ["closed"]:
                    break


def take(raw: Raw, name: str, fields: dict[str, Any], number: int) -> list[Any]:
    if name in NUMBERED:
        fields = {**fields, "request_id": number}
    message = b""
    if name == "SEND":
        size, says = fields.get("size", 1), fields.get("says", {})
        message = make_message(b"a" * size, fields["sequence_id"], **says)
        fields = {key: value for key, value in fields.items() if key not in ("size", "says")}
    came: list[Any] = []
    until = time.monotonic() + SILENCE_S
    answers = name in NUMBERED or name == "SEND" or "txnid_most_bits" in fields
    try:
        raw.tell(name, message, **fields)
        while answers or time.monotonic() < until:
            raw.socket.settimeout(10.0 if answers else max(0.01, until - time.monotonic()))
            try:
                heard = raw.hear()
            except TimeoutError:
                answers = False
                continue
            if heard.name not in UNASKED:
                came.append(describe(heard))
                answers = False
    except (EOFError, ConnectionError):
        came.append("closed")
    return came


def describe(command: Command) -> Any:
    """What is the same in two runs: no names that a broker gives, no words of an error."""
    body = command.body
    said: dict[str, Any] = {"command": command.name}
    for field in ("error", "error_code"):
        if field in body.DESCRIPTOR.fields_by_name and body.HasField(field):
            said["error"] = ERRORS.values_by_number[getattr(body, field)].name
    for field in ("schema_version", "last_sequence_id", "producer_ready"):
        if field in body.DESCRIPTOR.fields_by_name and body.HasField(field):
            value = getattr(body, field)
            said[field] = value.hex() if isinstance(value, bytes) else value
    return said
