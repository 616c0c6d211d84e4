"""Administration: what mqadmin reads of topics and groups, and what it may change: positions
and topics. Beside it look-ups of messages by key and id, and messages that wait for an answer.

Everything is read from what is there: the log, the offsets, the connections. What is not counted
here (messages handed out per second) is left out of an answer rather than made up; mqadmin then
shows 0.

**A reset** is the broker's own affair in 5.5: it keeps the new position until the group's next pull
of that queue, which is answered with OFFSET_RESET; until then a consumer's report is passed over.

Source: AdminBrokerProcessor#getTopicStatsInfo, #getConsumeStats, #getConsumerConnectionList,
#getAllProducerInfo, #queryTopicConsumeByWho, #resetOffsetInner, #deleteTopic,
RouteInfoManager#getAllTopicList, ConsumerOffsetManager#assignResetOffset (5.5.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ....kernel import Caller, Disk, Effects, Map, Put, Reply, Send, replace
from ....rocketmq.config import DISCARD_TOPIC, RETRY_PREFIX
from ....rocketmq.log import (
    COMMIT_LOG,
    DISPATCHED,
    TABLE,
    Stored,
    is_readable,
    list_queues,
    offset_key,
    read_stored,
)
from ....rocketmq.messages import KEYS, UNIQ_KEY, Message, name_queue, split_queue
from ....rocketmq.remoting import (
    RemotingCommand,
    RequestCode,
    ResponseCode,
    encode_by_queue,
    encode_json,
    encode_properties,
)
from ..wire import answers
from ..wire.answers import Ask, Messages, write_host
from ..wire.headers import RequestError
from . import sending
from .offsets import find_since, read_at
from .topics import (
    AUTO_CREATE,
    BROKER_NAME,
    CLUSTER,
    SYSTEM,
    SYSTEM_TOPIC,
    TOPICS,
    Topic,
    find_topic,
    name_fault,
    say,
)

if TYPE_CHECKING:
    from . import Front


GROUPS = "groups"
NOT_ONLINE = "the consumer group[{group}] not online"
NO_STATS_TOPIC = "topic[{topic}] not exist"
NO_CONFIG_TOPIC = "No topic in this broker. topic: {topic}"
NO_RESET_TOPIC = "Topic {topic} does not exist"
NO_RESET_GROUP = "Group {group} does not exist"
OUT_OF_RANGE = "Target offset {offset} not in consume queue range [{start}-{end}]"
OLDER_RESET = "a reset is served as 5.5 does it, and this broker is started as 4.9"
Result = tuple["Front", Effects]


# ---- topics --------------------------------------------------------------------------


def list_topics(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """The topics that there are; the one of half messages that were given up begins with the
    first."""
    names: list[str] = []
    if ask.body in (None, CLUSTER):  # None: of any
        names = sorted({*SYSTEM, *disk.table(TOPICS)})
        if disk.log(name_queue(DISCARD_TOPIC, 0)).end == 0:
            names.remove(DISCARD_TOPIC)
    return say(front, caller, encode_json({"topicList": names}))


def describe_topic(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """Answer GET_TOPIC_CONFIG with a topic's TopicConfig as JSON, or refuse it for a topic that
    does not exist. A broker of 4.9 does not know the command."""
    topic = find_topic(disk, ask.body)
    if front.is_older:
        remark = f" request type {int(RequestCode.GET_TOPIC_CONFIG)} not supported"
        raise RequestError(remark, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
    if topic is None:
        raise RequestError(NO_CONFIG_TOPIC.format(topic=ask.body), ResponseCode.TOPIC_NOT_EXIST)
    config = {
        "attributes": {},
        "order": False,
        "perm": topic.perm,
        "readQueueNums": topic.read_queues,
        "topicFilterType": "SINGLE_TAG",
        "topicName": topic.name,
        "topicSysFlag": topic.sys_flag,
        "writeQueueNums": topic.write_queues,
    }
    return say(front, caller, encode_json(config))


def answer_topic_stats(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    topic = find_topic(disk, ask.body)
    if topic is None:
        raise RequestError(NO_STATS_TOPIC.format(topic=ask.body), ResponseCode.TOPIC_NOT_EXIST)
    table = encode_by_queue(_list_bounds(topic, disk), BROKER_NAME)
    queues = [name_queue(topic.name, number) for number in range(topic.queues)]
    stored = sum(disk.log(q).end - find_since(disk, q, at_ms - 60_000) for q in queues) / 60
    tps = "" if front.is_older else f',"topicPutTps":{stored}'
    return say(front, caller, f'{{"offsetTable":{table}{tps}}}'.encode())


def _list_bounds(topic: Topic, disk: Disk) -> Iterator[tuple[str, int, Any]]:
    for number in range(topic.queues):
        log = disk.log(name_queue(topic.name, number))
        last = read_at(disk, name_queue(topic.name, number), log.end - 1) if log.end else None
        yield (
            topic.name,
            number,
            {
                "lastUpdateTimestamp": last.store_ms if last is not None else 0,
                "maxOffset": log.end,
                "minOffset": log.start,
            },
        )


def delete_topic(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """Handle DELETE_TOPIC: delete a topic with its queues and, as RocketMQ 5 does and 4.9 does
    not, the offsets that consumer groups have in it. Its messages stay in the commit log, but no
    queue refers to them; a restart does not build the queues again, because the whole log is
    marked as dispatched. A topic that does not exist is answered OK."""
    topic: str = ask.body
    # only a blank name is refused, not one with characters that no topic may have
    fault = name_fault(topic) if not topic.strip() else ""
    if topic in SYSTEM:
        fault = SYSTEM_TOPIC.format(topic=topic)
    if fault:
        raise RequestError(fault, front.code_of_illegal(ResponseCode.INVALID_PARAMETER))
    if topic not in disk.table(TOPICS):
        return say(front, caller)
    new, drops = front, Effects()
    if not front.is_older:  # 4.9 keeps the positions, also when the topic is made again
        new, drops = _drop_offsets(front, disk, topic)
    dispatched = Put(DISPATCHED, COMMIT_LOG, disk.log(COMMIT_LOG).end)
    # with the topic's row the server drops its queues (`adapter.drop_queues`)
    return say(new, caller, b"", *drops, dispatched, Put(TOPICS, topic, None))


# ---- groups --------------------------------------------------------------------------


def list_positions(front: Front) -> Iterator[tuple[str, str, int]]:
    """(topic, group, queue) of every position there is, reported or set by a reset."""
    for key in sorted({*front.broker.offsets, *front.resets}):
        queue, _, group = key.partition("@")
        topic, number = split_queue(queue)
        yield topic, group, number


def answer_progress(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: answers.GetConsumeStats = ask.body
    known = sorted({topic for topic, group, _ in list_positions(front) if group == body.group})
    group = front.clients.find(body.group)
    subscribed = group.subscriptions if group is not None else Map()
    rows = []
    for name in [body.topic] if body.topic else known:
        topic = find_topic(disk, name)
        if topic is not None and (not subscribed or name in subscribed):
            rows += [*_list_progress(front, body.group, topic, disk)]
    table = encode_by_queue(rows, BROKER_NAME)
    return say(front, caller, f'{{"offsetTable":{table}}}'.encode())


def _list_progress(
    front: Front, group: str, topic: Topic, disk: Disk
) -> Iterator[tuple[str, int, Any]]:
    """`pullOffset`: how far the group has been sent messages, which 5.x keeps in memory."""
    for number in range(topic.queues):
        queue = name_queue(topic.name, number)
        key, end = offset_key(group, queue), disk.log(queue).end
        at = front.resets.get(key, front.broker.offsets.get(key, 0))
        last = read_at(disk, queue, at - 1).store_ms if disk.log(queue).start < at <= end else 0
        row = {"brokerOffset": end, "consumerOffset": at, "lastTimestamp": last}
        if not front.is_older:
            row["pullOffset"] = front.pulled.get(key, at)
        yield topic.name, number, row


def list_readers(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """The groups that have read of a topic, or have subscribed to it."""
    groups = {group for topic, group, _ in list_positions(front) if topic == ask.body}
    groups |= {
        name for name, group in front.clients.groups.items() if ask.body in group.subscriptions
    }
    return say(front, caller, encode_json({"groupList": sorted(groups)}))


def _drop_offsets(front: Front, disk: Disk, topic: str) -> Result:
    """Every group's of a topic, in memory and on the disk at once."""
    keys = [
        offset_key(group, name_queue(name, number))
        for name, group, number in list_positions(front)
        if name == topic
    ]
    offsets, resets, pulled = front.broker.offsets, front.resets, front.pulled
    for key in keys:
        offsets, resets, pulled = offsets.remove(key), resets.remove(key), pulled.remove(key)
    new = replace(
        front, broker=replace(front.broker, offsets=offsets), resets=resets, pulled=pulled
    )
    return new, tuple(Put(TABLE, key, None) for key in keys if key in disk.table(TABLE))


