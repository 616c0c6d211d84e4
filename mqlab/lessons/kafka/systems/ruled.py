"""Kafka in which one decision of a role is a learner's rule, by the name of that decision.

    lso      (first offsets of undecided transactions, high watermark) → the offset that
             read_committed may not reach
    accept   (ranges of the last five batches, oldest first; epoch known here, -1: none; batch as
             (epoch, first, last)) → "append", "duplicate" or "refuse"
    admit    ((pid, epoch) known to the coordinator or None; state; whether a transition is in
             progress; (pid, epoch) of the request) → "ok" or an error; for AddPartitionsToTxn,
             AddOffsetsToTxn and a legacy EndTxn

All else is the role's own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from ....kafka import KafkaSystem, coordinator
from ....kafka.claims import reads
from ....kafka.clients.calls import Commit
from ....kafka.config import KafkaConfig, txn_log
from ....kafka.coordinator import Coordinator
from ....kafka.coordinator.entry import Entry, to_record
from ....kafka.errors import Error
from ....kafka.leader import Leader
from ....kafka.log import Batch
from ....kafka.log.role import Partition, ProducerEntry, Written
from ....kafka.messages import (
    AddPartitionsToTxn,
    Answer,
    EndTxn,
    InitProducerId,
    Produce,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from ....kafka.picture.view import Cluster, read_world
from ....kafka.states import COMPLETED, PREPARED
from ....kernel import (
    Append,
    Appended,
    Call,
    Caller,
    CancelTimer,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Lane,
    Map,
    NodeSpec,
    Property,
    Quiet,
    Reply,
    Request,
    Response,
    Return,
    Send,
    SetTimer,
    Snapshot,
    Text,
    Words,
    World,
    build_failure,
    build_success,
    worded,
)
from ....kernel.options import Order, fill
from ....kernel.text import BadValue
from ....kernel.world import NodeState, Recover
from ....registry import system
from ...roles import put_roles, recover_as

# ---- EndTxn taken to pieces: a coordinator that does them in a given order ------------
#
# For a lesson only. What Kafka's coordinator does over several steps is named here, piece by
# piece, so that the pieces can be put in another order, to see what comes of it:
#
#     prepare    write PrepareCommit (or PrepareAbort) and wait until it is safe
#     reply      answer the client
#     markers    send a marker to every partition of the transaction
#     wait       wait until every partition has answered
#     complete   write CompleteCommit (or CompleteAbort) and wait until it is safe
#
# Kafka's order is `prepare, reply, markers, wait, complete`. Each piece is a step of its own,
# after which the coordinator sends itself a note to go on: whatever may happen between two
# pieces of a broker with many threads may happen here. Everything else is the coordinator's
# own: its checks, what it does after a restart, its timeout. A transaction that is being
# ended in pieces counts as busy, as a real transition in progress does.
#
# *Left out:* appends that fail, which needs followers; the lesson's coordinator has none.

STEP = "end_txn"
PIECES = ("prepare", "reply", "markers", "wait", "complete")
TIMEOUT = "timeout "

Result = tuple[Coordinator, Effects]


@worded("NextPiece {txn_id}")
class NextPiece:
    """The coordinator's note to itself: go on with the pieces of this transaction."""

    txn_id: str


@dataclass(frozen=True, slots=True)
class Plan:
    """An end in progress: the decided `entry`, who is answered with what, the pieces still `todo`,
    the partitions whose answer is missing (None: no marker was sent yet), and the entry whose
    record is being written, with the offset where it ends. `owed`: those partitions; `writing`:
    that entry."""

    entry: Entry
    caller: Caller | None
    answer: Answer | None
    todo: tuple[str, ...]
    owed: tuple[str, ...] | None = None
    writing: tuple[int, Entry] | None = None

    @property
    def waiting(self) -> bool:
        """Whether only the answers of partitions can take it further."""
        return self.todo[:1] == ("wait",) and self.owed != ()


