"""Questions and answers: a message that its sender waits for an answer to.

The question is an ordinary message. It names the client that asks (REPLY_TO_CLIENT), a number of
the question and how long it is waited for. Its consumer answers with a message for the
topic of answers, and the broker pushes that to the asking client over the connection that its
heartbeat came by (PUSH_REPLY_MESSAGE_TO_CLIENT). A client that is gone cannot be told: then the
one who answered hears of it. The answer is stored as well, for the record: nobody reads it.

*Left out:* a real broker tells the one who answered only when the client has taken the answer,
where the push is one-way here; and it also stores an answer that it could not push.
Source: ReplyMessageProcessor#processReplyMessageRequest, #pushReplyMessage,
ProducerManager#findChannel (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....kernel import Caller, Disk, Effects, Send
from ....rocketmq.messages import Message
from ....rocketmq.remoting import (
    RemotingCommand,
    RequestCode,
    ResponseCode,
    encode_properties,
)
from ..wire import asks
from ..wire.answers import write_host
from ..wire.asks import Ask
from . import sending
from .topic import AUTO_CREATE

if TYPE_CHECKING:
    from . import Front

REPLY_TO = "REPLY_TO_CLIENT"
NOT_FOUND = "push reply message fail, channel of <{client}> not found."
NOBODY = f"reply message properties[{REPLY_TO}] is null"
Result = tuple["Front", Effects]


def push_reply(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: asks.SendReplyMessage = ask.body
    message = body.send.messages[0]
    client = message.get(REPLY_TO)
    if client is None:
        return front, sending.refuse(caller, ResponseCode.SYSTEM_ERROR, NOBODY)
    connection = front.clients.producers.get(client)
    if connection is None:
        remark = NOT_FOUND.format(client=client)
        return front, sending.refuse(caller, ResponseCode.SYSTEM_ERROR, remark)
    push = build_push(ask, body.send, message, at_ms)
    new, effects = sending.store(front, caller, body.send, at_ms, disk)
    return new, (Send(connection, push), *effects)


def build_push(ask: Ask, send: asks.Send, message: Message, at_ms: int) -> RemotingCommand:
    """ReplyMessageRequestHeader, and the answer's body."""
    fields = {
        "producerGroup": send.group,
        "topic": message.topic,
        "defaultTopic": AUTO_CREATE,
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
