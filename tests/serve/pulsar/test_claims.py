"""What a client says of itself, against what it has sent: numbers, chunks, batches, transactions.

Every answer here is one that a real 4.2.4 gives to the same bytes, but for the batches that are
refused: a real broker stores them, and no client can read them.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqlab.kernel import Append
from mqlab.pulsar.messages import LedgerEntry
from mqlab.serve import RunningBroker
from mqlab.serve.pulsar import serve
from mqlab.serve.pulsar.adapter import decode_effect, encode_effect
from mqlab.serve.pulsar.wire.commands import Batched, Payload
from tests.serve.pulsar.raw import ABORT, Raw, bits
from tests.serve.pulsar.test_messages import refusal

LZ4, ZSTD = 1, 3
CHUNK = {"is_chunk": True}
SILENCE_S = 0.2


@pytest.fixture(scope="module")
def counting() -> Iterator[RunningBroker]:
    """A broker that knows duplicates."""
    with serve(dedup=True) as running:
        yield running


def chunk(number: int, of: int) -> dict[str, Any]:
    return {"uuid": "u", "chunk_id": number, "num_chunks_from_msg": of, "total_chunk_msg_size": 9}


def place(said: Any) -> int:
    """Where a message lies; -1 where it was taken for a duplicate."""
    at: int = said.body.message_id.entryId
    return at if at < 1 << 63 else at - (1 << 64)


# ---- whether a topic is there --------------------------------------------------------------


def test_a_topic_that_is_asked_for_and_not_to_be_made(client: Raw, topic: str) -> None:
    """By this a client finds out how retry topics are called."""

    def ask(name: str) -> Any:
        fields = {"topic": name, "metadata_auto_creation_enabled": False}
        return client.ask("PARTITIONED_METADATA", **fields).body

    assert refusal(ask(topic)) == refusal(ask(f"{topic}-partition-0")) == "TopicNotFound"
    assert not client.ask("PARTITIONED_METADATA", topic=topic).body.HasField("error")
    assert refusal(ask(topic)) == "TopicNotFound"  # to be asked for its partitions makes no topic
    client.produce(topic)
    assert ask(topic).partitions == 0 and not ask(topic).HasField("error")


# ---- sequence numbers ----------------------------------------------------------------------

SENT: dict[str, list[tuple[int, dict[str, Any], dict[str, Any], int]]] = {
    # number, what the message says, what the command says: where it lies
    "chunks of one message": [
        (0, chunk(0, 3), CHUNK, 0), (0, chunk(1, 3), CHUNK, 1), (0, chunk(2, 3), CHUNK, 2),
        (0, chunk(0, 3), CHUNK, 3), (0, chunk(2, 3), CHUNK, -1), (1, {}, {}, 4),
    ],
    "chunks that the command does not call so": [(0, chunk(0, 2), {}, 0), (0, chunk(1, 2), {}, -1)],
    "the last chunk alone": [(0, chunk(2, 3), CHUNK, 0), (0, chunk(0, 3), CHUNK, 1)],
    "a chunk beyond the last": [(0, chunk(5, 3), CHUNK, 0), (0, {}, {}, 1), (0, {}, {}, -1)],
    "a chunk that says nothing": [(0, {}, CHUNK, 0), (0, {}, {}, 1)],
    "number -1 is no chunk": [(0, chunk(-1, 3), CHUNK, 0), (0, {}, {}, -1)],
    "others between the chunks": [
        (0, chunk(0, 2), CHUNK, 0), (1, {}, {}, 1), (0, chunk(1, 2), CHUNK, -1), (2, {}, {}, 2),
    ],
    "batches that overlap": [
        (0, {}, {"highest_sequence_id": 7}, 0), (6, {}, {"highest_sequence_id": 9}, -1),
        (8, {}, {"highest_sequence_id": 9}, 1), (9, {}, {}, -1),
    ],
    "a highest number below the first": [
        (5, {}, {"highest_sequence_id": 2}, 0), (4, {}, {}, -1), (6, {}, {}, 1),
    ],
    "the message says another number": [
        (3, {"sequence": 9}, {}, 0), (4, {}, {}, 1), (3, {}, {}, -1),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SENT)
def test_a_number_counts_once(name: str, counting: RunningBroker, topic: str) -> None:
    with Raw(counting.address) as client:
        client.produce(topic, producer_name="raw")
        got = [
            place(client.send("x", sequence=number, says=says, **command))
            for number, says, command, _ in SENT[name]
        ]
        assert got == [expected for *_, expected in SENT[name]]


def test_the_chunks_of_a_transaction_are_no_duplicates(counting: RunningBroker, topic: str) -> None:
    with Raw(counting.address) as client:
        client.produce(topic)
        txn = client.begin()
        client.ask("ADD_PARTITION_TO_TXN", partitions=[topic], **bits(txn))
        said = [
            client.send("x", says={**chunk(n, 2), **bits(txn)}, **bits(txn), **CHUNK)
            for n in range(2)
        ]
        client.end(txn, ABORT)
        assert [place(one) for one in said] == [0, 1]


@pytest.mark.parametrize(
    ("says", "command", "last"),
    [({"sequence": 9}, {}, 9), ({}, {"highest_sequence_id": 9}, 3), (chunk(0, 2), CHUNK, 3)],
    ids=["the message", "the command", "half of its chunks"],
)
def test_a_topic_that_is_loaded_again_goes_by_what_messages_say(
    says: dict[str, Any], command: dict[str, Any], last: int, tmp_path: Path
) -> None:
    """Also for half of a chunked message, whose last chunk is lost then, as by a real 4.2.4."""
    topic = "persistent://public/default/loaded"
    with serve(dedup=True, data_dir=tmp_path) as broker:
        with Raw(broker.address) as client:
            client.produce(topic, producer_name="raw")
            client.send("x", sequence=3, says=says, **command)
        broker.kill()
        broker.restart()
        with Raw(broker.address) as client:
            said = client.produce(topic, producer_name="raw").body
            assert said.last_sequence_id == last
            assert place(client.send("y", sequence=last)) == -1


def test_a_receipt_says_the_highest_number_of_a_batch(client: Raw, topic: str) -> None:
    client.produce(topic)
    for first, highest, said in [(12, 20, 20), (30, 30, 30), (40, 9, 0)]:
        receipt = client.send("x", sequence=first, highest_sequence_id=highest)
        assert receipt.body.highest_sequence_id == said


# ---- whose transaction it is ---------------------------------------------------------------


def test_what_only_its_command_calls_a_transaction_s_is_not_aborted(
    client: Raw, topic: str
) -> None:
    client.produce(topic)
    client.subscribe(topic)
    txn = client.begin()
    assert client.send_in(txn, topic, "a", says={}).name == "SEND_RECEIPT"
    client.send("b", sequence=1)
    assert client.receive(1, SILENCE_S) == []
    client.end(txn, ABORT)
    assert client.receive(2) == ["a", "b"]


def test_what_only_the_message_calls_a_transaction_s_is_filtered_where_that_is_aborted(
    client: Raw, topic: str
) -> None:
    client.produce(topic)
    client.subscribe(topic)
    txn = client.begin()
    client.send_in(txn, topic, "a")
    client.send("b", sequence=1, says=bits(txn))
    client.end(txn, ABORT)
    client.send("c", sequence=2)
    assert client.receive(1) == ["c"]


# ---- batches -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "compression", "stored"),
    [
        (0, 0, False), (-1, 0, False), (5, 0, True), (6, 0, False), (65_536, 0, False),
        (1_000, ZSTD, True), (1_001, LZ4, False), (65_536, ZSTD, False),
    ],
)  # fmt: skip
def test_a_batch_has_no_more_messages_than_its_bytes_can_hold(
    client: Raw, topic: str, count: int, compression: int, stored: bool
) -> None:
    client.produce(topic)
    says = {"num_messages_in_batch": count, "compression": compression}
    said = client.send("12345", says=says)
    assert said.name == ("SEND_RECEIPT" if stored else "SEND_ERROR")


def test_a_large_batch_of_many_small_messages_is_stored(client: Raw, topic: str) -> None:
    client.produce(topic)
    said = client.send("x" * 6 * 20_000, says={"num_messages_in_batch": 20_000})
    assert said.name == "SEND_RECEIPT"


def test_a_batch_takes_the_room_of_its_bytes() -> None:
    """In memory, in the journal, and when it is read back: one payload, however many there are."""
    batch = Batched(Payload(b"x" * 1_000, 60_000, True))
    body = encode_effect(Append("orders-0", LedgerEntry(0, batch, "shop", 0)))
    assert len(body) < 1_200
    tracemalloc.start()
    read = decode_effect(body)
    assert tracemalloc.get_traced_memory()[0] < 5_000
    tracemalloc.stop()
    assert isinstance(read, Append) and read.entry.values == batch
    assert len(batch) == 60_000 and batch[59_999] is batch[-1] and len(batch[:3]) == 3
    with pytest.raises(IndexError):
        batch[60_000]
