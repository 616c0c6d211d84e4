"""A worker's loop written as a Python function: what it may call, and what can be raised.

The function is run again from its first line at every step, against the results that its
earlier calls had (`mqlab.kernel.role`); so it may use nothing but its `app`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from ....kafka.claims import Sent, brackets, reads
from ....kafka.clients.calls import (
    Abort,
    Begin,
    Commit,
    CommitOffsets,
    Committed,
    Flush,
    Init,
    Poll,
    Seek,
    SendOffsets,
    SendRecord,
    Subscribe,
)
from ....kafka.clients.producer.flight import Kind
from ....kafka.messages import READ_COMMITTED, Position
from ....kafka.picture.view import read_world
from ....kafka.states import COMPLETED
from ....kernel import Asking, Money, Outcome, Property, Snapshot, Words, World
from ....kernel.options import LISTED
from ....kernel.world import NodeState
from ...check import TooLong, limit_time
from .ruled import AskingSystem
from .shop import find_price

GROUP = "accounting"
SOURCE = "orders-0"
SINK = "income-0"
#: a loop that makes more calls than this goes round for ever
CALLS = 30
LIMIT_S = 1.0


class Refused(Exception):
    """A call failed, and the producer cannot go on: only a new process helps."""


class Abortable(Exception):
    """The transaction cannot be committed any more: abort it, and life goes on."""


class PriceUnknown(Abortable):
    """The price service did not answer. Nothing to do with Kafka, but an order that cannot
    be worked out cannot be counted: its transaction must not be committed."""


ENDLESS = Words("it was stopped after {over} without a call: is there a loop without an end?")


class Endless(Exception):
    """A function goes round and round without calling anything; its text says so."""


class _Enough(BaseException):
    """The loop goes round for ever."""


@dataclass(frozen=True, slots=True)
class Order:
    """A record of `orders-0`."""

    offset: int
    value: str


class App:
    """A consumer and a transactional producer, as one process has them. The consumer has
    subscribed, the producer is initialised. Every call that fails raises `Abortable` or
    `Refused`."""

    def __init__(self, asking: Asking, loop: Loop) -> None:
        self._asking, self._orders, self._fails = asking, loop.orders, loop.fails
        self._member, self._transactional = loop.member, loop.transactional
        self._calls = 0
        self._ended_by: BaseException | None = None

    # -- the consumer ----------------------------------------------------------------------

    def poll(self) -> list[Order]:
        """The next orders; none: there is nothing left, and the function may return."""
        outcome = self._ask(Poll("" if self._member else SOURCE))
        words = [] if outcome.detail == "nothing" else outcome.detail.split(", ")
        return [Order(self._orders.index(word), word) for word in words]

    def seek(self, offset: int) -> None:
        """Read on at this offset."""
        self._ask(Seek(SOURCE, offset))

    def commit_offsets(self, offset: int) -> None:
        """consumer.commitSync: the group reads on here, whatever the producer does."""
        self._ask(CommitOffsets(GROUP, (Position(SOURCE, offset),)))

    # -- the producer ----------------------------------------------------------------------

    def begin(self) -> None:
        """beginTransaction"""
        self._ask(Begin())

    def send(self, value: str) -> None:
        """send to `income-0`"""
        self._ask(SendRecord(SINK, value))

    def flush(self) -> None:
        """Wait until everything that was sent is stored; a commit does that anyway."""
        self._ask(Flush())

    def send_offsets(self, offset: int) -> None:
        """sendOffsetsToTransaction(orders-0 → offset, consumer.groupMetadata())"""
        self._ask(SendOffsets(GROUP, (Position(SOURCE, offset),)))

    def commit(self) -> None:
        """commitTransaction"""
        self._ask(Commit())

    def abort(self) -> None:
        """abortTransaction"""
        self._ask(Abort())

    # -- the transformation ----------------------------------------------------------------

    def income(self, order: Order) -> str:
        """The income of an order, `580538+31678`; raises `PriceUnknown` now and then."""
        if self._fails:
            self._fails -= 1
            raise PriceUnknown("the price service does not answer")
        return order.value.replace(":", "+")

    # -- asking ----------------------------------------------------------------------------

    def start(self) -> None:
        """What every such process does first: become the only holder of its transactional
        id, then find out where the group has come to."""
        if self._transactional:
            self._ask(Init())
        if self._member:
            self._ask(Subscribe(GROUP, (SOURCE.rpartition("-")[0],)))
        else:
            position = self._ask(Committed(GROUP, (SOURCE,))).detail.rpartition("@")[2]
            self._ask(Seek(SOURCE, max(0, int(position))))

    def _ask(self, call: Any) -> Outcome:
        """Make a call of the application and return its outcome; raises Abortable or Refused for an
        error.

        A BaseException of the call ends the learner's function, and so does one call more than
        CALLS: it is kept, and raised again by whatever a `finally` or a bare `except` still calls.
        """
        if self._ended_by is None:
            self._calls += 1
            if self._calls > CALLS:
                self._ended_by = _Enough()
            else:
                try:
                    outcome: Outcome = self._asking(call)
                except BaseException as stop:
                    self._ended_by = stop
        if self._ended_by is not None:
            raise self._ended_by
        if outcome.ok:
            return outcome
        if outcome.meaning is Kind.ABORTABLE:
            raise Abortable(str(outcome))
        raise Refused(str(outcome))


Work = Callable[[App], None]


@dataclass(frozen=True, slots=True)
class Loop:
    """A function as a program: it starts over when its process does. What it does not catch ends
    its process. `member`: it reads as a member of the group; else its partition is assigned by
    hand, which leaves out rebalances and what they cost a search. `work`: the function; `orders`:
    those in the topic; `fails`: how many calls fail; `transactional`: its producer is."""

    work: Work
    orders: tuple[str, ...]
    fails: int = 0
    member: bool = False
    transactional: bool = True

    def __call__(self, asking: Asking) -> None:
        app = App(asking, self)
        try:
            app.start()
            with limit_time(LIMIT_S):
                self.work(app)
        except (Refused, Abortable, _Enough):
            return
        except TooLong as over:
            raise Endless(ENDLESS(over=over)) from None


# ---- The money of orders: Kafka, whose topic holds one charge an order, and one more light
#
#     system charges partitions=1 producers=old:order-service,new:order-service
#     run old: init, begin, send charges-0 580538, commit
#
# A value is the number of an order, whose customer owes its price once. *Money in = money out*: a
# reader of committed data is shown no order's charge twice, and every charge whose commit was
# acknowledged, once its coordinator counts the transaction as complete. Clients by hand may take
# part
# (`asking`).

MONEY = Words("money in = money out: each order is charged once")
OWED = Words("owed")
CHARGED = Words("charged")


@dataclass(frozen=True)
class ChargesSystem(AskingSystem):
    """`asking` with the topic `charges`, the light `money`, and the money itself."""

    topic: Annotated[str, LISTED] = "charges"

    name = "charges"

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        money = Property("money", MONEY(), self._balanced, "always", self._money_reads)
        return (money, *super()._properties)

    def snapshot(self, world: World) -> Snapshot:
        shown = self._shown(world)
        there = set(shown)
        money = Money(
            _sum_up(there | self._acknowledged(world)),
            _sum_up(shown),
            OWED(),
            CHARGED(),
            missing=_sum_up(self._settled(world) - there),
            extra=_sum_up(shown) - _sum_up(there),
        )
        return replace(super().snapshot(world), money=money)

    def _balanced(self, world: World) -> bool:
        shown = self._shown(world)
        return len(shown) == len(set(shown)) and self._settled(world) <= set(shown)

    def _shown(self, world: World) -> list[Sent]:
        """What a reader of committed data is given."""
        seen = read_world(self.cluster, world)
        return [
            (partition, value)
            for partition in self.cluster.partitions
            for batch, _ in seen.list_readable(partition, READ_COMMITTED)
            for value in batch.records
        ]

    def _settled(self, world: World) -> set[Sent]:
        """What must be shown by now. While markers are owed or nothing is decided that is nothing,
        and one who cannot be asked has lost nothing yet."""
        cluster = self.cluster
        if any(t.state not in COMPLETED for t in read_world(cluster, world).list_txns()):
            return set()
        up = {p for p in cluster.partitions if world.role(cluster.leader(world, p)) is not None}
        return {sent for sent in self._acknowledged(world) if sent[0] in up}

    def _acknowledged(self, world: World) -> set[Sent]:
        """What was sent in transactions whose commit returned ok."""
        return {
            sent
            for name, _ in self.cluster.producers
            for bracket in brackets(world.nodes[name])
            if bracket.end == "commit" and bracket.ok
            for sent in bracket.sent
        }

    def _money_reads(self, name: str, node: NodeState) -> Hashable:
        results = node.app.results if node.app is not None else ()
        return reads(self.cluster, name, node), results, node.up


def _sum_up(charges: Iterable[Sent]) -> int:
    """What these charges amount to, in pence."""
    return sum(find_price(str(value)) for _, value in charges)
