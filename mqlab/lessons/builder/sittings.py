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
from ...kernel.options import UNWRITTEN, fill
from ...kernel.role import FAILED, Outcome
from ...kernel.world import NodeState
from ...registry import system
from ..roles import put_roles
from .api import entries_of
from .trial import Built, Timed, Trial, find_broken

RUNS = Words("the coordinator's code runs on")
TOLD = Words("each commit can be answered with ok")
PROMISED = Words("a commit that was answered with ok is decided")
REFUSED = Words("a commit that was refused is never read")
SERVED = Words("no call of an application is refused")
RETURNS = Words("each call of an application can still return")
ENDED = Words("no transaction stays open")
KEPT = Words("readers get what was committed with ok, and nothing else")
DELIVERED = Words("every decision can still reach its partitions")
TOLD_APART = Words("no two transactional ids have one producer id")
TC = "coordinator"
COORDINATOR = (TC,)
ONE = "'app=init; begin; send orders-0 a; commit'"
TWO = "'app=init; begin; send orders-0 a; flush; send orders-1 b; commit'"
BOTH = "'app=init; begin; send orders-0 a; send orders-1 b; commit'"
ABORT = "'app=init; begin; send orders-0 a; abort; begin; send orders-0 b; commit'"
AGAIN = "'app=init; begin; send orders-0 a; commit; begin; send orders-0 b; abort'"
THEN = "'app=init; begin; send orders-0 a; commit; begin; send orders-0 b; commit'"
OPEN = "'app=init; begin; send orders-0 a; commit; begin; send orders-0 b'"
THREE = "'app=init; begin; send orders-0 a; send orders-1 b; send orders-2 c; commit'"
NEXT = "'app=init; begin; send orders-0 a; send orders-1 b; commit; begin; send orders-1 c; commit'"
OTHER = "'app=init; begin; send orders-0 a; commit; begin; send orders-1 b; commit'"
ENDS = "'app=init; begin; send orders-0 a; abort'"
TORN = "'app=init; begin; send orders-0 a; send orders-1 b; commit; begin; send orders-0 c; abort'"
OLDS = "'app=init; begin; send orders-0 a; send orders-1 b; abort; begin; send orders-1 c; commit'"
LEFT = "'app=init; begin; send orders-0 a; flush; send orders-1 b; flush'"
#: each leaves a transaction open: its first, one after a commit, one after an abort
GONE = (
    "producers=app:order-service,shop:cart,till:billing "
    "'app=init; begin; send orders-0 a; send orders-1 b; flush' "
    "'shop=init; begin; send orders-0 c; commit; begin; send orders-1 d; flush' "
    "'till=init; begin; send orders-1 e; abort; begin; send orders-0 f; flush'"
)
MOVE = "'controller=elect coordinator 2'"
TWIN = "producers=app:order-service,twin:order-service 'twin=init; begin; send orders-0 c; commit'"
HEIR = "producers=app:order-service,twin:order-service twin=init"
FLUSHED = "'app=init; begin; send orders-0 a; flush; commit'"
#: the older producer ends too: not even the epoch of its retried abort may be the newcomer's
HEIR_OF_TWO = f"{HEIR} {ABORT}"


