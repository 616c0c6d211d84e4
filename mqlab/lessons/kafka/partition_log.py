"""A partition's log after a run, asked as its leader would be asked; what readers see of it, as
tables; one real batch.

For experiments on what is in the log, what travels, and what a client makes of it: the same
functions that the leader and the consumer use, without a network between them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...kafka import KafkaSystem
from ...kafka.clients.calls import EndOffset, Lag, Poll, PositionOf
from ...kafka.clients.consumer import filter_readable
from ...kafka.leader import Leader
from ...kafka.log import AbortedTxn, Batch, index_of, role
from ...kafka.messages import READ_COMMITTED, Fetch, FetchResponse
from ...kernel import FactKind, Map, MemoryDisk, Outcome, Trace
from ...registry import run_scenario
from ...registry.tables import columns


@dataclass(frozen=True)
class PartitionLog:
    """`batches`: data and markers in order. `index`: its `.txnindex`."""

    system: KafkaSystem
    name: str
    disk: MemoryDisk

    @property
    def batches(self) -> tuple[Batch, ...]:
        log = self.disk.log(self.name)
        return tuple(log.read(log.start))

    @property
    def index(self) -> tuple[AbortedTxn, ...]:
        return tuple(self.disk.log(index_of(self.name)).read(0))

    def fetch(self, offset: int = 0, isolation: str = READ_COMMITTED) -> FetchResponse:
        """What the leader answers to a Fetch from `offset`."""
        leader, _ = Leader.recover(self.system.config, self.name, self.disk, 0)
        ask = Fetch(offset, isolation, max_bytes=1 << 20)
        return role.answer_fetch(leader.part, self.name, ask, self.disk)

    def read(self, offset: int = 0, isolation: str = READ_COMMITTED) -> list[str]:
        """What a client hands to its application of such an answer."""
        response = self.fetch(offset, isolation)
        return [b.words for b in filter_readable(response.batches, response.aborted, offset)[0]]

    def without(self, start: int) -> PartitionLog:
        """The partition after everything below `start` was deleted: its time had come
        (retention), or somebody asked for it (DeleteRecords)."""
        log = self.disk.log(self.name)
        kept = tuple(entry for entry in log.entries if entry.base >= start)
        short = replace(log, entries=kept, start=start, flushed=0)
        logs = Map((n, short if n == self.name else g) for n, g in self.disk.kept.items())
        return replace(self, disk=replace(self.disk, kept=logs))


def partition_log(text: str, name: str) -> PartitionLog:
    """The partition `name` at the end of a scenario given as text."""
    run = run_scenario(text)
    assert isinstance(run.system, KafkaSystem)
    return PartitionLog(run.system, name, run.world.disk(name))


# ---- What a reader may see, as text: lab 07's tables, read off traces and logs -------


def readers(trace: Trace, position: int) -> None:
    """Print what each reader is given at this step, and why it waits."""
    for reader in trace.snapshot(position).readers:
        given = (f"{g.label}({g.txn})" if g.txn else g.label for g in reader.got)
        got = " ".join(given) or "nothing"
        print(f"{reader.name:<17} {got:<20} {reader.note}".rstrip())


def frontiers(trace: Trace, position: int) -> None:
    """Print each partition's log at this step with its high watermark and its LSO."""
    for log in trace.snapshot(position).logs:
        cells = " ".join(f"{c.label}@{c.offset}" for c in log.cells)
        places = " ".join(f"{f.name}={f.at}" for f in log.frontiers)
        print(f"{log.name:<11} {cells:<28} {places}".rstrip())


def lag_table(trace: Trace) -> str:
    """A line each time that a reader has polled and asked for its position, the end and its
    lag: these, and the lag that counts from the last *record* it was given."""
    rows: list[tuple[str, ...]] = [
        ("the reader is given", "position", "end", "its lag", "end − (last record + 1)")
    ]
    offsets = {c.label: c.offset for log in trace.snapshot(-1).logs for c in log.cells}
    last, row = -1, [""]
    for fact in trace:
        match fact.body:
            case Outcome(call=Poll(isolation="read_committed"), status="ok", detail=given):
                last = max([last, *(offsets.get(value, -1) for value in given.split(", "))])
                row = [given]
            case Outcome(
                call=PositionOf() | EndOffset(isolation="read_committed"), status="ok", detail=at
            ):
                row.append(at)
            case Outcome(call=Lag(), status="ok", detail=lag):
                rows.append((*row, lag, str(int(row[2]) - last - 1)))
    return columns(rows)


def list_index_steps(trace: Trace) -> str:
    """The steps around the one at which a leader notes an aborted transaction in its index:
    the marker before it, and the move of the LSO after it."""
    facts = list(trace)
    noted = next(f for f in facts if isinstance(f.body, AbortedTxn))
    same = [
        f for f in facts if f.node == noted.node and f.kind in (FactKind.APPEND, FactKind.CHANGE)
    ]
    at = same.index(noted)
    return "\n".join(f.line(width=8) for f in same[at - 1 : at + 2])


def by_hand(batches: Iterable[Batch], aborted: Sequence[tuple[int, int]]) -> list[str]:
    """What a read_committed client keeps of a fetch, from (producer id, first offset) pairs
    alone: a listed producer's records are dropped up to its abort marker
    (CompletedFetch#consumeAbortedTransactionsUpTo)."""
    dropping: set[int] = set()
    kept: list[str] = []
    waiting = sorted(aborted, key=lambda pair: pair[1])
    for batch in batches:
        while waiting and waiting[0][1] <= batch.last:
            dropping.add(waiting.pop(0)[0])
        if batch.control == "ABORT":
            dropping.discard(batch.pid)
        elif not batch.control and not (batch.transactional and batch.pid in dropping):
            kept.append(batch.words)
    return kept


# ---- What a batch's head holds of its transaction: one real batch, taken apart -------
#
# `BATCH` is what Kafka 4.3.1 gave to a fetch after confluent-kafka 2.16.1 (librdkafka), with the
# transactional id `order-service`, had written and committed `order-17`. Its 61 bytes of head:
#
#     base offset 8 · length 4 · leader epoch 4 · magic 1 · CRC-32C 4 · attributes 2 ·
#     last offset delta 4 · base and max timestamp 8+8 · producer id 8 · epoch 2 ·
#     base sequence 4 · count 4
#
# Source: DefaultRecordBatch (Kafka 4.3).

TRANSACTIONAL_ID = "order-service"
BATCH = bytes.fromhex(
    "0000000000000000000000400000000002c26fea31001000000000000001340d3c9000000001340d"
    "3c90000000000000000001000000000000000000011c00000001106f726465722d313700"
)
HEAD = struct.Struct(">qiibIhiqqqhii")
TRANSACTIONAL, CONTROL = 0x10, 0x20


def header(data: bytes = BATCH) -> dict[str, int]:
    """The fields that have to do with transactions; ValueError for what is too short."""
    if len(data) < HEAD.size:
        raise ValueError(f"{len(data)} bytes: the head of a batch has {HEAD.size}")
    base, _, _, _, _, bits, _, _, _, pid, epoch, sequence, count = HEAD.unpack_from(data)
    return {
        "base offset": base,
        "transactional bit": int(bool(bits & TRANSACTIONAL)),
        "control bit": int(bool(bits & CONTROL)),
        "producer id": pid,
        "epoch": epoch,
        "base sequence": sequence,
        "records": count,
    }
