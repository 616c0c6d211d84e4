"""What an execution of the order service has left behind, and how often producers were asked and
consumers were given anything in it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...kernel import Run, Trace, World, run_choices, worded
from ...kernel.simulate import Timing, simulate_world
from ...kernel.trace import FactKind
from ...registry import run_scenario, system
from ...rocketmq import RocketMQSystem
from ...rocketmq.application import REFUSED, TABLE, OrderFile
from ...rocketmq.broker.timer import CHECK
from ...rocketmq.check import OP_BATCH
from ...rocketmq.config import DELAY_LEVELS_S, DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from ...rocketmq.consumer import APPLIED
from ...rocketmq.group import ConsumerSendMsgBack
from ...rocketmq.messages import CheckTransactionState, name_queue
from ...rocketmq.picture.view import list_group_queues, read_world
from ..check import go, plain, timers
from ..patterns.systems import list_orders
from ..steps import is_kill
from .systems import OrderServiceSystem

ORDER = "580538"
INTERVAL_MS = 30_000
GROUP = "accounting"


@dataclass(frozen=True, slots=True)
class Ending:
    """What an execution has left behind. `row`: whether the order has one; `halves`, `ops`,
    `messages`, `parked`, `dead`: records in the half topic, the op topic, orders-0, the topic of
    those that were given up, and accounting's dead letter queue; `booked`: how often it was
    applied."""

    row: bool
    halves: int
    ops: int
    messages: int
    parked: int
    dead: int
    booked: int

    def __str__(self) -> str:
        if self.row and not self.messages:
            return "a row without a message" + (", set aside" if self.parked else "")
        if self.messages and not self.row:
            return "a message without a row"
        if not self.row:
            return "no row, no message" + (", set aside" if self.parked else "")
        return "row and message" if self.messages == 1 else f"row and {self.messages} messages"


def look_back(story: str, order: str = ORDER) -> Ending:
    """Run a story, and count what it leaves behind of an order."""
    return _count(run_scenario(story), order)


def _count(run: Run, order: str) -> Ending:
    """What is there when an execution is over: whether `order` has a row, how often consumers
    booked it, and how many records, of any order, are in each topic (see `Ending`)."""
    service = run.system
    assert isinstance(service, RocketMQSystem)
    stored = read_world(service.cluster, run.world)
    _retry_queue, dead_queue = list_group_queues(GROUP)
    queues = (HALF_TOPIC, OP_TOPIC, "orders", DISCARD_TOPIC)
    halves, ops, messages, parked = (len(stored.read(name_queue(name, 0))) for name in queues)
    # by consumer, how often it has booked the order
    applied = {
        client: run.world.disk(client).table(APPLIED).get(order, 0)
        for client, _ in service.cluster.consumers
    }
    return Ending(
        row=order in stored.orders,
        halves=halves,
        ops=ops,
        messages=messages,
        parked=parked,
        dead=len(stored.read(dead_queue)),
        booked=sum(applied.values()),
    )


def list_questions(trace: Trace) -> list[tuple[int, str, int]]:
    """Every question of the broker in an execution: when, whom, and the number of this check."""
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


# ---- An order service whose process dies at each of its steps, over a real SQLite file
#
#     for death in die_everywhere(listener, "580538", folder): …
#
# The process is killed before each choice of an undisturbed execution. A second instance, another
# process of the same producer group, is then asked by the broker, until it asks no more. The same
# schedule runs twice: with the database as a value, as the explorer has it, and as a file that any
# tool can open. Both must hold the same rows, or what is found in the one would not be true of the
# other.

SENDER = "app"
#: rounds of the check after a death; the systems here ask no more often
ROUNDS = 4


@dataclass(frozen=True)
class Death:
    """`after`: the last thing that was done before the process died, "" for nothing; `rows`: what
    the file holds in the end; `delivered`: the orders whose message consumers may read."""

    after: str
    run: Run
    rows: dict[str, str]
    delivered: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether each order in the file has its message, and each message its order."""
        orders = {order for order, value in self.rows.items() if value != REFUSED}
        return orders == set(self.delivered)


def die_everywhere(system: OrderServiceSystem, folder: Path) -> Iterator[Death]:
    """Every death of the sender, and last the execution without a death."""
    choices = plain(system).choices
    for at in range(len(choices) + 1):
        kill = [f"kill {SENDER}"] if at < len(choices) else []
        yield _die(system, [*choices[:at], *kill], folder / f"{at}.db")


def _die(system: OrderServiceSystem, choices: list[str], path: Path) -> Death:
    run = run_choices(system, choices)
    _ask_to_the_end(run)
    file = run_on_file(system, run.choices, path)
    table = dict(run.world.disk(system.config.database).table(TABLE).items())
    if file != table:
        raise RuntimeError(f"the file holds {file}, the table {table}, after {run.choices}")
    seen = read_world(system.cluster, run.world)
    delivered = {txn.order for txn in seen.book.txns.values() if txn.delivered}
    return Death(_last(run), run, file, tuple(sorted(delivered)))


