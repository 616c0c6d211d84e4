"""Who is connected: heartbeats, connections that close, members of a consumer group.

Sources: ClientManageProcessor, ClientHousekeepingService, ConsumerManageProcessor (5.5.0). *Left
out here:* that the members of a consumer group are told when somebody comes or goes, and locks on
queues, which the server for real clients has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel import Caller, Effects, Reply, Send, replace
from ..errors import ResponseCode
from ..group import (
    GetConsumerListByGroup,
    GetConsumerListByGroupResponse,
    join_group,
    leave_groups,
    meet,
)
from ..messages import Heartbeat, HeartbeatResponse

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]


def handle_request(broker: Broker, body: Any, caller: Caller) -> Result:
    match body:
        case Heartbeat():
            return register(broker, body, caller)
        case GetConsumerListByGroup(group=group):
            members: tuple[str, ...] = broker.consumers.get(group, ())
            code = ResponseCode.SUCCESS if members else ResponseCode.SYSTEM_ERROR
            return broker, (Reply(caller, GetConsumerListByGroupResponse(code, "", members)),)
    raise TypeError(f"a broker is never sent {type(body).__name__}")


def register(broker: Broker, beat: Heartbeat, caller: Caller) -> Result:
    """A client says which groups it belongs to. The answer opens the broker's own direction of
    the connection."""
    met = meet(broker.met, caller, (*beat.producers, *beat.consumers))
    if met is None:
        return broker, ()
    producers, consumers = broker.producers, broker.consumers
    for group in beat.producers:
        producers = producers.register(group, caller.name)
    for group in beat.consumers:
        consumers = join_group(consumers, group, caller.name)
    new = replace(broker, producers=producers, consumers=consumers, met=met)
    return new, (Send(caller.name, HeartbeatResponse()),)


def forget_client(broker: Broker, client: str, named: tuple[str, ...]) -> Broker:
    """Its connection closed: it is asked no more, and its queues are for the others."""
    producers = broker.producers.forget(client, named)
    consumers = leave_groups(broker.consumers, client, named)
    return replace(broker, producers=producers, consumers=consumers)
