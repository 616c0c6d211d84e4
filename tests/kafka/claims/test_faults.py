"""Faults put into the roles on purpose: each is found, by the claim that it breaks.

The unchanged system is searched with the same bounds and keeps every claim, so what is
found is the fault and nothing else.
"""

from dataclasses import replace
from pathlib import Path

from mqlab.explore import Budget
from mqlab.kafka import coordinator
from mqlab.kafka.claims import CLAIMS, LIT
from mqlab.kafka.clients.calls import Commit
from mqlab.kafka.clients.producer import Producer
from mqlab.kafka.coordinator import Coordinator
from mqlab.kafka.leader import Leader
from mqlab.kafka.log.role import Partition
from mqlab.kafka.messages import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    WriteTxnMarkersResponse,
)
from mqlab.kafka.states import PREPARED
from mqlab.kernel import Call, Map, Reply, Response, Send
from mqlab.registry.cases import kafka as cases
from mqlab.registry.cases.kafka import NEXT, SEARCHES, SHORT, TWIN
from tests.models.faults import changed, make_tests, read_edits


class AskedLater(Leader):
    """A write and a send are swapped: the batch is appended, then the coordinator is asked."""

    def after(self, leader, effects, event, disk):
        asked = [e for e in effects if type(getattr(e, "body", None)) is AddPartitionsToTxn]
        if not asked:
            return leader, effects
        yes = Response(asked[0].to, asked[0].corr, AddPartitionsToTxnResponse())
        leader, written = Leader.step(leader, yes, disk)
        return leader, (*written, *effects)


class EarlyMarkers(Coordinator):
    """Markers leave in the step that appends PrepareCommit, before it is durable."""

    def write(self, new, disk, at_ms, caller=None, answer=None):
        tc, effects = Coordinator.write(self, new, disk, at_ms, caller, answer)
        if new.state not in PREPARED:
            return tc, effects
        decided = replace(tc, entries=tc.entries.set(new.txn_id, new))
        _, early = coordinator.send_markers(decided, new.txn_id)
        return tc, (*early, *effects)


class AnswersFirst(Coordinator):
    """The client has its answer in the step that appends the record, before the record."""

    def write(self, new, disk, at_ms, caller=None, answer=None, ahead=0):
        tc, effects = Coordinator.write(self, new, disk, at_ms, None, None, ahead)
        return tc, (*((Reply(caller, answer),) if caller else ()), *effects)


class ForgottenFence(Coordinator):
    """A newcomer gets its id, but the epoch of its older self goes on being good."""

    def write(self, new, disk, at_ms, caller=None, answer=None):
        known = self.entries.get(new.txn_id)
        if known is not None and new.state == "Empty":
            new = replace(new, epoch=known.epoch)
            answer = replace(answer, epoch=known.epoch)
        return Coordinator.write(self, new, disk, at_ms, caller, answer)


class OneIsEnough(Coordinator):
    """The first partition that has its marker is taken for the last."""

    def step(self, event, disk):
        if not isinstance(getattr(event, "body", None), WriteTxnMarkersResponse):
            return Coordinator.step(self, event, disk)
        left = Map((txn_id, (event.peer,)) for txn_id, owed in self.owed.items() if owed)
        return Coordinator.step(replace(self, owed=left), event, disk)


class ForgetfulCoordinator(Coordinator):
    """After a restart it does not send the markers that it owes."""

    @staticmethod
    def started(role, effects):
        return role, tuple(e for e in effects if not isinstance(e, Send))


class PastTheEdge(Partition):
    """The LSO is too high by one."""

    @property
    def lso(self):
        return min(Partition.lso.fget(self) + 1, self.hw)


class OffByOne(Leader):
    @staticmethod
    def started(role, effects):
        return replace(role, part=changed(role.part, PastTheEdge)), effects


class NoHighWatermark(Partition):
    """The LSO does not ask what is replicated."""

    @property
    def lso(self):
        return self.hw + 1 if self.first_unstable is None else Partition.lso.fget(self)


class Unreplicated(Leader):
    def check_invariants(self, disk):
        """Not asked: the claim has to find the fault by itself."""

    @staticmethod
    def started(role, effects):
        return replace(role, part=changed(role.part, NoHighWatermark)), effects


class Amnesia(Leader):
    """After a restart it knows no producer any more, so that a duplicate looks new."""

    @staticmethod
    def started(role, effects):
        part = role.part
        blank = (replace(entry, window=()) for entry in part.producers.values())
        producers = type(part.producers)(zip(part.producers, blank, strict=True))
        return replace(role, part=replace(part, producers=producers)), effects


class HastyCommit(Producer):
    """It asks for the commit without waiting until its batches are answered."""

    def step(self, event, disk):
        hasty = isinstance(event, Call) and isinstance(event.body, Commit)
        return Producer.step(replace(self, flights=()) if hasty else self, event, disk)


ONE = f"kafka partitions=1 {SHORT}"
PLAIN = "kafka partitions=1 producers=app:- 'app=send orders-0 a; flush'"
TWO = "kafka 'app=init; begin; send orders-0 a; flush; send orders-1 b; commit'"
TWINS = f"kafka partitions=1 {TWIN} {SHORT} {NEXT}"
LINES = vars(cases) | {case.name: case.line for case in SEARCHES.cases}
STOP = Budget(kills=1, killable=("coordinator",), timers=1)
FAULTS = [
    (AskedLater, ONE, STOP, "ends"),
    (EarlyMarkers, ONE, STOP, "decided first"),
    (AnswersFirst, ONE, STOP, "no lost write"),
    (ForgottenFence, TWINS, Budget(timers=1), "as asked"),
    (OneIsEnough, TWO, Budget(), "closed everywhere"),
    (ForgetfulCoordinator, ONE, STOP, "ends"),
    (OffByOne, ONE, Budget(), "LSO waits"),
    (Unreplicated, PLAIN, Budget(), "replicated read"),
    (Amnesia, ONE, Budget(kills=1, killable=("orders-0",)), "once"),
    (HastyCommit, ONE, Budget(), "no lost write"),
    *read_edits(Path(__file__).with_name("faults.txt"), LINES),
]


(
    test_a_deliberate_fault_is_found,
    test_without_the_fault_nothing_is_found,
    test_every_claim_is_broken_by_a_fault_or_a_case,
) = make_tests(FAULTS, (*LIT, *CLAIMS.values()), SEARCHES.cases)
