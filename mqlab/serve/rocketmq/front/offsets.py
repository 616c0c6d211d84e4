"""How far consumer groups have come, and from where to where a queue goes.

Source: ConsumerManageProcessor, AdminBrokerProcessor#getMaxOffset, #getMinOffset,
#searchOffsetByTimestamp, #getEarliestMsgStoretime, DefaultMessageStore (4.9.7, 5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....kernel import Caller, Disk, Effects, Reply, Request
from ....rocketmq.group import OffsetResponse, QueryConsumerOffset, UpdateConsumerOffset
from ....rocketmq.log import Stored, offset_key, read_queue
from ....rocketmq.messages import name_queue
from ....rocketmq.remoting import RequestCode, ResponseCode
from ..wire import answers
from ..wire.answers import Ask, FrontAnswer
from ..wire.headers import RequestError
from .sending import FRONT
from .topics import NO_TOPIC, find_topic, group_fault

if TYPE_CHECKING:
    from . import Front

NO_GROUP = "Group {group} not exist!"
ILLEGAL_QUEUE = "queueId[{queue}] is illegal, topic:[{topic}] topicConfig.readQueueNums:[{most}]"
FIRST_BOOT = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
ZERO, BOUNDARY = "setZeroIfNotFound", "boundaryType"  # fields that a client of 5.5 may send
NOT_ZERO = "Not found, do not set to zero, maybe this group boot first"
RESET_BEFORE = "Offset has been previously reset"
Result = tuple["Front", Effects]


def find_queue(front: Front, disk: Disk, topic: str, queue_id: int) -> str:
    """The name of a queue. Raises RequestError where there is none."""
    row = find_topic(disk, topic)
    if row is None:
        raise RequestError(NO_TOPIC.format(topic=topic), ResponseCode.TOPIC_NOT_EXIST)
    if not 0 <= queue_id < row.read_queues:
        remark = ILLEGAL_QUEUE.format(queue=queue_id, topic=topic, most=row.read_queues)
        raise RequestError(remark, front.code_of_illegal(ResponseCode.INVALID_PARAMETER))
    return name_queue(topic, queue_id)


def say_number(front: Front, caller: Caller, name: str, number: int) -> Result:
    return front, (Reply(caller, FrontAnswer(fields=((name, str(number)),))),)


# ---- consumer groups -------------------------------------------------------------------------


def query_offset(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """A group that has never said anything begins at 0 where the queue's first message is still
    at hand, unless the client of 5.5 does not want that; in 4.9 also where there is none yet."""
    body: QueryConsumerOffset = ask.body
    reset = front.resets.get(offset_key(body.group, body.queue))
    if reset is not None:
        return front, (Reply(caller, OffsetResponse(queue=body.queue, offset=reset)),)
    known = front.broker.offsets.get(offset_key(body.group, body.queue), -1) >= 0
    if front.is_older and not known and disk.log(body.queue).end == 0:
        return front, (Reply(caller, OffsetResponse(queue=body.queue, offset=0)),)
    if not known and not front.is_older and ask.command.fields.get(ZERO) == "false":
        raise RequestError(NOT_ZERO, ResponseCode.QUERY_NOT_FOUND)
    if not known and (disk.log(body.queue).start or not disk.log(body.queue).end):
        raise RequestError(FIRST_BOOT, ResponseCode.QUERY_NOT_FOUND)
    return front.ask_broker(Request(caller, body, at_ms), disk)


def update_offset(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: answers.UpdateConsumerOffset = ask.body
    if group_fault(body.group, older=front.is_older):
        remark = NO_GROUP.format(group=body.group)
        raise RequestError(remark, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
    queue = find_queue(front, disk, body.topic, body.queue_id)
    if offset_key(body.group, queue) in front.resets:
        return front, (Reply(caller, FrontAnswer(remark=RESET_BEFORE)),)
    new, effects = note_position(front, body.group, queue, body.offset, disk)
    return new, (*effects, Reply(caller, FrontAnswer()))


def note_position(front: Front, group: str, queue: str, offset: int, disk: Disk) -> Result:
    """In memory at once, on the disk every five seconds: the broker keeps it."""
    update = UpdateConsumerOffset(group, queue, offset)
    return front.ask_broker(Request(Caller(FRONT), update), disk)


# ---- queues ----------------------------------------------------------------------------------


def answer_bound(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """GET_MAX_OFFSET and GET_MIN_OFFSET; of a queue that is not there both are 0."""
    body: answers.OfQueue = ask.body
    log = disk.log(name_queue(body.topic, body.queue_id))
    at = log.end if ask.command.code == RequestCode.GET_MAX_OFFSET else log.start
    return say_number(front, caller, "offset", at)


def answer_earliest(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: answers.OfQueue = ask.body
    stored = read_queue(disk, name_queue(body.topic, body.queue_id), 0, 1)
    stored_ms = stored[0].store_ms if stored else -1
    return say_number(front, caller, "timestamp", stored_ms)


def search_offset(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """The first message that was stored at that time or later. Where there is none, 5.5 says
    the end of the queue, 4.9 its last message. Of 5.5 a client may also want the last message that
    was stored at that time or before; the first one where there is none."""
    body: answers.OfQueue = ask.body
    queue = name_queue(body.topic, body.queue_id)
    at = find_since(disk, queue, body.at_ms)
    if not front.is_older and ask.command.fields.get(BOUNDARY, "").upper() == "UPPER":
        at = max(find_since(disk, queue, body.at_ms + 1) - 1, disk.log(queue).start)
    elif at == disk.log(queue).end and front.is_older:
        at = max(at - 1, 0)
    return say_number(front, caller, "offset", at)


def find_since(disk: Disk, queue: str, since_ms: int) -> int:
    """By halving: messages are stored one after the other."""
    low, high = disk.log(queue).start, disk.log(queue).end
    while low < high:
        middle = (low + high) // 2
        if read_at(disk, queue, middle).store_ms < since_ms:
            low = middle + 1
        else:
            high = middle
    return low


def read_at(disk: Disk, queue: str, offset: int) -> Stored:
    return read_queue(disk, queue, offset, 1)[0]
