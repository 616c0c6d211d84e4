"""A subscription: its place in the topic, its consumers, and what they have acknowledged.

Every subscription of a topic gets all messages, and each has a cursor of its own. Its consumers
share them, in a way that the type says: Exclusive and Failover serve one consumer in order, Shared
and Key_Shared several, message by message. For acknowledgements it matters which of these two:

                              Exclusive, Failover          Shared, Key_Shared
    acknowledge cumulatively  yes                          no
    after an abort            all that is not acknowledged  exactly the freed entries,
                              is sent again, in order       with a count that is one higher
    redelivery count          always 0                     counted

    consumers.py   who is connected, who is served, what is sent again
    dispatch.py    which entry goes to whom, and which to nobody
    acks.py        plain acknowledgements, those of transactions, and how transactions end

**Durable**: the cursor and the pending-ack log. *Memory*: the consumers, where the dispatcher
reads, redelivery counts. *What can go wrong:* a consumer dies with messages that it has not
acknowledged; they go to another one. A restart sends again whatever no cursor and no log knows.
*Invariants:* nothing above maxReadPosition is sent, no marker, nothing of an aborted transaction,
and nothing that an open transaction has acknowledged by itself. Messages under a pending
*cumulative* acknowledgement are sent again after a reconnect: only single ones are left out.

*Left out:* delayed delivery, the keys of Key_Shared (it acknowledges as Shared does), and the limit
of unacknowledged messages.
Read on in PersistentSubscription, PersistentDispatcherMultipleConsumers,
PersistentDispatcherSingleActiveConsumer, Consumer (Pulsar 4.2).
"""

from __future__ import annotations

from typing import Any

from ...kernel import Caller, Disk, Effects, Map, Put, Reply, Text, Truncate, frozen, replace
from ..config import CURSORS, PulsarConfig, name_pending_ack_log
from ..ledger import Cursor, TopicView
from ..messages import (
    Ack,
    Answer,
    CloseConsumer,
    EndTxnOnSubscription,
    Flow,
    Redeliver,
    Seek,
    Subscribe,
    SubscriptionRequest,
    Unsubscribe,
)
from ..pending_ack import PendingAck, replay_log
from ..states import INDIVIDUAL, SubType
from . import acks, consumers, dispatch
from .acks import Waiting
from .consumers import Attached
from .words import tell_subscription

__all__ = ["Attached", "Subscription"]

Result = tuple["Subscription", Effects]


@frozen
class Subscription:
    """`durable` False: a reader's, which goes with its consumer. `read`: the next entry to be
    read. `replay`: entries to be sent again before that, sorted; `counts`: how often each was.
    `turn`: whose turn it is among several consumers. `waiting`: records that are not safe yet.
    `gone`: it was unsubscribed, or its reader has left."""

    config: PulsarConfig
    partition: str
    name: str
    sub_type: SubType = SubType.EXCLUSIVE
    durable: bool = True
    cursor: Cursor = Cursor()
    pending: PendingAck = PendingAck()
    consumers: tuple[Attached, ...] = ()
    read: int = 0
    replay: tuple[int, ...] = ()
    counts: Map[int, int] = Map()
    turn: int = 0
    waiting: tuple[Waiting, ...] = ()
    gone: bool = False

    @property
    def log(self) -> str:
        """The name of its pending-ack log."""
        return name_pending_ack_log(self.partition, self.name)

    @property
    def is_single(self) -> bool:
        """One consumer is served, in order."""
        return self.sub_type not in INDIVIDUAL

    # -- what a topic calls ------------------------------------------------------------------

    def handle_request(
        self, body: SubscriptionRequest, caller: Caller, view: TopicView, disk: Disk
    ) -> Result:
        return self._go_on(self._handle(body, caller, view, disk), view)

    def finish_append(self, end: int, view: TopicView, disk: Disk) -> Result:
        """The pending-ack log is safe below `end`."""
        return self._go_on(acks.finish_append(self, end, view.lac, disk), view)

    def lose_consumer(self, client: str, view: TopicView) -> Result:
        """The connection to a client broke."""
        new, was_here = consumers.detach(self, client)
        new = replace(new, gone=new.gone or (was_here and not new.durable))
        return self._go_on((new, ()), view)

    def dispatch(self, view: TopicView) -> Result:
        """maxReadPosition may have moved."""
        return self._go_on((self, ()), view)

    def _handle(self, body: Any, caller: Caller, view: TopicView, disk: Disk) -> Result:
        match body:
            case Subscribe():
                return consumers.subscribe(self, body, caller)
            case Flow(permits=permits):
                return consumers.give_permits(self, caller.name, permits), ()
            case Ack(txn=None):
                return acks.acknowledge_plain(self, body, view.lac)
            case Ack():
                return acks.acknowledge_in_txn(self, body, caller, view.lac, disk)
            case Redeliver(positions=positions):
                return consumers.redeliver(self, caller.name, positions), ()
            case Seek():
                return consumers.seek(self, body, caller, view.lac)
            case CloseConsumer():
                new, was_here = consumers.detach(self, caller.name)
                return replace(new, gone=was_here and not new.durable), ()
            case Unsubscribe():
                if (refused := consumers.find_users(self, body)) is not None:
                    return self, (Reply(caller, refused),)
                return replace(self, gone=True), (Truncate(self.log, 0), Reply(caller, Answer()))
            case EndTxnOnSubscription():
                return acks.end_txn(self, body, caller, view.lac, disk)
        raise TypeError(f"a subscription is never sent {type(body).__name__}")

    def _go_on(self, done: Result, view: TopicView) -> Result:
        """After whatever happened: send what may be sent now, and keep the cursor."""
        new, effects = done
        if not new.gone:
            new, sent = dispatch.dispatch(new, view)
            effects = (*effects, *sent)
        if new.gone and self.durable:
            return new, (Put(CURSORS, self.name, None), *effects)
        if new.cursor != self.cursor and new.durable:
            return new, (Put(CURSORS, self.name, new.cursor), *effects)
        return new, effects

    def describe_changes(self, old: Subscription | None) -> tuple[Text, ...]:
        return tell_subscription(old, self)

    # -- how it begins -----------------------------------------------------------------------

    def create(self, mark_delete: int, durable: bool = True) -> Result:
        """The first Subscribe: everything up to `mark_delete` counts as acknowledged."""
        cursor = Cursor(mark_delete)
        new = replace(self, durable=durable, cursor=cursor, read=mark_delete + 1)
        return new, (Put(CURSORS, self.name, cursor),) if durable else ()

    def load(self, disk: Disk, lac: int) -> Result:
        """From the cursor's row and the pending-ack log. A commit that is in the log and not in
        the row is applied now."""
        kept: Cursor = disk.table(CURSORS)[self.name]
        pending, cursor = self.replay_log(kept, disk, lac)
        effects: Effects = (Put(CURSORS, self.name, cursor),) if cursor != kept else ()
        return consumers.rewind(replace(self, cursor=cursor, pending=pending)), effects

    def replay_log(self, cursor: Cursor, disk: Disk, lac: int) -> tuple[PendingAck, Cursor]:
        """What this subscription, of which nothing is known yet, and its cursor come to, in a topic
        that is confirmed up to `lac`."""
        return replay_log(self.config, self.pending, cursor, disk.log(self.log), lac)
