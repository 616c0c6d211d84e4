"""The systems that a check round must survive: RocketMQ with one function replaced.

Producers, the database and everything else of the broker are the engine's, and so are the claims
but two: nobody is asked about a young half, and the op offset passes no record that is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any

from ....explore import Budget
from ....kernel import NodeSpec, Property, Text, Words, World, tr
from ....kernel.options import FREE
from ....kernel.world import NodeState
from ....registry import system
from ....rocketmq import RocketMQSystem
from ....rocketmq.broker.timer import read_progress
from ....rocketmq.check import parse_op
from ....rocketmq.claims import list_records, reads
from ....rocketmq.config import HALF_TOPIC, OP_TOPIC
from ....rocketmq.picture.view import read_world
from ...roles import become, put_roles
from ..trial import Trial

RUNS = Words("the round's code runs on")
YOUNG = Words("nobody is asked about a half that is young")
NEEDED = Words("an op record is passed when all its halves are")


@dataclass(frozen=True)
class CheckRoundSystem(RocketMQSystem):
    """RocketMQ whose broker starts with the function in `rules`. `dropped`: claims that are not
    asked. A world in which the code has broken has the light `runs` red."""

    dropped: Annotated[tuple[str, ...], FREE] = ()

    def nodes(self) -> tuple[NodeSpec, ...]:
        start = partial(dict(self.rules)["round"], self.config)
        return put_roles(super().nodes(), {self.config.broker: start})

    def label(self) -> Text:
        return tr("RocketMQ with your check round")

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        mine = (
            Property("runs", RUNS(), self._runs, "always", self._reads),
            Property("young", YOUNG(), self._young, "always", self._reads),
            Property("needed", NEEDED(), self._needed, "always", self._reads),
        )
        every = (*mine, *super()._properties)
        return tuple(one for one in every if one.name not in self.dropped)

    def _runs(self, world: World) -> bool:
        return not getattr(world.role(self.config.broker), "broken", "")

    def _young(self, world: World) -> bool:
        return not any(
            stored.message.check_times
            and stored.store_ms - stored.message.born_ms < self.config.timeout_ms
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
        broker = name == self.config.broker and node.up
        broken = getattr(node.roles[0], "broken", "") if broker else ""
        return broken, reads(self.cluster, name, node)


def arrange(trial: Trial, recover: Callable[..., Any]) -> CheckRoundSystem:
    """RocketMQ as the trial says it, with a broker that starts so."""
    rocketmq = become(system(f"rocketmq {trial.line}"), CheckRoundSystem, dropped=trial.dropped)
    return replace(rocketmq, rules=(("round", recover),))


#: a search has no clock: with a timeout of 0 each half is old enough, else none ever is
OLD = "timeout_ms=0 persist_ms=0 check_max=2"
YOUNG_LINE = "persist_ms=0 check_max=2"
A, B, C = (f"send-in-transaction orders-0 {order}" for order in "ABC")
NOBODY = "listener UNKNOW UNKNOW"
LATER = "listener UNKNOW COMMIT_MESSAGE"
NOW = "listener COMMIT_MESSAGE COMMIT_MESSAGE"
BROKER = ("broker",)
SITTINGS: dict[int, tuple[Trial, ...]] = {
    1: (
        Trial("an end is late", f"{OLD} 'app={A}'", Budget(timers=1)),
        Trial("ended before", f"{OLD} release=4.9 'app={NOW}; {A}; {B}'", Budget(timers=2)),
        Trial("only the check can commit", f"{OLD} 'app={LATER}; {A}'", Budget(timers=3)),
        Trial("two in a row", f"{OLD} 'app={LATER}; {A}; {B}'", Budget(timers=1)),
        Trial("nobody knows", f"{OLD} 'app={NOBODY}; {A}'", Budget(timers=4), ("commits",)),
    ),
    2: (
        Trial("a young one", f"{YOUNG_LINE} 'app={NOBODY}; {A}; {NOW}; {B}'", Budget(timers=2)),
        Trial("an op record for two", f"{YOUNG_LINE} 'app={NOW}; {A}; {NOBODY}; {B}; {NOW}; {C}'",
              Budget(timers=3)),
        Trial("a kill", f"{OLD} 'app={A}'", Budget(kills=1, timers=2, killable=BROKER)),
    ),
}  # fmt: skip
