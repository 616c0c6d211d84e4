"""Payments that must be counted once: Kafka without transactions, and its lights.

    system payments producers=order-service:- | order-service:plain | hand:raw

A producer "-" is idempotent, "plain" is not, "raw" sends what it is told (`by_hand.py`).
Every value is a payment's number: two records with one number are one payment, counted twice.
An idempotent producer gets its id from `broker`: any broker gives one out, no coordinator has
a part in it (KafkaApis#handleInitProducerIdRequest).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

from ....kafka import SAFEGUARDS, KafkaConfig, KafkaSystem
from ....kafka.leader import Leader
from ....kafka.log import Batch, next_sequence
from ....kafka.log.partition import Partition, table_of
from ....kafka.messages import Produce, ProduceResponse
from ....kafka.picture.view import Cluster
from ....kernel import (
    FAILED,
    Effect,
    Effects,
    Event,
    FactKind,
    Lane,
    Money,
    NodeSpec,
    Outcome,
    Property,
    Reply,
    Request,
    Return,
    Send,
    Snapshot,
    Table,
    Telling,
    Text,
    Trace,
    Words,
    World,
)
from ....kernel.options import LISTED, Pairs
from ....kernel.role import Disk
from ....kernel.story import BROKER as PART
from ....kernel.usages import one_of
from ....kernel.world import NodeState
from ....registry.tables import columns
from ...roles import become, put_roles
from .by_hand import ByHand, ProduceBatch, produce_call
from .produce_pieces import PIECES, STEP, PiecewiseLeader
from .ruled import list_ruled
from .shop import MONEY, find_price

RAW = "raw"
BROKER = "broker"
GIVES_IDS = Words("hands out producer ids")
PAID = Words("paid by customers")
COUNTED = Words("counted in the log")
IN_ORDER = Words("batches stand in the order of their numbers")
NO_ZOMBIE = Words("an older epoch writes nothing after a newer one")
TRUE_OK = Words("an ok names the offset where the batch lies")
WELCOME = Words("no batch is refused that Kafka takes")
ARRIVES = Words("every payment can arrive")
TOLD = Words("every producer is told how it went")
MEMORY = Words("What the leader remembers of producers")
FILE = Words("What the .snapshot file holds")
MEMORY_COLUMNS = ("partition", "pid", "epoch", "last batches (numbers @offset)")
FILE_COLUMNS = (
    "file",
    "ProducerId",
    "ProducerEpoch",
    "LastSequence",
    "LastOffset",
    "OffsetDelta",
    "Timestamp",
    "CoordinatorEpoch",
    "CurrentTxnFirstOffset",
)
KAFKA = KafkaConfig(on=frozenset(SAFEGUARDS))


def _by_hand(config: KafkaConfig, disk: Disk, at_ms: int) -> tuple[ByHand, Effects]:
    return ByHand(config), ()


@dataclass(frozen=True)
class PaymentsSystem(KafkaSystem):
    """Kafka with the topic `payments` and producers without transactions."""

    topic: Annotated[str, LISTED] = "payments"
    partitions: int = 1
    producers: Pairs = (("order-service", "-"),)

    name = "payments"
    orderable: ClassVar = {STEP: PIECES}
    most_replicas = 1

    @cached_property
    def _raw(self) -> tuple[str, ...]:
        return tuple(node for node, kind in self.producers if kind == RAW)

    @cached_property
    def config(self) -> KafkaConfig:
        return replace(super().config, coordinator=BROKER)

    @cached_property
    def cluster(self) -> Cluster:
        seen = super().cluster
        named = tuple((n, "" if n in self._raw else txn_id) for n, txn_id in seen.producers)
        return replace(seen, producers=named)

    def nodes(self) -> tuple[NodeSpec, ...]:
        roles = list_ruled(self) | dict.fromkeys(self._raw, partial(_by_hand, self.config))
        if STEP in dict(self.order):
            leader = partial(PiecewiseLeader.recover, self.config)
            roles |= {name: partial(leader, name) for name in self.cluster.partitions}
        return put_roles(super().nodes(), roles)

    def call(self, words: tuple[str, ...]) -> Any:
        match words:
            case ("produce", partition, values, *options):
                known = one_of("partition", self.cluster.partitions)
                return produce_call(known(partition), values, tuple(options))
        return super().call(words)

    def label(self) -> Text:
        """No transactions here, so nothing is said of their version."""
        return Text("Kafka 4.3" + self.label_missing())

    # -- what is drawn -----------------------------------------------------------------------

    def snapshot(self, world: World) -> Snapshot:
        seen = super().snapshot(world)
        rows = [row for p in self.cluster.partitions for row in _memory(p, world.role(p))]
        mine = [Table(MEMORY(), MEMORY_COLUMNS, tuple(rows))]
        files = tuple(row for p in self.cluster.partitions for row in _files(p, world))
        if files:
            mine.append(Table(FILE(), FILE_COLUMNS, files))
        return replace(
            seen,
            lanes=self._lanes(world, seen.lanes),
            tables=(*seen.tables, *mine),
            money=self._sum_up(world),
        )

    def _sum_up(self, world: World) -> Money:
        """A payment is for the order that it names, and due as soon as its producer is to send
        it."""
        counted = self._counted(world)
        there = set(counted)
        due = there.union(*(_paid(world.nodes[n]) for n, kind in self.producers if kind != RAW))
        return Money(
            _add_up(due),
            _add_up(counted),
            PAID(),
            COUNTED(),
            missing=_add_up(self._owed(world) - there),
            extra=_add_up(counted) - _add_up(there),
        )

    def _lanes(self, world: World, drawn: tuple[Lane, ...]) -> tuple[Lane, ...]:
        """Between producers and leaders the broker of ids, where somebody asks it."""
        if not any(kind == "-" for _, kind in self.producers):
            return drawn
        broker = Lane(BROKER, Text(BROKER), GIVES_IDS(), world.nodes[BROKER].up, PART)
        many = len(self.producers)
        return (*drawn[:many], broker, *drawn[many:])

    def annotate(
        self, world: World, role: str, event: Event | None, effect: Effect | None
    ) -> Telling:
        """The numbers of a batch and the offset in its answer are what this is about: they
        stand in the chart. What `hand` is told repeats the answer and is folded."""
        telling = super().annotate(world, role, event, effect)
        match effect:
            case Return() if role in self._raw:
                return replace(telling, fold=True)
            case Send(body=Produce(batch=batch)):
                return replace(telling, label=Text(_numbered(batch)))
            case Reply(body=ProduceResponse() as response) if not response.error:
                return replace(telling, fold=False, label=Text(str(response)))
            case None if isinstance(event, Request) and isinstance(event.body, Produce):
                return replace(telling, label=Text(_numbered(event.body.batch)))
        return telling

    # -- what must be true -------------------------------------------------------------------

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        claims: list[tuple[str, Words, Callable[[World], bool], str]] = [
            ("money", MONEY, self._money, "always"),
            ("in order", IN_ORDER, self._in_order, "always"),
            ("no zombie", NO_ZOMBIE, self._no_zombie, "always"),
        ]
        if self._raw:
            claims += [
                ("true ok", TRUE_OK, self._true_ok, "always"),
                ("welcome", WELCOME, self._welcome, "always"),
            ]
        else:
            claims += [
                ("arrives", ARRIVES, self._arrives, "sometimes"),
                ("told", TOLD, self._told, "sometimes"),
            ]
        return tuple(Property(n, w(), f, kind, self._reads) for n, w, f, kind in claims)

    def _reads(self, name: str, node: NodeState) -> Hashable:
        if name in self._raw or name in self.cluster.partitions:
            return node.up, node.disk, node.roles, node.inbox
        return node.app, _at_rest(node)

    def _logs(self, world: World) -> Iterator[tuple[str, Batch]]:
        for name in self.cluster.partitions:
            for batch in world.disk(name).log(name).read(0):
                yield name, batch

    def _money(self, world: World) -> bool:
        """No payment is counted twice; and once its producer has done its work and every
        leader is at rest, none of those that it was told of is missing."""
        counted = self._counted(world)
        return len(counted) == len(set(counted)) and self._owed(world) <= set(counted)

    def _counted(self, world: World) -> list[str]:
        return [value for _, batch in self._logs(world) for value in batch.records]

    def _owed(self, world: World) -> set[str]:
        """The payments that must be there by now."""
        leaders = [world.nodes[name] for name in self.cluster.partitions]
        if any(not node.up or node.inbox for node in leaders):
            return set()
        nodes = [world.nodes[name] for name, kind in self.producers if kind != RAW]
        return {value for node in nodes if _at_rest(node) for value in _paid(node)}

    def _in_order(self, world: World) -> bool:
        """Where a producer begins is its own affair; from there every batch follows the one
        before, or is the first of another epoch. What merely repeats is no hole."""
        last: dict[tuple[str, int], Batch] = {}
        seen: set[tuple[str, int, int, int]] = set()
        for name, batch in self._logs(world):
            before = last.get((name, batch.pid))
            key = (name, batch.pid, batch.epoch, batch.first_seq)
            if batch.pid < 0 or key in seen:
                continue
            if before is not None:
                same = batch.epoch == before.epoch
                if batch.first_seq != (next_sequence(before.last_seq) if same else 0):
                    return False
            last[name, batch.pid] = batch
            seen.add(key)
        return True

    def _no_zombie(self, world: World) -> bool:
        newest: dict[tuple[str, int], int] = {}
        for name, batch in self._logs(world):
            if batch.epoch < newest.get((name, batch.pid), -1):
                return False
            newest[name, batch.pid] = batch.epoch
        return True

    def _answers(self, world: World) -> Iterator[tuple[Any, Any]]:
        for name in self._raw:
            role = world.role(name)
            if isinstance(role, ByHand) and role.answer is not None:
                yield role.answer

    def _true_ok(self, world: World) -> bool:
        """A leader that has yet to do what it promised may still do it."""
        for call, response in self._answers(world):
            if not response.error and not world.nodes[call.partition].inbox:
                log = world.disk(call.partition).log(call.partition)
                there = [b.records for b in log.read(0) if b.base == response.base_offset]
                if there != [call.values]:
                    return False
        return True

    def _welcome(self, world: World) -> bool:
        """Nothing was written since the refusal, so Kafka's own rule can be asked now."""
        for call, response in self._answers(world):
            leader = world.role(call.partition)
            if response.error and isinstance(leader, Leader):
                part = become(leader.part, Partition, config=KAFKA)
                if part.find_duplicate(call.batch) or not part.check_data(call.batch, None):
                    return False
        return True

    def _arrives(self, world: World) -> bool:
        there = {value for _, batch in self._logs(world) for value in batch.records}
        programs = [calls for _, calls in self.programs if isinstance(calls, tuple)]
        return all(value in there for calls in programs for value in _values(calls))

    def _told(self, world: World) -> bool:
        apps = [world.nodes[name].app for name, _ in self.producers]
        return not any(app.waiting or app.next_call() for app in apps if app is not None)


