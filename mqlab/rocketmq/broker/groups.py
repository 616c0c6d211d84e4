"""Who is connected: heartbeats, connections that close, members of a consumer group, locks.

Sources: ClientManageProcessor, ClientHousekeepingService, ConsumerManageProcessor,
DefaultConsumerIdsChangeListener, AdminBrokerProcessor#lockBatchMQ (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel import Caller, Effects, Reply, Send, replace
from ..errors import ResponseCode
from ..group.members import join_group, leave_groups
from ..group.messages import (
    GetConsumerListByGroup,
    GetConsumerListByGroupResponse,
    LockBatchMQ,
    LockBatchMQResponse,
    NotifyConsumerIdsChanged,
    UnlockBatchMQ,
)
from ..messages import Answer, Heartbeat, HeartbeatResponse
from .pull import drop_pulls

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]


def handle_request(broker: Broker, body: Any, caller: Caller, at_ms: int) -> Result:
    match body:
        case Heartbeat():
            return register(broker, body, caller)
        case GetConsumerListByGroup(group=group):
            members: tuple[str, ...] = broker.consumers.get(group, ())
            code = ResponseCode.SUCCESS if members else ResponseCode.SYSTEM_ERROR
            return broker, (Reply(caller, GetConsumerListByGroupResponse(code, "", members)),)
        case LockBatchMQ(group=group, queues=queues):
            locks, mine = broker.locks.take(group, caller.name, queues, at_ms)
            answer = LockBatchMQResponse(queues=mine)
            return replace(broker, locks=locks), (Reply(caller, answer),)
        case UnlockBatchMQ(group=group, queues=queues):
            locks = broker.locks.give_back(group, caller.name, queues)
            return replace(broker, locks=locks), (Reply(caller, Answer()),)
    raise TypeError(f"a broker is never sent {type(body).__name__}")


def register(broker: Broker, beat: Heartbeat, caller: Caller) -> Result:
    """A client says which groups it belongs to. The answer opens the broker's own direction of
    the connection; the other members of a consumer group are told that somebody came."""
    producers, consumers = broker.producers, broker.consumers
    for group in beat.producers:
        producers = producers.register(group, caller.name)
    for group in beat.consumers:
        consumers = join_group(consumers, group, caller.name)
    new = replace(broker, producers=producers, consumers=consumers)
    answer = Send(caller.name, HeartbeatResponse())
    return new, (answer, *_notify_members(broker, new, caller.name))


def forget_client(broker: Broker, client: str) -> Result:
    """Its connection closed: it is asked no more, and its queues are for the others."""
    new, effects = drop_pulls(broker, client)
    new = replace(
        new,
        producers=new.producers.forget(client),
        consumers=leave_groups(new.consumers, client),
    )
    return new, (*effects, *_notify_members(broker, new, client))


def _notify_members(old: Broker, new: Broker, client: str) -> Effects:
    """To every other member of a group that has changed: look again who is there."""
    changed = (g for g in new.consumers if new.consumers[g] != old.consumers.get(g))
    return tuple(
        Send(member, NotifyConsumerIdsChanged(group))
        for group in changed
        for member in new.consumers[group]
        if member != client
    )
