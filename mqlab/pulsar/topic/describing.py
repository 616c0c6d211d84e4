"""Administration (REST): what may be asked of a partition, and what a reader may ask.

Source: PersistentTopic#getLastDispatchablePosition, TransactionsBase, PendingAckHandleImpl#
checkPositionInPendingAckState (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel import Caller, Disk, Effects, Reply
from ..errors import ServerError
from ..messages import (
    Ack,
    AckPosition,
    AckResponse,
    Answer,
    CreateNamespace,
    Described,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    GetBufferStats,
    GetLastMessageId,
    GetPendingAckStats,
    GetPositionStats,
    GetTransactionInBuffer,
    LastMessageId,
    SubscriptionRequest,
    TxnID,
    Unsubscribe,
)
from ..states import PendingAckState

if TYPE_CHECKING:
    from ..subscription import Subscription
    from . import Topic


def answer(topic: Topic, body: Any, disk: Disk) -> Answer:
    match body:
        case GetLastMessageId():
            return LastMessageId(position=_find_last(topic, disk))
        case GetBufferStats():
            return Described(facts=_describe_buffer(topic))
        case GetTransactionInBuffer(txn=txn):
            return Described(facts=_describe_txn(topic, txn))
        case GetPendingAckStats(subscription=name) | GetPositionStats(subscription=name):
            sub = topic.subs.get(name)
            if sub is None:
                return Described(ServerError.SubscriptionNotFound)
            if isinstance(body, GetPendingAckStats):
                return Described(facts=_describe_pending(sub))
            state = _find_state(sub, body.position, disk)
            return Described(facts=(("state", state),))
        case CreateNamespace():  # REST's 409 (NamespacesBase#internalCreateNamespace)
            return Answer(ServerError.NotAllowedError, "Namespace already exists")
    raise TypeError(f"a partition is never sent {type(body).__name__}")


def refuse_unknown(body: SubscriptionRequest, caller: Caller) -> Effects:
    """There is no such subscription: a transaction ends well, an acknowledgement in one fails,
    and for the rest nobody waits."""
    match body:
        case EndTxnOnSubscription(txn=txn, subscription=name):
            return (Reply(caller, EndTxnOnSubscriptionResponse(txn=txn, subscription=name)),)
        case Ack(txn=txn) if txn is not None:
            return (Reply(caller, AckResponse(ServerError.SubscriptionNotFound)),)
        case Unsubscribe():
            return (Reply(caller, Answer(ServerError.SubscriptionNotFound)),)
    return ()


def _find_last(topic: Topic, disk: Disk) -> int:
    """The last entry that a reader could be sent: no marker, and nothing aborted."""
    view, position = topic.view(disk), topic.readable
    while position >= 0:
        entry = next(iter(view.log.read(position, position + 1)), None)
        if entry is None:
            return -1
        if entry.marker is None and not (entry.txn is not None and view.is_aborted(entry.txn)):
            return position
        position -= 1
    return position


def _describe_buffer(topic: Topic) -> tuple[tuple[str, str], ...]:
    buffer = topic.buffer
    return (
        ("state", buffer.state),
        ("maxReadPosition", str(buffer.max_read_position)),
        ("ongoingTxnSize", str(len(buffer.ongoing))),
        ("totalAbortedTransactions", str(len(buffer.aborts))),
    )


def _describe_txn(topic: Topic, txn: TxnID) -> tuple[tuple[str, str], ...]:
    start = topic.buffer.find_start(txn)
    aborted = txn in topic.buffer.aborts
    return (
        ("startPosition", "null" if start is None else str(start)),
        ("aborted", str(aborted).lower()),
    )


def _describe_pending(sub: Subscription) -> tuple[tuple[str, str], ...]:
    """Only what was acknowledged one by one counts as ongoing."""
    return (("state", sub.pending.state), ("ongoingTxnSize", str(len(sub.pending.of_txn))))


def _find_state(sub: Subscription, position: AckPosition, disk: Disk) -> str:
    if sub.pending.state is not PendingAckState.READY:
        return "PendingAckNotReady"
    if position.position <= sub.cursor.mark_delete:
        return "MarkDelete"
    entry = next(iter(disk.log(sub.partition).read(position.position, position.position + 1)), None)
    size = 0 if entry is None else len(entry.values)
    if position.position in sub.pending.positions and position.batch_index >= size:
        return "InvalidPosition"
    return "PendingAck" if sub.pending.is_pending(position) else "NotInPendingAck"
