"""What a run of the order service has left behind, and how often anybody was asked or given
anything in it."""

from __future__ import annotations

from dataclasses import dataclass

from ...kernel import Run, Trace
from ...kernel.trace import FactKind
from ...registry import run_scenario
from ...rocketmq import RocketMQSystem
from ...rocketmq.config import DELAY_LEVELS_S, DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from ...rocketmq.consumer.listening import APPLIED
from ...rocketmq.group import ConsumerSendMsgBack
from ...rocketmq.messages import CheckTransactionState, name_queue
from ...rocketmq.picture.view import list_group_queues, read_world

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
    service = run.system
    assert isinstance(service, RocketMQSystem)
    seen = read_world(service.cluster, run.world)
    _, dead = list_group_queues(GROUP)
    queues = (HALF_TOPIC, OP_TOPIC, "orders", DISCARD_TOPIC)
    halves, ops, messages, parked = (len(seen.read(name_queue(name, 0))) for name in queues)
    applied = {
        client: run.world.disk(client).table(APPLIED).get(order, 0)
        for client, _ in service.cluster.consumers
    }
    return Ending(
        row=order in seen.orders,
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


def list_deliveries(retries: int = 16) -> tuple[list[int], Ending]:
    """When a message that accounting can never process is delivered to it, in seconds after the
    first time, and what is left in the end."""
    run = run_scenario(_fail_always(retries))
    back = [fact for fact in run.trace if isinstance(fact.body, ConsumerSendMsgBack)]
    times = [fact.at_ms // 1_000 for fact in back if fact.kind is FactKind.SEND]
    return times, _count(run, ORDER)


def _fail_always(retries: int) -> str:
    """A retry waits for delay level 3 and its number; each has a timer of its own."""
    lines = [
        "# Accounting always fails",
        f"system order_service consumers={GROUP} retry_max={retries}",
        f"run app: send-in-transaction orders-0 {ORDER}",
        f"run {GROUP}: consume later",
    ]
    at_s = 0
    for level in range(3, 3 + retries):
        at_s += DELAY_LEVELS_S[level - 1]
        fires = f"fire broker delay level {level}"
        lines += [f"at {at_s * 1_000}", fires, f"run {GROUP}: consume later"]
    return "\n".join(lines)
