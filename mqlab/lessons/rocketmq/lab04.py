"""Lab 04, check-back: what its cells import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...kernel import Run, Trace
from ...kernel.trace import FactKind
from ...rocketmq import RocketMQSystem
from ...rocketmq.config import DELAY_LEVELS_S, DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from ...rocketmq.consumer.listening import APPLIED
from ...rocketmq.messages import CheckTransactionState, name_queue
from ...rocketmq.picture.view import list_group_queues, read_world
from ..lab00 import find_red_step, first
from ..registry import run_scenario
from .exercises.story import STORY
from .outcomes import Outcomes, measure_outcomes

__all__ = [
    "STORY",
    "Ending",
    "Outcomes",
    "find_red_step",
    "first",
    "list_questions",
    "look_back",
    "measure_outcomes",
    "tell_deliveries",
    "wait_for_checks",
]

ORDER = "580538"
INTERVAL_MS = 30_000
GROUP = "accounting"


@dataclass(frozen=True, slots=True)
class Ending:
    """What a run has left behind. `row`: whether the order has one; `halves`, `ops`, `messages`,
    `parked`, `dead`: records in the half topic, the op topic, orders-0, the topic of those that
    were given up, and accounting's dead letter queue; `booked`: how often it was applied."""

    row: bool
    halves: int
    ops: int
    messages: int
    parked: int
    dead: int
    booked: int

    def __str__(self) -> str:
        if self.row and not self.messages:
            return "a row without a message" + (", parked" if self.parked else "")
        if self.messages and not self.row:
            return "a message without a row"
        if not self.row:
            return "no row, no message" + (", parked" if self.parked else "")
        return "row and message" if self.messages == 1 else f"row and {self.messages} messages"


def look_back(story: str, order: str = ORDER) -> Ending:
    """Run a story, and count what it leaves behind of an order."""
    return _count(run_scenario(story), order)


def _count(run: Run, order: str) -> Ending:
    found = run.system
    assert isinstance(found, RocketMQSystem)
    seen = read_world(found.cluster, run.world)
    _, dead = list_group_queues(GROUP)
    queues = (HALF_TOPIC, OP_TOPIC, "orders", DISCARD_TOPIC)
    halves, ops, messages, parked = (len(seen.read(name_queue(name, 0))) for name in queues)
    applied = {
        client: run.world.disk(client).table(APPLIED).get(order, 0)
        for client, _ in found.cluster.consumers
    }
    return Ending(
        row=order in seen.rows,
        halves=halves,
        ops=ops,
        messages=messages,
        parked=parked,
        dead=len(seen.read(dead)),
        booked=sum(applied.values()),
    )


def list_questions(trace: Trace) -> list[tuple[int, str, int]]:
    """Every question of the broker in a run: when, whom, and the number of this check."""
    return [
        (fact.at_ms, fact.peer, fact.body.message.check_times)
        for fact in trace
        if fact.kind is FactKind.SEND and isinstance(fact.body, CheckTransactionState)
    ]


def wait_for_checks(rounds: int, since: int = 1) -> str:
    """The lines in which so many rounds of the check go by, one every 30 s."""
    numbers = range(since, since + rounds)
    return "\n".join(f"at {n * INTERVAL_MS}\nfire broker check" for n in numbers)


def tell_deliveries(retries: int = 16) -> Iterator[tuple[int, int]]:
    """When a message that cannot be processed is delivered, by its retries: their number, and the
    seconds since the first delivery. A retry waits for the delay level 3 + its number."""
    waited = 0
    for number in range(retries + 1):
        yield number, waited
        waited += DELAY_LEVELS_S[2 + number] if number < retries else 0