@dataclass(frozen=True, slots=True)
class PiecewiseCoordinator(Coordinator):
    """`plans`: the ends in progress, by transactional id."""

    plans: Map[str, Plan] = Map()

    def step(self, event: Event, disk: Disk) -> Result:
        """Take one event as the coordinator whose EndTxn is done in the learner's pieces: events of
        a transaction that is being ended go to its plan, all others to Kafka's coordinator, which
        refuses another EndTxn meanwhile (`busy`)."""
        match event:
            case Request(body=EndTxn(txn_id=txn_id)) if txn_id not in self.plans:
                return self._begin(txn_id, event, disk)
            case Request(body=NextPiece(txn_id=txn_id)):
                return self._do_next_piece(txn_id, self.plans[txn_id], disk)
            case Appended(log=log, end=end):
                for txn_id, plan in self.plans.items():
                    if plan.writing and log == txn_log(txn_id, self.config):
                        return self._written(txn_id, plan, end, disk)
            case Response(peer=peer, body=WriteTxnMarkersResponse() as response):
                if response.txn_id in self.plans:
                    return self._answered(response, peer, disk)
            case ConnectionLost(peer=peer):
                repeated = tuple(
                    Send(peer, coordinator.build_marker(self, plan.entry))
                    for plan in self.plans.values()
                    if peer in (plan.owed or ())  # None: no marker is sent yet
                )
                new, effects = Coordinator.step(self, event, disk)
                return new, (*effects, *repeated)
            case Fired(timer=timer) if timer.removeprefix(TIMEOUT) in self.plans:
                # It is being ended just now: the next sweep looks again.
                return self, (SetTimer(timer, self.config.sweep_ms),)
        return Coordinator.step(self, event, disk)

    def busy(self, txn_id: str) -> bool:
        return txn_id in self.plans or Coordinator.busy(self, txn_id)

    def owes(self, txn_id: str, partition: str) -> bool:
        """Whether it still knows that this partition must get its marker."""
        plan: Plan | None = self.plans.get(txn_id)
        return plan is not None and (plan.owed is None or partition in plan.owed)

    def _begin(self, txn_id: str, event: Event, disk: Disk) -> Result:
        """The whole coordinator says what it would write; the pieces say when."""
        whole, effects = Coordinator.step(self, event, disk)
        decided = whole.pending.get(txn_id)
        if txn_id in self.pending or decided is None or decided.entry.state not in PREPARED:
            return whole, effects
        order = dict(self.config.order)[STEP]
        plan = Plan(decided.entry, decided.caller, decided.answer, order)
        return self._do_next_piece(txn_id, plan, disk)

    def _do_next_piece(self, txn_id: str, plan: Plan, disk: Disk) -> Result:
        """Do the next piece of a plan for ending a transaction, and send this coordinator itself a
        request for the piece after it. None is sent while a record or a marker's answer is missing:
        its arrival continues the plan."""
        if not plan.todo or plan.waiting:
            return self._with(txn_id, plan), ()
        piece, plan = plan.todo[0], replace(plan, todo=plan.todo[1:])
        effects: Effects = ()
        if piece in ("prepare", "complete"):
            plan, effects = self._write(plan, piece, disk)
            return self._with(txn_id, plan), effects
        if piece == "reply" and plan.caller is not None:  # None: a timeout has aborted it
            effects = (Reply(plan.caller, plan.answer),)
        elif piece == "markers":
            plan = replace(plan, owed=plan.entry.partitions)
            marker = coordinator.build_marker(self, plan.entry)
            effects = tuple(Send(p, marker) for p in plan.entry.partitions)
        if plan.todo and not plan.waiting:
            effects = (*effects, Send(self.config.coordinator, NextPiece(txn_id)))
        return self._with(txn_id, plan), effects

    def _with(self, txn_id: str, plan: Plan) -> PiecewiseCoordinator:
        over = not plan.todo and not plan.writing and not plan.owed
        plans = self.plans.remove(txn_id) if over else self.plans.set(txn_id, plan)
        return replace(self, plans=plans)

    def _write(self, plan: Plan, piece: str, disk: Disk) -> tuple[Plan, Effects]:
        entry = plan.entry
        if piece == "complete":
            version = self.config.transaction_version
            entry = entry.enter(coordinator.COMPLETES[entry.state], version, partitions=())
        log = txn_log(entry.txn_id, self.config)
        base = disk.log(log).end
        effects = (Append(log, to_record(entry, base)), CancelTimer(TIMEOUT + entry.txn_id))
        return replace(plan, writing=(base + 1, entry)), effects

    def _written(self, txn_id: str, plan: Plan, end: int, disk: Disk) -> Result:
        if plan.writing is None or plan.writing[0] != end:
            return self, ()
        new = replace(self, entries=self.entries.set(txn_id, plan.writing[1]))
        return new._do_next_piece(txn_id, replace(plan, writing=None), disk)

    def _answered(self, response: WriteTxnMarkersResponse, peer: str, disk: Disk) -> Result:
        txn_id, plan = response.txn_id, self.plans[response.txn_id]
        if response.error in coordinator.GIVE_UP or peer not in (plan.owed or ()):
            return self, ()
        if response.error:
            return self, (Send(peer, coordinator.build_marker(self, plan.entry)),)
        new = replace(plan, owed=tuple(p for p in plan.owed or () if p != peer))
        free = plan.waiting and not new.waiting and plan.writing is None
        return self._do_next_piece(txn_id, new, disk) if free else (self._with(txn_id, new), ())