def _at_rest(node: NodeState) -> bool:
    """Whether a producer has done what it was asked, and was told how all of it went."""
    if not node.up or node.app is None or node.app.waiting or node.app.next_call() is not None:
        return False
    return not node.roles[0].flights and all(result.ok for result in node.app.results)


def _paid(node: NodeState) -> Iterator[str]:
    if node.app is not None and isinstance(node.app.program, tuple):
        yield from _values(node.app.program)


def _values(calls: tuple[Any, ...]) -> Iterator[str]:
    """Every payment that these calls send."""
    for call in calls:
        yield from filter(None, getattr(call, "value", "").split("|"))


def _memory(partition: str, leader: object) -> Iterator[tuple[str, ...]]:
    """A row a producer: what its next batch is compared with."""
    if isinstance(leader, Leader):
        for pid, entry in leader.part.producers.items():
            ranges = [f"{_range(w.first_seq, w.last_seq)} @{w.first_offset}" for w in entry.window]
            yield partition, str(pid), str(entry.epoch), ", ".join(ranges)


def _files(partition: str, world: World) -> Iterator[tuple[str, ...]]:
    for at, file in world.disk(partition).table(table_of(partition)).items():
        for e in file.entries:
            numbers = (
                e.pid,
                e.epoch,
                e.last_seq,
                e.last_offset,
                e.offset_delta,
                e.at_ms,
                e.coordinator_epoch,
                e.txn_first,
            )
            yield f"{at:020}.snapshot", *map(str, numbers)


