"""What an effect of a Pulsar role is called where a stop tells if it had been done."""

from __future__ import annotations

from ...kernel import Append, Effect, Named, Put, Reply, Send, Words, name_plainly
from ..config import CURSORS
from ..messages import (
    BufferSnapshot,
    EndTxnOnPartition,
    EndTxnOnSubscription,
    Flow,
    LedgerEntry,
    PendingAckEntry,
    PushMessage,
    TransactionMetadataEntry,
)

ANSWER = Words("the answer"), Words("answers")
MARKER = Words("the marker"), Words("markers")
MESSAGE = Words("the message"), Words("messages")
SNAPSHOT = Words("the snapshot"), Words("snapshots")
RECORD = Words("the record {what}"), Words("records")
CURSOR = Words("the cursor on the disk"), Words("cursors")
TOLD = (
    Words("the end for {who}"),
    Words("notices of the end"),
)
PUSHED = Words("a message for a consumer"), Words("messages")


def name_effect(effect: Effect) -> Named | None:
    """The label of an effect in the diagram; None for what nobody would miss: permits are given
    again with each connection."""
    match effect:
        case Send(body=Flow()):
            return None
        case Append(entry=LedgerEntry(marker=marker)):
            one, many = MESSAGE if marker is None else MARKER
        case Append(entry=BufferSnapshot()):
            one, many = SNAPSHOT
        case Append(entry=TransactionMetadataEntry() | PendingAckEntry() as record):
            return Named(RECORD[0](what=record), RECORD[1]())
        case Put(table=table) if table == CURSORS:
            one, many = CURSOR
        case Send(to=to, body=EndTxnOnPartition() | EndTxnOnSubscription()):
            return Named(TOLD[0](who=to), TOLD[1]())
        case Send(body=PushMessage()):
            one, many = PUSHED
        case Reply():
            one, many = ANSWER
        case _:
            return name_plainly(effect)
    return Named(one(), many())
