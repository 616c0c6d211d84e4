"""A partition whose subscriptions keep pending acks by a learner's functions.

Logs, cursors and dispatch are the engine's. What the functions say is looked at first: `held` is a
Map of positions and transactions, and the messages are positions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ....kernel import Disk, Effects, Event, Map, Text, replace, tr
from ....pulsar.config import PulsarConfig
from ....pulsar.ledger import Cursor
from ....pulsar.messages import AckPosition, TxnID
from ....pulsar.pending_ack import WHOLE, PendingAck
from ....pulsar.states import PendingAckState
from ....pulsar.subscription import Subscription
from ....pulsar.topic import Topic
from ...pulsar.systems.ruled import parse
from ..host import Broken, FunctionHost
from ..trial import say_death
from .api import Record

REFUSED = "{txn} is refused by your `may_acknowledge`"
NEEDS = ("may_acknowledge", "acknowledge", "commit", "abort", "acknowledge_plain", "load")


class AckHost(FunctionHost):
    """The process with the pending acks of `source`."""

    noun = tr("a file of pending acks")
    page = "mqlab.lessons.builder.pending_acks.api"
    file = "pending_acks.py"
    needs = NEEDS

    def recover(
        self, config: PulsarConfig, name: str, disk: Disk, at_ms: int
    ) -> tuple[Topic, Effects]:
        """The partition after a start."""
        return BuiltTopic(config, name, host=self).load(disk)


@dataclass(frozen=True, slots=True)
class BuiltPendingAck(PendingAck):
    """`broken`: why a load of it came to nothing."""

    broken: Text | None = None
    host: AckHost = field(compare=False, repr=False, kw_only=True)

    @property
    def held(self) -> Map[int, str]:
        """Each message with the transaction that has acknowledged it."""
        return Map(
            (position.position, str(txn))
            for txn, positions in self.of_txn
            for position in positions
        )

    def put(self, value: Any) -> BuiltPendingAck:
        """The same with another `held`, in which transactions stay in their order."""
        held = check_held(value)
        order = dict.fromkeys([*(str(txn) for txn, _ in self.of_txn), *held.values()])
        of_txn = tuple(
            (parse(txn), tuple(AckPosition(at) for at, who in held.items() if who == txn))
            for txn in order
            if txn in held.values()
        )
        positions: Map[int, tuple[int, ...]] = Map((at, WHOLE) for at in held)
        return replace(self, positions=positions, of_txn=of_txn, used=True)

    def find_conflict(self, cursor: Cursor, txn: TxnID, positions: Iterable[AckPosition]) -> str:
        messages = list_messages(positions)
        may = self.host.call("may_acknowledge", self.held, list_acked(cursor), str(txn), messages)
        if not isinstance(may, bool):
            raise Broken("`may_acknowledge` must say True or False, and says {!r:.80}", may)
        return "" if may else REFUSED.format(txn=txn)

    def acknowledge(self, txn: TxnID, positions: tuple[AckPosition, ...]) -> BuiltPendingAck:
        held = self.host.call("acknowledge", self.held, str(txn), list_messages(positions))
        return self.put(held)

    def commit(
        self, txn: TxnID, cursor: Cursor, batch_index_ack: bool, lac: int
    ) -> tuple[BuiltPendingAck, Cursor]:
        held, messages = check_two("commit", self.host.call("commit", self.held, str(txn)))
        return self.put(held), cursor.delete(messages)

    def abort(self, txn: TxnID) -> tuple[BuiltPendingAck, tuple[int, ...]]:
        held, messages = check_two("abort", self.host.call("abort", self.held, str(txn)))
        check_freed(self.held, str(txn), messages)
        return self.put(held), messages

    def clear_deleted(self, cursor: Cursor, acked: Iterable[AckPosition]) -> BuiltPendingAck:
        """What was acknowledged without a transaction."""
        return self.put(self.host.call("acknowledge_plain", self.held, list_messages(acked)))

    def replay(self, records: tuple[Record, ...], cursor: Cursor) -> tuple[PendingAck, Cursor]:
        """What a load finds; a function that fails leaves nothing but its words."""
        try:
            loaded = self.host.call("load", records, list_acked(cursor))
            held, messages = check_two("load", loaded)
            return replace(self.put(held), state=PendingAckState.READY), cursor.delete(messages)
        except Broken as error:
            return replace(self, broken=error.args[0]), cursor


@dataclass(frozen=True, slots=True)
class BuiltSubscription(Subscription):
    def replay_log(self, cursor: Cursor, disk: Disk, lac: int) -> tuple[PendingAck, Cursor]:
        log = disk.log(self.log)
        if log.end == 0:
            return self.pending, cursor
        records = (
            Record(one.op, str(one.txn), list_messages(one.positions)) for one in log.read(0)
        )
        pending = self.pending
        assert isinstance(pending, BuiltPendingAck)
        return pending.replay(tuple(records), cursor)


@dataclass(frozen=True, slots=True)
class BuiltTopic(Topic):
    """`failed`: why a function of its subscriptions does no more; None while they do."""

    failed: Text | None = None
    host: AckHost = field(compare=False, repr=False, kw_only=True)

    @property
    def broken(self) -> Text | None:
        """Why it does no more."""
        loads = (getattr(sub.pending, "broken", None) for sub in self.subs.values())
        return self.failed or next(filter(None, loads), None)

    def describe_changes(self, old: Topic | None) -> tuple[Text, ...]:
        return say_death(old, self) or Topic.describe_changes(self, old)

    def begin_subscription(self, name: str) -> Subscription:
        pending = BuiltPendingAck(host=self.host)
        return BuiltSubscription(self.config, self.name, name, pending=pending)

    def step(self, event: Event, disk: Disk) -> tuple[Topic, Effects]:
        if self.broken:
            return self, ()
        try:
            return Topic.step(self, event, disk)
        except Broken as error:
            return replace(self, failed=error.args[0]), ()


def list_messages(positions: Iterable[AckPosition]) -> tuple[int, ...]:
    return tuple(position.position for position in positions)


def list_acked(cursor: Cursor) -> tuple[int, ...]:
    """Every position that is acknowledged for good."""
    return (*range(cursor.mark_delete + 1), *cursor.list_individual())


def check_held(held: Any) -> Map[int, str]:
    """Broken for what is no Map from positions to transactions."""
    if not isinstance(held, Map):
        raise Broken("`held` is {!r:.80}, and must be a Map", held)
    for at, txn in held.items():
        if type(at) is not int or not isinstance(txn, str):
            raise Broken("`held` has {!r:.40}: {!r:.40}, and maps positions to transactions",
                         at, txn)  # fmt: skip
        try:
            parse(txn)
        except ValueError as error:
            raise Broken("`{}`: {}", "held", error) from error
    return held


def check_two(name: str, pair: Any) -> tuple[Any, tuple[int, ...]]:
    """Broken for what is not a Map and messages."""
    if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], tuple)):
        raise Broken("`{}` must return two values, `held` and a tuple of messages", name)
    if any(type(at) is not int or at < 0 for at in pair[1]):
        raise Broken("`{}` gives {!r:.80}, and messages are positions", name, pair[1])
    return pair


def check_freed(held: Map[int, str], txn: str, messages: tuple[int, ...]) -> None:
    """Broken where an abort would deliver again what its transaction did not have."""
    for place, at in enumerate(messages):
        holder = held.get(at, tr("nobody"))
        if holder != txn:
            raise Broken(
                "`abort` of {} gives message {}, which {} holds: it gives what its "
                "own transaction had, and nothing else",
                txn, at, holder,
            )  # fmt: skip
        if at in messages[:place]:
            raise Broken("`abort` of {} gives message {} twice: it is delivered twice", txn, at)