def _add_up(payments: Iterable[str]) -> int:
    """What these payments amount to, in pence."""
    return sum(map(find_price, payments))


def _numbered(batch: Batch) -> str:
    """A batch as the chart shows it: "p2 p3 epoch 0 seq 1–2"."""
    values = " ".join(map(str, batch.records))
    if batch.pid < 0:
        return values
    return f"{values} epoch {batch.epoch} seq {_range(batch.first_seq, batch.last_seq)}"


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def count_payments(trace: Trace, position: int = -1) -> str:
    """How often a reader is given each payment, as one line a payment."""
    got = [g.label for g in trace.snapshot(position).readers[0].got]
    return "\n".join(f"{payment}  counted {got.count(payment)}×" for payment in sorted(set(got)))


def list_producers(trace: Trace, position: int = -1) -> str:
    """What leaders remember of producers, as a plain-text table."""
    return columns([MEMORY_COLUMNS, *_rows(trace, position, MEMORY)])


def snapshot_files(trace: Trace, position: int = -1) -> str:
    """The `.snapshot` files of a run, a column a producer in a file."""
    rows = _rows(trace, position, FILE)
    short = [(f"…{row[0][-11:]}", *row[1:]) for row in rows]  # 20 digits, most of them 0
    return columns([(name, *(row[i] for row in short)) for i, name in enumerate(FILE_COLUMNS)])


def _rows(trace: Trace, position: int, name: Words) -> list[tuple[str, ...]]:
    tables = trace.snapshot(position).tables
    return [row for table in tables if table.name.en == name.en for row in table.rows]


def answers(trace: Trace) -> str:
    """Every batch sent by hand and what the leader said, with the stops in between."""
    rows: list[tuple[str, ...]] = [("sequence", "payments", "epoch", "the leader says")]
    for fact in trace.facts:
        match fact.body:
            case Outcome(call=ProduceBatch() as call, status=status):
                sequence = _range(call.seq, next_sequence(call.seq, len(call.values) - 1))
                answer = fact.body.detail if status == FAILED else fact.body.result
                rows.append((sequence, " ".join(call.values), str(call.epoch), answer))
            case None if fact.kind in (FactKind.KILL, FactKind.POWER_CUT, FactKind.BREAK):
                rows.append(("", "", "", f"({fact.node}: {fact.text})"))
    return columns(rows)
