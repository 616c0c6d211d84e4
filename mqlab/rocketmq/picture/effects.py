"""What an effect of a RocketMQ role is called where a stop tells if it had been done."""

from __future__ import annotations

from ...kernel import Append, Effect, Named, Put, Reply, Send, Words, name_plainly
from ..application.database import TABLE
from ..log import QueueEntry, Stored
from ..log.offsets import TABLE as OFFSETS
from ..messages import CheckTransactionState, HeartbeatResponse

ANSWER = Words("the answer")
ANSWERS = Words("answers")
QUESTION = Words("the question about {order}")
QUESTIONS = Words("questions")
HALF = Words("the half message"), Words("half messages")
COPY = (
    Words("the copy of the half message"),
    Words("copies of halves"),
)
RECORDS = {
    "op": (Words("the op record"), Words("op records")),
    "discard": (Words("the parked half message"), Words("parked halves")),
    "delayed": (Words("the delayed message"), Words("delayed messages")),
    "message": (Words("the message"), Words("messages")),
}
ROW = Words("the row")
ROWS = Words("rows")


def name_effect(effect: Effect) -> Named | None:
    """None for what nobody would miss: a queue's entry is written again after a restart, and an
    offset on the disk is only a little older than it could be."""
    match effect:
        case Append(entry=QueueEntry()) | Send(body=HeartbeatResponse()):
            return None
        case Append(entry=Stored() as stored):
            return _name_record(stored)
        case Put(table=table) if table == TABLE:
            return Named(ROW(), ROWS())
        case Put(table=table) if table == OFFSETS:
            return None
        case Send(body=CheckTransactionState(message=message)):
            return Named(QUESTION(order=message.words), QUESTIONS())
        case Reply():
            return Named(ANSWER(), ANSWERS())
    return name_plainly(effect)


def _name_record(stored: Stored) -> Named:
    half = COPY if stored.message.check_times else HALF
    one, many = half if stored.kind == "half" else RECORDS[stored.kind]
    return Named(one(), many())
