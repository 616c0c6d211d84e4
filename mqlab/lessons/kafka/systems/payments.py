"""Payments that must be counted once: Kafka without transactions, and its lights.

    system payments producers=order-service:- | order-service:plain | hand:raw

A producer "-" is idempotent, "plain" is not, "raw" sends what its line says (`ByHand`).
Every value is a payment's number: two records with one number are one payment, counted twice.
An idempotent producer gets its id from `broker`: any broker gives one out, no coordinator has
a part in it (KafkaApis#handleInitProducerIdRequest).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

from ....kafka import SAFEGUARDS, KafkaSystem
from ....kafka.config import KafkaConfig
from ....kafka.errors import Error
from ....kafka.leader import Leader, LeaderRequest, append
from ....kafka.log import MAX_SEQUENCE, Batch, next_sequence
from ....kafka.log.role import Partition, table_of
from ....kafka.messages import Produce, ProduceResponse
from ....kafka.picture.view import Cluster
from ....kernel import (
    FAILED,
    Append,
    Call,
    Caller,
    ConnectionLost,
    Disk,
    Effect,
    Effects,
    Event,
    FactKind,
    Lane,
    Money,
    NodeSpec,
    Outcome,
    Property,
    Quiet,
    Reply,
    Request,
    Response,
    Return,
    Send,
    Snapshot,
    Table,
    Telling,
    Text,
    Trace,
    Words,
    World,
    build_failure,
    build_success,
)
from ....kernel.options import LISTED, Pairs, fill
from ....kernel.run import put_in_words
from ....kernel.story import BROKER as PART
from ....kernel.usages import one_of
from ....kernel.world import NodeState
from ....registry.tables import columns, say_result
from ...roles import put_roles
from .ruled import list_ruled
from .shop import MONEY, find_price

# ---- What a leader does with a batch, taken to pieces and done in a given order
#
# For a lesson only. Kafka's order is
#
#     duplicate   is it one of the last five of this epoch? then answer ok with its offset
#     fence       is its epoch older than the one known? then refuse it
#     sequence    is it not the next in order? then refuse it
#     append      write it to the log
#     answer      tell the producer ok, as soon as what was appended is safe
#
# An answer before its append cannot wait for it: it leaves at once, and what is
# left is a step of its own, before which a leader may die. All else is the leader's own.

STEP = "produce"
PIECES = ("duplicate", "fence", "sequence", "append", "answer")


@dataclass(frozen=True, slots=True)
class Rest:
    """The leader's note to itself: what is left to do once the producer was answered. `ask`: the
    request; `todo`: the pieces that remain."""

    ask: Produce
    todo: tuple[str, ...]

    def __str__(self) -> str:
        return f"then {', '.join(self.todo)}"


@dataclass(frozen=True, slots=True)
class PiecewiseLeader(Leader):
    """A leader for producers without transactions."""

    def handle_request(
        self, body: LeaderRequest | Rest, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Leader, Effects]:
        match body:
            case Produce():
                return self._pieces(body, dict(self.config.order)[STEP], caller, disk)
            case Rest(ask=ask, todo=todo):
                return self._pieces(ask, todo, None, disk)
        return Leader.handle_request(self, body, caller, disk, at_ms)

    def _pieces(
        self, request: Produce, todo: tuple[str, ...], caller: Caller | None, disk: Disk
    ) -> tuple[Leader, Effects]:
        """Carry out the pieces `todo` of an append in their order, which is the learner's, and
        return the leader with its effects. It ends at a refusal, at a duplicate, and at an answer
        before the append: the pieces after that are a step of its own. `caller` None: the producer
        has its answer, so what the remaining pieces find reaches no client."""
        leader: Leader = self
        batch = replace(request.batch, base=disk.log(self.name).end)
        appended: Effects = ()
        for index, piece in enumerate(todo):
            if piece == "append":
                leader = replace(leader, part=leader.part.with_data(batch))
                appended = (Append(self.name, batch),)
            elif piece == "answer" and caller is not None:
                ok = ProduceResponse(Error.NONE, batch.base)
                if not appended:  # answered too early: the rest is a later step
                    later = Send(self.name, Rest(request, todo[index + 1 :]))
                    return leader, (Reply(caller, ok), later)
                # the answer is sent once the log is safe up to this offset
                ack = (batch.base + batch.count, caller, ok)
                leader = replace(leader, acks=(*leader.acks, ack))
                caller = None
            elif piece == "duplicate" and leader.part.find_duplicate(batch) is not None:
                if caller is None:
                    return leader, appended
                # Kafka's own append finds the duplicate too, and answers with its first write
                known, answered = append(leader, request, caller, guard=None, disk=disk)
                return known, (*appended, *answered)
            elif error := _refusal(piece, leader.part, batch):
                refused = (Reply(caller, ProduceResponse(error)),) if caller is not None else ()
                return leader, (*appended, *refused)
        return leader, appended


def _refusal(piece: str, part: Partition, batch: Batch) -> Error:
    """What one check alone says; NONE where it accepts the batch."""
    if piece == "fence":
        return Error.INVALID_PRODUCER_EPOCH if part.is_stale(batch) else Error.NONE
    if piece == "sequence":
        unfenced = replace(part.config, on=part.config.on - {"epoch_fencing"})
        return replace(part, config=unfenced).check_data(batch, None)
    return Error.NONE


# ---- A client that sends exactly the batch of its line: what no real producer lets one do
#
#     run hand: produce payments-0 p1 seq=0, produce payments-0 p2|p3 seq=1 epoch=0 pid=7
#
# It asks for no producer id, counts nothing, repeats nothing; a lost answer stays lost. So a
# lesson can put one question after the other to a leader and note what it says.

PID = 7
ADVICE = "produce TOPIC-PARTITION VALUE|VALUE… seq=NUMBER [epoch=NUMBER] [pid=NUMBER]"


@dataclass(frozen=True, slots=True)
class ProduceBatch:
    """One batch with the header it shall have; its answer is the call's result. `seq`: its first
    sequence number."""

    partition: str
    values: tuple[str, ...]
    seq: int
    epoch: int = 0
    pid: int = PID

    @property
    def batch(self) -> Batch:
        return Batch(self.values, len(self.values), -1, self.pid, self.epoch, self.seq)

    def __str__(self) -> str:
        more = "" if self.epoch == 0 else f" epoch={self.epoch}"
        more += "" if self.pid == PID else f" pid={self.pid}"
        return f"produce {self.partition} {'|'.join(self.values)} seq={self.seq}{more}"


def produce_call(partition: str, values: str, options: tuple[str, ...]) -> ProduceBatch:
    """The call of a `produce` line; ValueError says what was expected."""
    numbers = {"epoch": 0, "pid": PID}
    for option in options:
        name, _, number = option.partition("=")
        if name not in ("seq", "epoch", "pid") or not number.isdigit():
            raise ValueError(f"{option!r}: expected `{ADVICE}`")
        numbers[name] = int(number)
    if "seq" not in numbers or numbers["seq"] > MAX_SEQUENCE:
        raise ValueError(f"a batch needs a sequence number up to {MAX_SEQUENCE}: `{ADVICE}`")
    return ProduceBatch(
        partition, tuple(values.split("|")), numbers["seq"], numbers["epoch"], numbers["pid"]
    )


@dataclass(frozen=True, slots=True)
class ByHand(Quiet):
    """`pending`: the batch in flight; `answer`: what was said last, with its batch."""

    config: KafkaConfig
    pending: ProduceBatch | None = None
    answer: tuple[ProduceBatch, ProduceResponse] | None = None

    def step(self, event: Event, disk: Disk) -> tuple[ByHand, Effects]:
        match event:
            case Call(body=ProduceBatch() as call):
                new = replace(self, pending=call, answer=None)
                return new, (Send(call.partition, Produce(call.batch)),)
            case Call(body=body):
                return self, (Return(build_failure(body, "a client by hand can only produce")),)
            case Response(body=ProduceResponse() as response) if self.pending is not None:
                new = replace(self, pending=None, answer=(self.pending, response))
                result = build_failure if response.error else build_success
                return new, (Return(result(self.pending, _short(response))),)
            case ConnectionLost() if self.pending is not None:
                lost = build_failure(self.pending, "no answer: the connection is lost")
                return replace(self, pending=None), (Return(lost),)
        return self, ()


def _short(response: ProduceResponse) -> str:
    return response.error.name if response.error else f"@{response.base_offset}"


# ---- the system -----------------------------------------------------------------------

RAW = "raw"
BROKER = "broker"
GIVES_IDS = Words("hands out producer ids")
PAID = Words("paid by customers")
COUNTED = Words("counted in the log")
IN_ORDER = Words("batches are in the order of their numbers")
NO_ZOMBIE = Words("an older epoch writes nothing after a newer one")
TRUE_OK = Words("an ok names the offset of the batch")
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
        return self.with_missing(Text("Kafka 4.3"))

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
        """Between producers and leaders the broker of ids, where a producer asks it."""
        if not any(kind == "-" for _, kind in self.producers):
            return drawn
        broker = Lane(BROKER, Text(BROKER), GIVES_IDS(), world.nodes[BROKER].up, PART)
        many = len(self.producers)
        return (*drawn[:many], broker, *drawn[many:])

    def annotate(
        self, world: World, role: str, event: Event | None, effect: Effect | None
    ) -> Telling:
        """Label an arrow of the chart with what this system is about: the sequence numbers of its
        batch, or the offset in the answer to it. What a producer that is driven by hand (`_raw`)
        returns only repeats the answer, and is folded. `effect`: None for the arrival of the event
        itself."""
        telling = super().annotate(world, role, event, effect)
        match effect:
            case Return() if role in self._raw:
                return replace(telling, fold=True)
            case Send(body=Produce(batch=batch)):
                return replace(telling, label=Text(_numbered(batch)))
            case Reply(body=ProduceResponse() as response) if not response.error:
                return replace(telling, fold=False, label=put_in_words(response))
            case None if isinstance(event, Request) and isinstance(event.body, Produce):
                return replace(telling, label=Text(_numbered(event.body.batch)))
        return telling

    # -- what must be true -------------------------------------------------------------------

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        """The claims about payments; those about a producer by hand where one is raw, else those
        about what must arrive. Each is (name, sentence, test of a state, whether that must be true
        "always" or "sometimes", in some state); `_reads`: what of a node the tests look at."""
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
        return tuple(Property(n, text(), ok, kind, self._reads) for n, text, ok, kind in claims)

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
        leader is at rest, none of those that were acknowledged is missing."""
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
        """Whether each batch of a producer follows the one before, or is the first of another
        epoch. The first batch of a producer may have any number; a repeated batch is no gap, and
        batches without numbers are not judged."""
        last_batch: dict[tuple[str, int], Batch] = {}
        seen: set[tuple[str, int, int, int]] = set()
        for name, batch in self._logs(world):
            previous = last_batch.get((name, batch.pid))
            identity = (name, batch.pid, batch.epoch, batch.first_seq)
            # a producer id of -1: not idempotent, so without numbers
            if batch.pid < 0 or identity in seen:
                continue
            if previous is not None:
                same_epoch = batch.epoch == previous.epoch
                if batch.first_seq != (next_sequence(previous.last_seq) if same_epoch else 0):
                    return False
            last_batch[name, batch.pid] = batch
            seen.add(identity)
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
                part = fill(Partition, leader.part, config=KAFKA)
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
    """Whether a producer has done its work, and has an answer to each of its requests."""
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
    """The `.snapshot` files of an execution, a column a producer in a file."""
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
                answer = fact.body.detail if status == FAILED else say_result(fact.body)
                rows.append((sequence, " ".join(call.values), str(call.epoch), answer))
            case None if fact.kind in (FactKind.KILL, FactKind.POWER_CUT, FactKind.BREAK):
                rows.append(("", "", "", f"({fact.node}: {fact.text})"))
    return columns(rows)
