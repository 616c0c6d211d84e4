"""The systems that pending acks must survive: Pulsar with the subscription's handle replaced.

Clients, coordinator, logs and dispatch are the engine's, and so are the claims but one: what is
held is what the log has granted, read here once more by the rules (PendingAckHandleImpl).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any

from ....explore import Budget
from ....kernel import Map, NodeSpec, Property, Text, Words, World, tr
from ....kernel.options import FREE, Rules
from ....kernel.world import NodeState
from ....pulsar import PulsarSystem
from ....pulsar.claims import list_topics, reads_topics
from ....pulsar.messages import PendingAckEntry
from ....pulsar.pending_ack import ACK, COMMIT
from ....pulsar.subscription import Subscription
from ....registry import system
from ...roles import become, put_roles
from ..trial import Trial
from .hosting import BuiltPendingAck

RUNS = Words("the code of the pending acks runs on")
GRANTED = Words("a transaction holds what it acknowledged until it ends")


@dataclass(frozen=True)
class PendingAckSystem(PulsarSystem):
    """Pulsar whose partitions start with the function in `rules`. `dropped`: claims that are not
    asked. A world in which the code has broken has the light `runs` red."""

    rules: Rules = ()
    dropped: Annotated[tuple[str, ...], FREE] = ()

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
        )
        every = (*mine, *super()._properties)
        return tuple(one for one in every if one.name not in self.dropped)

    def _runs(self, world: World) -> bool:
        return not any(getattr(topic, "broken", "") for topic in list_topics(self.cluster, world))

    def _granted(self, world: World) -> bool:
        return all(held == granted for _, held, granted in list_held(self, world))

    def _reads(self, name: str, node: NodeState) -> Hashable:
        topic = name in self.config.partitions and node.up
        broken = getattr(node.roles[0], "broken", "") if topic else ""
        return broken, reads_topics(self.cluster, name, node)


Held = Map[int, str]


def list_held(system: PendingAckSystem, world: World) -> Iterator[tuple[Subscription, Held, Held]]:
    """Of each subscription: what is held, and what its log has granted; while nothing is being
    written."""
    for topic in list_topics(system.cluster, world):
        for sub in topic.subs.values():
            if sub.waiting or not isinstance(sub.pending, BuiltPendingAck):
                continue
            records = list(world.disk(topic.name).log(sub.log).read(0))
            granted = find_granted(records)
            left = Map((at, txn) for at, txn in granted.items() if not sub.cursor.is_deleted(at))
            yield sub, sub.pending.held, left


def find_granted(records: list[PendingAckEntry]) -> dict[int, str]:
    """Which transaction holds which message, by the log: a request is granted whole, where none
    of its messages is taken."""
    held: dict[int, str] = {}
    done: set[int] = set()
    for record in records:
        mine = {at for at, txn in held.items() if txn == str(record.txn)}
        if record.op == ACK:
            messages = {position.position for position in record.positions}
            if not messages & (done | held.keys()):
                held |= dict.fromkeys(sorted(messages), str(record.txn))
            continue
        done |= mine if record.op == COMMIT else set()
        held = {at: txn for at, txn in held.items() if at not in mine}
    return held


def arrange(trial: Trial, recover: Callable[..., Any]) -> PendingAckSystem:
    """Pulsar as the trial says it, with partitions that start so."""
    pulsar = become(system(f"pulsar {trial.line}"), PendingAckSystem, dropped=trial.dropped)
    return replace(pulsar, rules=(("pending", recover),))


ONE = "subscribe orders-0 s from=earliest type=Shared; send orders-0 a; receive s"
TWO = "subscribe orders-0 s from=earliest type=Shared; send orders-0 a; send orders-0 b; receive s"
T1 = "new-transaction t1; ack s orders-0@0 txn=t1"
T2 = "new-transaction t2; ack s orders-0@0 txn=t2"
PASSED = "claims=nothing_passed_over"
LOADED = Budget(kills=1, killable=("orders-0",))
LIVE = ("pending kept",)  # what a load finds is asked from sitting 2 on


def _live(name: str, calls: str) -> Trial:
    return Trial(name, f"'app={calls}' {PASSED}", dropped=LIVE)


SITTINGS: dict[int, tuple[Trial, ...]] = {
    1: (
        _live("a commit", f"{ONE}; {T1}; commit t1"),
        _live("an abort", f"{ONE}; {T1}; abort t1"),
        _live("one message, two transactions", f"{ONE}; {T1}; {T2}; commit t1"),
        Trial("one of two is held", f"'app={TWO}; {T1}; new-transaction t2; "
              "ack s orders-0@0 orders-0@1 txn=t2; commit t1'", dropped=LIVE),
        _live("each has one", f"{TWO}; {T1}; new-transaction t2; ack s orders-0@1 txn=t2; "
              "abort t1; commit t2"),
        _live("after the commit", f"{ONE}; {T1}; commit t1; {T2}; abort t2"),
    ),
    2: (
        Trial("without a transaction", f"'app={ONE}; {T1}; ack s orders-0@0; abort t1' {PASSED}"),
        Trial("a refusal in the log", f"'app={ONE}; {T1}; {T2}; commit t1'"),
        Trial("a kill, a commit", f"'app={ONE}; {T1}; commit t1'", LOADED),
        Trial("a kill, an abort", f"'app={ONE}; {T1}; abort t1'", LOADED),
    ),
}  # fmt: skip
