"""Lab 07, markers and the last stable offset: its exercises, and what its cells print."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...explore import Budget
from ...kafka import KafkaSystem
from ...kafka.claims import reads
from ...kafka.clients.calls import EndOffset, Lag, Poll, PositionOf
from ...kafka.clients.consumer import filter_readable
from ...kafka.coordinator.entry import StateRecord
from ...kafka.leader import Leader
from ...kafka.log import AbortedTxn, Batch, index_of, role
from ...kafka.messages import READ_COMMITTED, Fetch, FetchResponse
from ...kafka.picture.snapshot import describe_torn
from ...kafka.picture.view import read_world
from ...kafka.states import TxnState
from ...kernel import (
    Fact,
    FactKind,
    Made,
    Map,
    MemoryDisk,
    Outcome,
    Property,
    Run,
    System,
    Text,
    Trace,
    World,
    tr,
)
from ...kernel.world import NodeState
from ...registry import run_scenario, system
from ...registry.tables import columns, in_words
from ..atlas.data_flow import data_flow as data_flow
from ..check import Belief, Exercise
from ..java import read_recording as read_recording
from ..parsons import Parsons, Piece
from ..steps import first as first
from .exercises.kills import ALIVE, KillExercise
from .systems.ruled import put_rule

ONE = "kafka partitions=1 'app=init; begin; send orders-0 a; abort; begin; send orders-0 b; commit'"
TWO = (
    "kafka partitions=1 producers=app,billing "
    "'app=init; begin; send orders-0 a; commit' 'billing=init; begin; send orders-0 x; abort'"
)
PLAIN = (
    "kafka partitions=1 producers=n:plain,app "
    "'n=send orders-0 n' 'app=init; begin; send orders-0 a; commit'"
)
#: what only grading tries: other offsets than those of the lab
MORE = (
    "kafka partitions=1 producers=n:plain,app 'n=send orders-0 n; send orders-0 n; flush' "
    "'app=init; begin; send orders-0 a; send orders-0 b; commit; begin; send orders-0 c; abort'"
)
LATER = (
    "kafka partitions=1 producers=app,billing "
    "'app=init; begin; send orders-0 a; flush; send orders-0 b; commit; begin; send orders-0 c; "
    "commit' 'billing=init; begin; send orders-0 x; commit'"
)

MARKING = (
    "markers partitions=1 order.marker={} "
    "'app=init; begin; send orders-0 a; abort; begin; send orders-0 b; commit'"
)


def _tried(rule: Callable[..., Any], *lines: str) -> tuple[tuple[System, Budget], ...]:
    return tuple((put_rule(line, "lso", rule), Budget()) for line in lines)


def _marks(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """The leader may die once, between two pieces as well."""
    kill = Budget(kills=1, killable=("orders-0",))
    return ((system(MARKING.format(",".join(order))), kill),)


def _offset(answer: Any) -> Text | None:
    """What is wrong with an answer that is no offset."""
    if isinstance(answer, bool) or not isinstance(answer, int):
        return tr("an offset is a whole number")
    return None if answer >= 0 else tr("an offset is never negative")


LSO = Exercise(
    name="lso",
    systems=lambda rule: _tried(rule, ONE, TWO, PLAIN),
    unseen=lambda rule: _tried(rule, MORE, LATER),
    samples=(((), 4), ((2,), 4), ((1, 3), 5), ((5,), 3), ((0,), 0)),
    beliefs=(
        Belief("the high watermark decides",
               tr("everything below the high watermark is replicated, not decided: an open "
                  "transaction below it would be read"),
               lambda firsts, hw: hw),
        Belief("the newest transaction decides",
               tr("the *oldest* undecided transaction decides, not the newest: everything after "
                  "its first record waits, no matter who wrote it"),
               lambda firsts, hw: min(max(firsts, default=hw), hw)),
        Belief("the high watermark has no part in it",
               tr("a first offset may be above the high watermark: then the high watermark is the "
                  "lower of the two, and the records above it are not replicated yet"),
               lambda firsts, hw: min(firsts, default=hw)),
        Belief("nothing is ever read",
               tr("it is safe to show nothing, and useless: once all is decided, consumers must "
                  "get the records"),
               lambda firsts, hw: 0),
    ),
    hints=(
        tr("Two things can hold a reader back: a record that is not replicated, and a "
           "transaction that is not decided. Which of the two is lower?"),
        tr("The answer is one of the numbers that you are given. Your rule must also work when "
           "there is no first offset at all."),
    ),
    expects=_offset,
)  # fmt: skip

MARKER = Parsons(
    name="marker",
    question=tr("The coordinator asks the leader of a partition for a marker. Arrange the leader's "
                "steps so that no reader gets what was aborted, and no marker is lost when the "
                "leader dies. You do not need every piece."),
    pieces=(
        Piece("answer", tr("answer the coordinator: the marker is here")),
        Piece("delete", tr("if it is an abort: delete the records of the transaction"),
              tr("a log only grows. Aborted records stay where they are, and consumers skip them "
                 "with the help of the list in the answer to a fetch"),
              "aborted records are deleted"),
        Piece("lso", tr("let the last stable offset move past the transaction")),
        Piece("push", tr("tell the consumers that they may read"),
              tr("consumers are not notified: they poll their partition, and the marker in its log "
                 "moves its LSO"),
              "consumers are told"),
        Piece("append", tr("append the marker to the log")),
        Piece("others",
              tr("ask the leaders of the other partitions whether they have their marker"),
              tr("leaders exchange nothing about transactions: each partition shows its part when "
                 "its own marker is there. Only the coordinator has the list of all partitions"),
              "a transaction becomes visible everywhere at once"),
        Piece("index", tr("if it is an abort: note the transaction in the .txnindex")),
    ),
    systems=_marks,
    messages={
        "commits": tr("the transaction never completes: the coordinator gets no answer, and asks "
                      "for its marker for ever"),
        "read back": tr("no read_committed consumer ever gets what follows: the LSO stops at the "
                        "transaction"),
        "clean read": tr(
            "a read_committed consumer gets what it must not: the LSO has moved past the "
            "transaction, and the marker is not in the log yet, or an abort not in the index that "
            "fetches are answered from",
        ),
        "marked": tr("the coordinator got its answer before the marker was in the log: the leader "
                     "dies, and that marker is never requested again"),
    },
    right={("append", "index", "lso", "answer"): tr(
               "no schedule breaks a promise, and this is Kafka's own sequence: one append writes "
               "marker and index entry, and the high watermark, passing the marker, releases the "
               "LSO and the answer",
           )},
)  # fmt: skip

# --- the shortest kill --------------------------------------------------------------------

TWO_ORDERS = """
system kafka topic=orders,payments partitions=1
{kill}
run app: init, begin, send orders-0 580538, send payments-0 paid-580538, commit
run app: begin, send orders-0 580539, send payments-0 paid-580539, commit
"""


def whole(searched: System) -> Property:
    """The claim that no reader of committed data has a part of a transaction while the coordinator
    is dead: it has all of it or nothing. Kafka does *not* promise this: a search with a crash finds
    a counterexample."""
    assert isinstance(searched, KafkaSystem)
    cluster = searched.cluster
    tc = cluster.config.coordinator

    def holds(world: World) -> bool:
        if world.nodes[tc].up:
            return True
        seen = read_world(cluster, world)
        return describe_torn(seen, seen.list_given("read_committed")) is None

    # What `holds` reads of each node: a search judges equal parts once.
    def part(name: str, node: NodeState) -> Any:
        return reads(cluster, name, node), name == tc and node.up

    sentence = tr("while the coordinator is dead no reader has half of a transaction")
    return Property("whole", sentence, holds, "always", part)


FIRST = "a message's name is enough, and its number does not matter"
ASKED = "what the client asks for is decided"
ANSWERED = "what was answered is visible"
LAST = "the last marker is the dangerous one"
KILLS = {
    ALIVE: tr("the coordinator is alive at the end: `when` names a message that it never sends. "
              "Look at the arrows that start in its lane"),
    FIRST: tr("too early: this was the first order, and the second has not begun. The messages of "
              "one kind are counted from the beginning, so those of the second order have higher "
              "numbers"),
    ASKED: tr("too early: the second PrepareCommit is not in the log, so order 580539 is not "
              "decided and no reader gets it. A commit is not what the client asks for but what "
              "the coordinator writes"),
    ANSWERED: tr("too early: the decision on order 580539 is safe, yet none of its markers was "
                 "sent, so no reader gets it. A commit that has returned makes nothing visible"),
    LAST: tr("too late: both markers of order 580539 were sent before it died, and readers get the "
             "whole order. What a dead coordinator has sent still arrives"),
    "right": tr("half of order 580539 is visible, and stays so until the coordinator is back"),
}  # fmt: skip


def _count(run: Run, state: TxnState) -> int:
    """How many records of this state the coordinator has written."""
    bodies = (fact.body for fact in run.trace)
    return sum(isinstance(body, StateRecord) and body.entry.state is state for body in bodies)


def _left(run: Run) -> str:
    """Which of `KILLS` an execution shows."""
    read = {got.label for got in run.trace.snapshot(-1).readers[0].got}
    if run.world.nodes["coordinator"].up:
        return ALIVE
    if _count(run, TxnState.COMPLETE_COMMIT) == 0:
        return FIRST
    if {"580539", "paid-580539"} & read:
        return LAST if {"580539", "paid-580539"} <= read else "right"
    return ANSWERED if _count(run, TxnState.PREPARE_COMMIT) == 2 else ASKED


def _is_lso_4(fact: Fact) -> bool:
    return isinstance(fact.body, Made) and fact.body.values.get("lso") == 4


HALF = KillExercise(TWO_ORDERS, _left, KILLS, tells=_is_lso_4)

# ---- A partition's log after an execution, read as its leader reads it; what consumers see of it,
# as tables; one real batch.
#
# For experiments on what is in the log, what travels, and what a client makes of it: the same
# functions that the leader and the consumer use, without a network between them.


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
        """The partition after everything below `start` was deleted: by retention, or by a
        DeleteRecords request."""
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
        got = " ".join(given) or in_words("nothing")
        print(f"{reader.name:<17} {got:<20} {reader.note}".rstrip())


def frontiers(trace: Trace, position: int) -> None:
    """Print each partition's log at this step with its high watermark and its LSO."""
    for log in trace.snapshot(position).logs:
        cells = " ".join(f"{c.label}@{c.offset}" for c in log.cells)
        places = " ".join(f"{f.name}={f.at}" for f in log.frontiers)
        print(f"{log.name:<11} {cells:<28} {places}".rstrip())


def lag_table(trace: Trace) -> str:
    """A table of consumer lag, with a line for each call of Lag, which must follow a poll, the
    position and the end: these, the lag, and the lag that counts from the last *record* that the
    reader was given."""
    rows: list[tuple[str, ...]] = [
        ("the reader is given", "position", "end", "its lag", "end − (last record + 1)")
    ]
    offsets = {c.label: c.offset for log in trace.snapshot(-1).logs for c in log.cells}
    # `newest`: offset of the last record given (-1: none, all of the log is lag);
    # `row`: what the reader is given, its position, the end
    newest, row = -1, [""]
    for fact in trace:
        match fact.body:
            case Outcome(call=Poll(isolation="read_committed"), status="ok", detail=given):
                newest = max([newest, *(offsets.get(value, -1) for value in given.split(", "))])
                row = [given]
            case Outcome(
                call=PositionOf() | EndOffset(isolation="read_committed"), status="ok", detail=at
            ):
                row.append(at)
            case Outcome(call=Lag(), status="ok", detail=lag):
                rows.append((*row, lag, str(int(row[2]) - newest - 1)))
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


#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"half": (HALF, "value"), "marker": (MARKER, "value"), "lso": (LSO, "rule")}
