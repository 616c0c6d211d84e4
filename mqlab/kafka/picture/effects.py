"""What an effect of a Kafka role is called where a stop tells if it had been done."""

from __future__ import annotations

from ...kernel import Append, Effect, Named, Reply, Send, Text, Words, name_plainly
from ..coordinator import StateRecord
from ..log import AbortedTxn, Batch
from ..messages import Produce, WriteTxnMarkers
from ..replication.messages import FetchReplica

MARKER_TO = Words("the marker to {to}")
MARKERS = Words("markers")
ANSWER = Words("the answer")
ANSWERS = Words("answers")
MARKER = Words("the marker")
RECORDS = Words("records")
INDEX = Words("the entry in .txnindex")
BATCHES = Words("batches")


def name_effect(role: str, effect: Effect) -> Named | None:
    """None for what a role only notes for itself: nobody else would miss it."""
    match effect:
        case Send(to=to) if to == role:
            return None
        case Send(body=FetchReplica()):
            return None
        case Send(to=to, body=WriteTxnMarkers()):
            return Named(MARKER_TO(to=to), MARKERS())
        case Send(body=Produce(batch=batch)):
            return Named(Text(f"Produce {batch.words}"), BATCHES())
        case Reply():
            return Named(ANSWER(), ANSWERS())
        case Append(entry=StateRecord(entry=entry)):
            return Named(Text(str(entry.state)), RECORDS())
        case Append(entry=AbortedTxn()):
            return Named(INDEX(), INDEX())
        case Append(entry=Batch() as batch):
            return Named(MARKER() if batch.control else Text(batch.words), RECORDS())
    return name_plainly(effect)