@dataclass(frozen=True)
class BuildSystem(Built, KafkaSystem):
    """Kafka whose coordinator starts with the function in `rules`. `dropped`: claims that are not
    asked yet. `timed`: it runs in simulated time, to an end at which no client may wait. A world in
    which the code has broken has the light `runs` red."""

    dropped: Annotated[tuple[str, ...], UNWRITTEN] = ()
    timed: Annotated[bool, UNWRITTEN] = False

    def nodes(self) -> tuple[NodeSpec, ...]:
        start = partial(dict(self.rules)[TC], self.config)
        if self.replicas == 1:
            return put_roles(super().nodes(), {TC: start})
        return tuple(_lead_by(start, spec) for spec in super().nodes())

    def label(self) -> Text:
        return tr("Kafka with your coordinator")

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        """The claims that a learner's coordinator is judged by: those of its system, and its own:
        it runs, and its answers and markers are right. Those in `dropped` are left out. A Property
        is a name, a sentence, a test of a state, when that must be true ("always", "sometimes":
        in some state, "can_always": it stays reachable), and what of each node the test reads, so
        that a search repeats it only where that has changed."""
        own: tuple[Property, ...] = (
            Property("runs", RUNS(), self._runs, "always", self._reads),
            Property("told", TOLD(), self._told, "sometimes", self._reads),
            Property("promised", PROMISED(), self._promised, "always", self._reads),
            Property("refused", REFUSED(), self._refused, "always", self._reads),
            Property("served", SERVED(), self._served, "always", self._reads),
            Property("told apart", TOLD_APART(), self._told_apart, "always", self._reads),
            Property("delivered", DELIVERED(), self._delivered, "can_always", self._reads),
            Property("returns", RETURNS(), self._returns, "can_always", self._reads_waits),
        )
        # Only where time passes does a coordinator end what its client has left. "can_always": on
        # the way something may be open, or not yet read.
        if self.timed:
            ended = Property("ended", ENDED(), self._ended, "can_always", self._reads)
            kept = Property("kept", KEPT(), self._kept, "can_always", self._reads)
            own = (*own, ended, kept)
        # `_narrow`: the same claims, of which a search compares fewer fields of each node
        engines = (self._narrow(one) for one in super()._properties)
        # a timer has any name that the learner gives it
        named = (replace(one, holds=self._ends) if one.name == "ends" else one for one in engines)
        return tuple(one for one in (*own, *named) if one.name not in self.dropped)

    def find_broken(self, world: World) -> Text | None:
        broken = (find_broken(world.nodes[copy]) for copy in self.cluster.copies(TC))
        return next(filter(None, broken), None)

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
        """As `failed` is distinguished from `unknown` (`Outcome` in `kernel/role.py`)."""
        refused = {
            value
            for commit, sent in self._commits(world)
            if commit.status == FAILED
            for value in sent
        }
        return not any(value in refused for value in self._list_read(world))

    def _list_read(self, world: World) -> Iterator[str]:
        """What readers with read_committed get."""
        seen = read_world(self.cluster, world)
        for partition in self.cluster.partitions:
            for batch, _ in seen.list_readable(partition, READ_COMMITTED):
                yield from batch.records

    def _delivered(self, world: World) -> bool:
        up = all(node.up for node in world.nodes.values())
        seen = read_world(self.cluster, world)
        return up and not any(txn.state in PREPARED for txn in seen.list_txns())

    def _served(self, world: World) -> bool:
        apps = (world.nodes[name].app for name, _ in self.producers)
        return not any(one.status == FAILED for app in apps if app for one in app.results)

    def _told_apart(self, world: World) -> bool:
        entries = entries_of(world.disk(self.cluster.leader(world, TC))).values()
        return len({entry.pid for entry in entries}) == len(entries)

    def _returns(self, world: World) -> bool:
        """A search bounds how often timers fire, so while a client or a leader has set one that
        counts as one that asks again; in simulated time it has asked."""
        nodes, copies = world.nodes, self.cluster.copies(TC)
        if not all(node.up for node in nodes.values()):
            return False
        waits = any(node.app is not None and node.app.waiting for node in nodes.values())
        asks = any(node.timers for name, node in nodes.items() if name not in copies)
        return not waits or (asks and not self.timed)

    def _ends(self, world: World) -> bool:
        """As the engine's claim has it: nothing is open, or a timer is set that may end it."""
        up = all(node.up for node in world.nodes.values())
        return up and (bool(world.nodes[TC].timers) or self._ended(world))

    def _ended(self, world: World) -> bool:
        parts = read_world(self.cluster, world).parts
        return not any(part.open for part in parts.values())

    def _kept(self, world: World) -> bool:
        told, read = self.compare_read(world)
        return told == read

    def compare_read(self, world: World) -> tuple[list[str], list[str]]:
        """The values that were reported to applications as committed, and those that readers
        get."""
        told = (value for commit, sent in self._commits(world) if commit.ok for value in sent)
        return sorted(told), sorted(self._list_read(world))

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
        return node.up, called, find_broken(node), self._sees(name, node)

    def _reads_waits(self, name: str, node: NodeState) -> Hashable:
        return node.up, node.app is not None and node.app.waiting, bool(node.timers)


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
    timed = trial.timed is not None
    kafka = fill(BuildSystem, system(f"kafka {trial.line}"), dropped=trial.dropped, timed=timed)
    return replace(kafka, rules=((TC, recover),))


