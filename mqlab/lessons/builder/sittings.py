"""What a coordinator must survive, sitting by sitting: Kafka with one role replaced.

Leaders, clients and their retries are the engine's, and so are the claims. Until sitting 3 the
leaders demand no new epoch for each end (`off=epoch_bump`); from then on every safeguard is on, but
where another coordinator begins to lead: as before transaction.version 2, its epoch alone tells a
late marker of the older one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any

from ...explore import Budget
from ...kafka import KafkaSystem
from ...kafka.claims import reads
from ...kafka.clients.calls import Begin, Commit, SendRecord
from ...kafka.log import COMMIT
from ...kafka.messages import READ_COMMITTED
from ...kafka.picture.view import read_world
from ...kafka.replication import Replica, ReplicaConfig
from ...kafka.states import PREPARED
from ...kernel import NodeSpec, Property, Text, Words, World, tr
from ...kernel.options import FREE
from ...kernel.role import FAILED, Outcome
from ...kernel.world import NodeState
from ...registry import system
from ..roles import become, put_roles
from .trial import Trial

RUNS = Words("the coordinator's code runs on")
TOLD = Words("each commit can be answered with ok")
PROMISED = Words("a commit that was answered with ok is decided")
REFUSED = Words("a commit that was refused is never read")
DELIVERED = Words("every decision can still reach its partitions")
TC = "coordinator"
COORDINATOR = (TC,)
ONE = "'app=init; begin; send orders-0 a; commit'"
TWO = "'app=init; begin; send orders-0 a; flush; send orders-1 b; commit'"
BOTH = "'app=init; begin; send orders-0 a; send orders-1 b; commit'"
ABORT = "'app=init; begin; send orders-0 a; abort; begin; send orders-0 b; commit'"
AGAIN = "'app=init; begin; send orders-0 a; commit; begin; send orders-0 b; abort'"
THEN = "'app=init; begin; send orders-0 a; commit; begin; send orders-0 b; commit'"
OPEN = "'app=init; begin; send orders-0 a; commit; begin; send orders-0 b'"
MOVE = "'controller=elect coordinator 2'"
TWIN = "producers=app:order-service,twin:order-service 'twin=init; begin; send orders-0 c; commit'"


@dataclass(frozen=True)
class BuildSystem(KafkaSystem):
    """Kafka whose coordinator starts with the function in `rules`. `dropped`: claims that are not
    asked yet. A world in which the code has broken has the light `runs` red."""

    dropped: Annotated[tuple[str, ...], FREE] = ()

    def nodes(self) -> tuple[NodeSpec, ...]:
        start = partial(dict(self.rules)[TC], self.config)
        if self.replicas == 1:
            return put_roles(super().nodes(), {TC: start})
        return tuple(_lead_by(start, spec) for spec in super().nodes())

    def label(self) -> Text:
        return tr("Kafka with your coordinator")

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        mine = (
            Property("runs", RUNS(), self._runs, "always", self._reads),
            Property("told", TOLD(), self._told, "sometimes", self._reads),
            Property("promised", PROMISED(), self._promised, "always", self._reads),
            Property("refused", REFUSED(), self._refused, "always", self._reads),
            Property("delivered", DELIVERED(), self._delivered, "can_always", self._reads),
        )
        every = (*mine, *(self._narrow(one) for one in super()._properties))
        return tuple(one for one in every if one.name not in self.dropped)

    def find_broken(self, world: World) -> str:
        """Why the code does no more, on any of its nodes; "" while it does."""
        broken = (_find_broken(world.nodes[copy]) for copy in self.cluster.copies(TC))
        return next(filter(None, broken), "")

    def _runs(self, world: World) -> bool:
        return not self.find_broken(world)

    def _told(self, world: World) -> bool:
        calls = (call for _, made in self.programs if isinstance(made, tuple) for call in made)
        commits = sum(isinstance(call, Commit) for call in calls)
        return sum(commit.ok for commit, _ in self._commits(world)) == commits

    def _commits(self, world: World) -> Iterator[tuple[Outcome, tuple[str, ...]]]:
        """Each commit that has returned to an application, and the values that it is about."""
        for name, _ in self.producers:
            app = world.nodes[name].app
            sent: tuple[str, ...] = ()
            for result in app.results if app is not None else ():
                match result.call:
                    case Begin():
                        sent = ()
                    case SendRecord(value=value):
                        sent = (*sent, value)
                    case Commit():
                        yield result, sent

    def _promised(self, world: World) -> bool:
        acknowledged = sum(commit.ok for commit, _ in self._commits(world))
        txns = read_world(self.cluster, world).list_txns()
        return acknowledged <= sum(txn.outcome == COMMIT for txn in txns)

    def _refused(self, world: World) -> bool:
        """As `failed` is told apart from `unknown` (`kernel/outcome.py`)."""
        refused = {
            value
            for commit, sent in self._commits(world)
            if commit.status == FAILED
            for value in sent
        }
        seen = read_world(self.cluster, world)
        return not any(
            value in refused
            for partition in self.cluster.partitions
            for batch, _ in seen.list_readable(partition, READ_COMMITTED)
            for value in batch.records
        )

    def _delivered(self, world: World) -> bool:
        up = all(node.up for node in world.nodes.values())
        seen = read_world(self.cluster, world)
        return up and not any(txn.state in PREPARED for txn in seen.list_txns())

    def _narrow(self, claim: Property) -> Property:
        """With replicas the engine's claims look at whole nodes, for any of them may lead; these
        at less, so that a search has fewer worlds to judge."""
        if self.replicas == 1:
            return claim
        of_view = getattr(claim.reads, "func", None) is reads
        return replace(claim, reads=self._sees if of_view else self._reads)

    def _sees(self, name: str, node: NodeState) -> Hashable:
        """What a view is made of."""
        if self.replicas == 1:
            return reads(self.cluster, name, node)
        if name in self.cluster.copies(TC):
            return node.disk.kept
        part = getattr(getattr(node.roles[0], "role", None), "part", None) if node.up else None
        known = (part.hw, part.open, part.unreplicated) if part is not None else None
        return node.up, node.disk, known

    def _reads(self, name: str, node: NodeState) -> Hashable:
        called = (node.app.results, node.app.waiting) if node.app is not None else ()
        return node.up, called, _find_broken(node), self._sees(name, node)


def _find_broken(node: NodeState) -> str:
    role = node.roles[0] if node.up else None
    broken: str = getattr(role.role if isinstance(role, Replica) else role, "broken", "")
    return broken


def _lead_by(start: Callable[..., Any], spec: NodeSpec) -> NodeSpec:
    """The same node; where it holds a copy of the coordinator's log, this leads it."""
    ((name, recover),) = spec.roles
    config = recover.args[0] if isinstance(recover, partial) else None
    if not isinstance(config, ReplicaConfig) or config.partition != TC:
        return spec
    config = replace(config, lead=lambda disk, at_ms, over: start(disk, at_ms, over.epoch))
    return replace(spec, roles=((name, partial(Replica.recover, config)),))


