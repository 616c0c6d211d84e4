"""SEND: whose it is first, then duplicates, then the buffer, then the ledger.

A plain message is appended at once, in every state of the buffer. One of a transaction waits until
the buffer has recovered, and the very first one until the first snapshot is safe. The coordinator
is not asked whether there is such a transaction: only the low watermark refuses it.

A transaction is named twice: in the command, by which the buffer goes as long as the topic is
loaded, and in the message itself, by which dispatchers filter what was aborted and a buffer
recovers. A client that leaves out the second (Pulsar's Go client 0.19.0 does) has its aborted
messages delivered, and those of open transactions after a load.

Source: PersistentTopic#publishMessage, #publishTxnMessage, MessageDeduplication#isDuplicate,
TopicTransactionBuffer#appendBufferToTxn, #internalAppendBufferToTxn (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Disk, Effects, Map, Reply, replace
from ...kernel.role import LogView
from ..errors import ServerError
from ..messages import LedgerEntry, SendMessage, SendReceipt
from ..states import BufferState
from . import access, snapshots
from .unsafe import Unsafe

if TYPE_CHECKING:
    from . import Topic

Result = tuple["Topic", Effects]

DUP_UNKNOWN = "Cannot determine whether the message is a duplicate at this time"
HAS_ENDED = "Transaction {txn} has been ended."


def publish(topic: Topic, ask: SendMessage, caller: Caller, disk: Disk) -> Result:
    refusal = access.find_refusal(topic, ask, caller) or _find_duplicate(topic, ask)
    if refusal is not None:
        return topic, (Reply(caller, refusal),)
    if ask.txn is None:
        return _append(topic, ask, caller, disk)
    match topic.buffer.state:
        case BufferState.READY:
            return _append_in_txn(topic, ask, caller, disk)
        case BufferState.NO_SNAPSHOT:
            waiting = replace(topic, queue=(*topic.queue, (caller, ask)))
            return snapshots.take_first(waiting, disk)
    return replace(topic, queue=(*topic.queue, (caller, ask))), ()


def _find_duplicate(topic: Topic, ask: SendMessage) -> SendReceipt | None:
    """A number that is safe already is swallowed with a receipt that names no position; of one
    that is still under way nobody can say (MessageDupUnknownException, which reaches the client as
    a PersistenceError). What waits for the buffer was not counted yet. Of a batch its lowest number
    is looked at. All chunks of a message have one number, so only the last one is looked at and
    counted."""
    lowest = ask.sequence if ask.lowest is None else ask.lowest
    if not topic.config.dedup or ask.is_part or lowest > topic.pushed.get(ask.producer, -1):
        return None
    if lowest <= topic.persisted.get(ask.producer, -1):
        return SendReceipt(position=-1)
    return SendReceipt(ServerError.PersistenceError, DUP_UNKNOWN)


def _append_in_txn(topic: Topic, ask: SendMessage, caller: Caller, disk: Disk) -> Result:
    assert ask.txn is not None
    if "low_watermark" in topic.config.on and topic.buffer.marks.covers(ask.txn):
        refusal = SendReceipt(ServerError.NotAllowedError, HAS_ENDED.format(txn=ask.txn))
        return topic, (Reply(caller, refusal),)
    return _append(topic, ask, caller, disk)


def _append(topic: Topic, ask: SendMessage, caller: Caller, disk: Disk) -> Result:
    metadata = ask.metadata or ask
    entry = LedgerEntry(-1, ask.values, metadata.producer, metadata.sequence, metadata.txn)
    pushed = topic.pushed if ask.is_part else _raise(topic.pushed, ask.producer, ask.sequence)
    return replace(topic, pushed=pushed).append(disk, Unsafe(entry, caller, sent=ask))


def finish(topic: Topic, done: Unsafe, disk: Disk) -> Result:
    """A message is safe: its producer hears where it lies."""
    sent, receipt = done.sent, SendReceipt(position=done.entry.base)
    assert done.caller is not None and sent is not None
    if not sent.is_part:
        persisted = _raise(topic.persisted, sent.producer, sent.sequence)
        topic = replace(topic, persisted=persisted)
    return topic, (Reply(done.caller, receipt),)


def recover_sequences(topic: Topic, log: LogView) -> Topic:
    """The highest number of each producer, as the messages say it themselves; an abort does not
    take it back. A chunk counts here, whichever it is: of a message of which some chunks were safe,
    the last one is then taken for a duplicate, and the message is lost (4.2.4 does so too)."""
    if not topic.config.dedup:
        return topic
    seen: Map[str, int] = Map()
    for entry in log.read(0):
        if entry.marker is None:
            seen = _raise(seen, entry.producer, entry.sequence)
    return replace(topic, pushed=seen, persisted=seen)


def _raise(numbers: Map[str, int], producer: str, number: int) -> Map[str, int]:
    if number <= numbers.get(producer, -1):
        return numbers
    return numbers.set(producer, number)
