"""Heartbeats and what follows from them: who is there, who shares a group, who holds a queue.

Source: ClientManageProcessor#heartBeat, #unregisterClient, ConsumerManageProcessor
#getConsumerListByGroup, AdminBrokerProcessor#lockBatchMQ, #unlockBatchMQ,
#getProducerConnectionList, #updateAndCreateSubscriptionGroup (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....kernel import Caller, Disk, Effects, Put, Reply, Request, replace
from ....rocketmq.config import RETRY_PREFIX
from ....rocketmq.group import ConsumerSendMsgBack, leave_group
from ....rocketmq.messages import Heartbeat
from ....rocketmq.remoting import ResponseCode, encode_json, make_msg_id
from ..wire import answers
from ..wire.answers import Ask, FrontAnswer
from ..wire.headers import RequestError
from .clients import ClientBeat
from .topics import BROKER_NAME, create_once, group_fault, say

if TYPE_CHECKING:
    from . import Front

GROUPS = "groups"
NO_PRODUCER = "the producer group[{group}] not exist"
NO_GROUP = "subscription group not exist, {group} "
NOBODY = "no consumer for this group, {group}"
Result = tuple["Front", Effects]


def take_heartbeat(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """The broker gets both kinds of groups, for it asks producers; each consumer group gets
    its retry topic. One whose name cannot be is passed over."""
    beat: ClientBeat = ask.body
    kept = tuple(one for one in beat.consumers if not group_fault(one.group, older=front.is_older))
    beat = replace(beat, consumers=kept)
    groups = tuple(consumer.group for consumer in beat.consumers)
    new, known = front.ask_broker(Request(caller, Heartbeat(beat.producers, groups), at_ms), disk)
    retries = [e for group in groups for e in create_once(disk, f"{RETRY_PREFIX}{group}")]
    clients, notices = new.clients.note(caller.name, beat, at_ms).register(caller.name, beat)
    return replace(new, clients=clients), (*known, *retries, Reply(caller, FrontAnswer()), *notices)


def unregister(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """A client that shuts down says so for each of its groups; its connection stays a while."""
    body: answers.UnregisterClient = ask.body
    broker, client = front.broker, caller.name
    groups = leave_group(broker.producers.groups, body.producer, client)
    broker = replace(
        broker,
        producers=replace(broker.producers, groups=groups),
        consumers=leave_group(broker.consumers, body.consumer, client),
    )
    clients, notices = front.clients.unregister(client, body.consumer)
    return replace(front, broker=broker, clients=clients), (Reply(caller, FrontAnswer()), *notices)


def accept(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """What needs nothing but the answer OK: a topic that a name server is to delete is the
    broker's."""
    return say(front, caller)


def list_producers(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """Whom of a producer group the broker could ask just now."""
    there = front.broker.producers.groups.get(ask.body, ())
    if not there:
        raise RequestError(NO_PRODUCER.format(group=ask.body))
    known = front.clients.connected
    rows = [known[name].row() for name in there if name in known]
    return say(front, caller, encode_json({"connectionSet": rows}))


def create_group(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """A consumer group need not be made; who makes it may say how often its messages come back."""
    body: answers.UpdateAndCreateSubscriptionGroup = ask.body
    if wrong := group_fault(body.group, older=front.is_older):
        raise RequestError(wrong, ResponseCode.INVALID_PARAMETER)
    return say(front, caller, b"", Put(GROUPS, body.group, body.retry_max))


def take_back(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """Clients say themselves how often; where they do not, the group's own number holds."""
    body: ConsumerSendMsgBack = ask.body
    if group_fault(body.group, older=front.is_older):
        remark = NO_GROUP.format(group=body.group)
        raise RequestError(remark, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
    if body.most is None:
        body = replace(body, most=disk.table(GROUPS).get(body.group))
    body = replace(body, msg_id=make_msg_id(ask.here, body.commit_log_offset))
    return front.ask_broker(Request(caller, body, at_ms), disk)


def list_consumers(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    ids = front.clients.list_ids(ask.body)
    if not ids:
        raise RequestError(NOBODY.format(group=ask.body))
    return say(front, caller, encode_json({"consumerIdList": list(ids)}))


def lock_queues(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: answers.QueueLocks = ask.body
    locks, got = front.locks.lock(body.group, body.client_id, body.queues, at_ms)
    rows: list[Any] = [
        {"brokerName": BROKER_NAME, "queueId": queue_id, "topic": topic} for topic, queue_id in got
    ]
    return say(replace(front, locks=locks), caller, encode_json({"lockOKMQSet": rows}))


def unlock_queues(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: answers.QueueLocks = ask.body
    locks = front.locks.unlock(body.group, body.client_id, body.queues)
    return say(replace(front, locks=locks), caller)
