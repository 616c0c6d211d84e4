"""The systems that pending acks must survive: Pulsar with the subscription's handle replaced.

Clients, coordinator, logs and dispatch are the engine's, and so are the claims but some: what is
held, what a load would find, what is acknowledged for good and what was answered with ok are what
the log has granted, read here once more by the rules (PendingAckHandleImpl).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any

from ....explore import Budget
from ....kernel import Map, NodeSpec, Property, Text, Words, World, tr
from ....kernel.options import UNWRITTEN, Rules, fill
from ....kernel.role import Outcome
from ....kernel.world import NodeState
from ....pulsar import PulsarSystem
from ....pulsar.claims import list_topics, reads_topics
from ....pulsar.client.calls import Acknowledge
from ....pulsar.ledger import Cursor
from ....pulsar.messages import PendingAckEntry
from ....pulsar.pending_ack import ACK, COMMIT
from ....pulsar.subscription import Subscription
from ....registry import system
from ...roles import put_roles
from ..trial import Built, Trial, find_broken
from .hosting import BuiltPendingAck, list_acked

RUNS = Words("the code of the pending acks runs on")
GRANTED = Words("a transaction holds what it acknowledged until it ends")
LOADS = Words("a load finds what is held, and has nothing to add to the cursor")
FOR_GOOD = Words(
    "acknowledged for good is what a transaction has committed, or what was acknowledged without "
    "one"
)
ANSWERED = Words("an acknowledgement that was answered with ok was granted")


@dataclass(frozen=True)
class PendingAckSystem(Built, PulsarSystem):
    """Pulsar whose partitions start with the function in `rules`. `dropped`: claims that are not
    asked. A world in which the code has broken has the light `runs` red."""

    rules: Rules = ()
    dropped: Annotated[tuple[str, ...], UNWRITTEN] = ()

    def nodes(self) -> tuple[NodeSpec, ...]:
        start = partial(dict(self.rules)["pending"], self.config)
        return put_roles(super().nodes(), {p: partial(start, p) for p in self.config.partitions})

    def label(self) -> Text:
        return tr("Pulsar with your pending acks")

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        mine = (
            Property("runs", RUNS(), self._runs, "always", self._reads),
            Property("granted", GRANTED(), self._granted, "always", self._reads),
            Property("loaded", LOADS(), self._loaded, "always", self._reads),
            Property("for good", FOR_GOOD(), self._for_good, "always", self._reads_calls),
            Property("answered", ANSWERED(), self._answered, "always", self._reads_calls),
        )
        # What a load finds is asked more exactly here.
        every = (*mine, *(one for one in super()._properties if one.name != "pending kept"))
        return tuple(one for one in every if one.name not in self.dropped)

    def find_broken(self, world: World) -> Text | None:
        broken = (find_broken(world.nodes[name]) for name in self.config.partitions)
        return next(filter(None, broken), None)

    def find_fault(self, world: World) -> Text | None:
        loads = (load.broken for load in list_loads(self, world))
        return self.find_broken(world) or next(filter(None, loads), None)

    def _granted(self, world: World) -> bool:
        return all(held == granted for _, held, granted in list_held(self, world))

    def _loaded(self, world: World) -> bool:
        return all(one.is_right for one in list_loads(self, world))

    def _for_good(self, world: World) -> bool:
        return not find_unowed(self, world)

    def _answered(self, world: World) -> bool:
        if not all(world.nodes[name].up for name in self.config.partitions):
            return True
        results = (result for name in self.clients for result in list_results(world.nodes[name]))
        answered = sum(
            result.ok and isinstance(result.call, Acknowledge) and bool(result.call.txn)
            for result in results
        )
        return answered <= sum(granted.requests for _, granted in list_subs(self, world))

    def _reads(self, name: str, node: NodeState) -> Hashable:
        return find_broken(node), reads_topics(self.cluster, name, node)

    def _reads_calls(self, name: str, node: NodeState) -> Hashable:
        return list_results(node) if name in self.clients else self._reads(name, node)


Held = Map[int, str]


@dataclass(frozen=True)
class Granted:
    """What a log says: `held`, which transaction holds which message; `done`, what has committed;
    `requests`, how many were granted."""

    held: dict[int, str]
    done: set[int]
    requests: int = 0


def list_subs(system: PendingAckSystem, world: World) -> Iterator[tuple[Subscription, Granted]]:
    """Each subscription, and what its log says."""
    for topic in list_topics(system.cluster, world):
        for sub in topic.subs.values():
            yield sub, find_granted(world.disk(topic.name).log(sub.log).read(0))


def list_held(system: PendingAckSystem, world: World) -> Iterator[tuple[Subscription, Held, Held]]:
    """Of each subscription: what is held, and what its log has granted; while nothing is being
    written."""
    for sub, granted in list_subs(system, world):
        if not sub.waiting and isinstance(sub.pending, BuiltPendingAck):
            held = granted.held.items()
            left = Map((at, txn) for at, txn in held if not sub.cursor.is_deleted(at))
            yield sub, sub.pending.held, left


@dataclass(frozen=True)
class Load:
    """What a load would come to now, and what the log says: messages that are held, and the cursor
    with what has committed."""

    broken: Text | None
    held: Held
    cursor: Cursor
    granted: Held
    done: Cursor

    @property
    def is_right(self) -> bool:
        return not self.broken and (self.held, self.cursor) == (self.granted, self.done)


def list_loads(system: PendingAckSystem, world: World) -> Iterator[Load]:
    """Of each subscription. Records that were written and not yet looked at count: a kill may
    come before they are."""
    for sub, granted in list_subs(system, world):
        topic = world.role(sub.partition)
        fresh = topic.begin_subscription(sub.name)
        loaded, cursor = fresh.replay_log(sub.cursor, world.disk(topic.name), topic.lac)
        done = sub.cursor.delete(tuple(sorted(granted.done)))
        left = {at: txn for at, txn in granted.held.items() if not done.is_deleted(at)}
        yield Load(loaded.broken, loaded.held, cursor, Map(left.items()), done)


def find_granted(records: Iterable[PendingAckEntry]) -> Granted:
    """Find which acknowledgements each transaction must hold by the log, and which are committed; a
    message is its position in the partition. A request (ACK) is granted as a whole, or not at all
    where one of its messages is already held or committed."""
    held: dict[int, str] = {}  # message → transaction
    committed: set[int] = set()
    granted_count = 0
    for record in records:
        own = {at for at, txn in held.items() if txn == str(record.txn)}
        if record.op == ACK:
            messages = {position.position for position in record.positions}
            if not messages & (committed | held.keys()):
                held |= dict.fromkeys(sorted(messages), str(record.txn))
                granted_count += 1
            continue
        committed |= own if record.op == COMMIT else set()
        held = {at: txn for at, txn in held.items() if at not in own}
    return Granted(held, committed, granted_count)


def find_unowed(system: PendingAckSystem, world: World) -> dict[int, str]:
    """Find the messages that are acknowledged for good though neither a committed transaction nor a
    client without one has acknowledged them. Returns position → the transaction that holds it, or
    ""."""
    without_txn = {
        message.position
        for name in system.clients
        for call in list_made(world.nodes[name])
        if isinstance(call, Acknowledge) and not call.txn
        for message in call.ids
    }
    return {
        at: granted.held.get(at, "")
        for sub, granted in list_subs(system, world)
        for at in list_acked(sub.cursor)
        if at not in granted.done | without_txn
    }


def list_results(node: NodeState) -> tuple[Outcome, ...]:
    return node.app.results if node.app is not None else ()


def list_made(node: NodeState) -> tuple[Any, ...]:
    """The calls that an application has made, the one included that it waits in."""
    app = node.app
    if app is None or not isinstance(app.program, tuple):
        return ()
    return app.program[: len(app.results) + 1]


def arrange(trial: Trial, recover: Callable[..., Any]) -> PendingAckSystem:
    """Pulsar as the trial says it, with partitions that start so."""
    pulsar = fill(PendingAckSystem, system(f"pulsar {trial.line}"), dropped=trial.dropped)
    return replace(pulsar, rules=(("pending", recover),))


ONE = "subscribe orders-0 s from=earliest type=Shared; send orders-0 a; receive s"
TWO = "subscribe orders-0 s from=earliest type=Shared; send orders-0 a; send orders-0 b; receive s"
BEGIN1, BEGIN2, BEGIN3 = (f"new-transaction t{number}" for number in (1, 2, 3))
T1 = f"{BEGIN1}; ack s orders-0@0 txn=t1"
T2 = f"{BEGIN2}; ack s orders-0@0 txn=t2"
EACH = f"{T1}; {BEGIN2}; ack s orders-0@1 txn=t2"
PAIR = f"{BEGIN1}; ack s orders-0@0 orders-0@1 txn=t1"
BOTH = f"{T1}; ack s orders-0@1 txn=t1"
PASSED = "claims=nothing_passed_over"
LOADED = Budget(kills=1, killable=("orders-0",))
TWIN = "clients=app,twin 'twin=end-by-id commit 0/0'"  # another client commits t1
LIVE = ("loaded",)  # what a load finds is asked from sitting 2 on


def _live(name: str, calls: str, line: str = PASSED) -> Trial:
    return Trial(name, f"'app={calls}' {line}".rstrip(), dropped=LIVE)


def _try(name: str, calls: str, budget: Budget = Budget()) -> Trial:
    return Trial(name, f"'app={calls}'", budget)


SITTINGS: dict[int, tuple[Trial, ...]] = {
    1: (
        _live("a commit", f"{ONE}; {T1}; commit t1"),
        _live("an abort", f"{ONE}; {T1}; abort t1"),
        _live("one message, two transactions", f"{ONE}; {T1}; {T2}; commit t1"),
        _live("one of two is held", f"{TWO}; {T1}; {BEGIN2}; "
              "ack s orders-0@0 orders-0@1 txn=t2; commit t1", ""),
        _live("the last of two is held", f"{TWO}; {BEGIN1}; ack s orders-0@1 txn=t1; {BEGIN2}; "
              "ack s orders-0@0 orders-0@1 txn=t2; commit t1", ""),
        _live("each has one", f"{TWO}; {EACH}; abort t1; commit t2"),
        _live("each commits one", f"{TWO}; {EACH}; commit t2; commit t1"),
        _live("after the commit", f"{ONE}; {T1}; commit t1; {T2}; abort t2"),
        _live("after the abort", f"{ONE}; {T1}; abort t1; receive s; {T2}; commit t2"),
        _live("two in one request", f"{TWO}; {PAIR}; commit t1"),
        _live("two in one request, an abort", f"{TWO}; {PAIR}; abort t1"),
        _live("two requests", f"{TWO}; {BOTH}; commit t1"),
        _live("the same once more", f"{TWO}; {T1}; ack s orders-0@0 txn=t1; "
              "ack s orders-0@0 orders-0@1 txn=t1; abort t1", ""),
        _live("one of two is done", f"{TWO}; {T1}; commit t1; {BEGIN2}; "
              "ack s orders-0@1 orders-0@0 txn=t2; ack s orders-0@0 orders-0@1 txn=t2; abort t2",
              ""),
        _live("the second is done", f"{TWO}; {BEGIN1}; ack s orders-0@1 txn=t1; commit t1; {T2}; "
              f"commit t2; {BEGIN3}; ack s orders-0@0 txn=t3; ack s orders-0@1 txn=t3; abort t3",
              ""),
    ),
    2: (
        Trial("without a transaction", f"'app={ONE}; {T1}; ack s orders-0@0; abort t1' {PASSED}"),
        _try("one of two, without", f"{TWO}; {BOTH}; ack s orders-0@0; abort t1"),
        _live("one of a pair, without", f"{TWO}; {PAIR}; ack s orders-0@0; abort t1", ""),
        _try("one of each, without", f"{TWO}; {EACH}; ack s orders-0@0; abort t2"),
        _try("both, without", f"{TWO}; {EACH}; ack s orders-0@1 orders-0@0; abort t1"),
        _try("without, and then in one", f"{TWO}; ack s orders-0@0; {T1}; abort t1"),
        _try("a refusal in the log", f"{ONE}; {T1}; {T2}; commit t1"),
        _try("the later one asks first", f"{ONE}; {BEGIN1}; {T2}; ack s orders-0@0 txn=t1; "
             "commit t2"),
        _try("half a refusal in the log", f"{TWO}; {BEGIN1}; ack s orders-0@1 txn=t1; {BEGIN2}; "
             "ack s orders-0@0 orders-0@1 txn=t2; commit t1"),
        _try("two in one record", f"{TWO}; {PAIR}; commit t1"),
        _try("two ends in the log", f"{TWO}; {EACH}; commit t1; abort t2"),
        _try("an abort in the log", f"{ONE}; {T1}; abort t1; receive s; {T2}; commit t2"),
        Trial("two commits at once", f"{TWIN} 'app={TWO}; {EACH}; commit t2'"),
        Trial("a commit and a request at once", f"{TWIN} 'app={ONE}; {T1}; {T2}'"),
        _try("a crash, a commit", f"{ONE}; {T1}; commit t1", LOADED),
        _try("a crash, an abort", f"{ONE}; {T1}; abort t1", LOADED),
    ),
}  # fmt: skip
