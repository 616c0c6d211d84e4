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

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from ....kafka import KafkaSystem
from ....kafka.claims.invariants import reads
from ....kafka.config import KafkaConfig
from ....kafka.coordinator import Coordinator
from ....kafka.coordinator.entry import Entry
from ....kafka.errors import Error
from ....kafka.leader import Leader
from ....kafka.log import Batch
from ....kafka.log.partition import Partition, ProducerEntry, Written
from ....kafka.messages import AddPartitionsToTxn, EndTxn
from ....kafka.picture.view import read_world
from ....kernel import Disk, Effects, NodeSpec, Property, Words, World
from ....kernel.world import Recover
from ....registry import system
from ...roles import become, put_roles, recover_as

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
