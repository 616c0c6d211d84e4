"""The systems that a check round must survive: RocketMQ with one function replaced.

Producers, the database and everything else of the broker are the engine's, and so are the claims
but two: no producer is asked more often than is allowed, and the op offset passes no record that is
needed. What can be seen of one round alone, its host looks at (`hosting.check_round`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any

from ....explore import Budget
from ....kernel import NodeSpec, Property, Text, Words, World, tr
from ....kernel.options import UNWRITTEN, fill
from ....kernel.world import NodeState
from ....registry import system
from ....rocketmq import RocketMQSystem
from ....rocketmq.broker.timer import read_progress
from ....rocketmq.check import parse_op
from ....rocketmq.claims import list_records, reads
from ....rocketmq.config import HALF_TOPIC, OP_TOPIC
from ....rocketmq.picture.view import read_world
from ...roles import put_roles
from ..trial import Built, Trial, find_broken

RUNS = Words("the round's code runs on")
SPENT = Words("no half message is checked more often than check_max says")
NEEDED = Words("an op record is passed when all its half messages are")


@dataclass(frozen=True)
class CheckRoundSystem(Built, RocketMQSystem):
    """RocketMQ whose broker starts with the function in `rules`. `dropped`: claims that are not
    asked. A world in which the code has broken has the light `runs` red."""

    dropped: Annotated[tuple[str, ...], UNWRITTEN] = ()

    def nodes(self) -> tuple[NodeSpec, ...]:
        start = partial(dict(self.rules)["round"], self.config)
        return put_roles(super().nodes(), {self.config.broker: start})

    def label(self) -> Text:
        return tr("RocketMQ with your check round")

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        mine = (
            Property("runs", RUNS(), self._runs, "always", self._reads),
            Property("spent", SPENT(), self._spent, "always", self._reads),
            Property("needed", NEEDED(), self._needed, "always", self._reads),
        )
        every = (*mine, *super()._properties)
        return tuple(one for one in every if one.name not in self.dropped)

    def find_broken(self, world: World) -> Text | None:
        return find_broken(world.nodes[self.config.broker])

    def _spent(self, world: World) -> bool:
        return not any(
            stored.message.check_times > self.check_max
            for stored in list_records(self.cluster, world)
            if stored.message.topic == HALF_TOPIC
        )

    def _needed(self, world: World) -> bool:
        half_at, op_at = read_progress(read_world(self.cluster, world).offsets)
        return all(
            half < half_at
            for stored in list_records(self.cluster, world)
            if stored.message.topic == OP_TOPIC and stored.queue_offset < op_at
            for half in parse_op(stored)
        )

    def _reads(self, name: str, node: NodeState) -> Hashable:
        return find_broken(node), reads(self.cluster, name, node)


def arrange(trial: Trial, recover: Callable[..., Any]) -> CheckRoundSystem:
    """RocketMQ as the trial says it, with a broker that starts so."""
    rocketmq = fill(CheckRoundSystem, system(f"rocketmq {trial.line}"), dropped=trial.dropped)
    return replace(rocketmq, rules=(("round", recover),))


#: with a timeout of 0 no half is ever young, else each is until a round has met it
OLD = "timeout_ms=0 persist_ms=0"
YOUNG = "persist_ms=0 check_max=2"
TWICE = f"{OLD} check_max=2"
SYNC = "release=4.9"  # an end has its op record at once
A, B, C = (f"send-in-transaction orders-0 {order}" for order in "ABC")
NOBODY = "listener UNKNOW UNKNOW"
LATER = "listener UNKNOW COMMIT_MESSAGE"
LAST = "listener UNKNOW UNKNOW COMMIT_MESSAGE"
NOW = "listener COMMIT_MESSAGE COMMIT_MESSAGE"
LATE_END = "end COMMIT_MESSAGE A"
BROKER = ("broker",)
SITTINGS: dict[int, tuple[Trial, ...]] = {
    1: (
        Trial("an end is late", f"{TWICE} 'app={A}'", Budget(timers=1)),
        Trial("ended before", f"{TWICE} {SYNC} 'app={NOW}; {A}; {B}'", Budget(timers=2)),
        Trial("only the check can commit", f"{TWICE} 'app={LATER}; {A}'", Budget(timers=3)),
        Trial("two in a row", f"{TWICE} 'app={LATER}; {A}; {B}'", Budget(timers=1)),
        Trial("nobody knows", f"{TWICE} 'app={NOBODY}; {A}'", Budget(timers=4), ("commits",)),
        Trial("the last answer", f"{TWICE} 'app={LAST}; {A}'", Budget(timers=4)),
        Trial("asked once", f"{OLD} check_max=1 'app={LAST}; {A}'", Budget(timers=3), ("commits",)),
        Trial("asked three times", f"{OLD} check_max=3 'app={NOBODY}; {A}'", Budget(timers=5),
              ("commits",)),
        Trial("two to the end", f"{TWICE} 'app={NOBODY}; {A}; {B}'", Budget(timers=4),
              ("commits",)),
        Trial("three, and no end", f"{TWICE} 'app={NOBODY}; {A}; {B}; {C}'", Budget(timers=3),
              ("commits",)),
        Trial("one of three has ended",
              f"{OLD} check_max=1 {SYNC} 'app={NOBODY}; {A}; {NOW}; {B}; {NOBODY}; {C}'",
              Budget(timers=3)),
    ),
    2: (
        Trial("a young one", f"{YOUNG} 'app={NOBODY}; {A}; {NOW}; {B}'", Budget(timers=2)),
        Trial("a young one after a copy", f"{YOUNG} 'app={LATER}; {A}; {B}'", Budget(timers=3)),
        Trial("an op record for two", f"{YOUNG} 'app={NOW}; {A}; {NOBODY}; {B}; {NOW}; {C}'",
              Budget(timers=3)),
        Trial("ends in another order", f"{YOUNG} {SYNC} 'app={NOBODY}; {A}; {B}; {NOW}; {C}; "
              f"{LATE_END}'", Budget(timers=2)),
        Trial("an op record in another order", f"{YOUNG} 'app={NOBODY}; {A}; {B}; {NOW}; {C}; "
              f"{LATE_END}'", Budget(timers=3)),
        Trial("a crash", f"{TWICE} 'app={A}'", Budget(kills=1, timers=2, killable=BROKER)),
        Trial("a crash, two half messages", f"{YOUNG} 'app={LATER}; {A}; {B}'",
              Budget(kills=1, timers=2, killable=BROKER)),
    ),
}  # fmt: skip