# ---- Single requests, written by hand, to a transaction coordinator or a partition's leader
#
# Each verb is the name of the request; what is not given has the protocol's own default.

ADVICE = {
    "InitProducerId": "InitProducerId [pid=N epoch=N] [timeout_ms=N] [id=ID]",
    "AddPartitionsToTxn": "AddPartitionsToTxn TOPIC-PARTITION pid=N epoch=N [id=ID]",
    "EndTxn": "EndTxn commit|abort pid=N epoch=N [v=4] [id=ID]",
    "WriteTxnMarkers": "WriteTxnMarkers TOPIC-PARTITION commit|abort pid=N epoch=N coordinator=N",
    "Produce": "Produce TOPIC-PARTITION VALUE pid=N epoch=N seq=N [v=11] [id=ID]",
}
NUMBERS = ("pid", "epoch", "seq", "timeout_ms", "coordinator", "v")


@worded("{words}")
class Asked:
    """One request: `words` as written, `to` whom, and the message itself."""

    words: str
    to: str
    body: object


@dataclass(frozen=True, slots=True)
class Hand(Quiet):
    """One request after the other; a lost answer stays lost. `pending`: the request without an
    answer."""

    pending: Asked | None = None

    def step(self, event: Event, disk: Disk) -> tuple[Hand, Effects]:
        match event:
            case Call(body=Asked() as request):
                return replace(self, pending=request), (Send(request.to, request.body),)
            case Call(body=body):
                return self, (
                    Return(build_failure(body, "by hand one sends single requests only")),
                )
            case Response(body=answer) if self.pending is not None:
                error = getattr(answer, "error", None)
                make = build_failure if error else _succeed
                return Hand(), (Return(make(self.pending, error or answer)),)
            case ConnectionLost() if self.pending is not None:
                return Hand(), (Return(build_failure(self.pending, "no answer: connection lost")),)
        return self, ()


def hand(disk: Disk, at_ms: int) -> tuple[Hand, Effects]:
    """How a client by hand starts: with nothing."""
    return Hand(), ()


def _succeed(request: Asked, answer: object) -> Any:
    return build_success(request, str(answer).removeprefix("ok").strip())