PLAIN = ("ends",)
PERHAPS = ("served",)  # who is fenced, or too slow, is refused
UNREACHED = ("told", "commits", "read back", *PERHAPS)
#: they tell transactions apart by their epochs
EPOCHS = ("as asked", "decided as asked", "closed everywhere", "promised")
UNCOMMITTED = (*PLAIN, "told", "commits", "read back")
ALONE = (*PLAIN, "delivered", "returns")
OLD = "off=epoch_bump"
OLDER = "client=legacy"  # librdkafka's requests, on a cluster of today
GIVES_UP = "delivery_timeout_ms=1000"  # what has not arrived by then may still come
KILL = Budget(kills=1, killable=COORDINATOR, retries=1)
LAST = Budget(kills=1, killable=COORDINATOR, restartable=())  # who is killed does not come back
SLOW = Budget(timers=1)
DIES = Budget(kills=1, killable=COORDINATOR, timers=1)
ONCE = Budget(retries=0)
AGED = "partitions=1 'app=init; begin; send orders-0 a; flush'"
LEADS = "replicas=2 topic_replicas=1"
SHORT = "timeout_ms=30000"
SHOP = "producers=app:order-service,shop:cart"  # the two have one log
IDS = "producers=app:order-service,shop:cart,till:billing"
THREE_IDS = f"partitions=3 {IDS}"
#: without an epoch for each end, what a producer sends next may still fall into what it has ended
EACH = (
    f"{THREE_IDS} 'app=init; begin; send orders-0 a; send orders-1 b; send orders-2 c; commit' "
    "'shop=init; begin; send orders-0 d; send orders-2 e; abort' "
    "'till=init; begin; send orders-2 f; flush; send orders-1 g; commit'"
)
MANY = (
    f"{THREE_IDS} "
    "'app=init; begin; send orders-0 a; send orders-1 b; commit; begin; send orders-1 c; commit; "
    "begin; send orders-0 d; abort; begin; send orders-2 e; commit' "
    "'shop=init; begin; send orders-0 f; abort; begin; send orders-0 g; send orders-2 h; commit; "
    "begin; send orders-0 i; commit' "
    "'till=init; begin; send orders-2 j; send orders-1 k; send orders-0 l; commit; "
    "begin; send orders-1 m; abort'"
)
BUSY = Timed(10_000, seeds=3)
STOPS = Timed(20_000, seeds=4, kills=(9, 60, 111, 163, 214, 266, 319, 371, 430))
#: the first kill comes while two ids are prepared
FEW = Timed(20_000, seeds=3, kills=(64, 133))
#: after a restart too, so that what is sent again carries the epoch of a later one
BREAKS = Timed(20_000, seeds=3, kills=(60, 150), loss=0.1)
#: of two sittings: what is new in the later one may break the earlier one's
MANY_ENDS = Trial("many, each end an epoch", MANY, timed=STOPS)
SITTINGS: dict[int, tuple[Trial, ...]] = {
    1: (
        Trial("one after the other", f"{OLD} {TWO}", Budget(retries=1), PLAIN),
        Trial("two at once", f"{OLD} {BOTH}", Budget(retries=1), PLAIN),
        Trial("three partitions", f"{OLD} partitions=3 {THREE}", ONCE, PLAIN),
        Trial("abort, then commit", f"{OLD} partitions=1 {ABORT}", Budget(retries=1),
              (*PLAIN, *PERHAPS)),
        Trial("another partition next", f"{OLD} {OTHER}", ONCE, PLAIN),
        Trial("two ids", f"{OLD} {SHOP} {BOTH} shop=init", ONCE, PLAIN),
        Trial("three newcomers", f"{OLD} partitions=1 {IDS} app=init shop=init till=init", ONCE,
              UNCOMMITTED),
        Trial("a last answer", f"{OLD} partitions=1 {ONE}", LAST, ALONE),
        Trial("a last answer, two partitions", f"{OLD} {BOTH}", LAST, ALONE),
        Trial("many at once", f"{OLD} {EACH}", timed=BUSY),
    ),
    2: (
        Trial("a crash", f"{OLD} partitions=1 {ONE}", KILL, PLAIN),
        Trial("a crash, an abort", f"{OLD} partitions=1 {ENDS}", KILL, UNCOMMITTED),
        Trial("a crash, two partitions", f"{OLD} {TWO}", replace(KILL, retries=0), PLAIN),
        Trial("two crashes", f"{OLD} partitions=1 {ONE}", replace(KILL, kills=2), PLAIN),
        Trial("a crash, two newcomers", f"{OLD} partitions=1 {SHOP} app=init shop=init",
              replace(KILL, retries=0), UNCOMMITTED),
        Trial("many at once, and crashes", f"{OLD} {EACH}", timed=FEW),
    ),
    3: (
        Trial("late messages", f"partitions=1 {AGAIN}", Budget(breaks=1), (*PLAIN, *PERHAPS)),
        Trial("late messages, two partitions", TORN, Budget(breaks=1), (*PLAIN, *PERHAPS)),
        Trial("a second producer", f"partitions=1 {TWIN} {ONE}", Budget(retries=2),
              (*PLAIN, *PERHAPS)),
        Trial("a second producer, before the commit", f"partitions=1 {HEIR} {FLUSHED}",
              dropped=(*UNCOMMITTED, *PERHAPS), timed=Timed(20_000, 6, 100)),
        Trial("a second producer, before the abort", f"partitions=1 {HEIR_OF_TWO}", ONCE,
              (*PLAIN, *PERHAPS)),
        Trial("a crash, then another end", f"partitions=1 {AGAIN}", KILL, PLAIN),
        Trial("commit, then commit", NEXT, Budget(retries=1), PLAIN),
        Trial("another leads", f"{OLD} partitions=1 {LEADS} {OPEN} {MOVE}"),
        Trial("another leads, two partitions", f"{OLD} {LEADS} {TWO} {MOVE}"),
        Trial("many, and connections break", MANY, timed=BREAKS),
        MANY_ENDS,
    ),
    4: (
        Trial("abandoned", AGED, SLOW, UNREACHED),
        Trial("abandoned, and killed", AGED, DIES, UNREACHED),
        Trial("the second abandoned", f"partitions=1 {OPEN}", DIES, UNREACHED),
        Trial("two partitions, abandoned", f"partitions=2 {LEFT}", SLOW, UNREACHED),
        Trial("too slow", f"partitions=1 {ONE}", Budget(timers=2), PERHAPS),
        Trial("lost, and too slow", f"partitions=1 {ONE}", Budget(breaks=1, timers=1), PERHAPS),
        Trial("killed, and too slow", f"partitions=1 {ONE}", DIES, PERHAPS),
        Trial("slow, but in time", f"{SHORT} {MANY}", timed=Timed(300_000, 2, 7_000)),
        Trial("never again", f"{SHORT} {GONE}", dropped=UNREACHED, timed=Timed(75_000, 2, 9_000)),
        Trial("never again, and killed", f"{SHORT} {GONE}", dropped=UNREACHED,
              timed=Timed(75_000, 2, 9_000, (20_000,))),
        MANY_ENDS,
    ),
    5: (
        Trial("an older client", f"{OLDER} partitions=1 {THEN}", Budget(retries=1), PLAIN),
        Trial("an older client, an abort", f"{OLDER} {OLDS}", Budget(retries=1), PLAIN),
        Trial("an older client, a crash", f"{OLDER} partitions=1 {ONE}", KILL, PLAIN),
        Trial("an older client, a crash, an abort", f"{OLDER} partitions=1 {ENDS}", KILL,
              UNCOMMITTED),
        Trial("an older client, a late message", f"{OLDER} {GIVES_UP} partitions=1 {ENDS}", SLOW,
              UNREACHED),
        Trial("two older clients", f"{OLDER} partitions=1 {TWIN} {ONE}", Budget(),
              (*PLAIN, *PERHAPS)),
        Trial("an older client, abandoned", f"{OLDER} {AGED}", SLOW, UNREACHED),
        Trial("many older ones", f"{OLDER} {MANY}", dropped=EPOCHS, timed=replace(STOPS, seeds=2)),
    ),
}  # fmt: skip
