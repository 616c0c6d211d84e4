"""What an effect of a RocketMQ role is called where a stop tells if it had been done."""

from __future__ import annotations

from ...kernel import Append, Effect, Named, Put, Reply, Send, Words, name_plainly
from ..application.database import TABLE
from ..log import QueueEntry, Stored
from ..log.offsets import TABLE as OFFSETS
from ..messages import CheckTransactionState, HeartbeatResponse

ANSWER = Words("the answer", "应答")
ANSWERS = Words("answers", "应答")
QUESTION = Words("the question about {order}", "关于 {order} 的询问")
QUESTIONS = Words("questions", "询问")
HALF = Words("the half message", "半消息"), Words("half messages", "半消息")
COPY = (
    Words("the copy of the half message", "半消息的副本"),
    Words("copies of halves", "半消息副本"),
)
RECORDS = {
    "op": (Words("the op record", "op 记录"), Words("op records", "op 记录")),
    "discard": (Words("the parked half message", "转存的半消息"), Words("parked halves", "转存")),
    "delayed": (Words("the delayed message", "延时消息"), Words("delayed messages", "延时消息")),
    "message": (Words("the message", "消息"), Words("messages", "消息")),
}
ROW = Words("the row", "行")
ROWS = Words("rows", "行")


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