def parse_request(
    words: tuple[str, ...], whose: str, coordinator: str, partitions: tuple[str, ...]
) -> Asked | None:
    """The request that a line stands for, None where it names none; ValueError with advice.
    `whose`: the transactional id where the line gives none."""
    if not words or words[0] not in ADVICE:
        return None
    given, plain = _given(words[0], words[1:])
    line, txn_id = " ".join(words), str(given.get("id", whose))
    to, body = _build_message(words[0], plain, given, txn_id, partitions)
    return Asked(line, to or coordinator, body)


def _given(verb: str, words: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
    given: dict[str, Any] = {}
    for word in (w for w in words if "=" in w):
        name, _, value = word.partition("=")
        if name not in (*NUMBERS, "id") or (name in NUMBERS and not value.isdigit()):
            raise ValueError(f"{word!r}: expected `{ADVICE[verb]}`")
        given[name] = int(value) if name in NUMBERS else value
    return given, tuple(w for w in words if "=" not in w)


def _build_message(
    verb: str,
    plain: tuple[str, ...],
    given: Mapping[str, Any],
    txn_id: str,
    partitions: tuple[str, ...],
) -> tuple[str, object]:
    """Build the request that a command describes, and return the partition it goes to ("" for the
    coordinator) and the request. `txn_id`: the one that the request names; `plain`: the words after
    the verb; `given`: its `key=value`. ValueError, with the form that was expected, for a command
    of another form."""
    # -1 is the protocol's “none yet”
    pid, epoch = given.get("pid", -1), given.get("epoch", -1)
    # the request's version; clients since Kafka 4.0 send EndTxn 5 and Produce 12
    version = given.get("v")
    match verb, *plain:
        case ("InitProducerId",):
            return "", InitProducerId(txn_id, given.get("timeout_ms", 60_000), pid, epoch)
        case "AddPartitionsToTxn", partition if partition in partitions:
            return "", AddPartitionsToTxn(txn_id, pid, epoch, (partition,))
        case "EndTxn", "commit" | "abort" as end:
            return "", EndTxn(txn_id, pid, epoch, end == "commit", version in (None, 5))
        case "WriteTxnMarkers", partition, ("commit" | "abort") as end if partition in partitions:
            coordinator_epoch = given.get("coordinator", 0)
            # as an administrator's: without a transactional id, and in the version before 2
            return partition, WriteTxnMarkers("", pid, epoch, end == "commit", coordinator_epoch, 0)
        case "Produce", partition, value if partition in partitions:
            first = given.get("seq", 0)
            batch = Batch((value,), 1, -1, pid, epoch, first, transactional=True)
            return partition, Produce(batch, txn_id, 12 if version is None else version)
    known = ", ".join(partitions)
    raise ValueError(f"expected `{ADVICE[verb]}`, with a partition of: {known}")


# ---- slots for rules ------------------------------------------------------------------

NO_NEEDLESS_WAIT = Words("a decided record before any undecided one does not wait")
Rule = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class LimitedPartition(Partition):
    """`rule` says how far read_committed may read."""

    rule: Rule = field(kw_only=True)

    @property
    def read_limit(self) -> int:
        firsts = sorted(first for first, _ in (*self.open, *self.unreplicated))
        limit: int = self.rule(tuple(firsts), self.hw)
        return limit


@dataclass(frozen=True, slots=True)
class AcceptingPartition(Partition):
    """`rule` says what becomes of a batch that has a producer id."""

    rule: Rule = field(kw_only=True)

    def _judge(self, batch: Batch) -> str:
        entry: ProducerEntry | None = self.producers.get(batch.pid)
        seen = tuple((w.first_seq, w.last_seq) for w in entry.window) if entry else ()
        known = entry.epoch if entry else -1
        verdict: str = self.rule(seen, known, (batch.epoch, batch.first_seq, batch.last_seq))
        return verdict

    def find_duplicate(self, batch: Batch) -> Written | None:
        if batch.pid < 0:
            return Partition.find_duplicate(self, batch)
        if self._judge(batch) != "duplicate":
            return None
        entry: ProducerEntry | None = self.producers.get(batch.pid)
        # Called a duplicate of what is not remembered: its offset is unknown.
        unknown = Written(batch.first_seq, batch.last_seq, -1, -1)
        return (entry.find_same(batch) if entry else None) or unknown

    def check_data(self, batch: Batch, guard: int | None, sequences: bool = True) -> Error:
        if batch.pid < 0 or not sequences:
            return Partition.check_data(self, batch, guard, sequences)
        if self._judge(batch) != "refuse":
            return Error.NONE
        old = self.is_stale(batch)
        return Error.INVALID_PRODUCER_EPOCH if old else Error.OUT_OF_ORDER_SEQUENCE_NUMBER


@dataclass(frozen=True, slots=True)
class AdmittingCoordinator(Coordinator):
    """`rule` says who may go on with a transaction. Whom it lets in where nothing can be begun
    meets an IllegalStateException further on, which reaches a client as UNKNOWN_SERVER_ERROR
    (TransactionMetadata#prepareTransitionTo, Kafka 4.3)."""

    rule: Rule = field(kw_only=True)

    def check_add(self, ask: AddPartitionsToTxn) -> Error:
        if not ask.txn_id or ask.verify_only:
            return Coordinator.check_add(self, ask)
        return self.check_owner(ask)

    def check_owner(self, ask: AddPartitionsToTxn | EndTxn) -> Error:
        entry: Entry | None = self.entries.get(ask.txn_id)
        known = (entry.pid, entry.epoch) if entry is not None else None
        state = str(entry.state) if entry is not None else ""
        busy = self.busy(ask.txn_id)
        answer = self.rule(known, state, busy, (ask.pid, ask.epoch))
        if answer == "ok":
            return Error.UNKNOWN_SERVER_ERROR if entry is None or busy else Error.NONE
        return Error[answer]


PARTITIONS = {"lso": LimitedPartition, "accept": AcceptingPartition}


def _recover_leader(
    kind: type[Partition], rule: Rule, config: KafkaConfig, name: str, disk: Disk, at_ms: int
) -> tuple[Leader, Effects]:
    leader, effects = Leader.recover(config, name, disk, at_ms)
    return replace(leader, part=fill(kind, leader.part, rule=rule)), effects


def list_ruled(kafka: KafkaSystem) -> dict[str, Recover]:
    """The roles that carry the learner's rules."""
    ruled: dict[str, Recover] = {}
    for decision, rule in kafka.rules:
        if decision == "admit":
            ruled[kafka.config.coordinator] = partial(
                recover_as, AdmittingCoordinator, Coordinator.recover, {"rule": rule}, kafka.config
            )
        if kind := PARTITIONS.get(decision):
            leader = partial(_recover_leader, kind, rule, kafka.config)
            ruled |= {name: partial(leader, name) for name in kafka.cluster.partitions}
    return ruled


@dataclass(frozen=True)
class RuledSystem(KafkaSystem):
    """`system kafka` with the rule that `rules` holds."""

    def nodes(self) -> tuple[NodeSpec, ...]:
        return put_roles(super().nodes(), list_ruled(self))

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        if "lso" not in dict(self.rules):
            return super()._properties
        seen = partial(reads, self.cluster)
        wait = Property("no needless wait", NO_NEEDLESS_WAIT(), self._waits_not, "always", seen)
        return (wait, *super()._properties)

    def _waits_not(self, world: World) -> bool:
        parts = read_world(self.cluster, world).parts
        return all(parts[p].read_limit >= parts[p].lso for p in self.cluster.partitions)


def put_rule(line: str, decision: str, rule: Rule) -> KafkaSystem:
    """The system of a line with a learner's rule for this decision."""
    kafka = system(line)
    assert isinstance(kafka, KafkaSystem)
    if type(kafka) is KafkaSystem:
        kafka = fill(RuledSystem, kafka)
    return replace(kafka, rules=((decision, rule),))


# ---- Kafka, and a client that sends a transaction coordinator whatever its line says --
#
#     system asking producers=app:order-service,hand:raw
#     run app: init, begin, send orders-0 a
#     run hand: InitProducerId, EndTxn commit pid=0 epoch=0 v=4
#
# Under a producer "raw" one request is sent as it is written and its answer noted; nothing is
# asked again. The transactional id is the first producer's, or `id=…`. With a learner's rule
# of lab 06 (`admit`) the coordinator is watched: the first answer that does harm is a light.

RAW = "raw"
BY_HAND = Words("requests by hand")
SENTENCES = {
    "no stranger": Words("only the holder of the latest producer id and epoch goes on"),
    "spared": Words("the holder is never refused for good"),
    "goes on": Words("the holder is let in when nothing is in flight"),
    "one at a time": Words("nothing is begun while a record is being written"),
    "told": Words("a stranger is not told to ask again"),
    "named": Words("a refusal gives its true reason"),
}


@dataclass(frozen=True, slots=True)
class WatchedCoordinator(AdmittingCoordinator):
    """`breach`: the sentence that its first harmful answer breaks; "" for none yet."""

    breach: str = ""

    def step(self, event: Event, disk: Disk) -> tuple[WatchedCoordinator, Effects]:
        new, effects = Coordinator.step(self, event, disk)
        assert isinstance(new, WatchedCoordinator)
        return replace(new, breach=self.breach or find_breach(self, event, effects)), effects


def find_breach(tc: Coordinator, event: Event, effects: Effects) -> str:
    """The name of the sentence in `SENTENCES` that the coordinator's answer violates, or "". Judged
    are AddPartitionsToTxn and the EndTxn of a v1 client. `tc` is the coordinator before the
    request: does its entry of the transactional id have the sender's pid and epoch, and is a record
    of it being written (`busy`)?"""
    match event:
        case Request(body=AddPartitionsToTxn(verify_only=False, implicit=False) as ask):
            pass
        case Request(body=EndTxn(v2=False) as ask):
            pass
        case _:
            return ""
    entry = tc.entries.get(ask.txn_id)
    # no answer yet: the request was accepted, and its record is being written
    error = next((e.body.error for e in effects if isinstance(e, Reply)), Error.NONE)
    # After the check of pid and epoch it may still be refused: by its state, or an error inside.
    accepted = error in (Error.NONE, Error.INVALID_TXN_STATE, Error.UNKNOWN_SERVER_ERROR)
    wait = error is Error.CONCURRENT_TRANSACTIONS
    busy = tc.busy(ask.txn_id)
    if entry is not None and (entry.pid, entry.epoch) == (ask.pid, ask.epoch):
        # the right sender: it must wait just while a record is being written
        if accepted or wait:
            return "" if busy is wait else "goes on" if wait else "one at a time"
        return "spared"
    # a stranger: it has another pid or epoch, or the transactional id has no entry
    if accepted:
        return "no stranger"
    if wait:
        return "" if busy else "told"
    same_pid = entry is not None and entry.pid == ask.pid
    expected = Error.PRODUCER_FENCED if same_pid else Error.INVALID_PRODUCER_ID_MAPPING
    return "" if error is expected else "named"


@dataclass(frozen=True)
class AskingSystem(KafkaSystem):
    """Kafka with clients by hand; `rules` ("admit", …) puts its coordinator under watch."""

    name = "asking"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._raw and self.replicas > 1:  # it would not find the leader
            raise BadValue(
                "replicas={}: expected 1; for several take `system kafka`", self.replicas
            )

    @cached_property
    def _raw(self) -> tuple[str, ...]:
        return tuple(node for node, kind in self.producers if kind == RAW)

    @cached_property
    def _watches(self) -> bool:
        return "admit" in dict(self.rules)

    @cached_property
    def cluster(self) -> Cluster:
        """Without the clients by hand: no promise is about them."""
        seen = super().cluster
        return replace(seen, producers=tuple(p for p in seen.producers if p[0] not in self._raw))

    def nodes(self) -> tuple[NodeSpec, ...]:
        roles: dict[str, Recover] = dict.fromkeys(self._raw, hand)
        if self._watches:
            more = {"rule": dict(self.rules)["admit"]}
            roles[self.config.coordinator] = partial(
                recover_as, WatchedCoordinator, Coordinator.recover, more, self.config
            )
        return put_roles(super().nodes(), roles)

    def call(self, words: tuple[str, ...]) -> Any:
        whose = (*self.cluster.ids, "order-service")[0]
        request = parse_request(words, whose, self.config.coordinator, self.cluster.partitions)
        return super().call(words) if request is None else request

    def snapshot(self, world: World) -> Snapshot:
        seen = super().snapshot(world)
        mine = tuple(Lane(n, Text(n), BY_HAND(), world.nodes[n].up) for n in self._raw)
        return replace(seen, lanes=(*mine, *seen.lanes))

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        kept = super()._properties
        if not self._watches:
            return kept
        return (
            *(
                Property(name, words(), partial(self._unbroken, name), "always", self._reads)
                for name, words in SENTENCES.items()
            ),
            *kept,
        )

    def _unbroken(self, name: str, world: World) -> bool:
        tc = world.role(self.config.coordinator)
        return not isinstance(tc, WatchedCoordinator) or tc.breach != name

    def _reads(self, name: str, node: NodeState) -> Hashable:
        return node.roles[0].breach if name == self.config.coordinator and node.up else None


# ---- Kafka with a coordinator whose EndTxn is in pieces, and what must be true in any order
#
# end_txn partitions=2 order.end_txn=prepare,reply,markers,wait,complete 'app=init; …'

KEPT = Words("a commit that was answered ok is never aborted")
SETTLED = Words("a marker that is missing is pending in a coordinator")
TOLD = Words("the client gets its answer")


@dataclass(frozen=True)
class EndTxnSystem(KafkaSystem):
    """`order`: of the pieces of EndTxn; Kafka's own where none is given."""

    order: Order = ((STEP, PIECES),)

    name = "end_txn"
    orderable: ClassVar = {STEP: PIECES}
    most_replicas = 1

    def nodes(self) -> tuple[NodeSpec, ...]:
        whole = Coordinator.recover
        mine = partial(recover_as, PiecewiseCoordinator, whole, {}, self.config)
        return put_roles(super().nodes(), {self.config.coordinator: mine})

    def properties(self) -> tuple[Property, ...]:
        return (*super().properties(), *self._ends)

    @cached_property
    def _ends(self) -> tuple[Property, ...]:
        return (
            Property("kept", KEPT(), self._kept, "always", self._reads),
            Property("settled", SETTLED(), self._settled, "always", self._reads),
            Property("told", TOLD(), self._committed, "sometimes", self._reads),
        )

    def _committed(self, world: World) -> bool:
        """Whether some application's commit has returned ok."""
        apps = [world.nodes[name].app for name, _ in self.producers]
        results = [result for app in apps if app is not None for result in app.results]
        return any(isinstance(result.call, Commit) and result.ok for result in results)

    def _kept(self, world: World) -> bool:
        if not self._committed(world):
            return True
        txns = read_world(self.cluster, world).list_txns()
        return all(txn.outcome != "ABORT" for txn in txns)

    def _settled(self, world: World) -> bool:
        """A coordinator that wrote Complete and has forgotten the rest sends no further answer."""
        tc = world.role(self.config.coordinator)
        if tc is None:
            return True  # after its restart it may still find out
        return not any(
            txn is not None
            and txn.state in COMPLETED
            and not outcome
            and not tc.owes(txn.txn_id, partition)
            for partition, rows in read_world(self.cluster, world).rows.items()
            for _, txn, outcome in rows
        )

    def _reads(self, name: str, node: NodeState) -> Hashable:
        results = node.app.results if node.app is not None else ()
        memory = node.roles[0].plans if name == self.config.coordinator and node.up else None
        return results, memory, reads(self.cluster, name, node)