def arrange(trial: Trial, recover: Callable[..., Any]) -> BuildSystem:
    """Kafka as the trial says it, with a coordinator that starts so."""
    kafka = become(system(f"kafka {trial.line}"), BuildSystem, dropped=trial.dropped)
    return replace(kafka, rules=((TC, recover),))


PLAIN = ("ends",)
UNREACHED = ("told", "commits", "read back")
OLD = "off=epoch_bump"
OLDER = "client=legacy"  # librdkafka's requests, on a cluster of today
KILL = Budget(kills=1, killable=COORDINATOR, retries=1)
LAST = Budget(kills=1, killable=COORDINATOR, restartable=())  # who is killed does not come back
SITTINGS: dict[int, tuple[Trial, ...]] = {
    1: (
        Trial("one after the other", f"{OLD} {TWO}", Budget(retries=1), PLAIN),
        Trial("two at once", f"{OLD} {BOTH}", Budget(retries=1), PLAIN),
        Trial("abort, then commit", f"{OLD} partitions=1 {ABORT}", Budget(retries=1), PLAIN),
        Trial("a last answer", f"{OLD} partitions=1 {ONE}", LAST, (*PLAIN, "delivered")),
    ),
    2: (
        Trial("a kill", f"{OLD} partitions=1 {ONE}", KILL, PLAIN),
        Trial("a kill, two partitions", f"{OLD} {TWO}", replace(KILL, retries=0), PLAIN),
    ),
    3: (
        Trial("late messages", f"partitions=1 {AGAIN}", Budget(breaks=1), ("ends",)),
        Trial("a twin", f"partitions=1 {TWIN} {ONE}", Budget(), ("ends",)),
        Trial("another leads", f"{OLD} partitions=1 replicas=2 topic_replicas=1 {OPEN} {MOVE}"),
    ),
    4: (
        Trial("abandoned", "partitions=1 'app=init; begin; send orders-0 a; flush'",
              Budget(timers=1), UNREACHED),
        Trial("abandoned, and killed", "partitions=1 'app=init; begin; send orders-0 a; flush'",
              Budget(kills=1, killable=COORDINATOR, timers=1), UNREACHED),
        Trial("too slow", f"partitions=1 {ONE}", Budget(timers=2)),
        Trial("lost, and too slow", f"partitions=1 {ONE}", Budget(breaks=1, timers=1)),
        Trial("killed, and too slow", f"partitions=1 {ONE}",
              Budget(kills=1, killable=COORDINATOR, timers=1)),
    ),
    5: (
        Trial("an older client", f"{OLDER} partitions=1 {THEN}", Budget(retries=1), PLAIN),
        Trial("an older client, a kill", f"{OLDER} partitions=1 {ONE}", KILL, PLAIN),
    ),
}  # fmt: skip