# ---- connections ---------------------------------------------------------------------


def list_members(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """Answer GET_CONSUMER_CONNECTION_LIST with the connected members of a consumer group and what
    they subscribe to, as JSON; refuse it where no member is connected."""
    group = front.clients.find(ask.body)
    if group is None:
        raise RequestError(NOT_ONLINE.format(group=ask.body), ResponseCode.CONSUMER_NOT_ONLINE)
    members = [front.clients.connected[name] for name in group.members]
    answer = {
        "connectionSet": [member.row() for member in members],
        "consumeFromWhere": group.kind.from_where,
        "consumeType": group.kind.consume_type,
        "messageModel": group.kind.model,
        "subscriptionTable": {
            topic: wanted.row() for topic, wanted in sorted(group.subscriptions.items())
        },
    }
    return say(front, caller, encode_json(answer))


def list_all_producers(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    known = front.clients.connected
    data = {
        group: [known[name].producer_row() for name in names if name in known]
        for group, names in sorted(front.broker.producers.groups.items())
    }
    return say(front, caller, encode_json({"data": data}))


# ---- positions -----------------------------------------------------------------------


def reset_offset(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """Handle the command RESET_OFFSET: at its next pull the group reads one queue on from the
    offset given, or, without one and for all queues (queue_id -1), each from its first message at
    or after the time `body.at_ms` (below 0: from its end). Refused where topic or group does not
    exist, an offset is outside its queue, or the broker is of 4.9."""
    body: answers.ResetOffset = ask.body
    if front.is_older:
        raise RequestError(OLDER_RESET, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
    topic = find_topic(disk, body.topic)
    if topic is None:
        raise RequestError(NO_RESET_TOPIC.format(topic=body.topic), ResponseCode.TOPIC_NOT_EXIST)
    if not _is_group(front, body.group, disk):
        remark = NO_RESET_GROUP.format(group=body.group)
        raise RequestError(remark, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
    queue_ids = range(topic.queues) if body.queue_id < 0 else [body.queue_id]
    targets = [(body.topic, queue_id, _find_target(body, queue_id, disk)) for queue_id in queue_ids]
    resets = front.resets
    for topic_name, queue_id, target in targets:
        log = disk.log(name_queue(topic_name, queue_id))
        if not log.start <= target <= log.end:
            remark = OUT_OF_RANGE.format(offset=target, start=log.start, end=log.end)
            raise RequestError(remark)
        resets = resets.set(offset_key(body.group, name_queue(topic_name, queue_id)), target)
    answer = f'{{"offsetTable":{encode_by_queue(targets, BROKER_NAME)}}}'.encode()
    return say(replace(front, resets=resets), caller, answer)


def _is_group(front: Front, group: str, disk: Disk) -> bool:
    """Whether it was made, or has been here: a group that comes gets its retry topic."""
    made = group in disk.table(GROUPS)
    return made or find_topic(disk, f"{RETRY_PREFIX}{group}") is not None


def _find_target(body: answers.ResetOffset, number: int, disk: Disk) -> int:
    """The offset to which a queue is reset. One offset for all queues is ignored, as by a broker
    of 5.5: it would mean another message in each."""
    queue = name_queue(body.topic, number)
    if body.offset is not None and body.queue_id >= 0:
        return body.offset
    return disk.log(queue).end if body.at_ms < 0 else find_since(disk, queue, body.at_ms)


# ---- Looking for messages: by their place, by a key, by the id that the client gave them
#
# The real broker keeps an index of keys beside the log. Here the queues of the topic are read,
# within the time that the question names; nothing but the log itself need be kept.
#
# Source: QueryMessageProcessor, IndexService#queryOffset (5.5.0).

MOST = 64  # maxMsgsNumBatch
NONE_FOUND = "can not find message, maybe time range not correct"
NOT_THERE = "can not find message by the offset, {offset}"


def query_messages(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: answers.QueryMessage = ask.body
    matches = sorted(find_messages(body, disk), key=lambda stored: stored.base)
    newest = tuple(matches[-max(0, min(body.most, MOST)) :]) if body.most > 0 else ()
    if not newest:
        raise RequestError(NONE_FOUND, ResponseCode.QUERY_NOT_FOUND)
    last = newest[-1]
    fields = (
        ("indexLastUpdateTimestamp", str(last.store_ms)),
        ("indexLastUpdatePhyoffset", str(last.base)),
    )
    return front, (Reply(caller, Messages(fields=fields, messages=newest)),)


def find_messages(body: answers.QueryMessage, disk: Disk) -> Iterator[Stored]:
    for queue in list_queues(disk, body.topic):
        for entry in disk.log(queue).read(find_since(disk, queue, body.begin_ms)):
            stored = read_stored(disk, entry.commit_log_offset)
            if stored is None or stored.store_ms > body.end_ms:
                break
            if has_key(body, stored) and is_readable(stored):
                yield stored


def has_key(body: answers.QueryMessage, stored: Stored) -> bool:
    """Both kinds of keys are in one index, which has none that is empty."""
    message = stored.message
    return bool(body.key) and body.key in (
        message.get(UNIQ_KEY),
        *(message.get(KEYS) or "").split(" "),
    )


def view_message(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    stored = read_stored(disk, ask.body)
    if stored is None or not is_readable(stored):
        raise RequestError(NOT_THERE.format(offset=ask.body))
    return front, (Reply(caller, Messages(messages=(stored,))),)


# ---- Questions and answers: a message that its sender waits for an answer to ---------
#
# The question is an ordinary message. It names the client that asks (REPLY_TO_CLIENT), a number of
# the question and how long it is waited for. Its consumer answers with a message for the
# topic of answers, and the broker pushes that to the asking client over the connection that its
# heartbeat came by (PUSH_REPLY_MESSAGE_TO_CLIENT). A client that is gone cannot be reached: then
# this is reported to the one who answered. The answer is stored as well, for the record: no client
# reads it.
#
# *Left out:* a real broker tells the one who answered only when the client has taken the answer,
# where the push is one-way here; and it also stores an answer that it could not push.
# Source: ReplyMessageProcessor#processReplyMessageRequest, #pushReplyMessage,
# ProducerManager#findChannel (5.5.0).

REPLY_TO = "REPLY_TO_CLIENT"
NOT_FOUND = "push reply message fail, channel of <{client}> not found."
NOBODY = f"reply message properties[{REPLY_TO}] is null"


def push_reply(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: answers.SendReplyMessage = ask.body
    message = body.send.messages[0]
    client = message.get(REPLY_TO)
    if client is None:
        raise RequestError(NOBODY)
    connection = front.clients.producers.get(client)
    if connection is None:
        raise RequestError(NOT_FOUND.format(client=client))
    push = build_push(ask, body.send, message, at_ms)
    new, effects = sending.store(front, caller, body.send, at_ms, disk)
    return new, (Send(connection, push), *effects)


def build_push(ask: Ask, send: answers.Send, message: Message, at_ms: int) -> RemotingCommand:
    """Build the PUSH_REPLY_MESSAGE command that brings an answer (`message`, sent by the request
    `send`) to the client which waits for it: the answer's properties in a
    ReplyMessageRequestHeader, and its body."""
    fields = {
        "producerGroup": send.group,
        "topic": message.topic,
        "defaultTopic": AUTO_CREATE,  # a topic's name; the client does not look at it
        "defaultTopicQueueNums": str(send.queues),
        "queueId": str(message.queue_id),
        "sysFlag": str(int(message.sys_flag)),
        "bornTimestamp": str(message.born_ms),
        "flag": str(message.flag),
        "properties": encode_properties(dict(message.properties.items())),
        "reconsumeTimes": str(message.reconsume_times),
        "bornHost": message.born_host,
        "storeHost": write_host(ask.here),
        "storeTimestamp": str(at_ms),
    }
    return RemotingCommand(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, fields, message.body)
