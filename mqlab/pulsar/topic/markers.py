"""Transaction markers (END_TXN_ON_PARTITION), and what a low watermark reveals.

A commit appends its marker even where the transaction has written nothing; an abort only once
the buffer is Ready, since before its first snapshot nothing can be open. (But what waits for that
very snapshot is appended afterwards, and then blocks the partition.) Then the mark that came along
is looked at: if the oldest open transaction has certainly ended, an abort marker is appended
for it, and when that one is safe the next oldest is looked at.

Source: TopicTransactionBuffer#commitTxn, #abortTxn, #handleLowWaterMark (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Caller, Disk, Effects, Reply, replace
from ..config import MARKER_PRODUCER
from ..messages import EndTxnOnPartition, EndTxnOnPartitionResponse, LedgerEntry, TxnID
from ..states import MARKER_OF, BufferState, TxnAction
from .unsafe import Unsafe

if TYPE_CHECKING:
    from . import Topic

Result = tuple["Topic", Effects]


def end_txn(topic: Topic, ask: EndTxnOnPartition, caller: Caller, disk: Disk) -> Result:
    """The coordinator says how a transaction ended; a topic that was deleted has nothing to do."""
    done = Reply(caller, EndTxnOnPartitionResponse(txn=ask.txn))
    if not topic.exists:
        return topic, (done,)
    match topic.buffer.state:
        case BufferState.INITIALIZING:
            return replace(topic, queue=(*topic.queue, (caller, ask))), ()
        case state if state is not BufferState.READY and ask.action is TxnAction.ABORT:
            return topic, (done,)
    marker = _build_marker(ask.txn, ask.action)
    return topic.append(disk, Unsafe(marker, caller, ask.low_watermark))


def _build_marker(txn: TxnID, action: TxnAction) -> LedgerEntry:
    return LedgerEntry(-1, producer=MARKER_PRODUCER, txn=txn, marker=MARKER_OF[action])


def finish(topic: Topic, done: Unsafe, disk: Disk) -> Result:
    """A marker is safe: the transaction has ended here."""
    txn = done.entry.txn
    assert txn is not None
    reply: Effects = ()
    if done.caller is not None:
        reply = (Reply(done.caller, EndTxnOnPartitionResponse(txn=txn)),)
    if done.low_watermark is not None:
        marks = topic.buffer.marks.hear(txn.most, done.low_watermark)
        topic = replace(topic, buffer=replace(topic.buffer, marks=marks))
    new, effects = _abort_ended(topic, disk)
    return new, (*reply, *effects)


def _abort_ended(topic: Topic, disk: Disk) -> Result:
    """The oldest open transaction here, if its coordinator has ended it long ago. One at a time."""
    buffer = topic.buffer
    if not buffer.ongoing or "low_watermark" not in topic.config.on:
        return topic, ()
    oldest, _ = buffer.ongoing[0]
    busy = any(unsafe.caller is None for unsafe in topic.appends)
    if busy or not buffer.marks.covers(oldest):
        return topic, ()
    return topic.append(disk, Unsafe(_build_marker(oldest, TxnAction.ABORT)))