def run_on_file(system: OrderServiceSystem, choices: Iterable[str], path: Path) -> dict[str, str]:
    """The rows that a schedule leaves in an SQLite file."""
    run_choices(replace(system, file=str(path)), choices)
    return OrderFile(path).read_rows()


def _ask_to_the_end(run: Run) -> None:
    """What is in flight arrives; then the broker writes its op records and asks, round by round."""
    go(run)
    for _ in range(ROUNDS):
        for wanted in (OP_BATCH, CHECK):
            for node, timer in timers(run):
                if timer == wanted:
                    run.do(f"fire {node} {timer}")
            go(run)


def _last(run: Run) -> str:
    """What the execution had come to when the process died, in the words of its narration."""
    dead = (f.index for f in run.trace if is_kill(f) and f.node == SENDER)
    killed = next(dead, len(run.trace) + 1)
    before = [fact.line() for fact in run.trace if fact.index < killed]
    return before[-1] if before else ""


# ---- What becomes of many orders, with and without check-back: counted over seeds ----
#
# A row and a message belong together. Each seed runs the day's first orders once, one after the
# other, through two processes of the order service. What a process sends to the broker may be lost,
# and the process that takes the orders may be killed in the middle of one; it starts again, and the
# second instance lives on. The execution goes on until every round of the check has had its turn.

#: an order takes about 25 ms while nothing goes wrong
SLOT_MS = 40
LOSSY = (("app", "broker"), ("twin", "broker"))


@worded("{delivered:4.0%}, {twice} of {orders} twice")
class Outcomes:
    """Of so many `orders`: `once` has a row and one message, `twice` a row and several messages,
    `neither` has no row and no message, and this was reported to its customer, or the customer will
    ask; `split` has a row whose message never comes."""

    orders: int
    once: int
    twice: int
    neither: int
    split: int

    @property
    def delivered(self) -> float:
        """Of the orders that have a row: the share whose message comes."""
        rows = self.once + self.twice + self.split
        return 1 - self.split / rows if rows else 1.0


def measure_outcomes(
    check_back: bool,
    loss: float = 0.0,
    death: float = 0.0,
    check_max: int = 15,
    seeds: int = 20,
    many: int = 12,
) -> Outcomes:
    """Simulate the day's first `many` orders once for each of `seeds`, and count how many end well,
    twice, without effect, or with only one of row and message.

    `check_back`: whether the broker asks about half messages; `check_max`: how often
    (transactionCheckMax); `loss`: the share of messages to the broker that are lost; `death`: the
    probability that the process is killed while it is at an order.
    """
    service = build_service(check_back, check_max, many)
    timing = Timing(loss=loss, lossy=LOSSY)
    # all rounds that ask about a half message, the one that sets it aside, and some to spare
    until_ms = (check_max + 3) * INTERVAL_MS
    counted: Counter[str] = Counter()
    for seed in range(seeds):
        deaths = list_deaths(random.Random(seed), death, many)
        world = simulate_world(service, seed, until_ms, deaths, timing)
        counted.update(judge_orders(service, world, many).values())
    parts = (counted[name] for name in ("once", "twice", "neither", "split"))
    return Outcomes(seeds * many, *parts)


def build_service(check_back: bool, check_max: int, many: int) -> RocketMQSystem:
    """Two processes of the order service, of which one takes the orders."""
    calls = "; ".join(f"send-in-transaction orders-0 {o.number}" for o in list_orders(many))
    off = "" if check_back else "off=check_back "
    made = system(
        f"order_service {off}producers=app:order-service,twin:order-service early=on "
        f"check_max={check_max} 'app={calls}'"
    )
    assert isinstance(made, RocketMQSystem)
    return made


def list_deaths(dice: random.Random, death: float, many: int) -> Iterator[tuple[int, str]]:
    """When the process is killed, and when it starts again: in the time of one order each."""
    for number in range(many):
        dies, moment = dice.random() < death, dice.random()
        if dies:
            yield number * SLOT_MS + int(moment * 25), "kill app"
            yield (number + 1) * SLOT_MS - 1, "restart app"


def judge_orders(service: RocketMQSystem, world: World, many: int) -> dict[str, str]:
    """For each order what became of it, by the names of `Outcomes`."""
    seen = read_world(service.cluster, world)
    sent = Counter(stored.message.words for stored in seen.read("orders-0"))
    names = (order.number for order in list_orders(many))
    return {number: _judge(number in seen.rows, sent[number]) for number in names}


def _judge(row: bool, messages: int) -> str:
    if not row:
        assert not messages, "a message without its row"
        return "neither"
    return "split" if messages == 0 else "once" if messages == 1 else "twice"
