"""Kafka in which one decision of a role is a learner's rule, by the name of its slot.

    lso      (first offsets of undecided transactions, high watermark) → the offset that
             read_committed may not reach
    accept   (ranges of the last five batches, oldest first; epoch known here, -1: none; batch as
             (epoch, first, last)) → "append", "duplicate" or "refuse"
    admit    ((pid, epoch) known to the coordinator or None; state; whether a transition is under
             way; (pid, epoch) of the request) → "ok" or an error; for AddPartitionsToTxn,
             AddOffsetsToTxn and a legacy EndTxn

All else is the role's own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from ....kafka import KafkaSystem
from ....kafka.claims import reads
from ....kafka.clients.calls import Commit
from ....kafka.config import KafkaConfig
from ....kafka.coordinator import Coordinator
from ....kafka.coordinator.entry import Entry
from ....kafka.errors import Error
from ....kafka.leader import Leader
from ....kafka.log import Batch
from ....kafka.log.partition import Partition, ProducerEntry, Written
from ....kafka.messages import AddPartitionsToTxn, EndTxn
from ....kafka.picture.view import Cluster, read_world
from ....kafka.states import COMPLETED
from ....kernel import (
    Disk,
    Effects,
    Event,
    Lane,
    NodeSpec,
    Property,
    Reply,
    Request,
    Snapshot,
    Text,
    Words,
    World,
)
from ....kernel.options import Order
from ....kernel.world import NodeState, Recover
from ....registry import system
from ...roles import become, put_roles, recover_as
from .coordinator_pieces import PIECES, STEP, PiecewiseCoordinator
from .raw_requests import hand, parse_request

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
        # Called a duplicate of what is not remembered: nobody can say where it lies.
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
    return replace(leader, part=become(leader.part, kind, rule=rule)), effects


def list_ruled(kafka: KafkaSystem) -> dict[str, Recover]:
    """The roles in which the learner's rules stand."""
    ruled: dict[str, Recover] = {}
    for slot, rule in kafka.rules:
        if slot == "admit":
            ruled[kafka.config.coordinator] = partial(
                recover_as, AdmittingCoordinator, Coordinator.recover, {"rule": rule}, kafka.config
            )
        if kind := PARTITIONS.get(slot):
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


def put_rule(line: str, slot: str, rule: Rule) -> KafkaSystem:
    """The system of a line with a learner's rule in this slot."""
    kafka = system(line)
    assert isinstance(kafka, KafkaSystem)
    if type(kafka) is KafkaSystem:
        kafka = become(kafka, RuledSystem)
    return replace(kafka, rules=((slot, rule),))


# ---- Kafka, and a client that sends a transaction coordinator whatever it is told to -
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
    "goes on": Words("the holder is let in when nothing is under way"),
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
        return replace(new, breach=self.breach or breach(self, event, effects)), effects


def breach(tc: Coordinator, event: Event, effects: Effects) -> str:
    """Which sentence the answer to a request breaks, judged by what was known before it."""
    match event:
        case Request(body=AddPartitionsToTxn(verify_only=False, implicit=False) as ask):
            pass
        case Request(body=EndTxn(v2=False) as ask):
            pass
        case _:
            return ""
    entry = tc.entries.get(ask.txn_id)
    error = next((e.body.error for e in effects if isinstance(e, Reply)), Error.NONE)
    # Let in, it may still be refused: by the table of states, or because nothing can begin.
    let_in = error in (Error.NONE, Error.INVALID_TXN_STATE, Error.UNKNOWN_SERVER_ERROR)
    wait = error is Error.CONCURRENT_TRANSACTIONS
    busy = tc.busy(ask.txn_id)
    if entry is not None and (entry.pid, entry.epoch) == (ask.pid, ask.epoch):
        if let_in or wait:
            return "" if busy is wait else "goes on" if wait else "one at a time"
        return "spared"
    if let_in:
        return "no stranger"
    if wait:
        return "" if busy else "told"
    same = entry is not None and entry.pid == ask.pid
    right = Error.PRODUCER_FENCED if same else Error.INVALID_PRODUCER_ID_MAPPING
    return "" if error is right else "named"


@dataclass(frozen=True)
class AskingSystem(KafkaSystem):
    """Kafka with clients by hand; `rules` ("admit", …) puts its coordinator under watch."""

    name = "asking"

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
SETTLED = Words("a marker that is missing is owed by somebody who knows it")
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
        """A coordinator that wrote Complete and has forgotten the rest tells nobody more."""
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
