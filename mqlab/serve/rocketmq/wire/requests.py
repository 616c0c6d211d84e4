"""What a client's command asks, as a request that the roles understand.

A reader for each kind; which code has which is in `REQUESTS` (`front/__init__.py`). A code that is
not there is refused with REQUEST_CODE_NOT_SUPPORTED, as a real broker refuses it; what cannot be
read, with SYSTEM_ERROR.

Source: RequestCode; the request headers in org.apache.rocketmq.remoting.protocol.header (5.5.0)
and org.apache.rocketmq.common.protocol.header (4.9.7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....kernel import Map, replace
from ....rocketmq.group import ConsumerSendMsgBack, QueryConsumerOffset
from ....rocketmq.messages import EndTransaction, Message, ResumeCheckHalfMessage, name_queue
from ....rocketmq.remoting import (
    PullSysFlag,
    RemotingCommand,
    RemotingError,
    ResponseCode,
    answer_to,
    decode_batch,
    decode_json,
    decode_properties,
    encode_command,
    name_request,
    read_msg_id,
)
from ....rocketmq.remoting.unserved import UNSERVED
from ....rocketmq.states import TransactionType
from ...adapter import Refused
from ..front.clients import TAG, ClientBeat, Consumer, Kind, Software, Subscription, read_expression
from . import answers
from .headers import Header, RequestError

#: SendMessageRequestHeaderV2's short names of the fields that are read
SHORT = {
    "producerGroup": "a", "topic": "b", "defaultTopicQueueNums": "d", "queueId": "e",
    "sysFlag": "f", "bornTimestamp": "g", "flag": "h", "properties": "i", "reconsumeTimes": "j",
    "maxReconsumeTimes": "l",
}  # fmt: skip
#: SendMessageRequestHeader's names, which are not short
FULL = {name: name for name in SHORT}
LONGEST_JSON = 1 << 20  # bytes of a body that is JSON
MOST_NAMED = 4_000  # groups, subscriptions, queues
TOO_LONG = "a body of at most {most} bytes of JSON is read here, not of {size}"
TOO_MANY = "at most {most} groups, subscriptions or queues may be named at once here, not {named}"
V3_4_9 = 121  # MQVersion
Reader = Callable[[Header], Any]
ENDS = (TransactionType.NOT_TYPE, TransactionType.COMMIT_TYPE, TransactionType.ROLLBACK_TYPE)


def read_request(command: RemotingCommand, born_host: str, reader: Reader | None) -> Any:
    """`reader`: of its code, None for one that is not served. Raises Refused, with the answer's
    frame."""
    try:
        if reader is None:
            unserved = UNSERVED.get(command.code)
            remark = unserved.remark if unserved else f" request type {command.code} not supported"
            raise RequestError(remark, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
        return reader(Header(command, born_host))
    except RequestError as error:
        raise refuse(command, error.code, error.remark) from error
    except RemotingError as error:
        raise refuse(command, ResponseCode.SYSTEM_ERROR, error.args[0].en) from error


def refuse(command: RemotingCommand, code: ResponseCode, remark: str) -> Refused:
    """A one-way request is reported only in the server's log."""
    frame = encode_command(answer_to(command, code, remark=remark))
    return Refused(b"" if command.is_oneway else frame, f"{name_request(command.code)}: {remark}")


# ---- messages --------------------------------------------------------------------------------


def read_send(header: Header, names: Mapping[str, str] = FULL, batch: bool = False) -> answers.Send:
    """Read a SEND_MESSAGE command, in any of its forms, as the messages to store. `names` maps the
    header's keys to those of this form (V2 shortens them to letters); `batch`: the body holds
    several messages, each with properties of its own. Raises RequestError for a batch of none, or a
    field that is missing or no number."""
    command = header.command
    first = Message(
        topic=header.text(names["topic"]),
        queue_id=header.integer(names["queueId"]),
        body=command.body,
        properties=_read_properties(header.text(names["properties"], "")),
        born_ms=header.long(names["bornTimestamp"], 0),
        born_host=header.born_host,
        sys_flag=header.integer(names["sysFlag"], 0),
        reconsume_times=header.integer(names["reconsumeTimes"], 0),
        flag=header.integer(names["flag"], 0),
    )
    messages: tuple[Message, ...] = (first,)
    if batch:
        messages = tuple(
            replace(first, body=each.body, properties=Map(each.properties.items()), flag=each.flag)
            for each in decode_batch(command.body)
        )
        if not messages:
            raise RequestError("a batch of no messages", ResponseCode.MESSAGE_ILLEGAL)
    return answers.Send(
        group=header.text(names["producerGroup"], ""),
        messages=messages,
        size=len(command.body),
        batch=batch,
        # of a topic that this message makes; 4 is the default of the clients too
        queues=header.integer(names["defaultTopicQueueNums"], 4),
        head=first if batch else None,
        most=_max_reconsume(header, names["maxReconsumeTimes"]),
    )


def read_reply(header: Header, names: Mapping[str, str] = FULL) -> answers.SendReplyMessage:
    return answers.SendReplyMessage(read_send(header, names))


def _max_reconsume(header: Header, name: str) -> int | None:
    """How often the client lets a message come back; of an old client that is not looked at."""
    command = header.command
    if command.version < V3_4_9 or name not in command.fields:
        return None
    return header.integer(name)


def _read_properties(text: str) -> Map[str, str]:
    return Map(decode_properties(text).items())


def read_send_back(header: Header) -> ConsumerSendMsgBack:
    return ConsumerSendMsgBack(
        group=header.text("group"),
        commit_log_offset=header.long("offset"),
        delay_level=header.integer("delayLevel"),
        most=_max_reconsume(header, "maxReconsumeTimes"),
        words=header.text("originMsgId", ""),
    )


def read_end(header: Header) -> EndTransaction:
    end = header.integer("commitOrRollback")
    if end not in ENDS:
        raise RequestError("commitOrRollback field wrong")
    return EndTransaction(
        group=header.text("producerGroup"),
        end=TransactionType(end),
        queue_offset=header.long("tranStateTableOffset"),
        commit_log_offset=header.long("commitLogOffset"),
        from_check=header.flag("fromTransactionCheck"),
        oneway=header.command.is_oneway,
        remark=header.command.remark,
    )


def read_resume(header: Header) -> ResumeCheckHalfMessage:
    _, offset = read_msg_id(header.text("msgId"))
    return ResumeCheckHalfMessage(offset)


# ---- consumers -------------------------------------------------------------------------------


def read_pull(header: Header) -> answers.PullMessage:
    """Read a PULL_MESSAGE command. Bits of its sysFlag say which of its fields count: the offset to
    commit, the time that it may wait, and the subscription (None: the one that the group has
    registered)."""
    flags = header.integer("sysFlag")
    topic, version = header.text("topic"), header.long("subVersion", 0)
    subscription = None
    if flags & PullSysFlag.SUBSCRIPTION:
        kind = header.text("expressionType", "") or TAG
        subscription = read_expression(topic, header.text("subscription", "*"), version, kind)
    return answers.PullMessage(
        group=header.text("consumerGroup"),
        topic=topic,
        queue_id=header.integer("queueId"),
        offset=header.long("queueOffset"),
        most=header.integer("maxMsgNums"),
        commit=header.long("commitOffset") if flags & PullSysFlag.COMMIT_OFFSET else None,
        suspend_ms=header.long("suspendTimeoutMillis") if flags & PullSysFlag.SUSPEND else 0,
        subscription=subscription,
        version=version,
    )


def read_query_offset(header: Header) -> QueryConsumerOffset:
    queue = name_queue(header.text("topic"), header.integer("queueId"))
    return QueryConsumerOffset(header.text("consumerGroup"), queue)


# ---- clients: their bodies are JSON ----------------------------------------------------------


def _read_json(header: Header) -> Body:
    body = header.command.body
    if len(body) > LONGEST_JSON:
        raise RequestError(TOO_LONG.format(most=LONGEST_JSON, size=len(body)))
    return Body(decode_json(body))


def _keep_few(rows: list[Body], *more: list[Body]) -> list[Body]:
    """The rows, of which one request has a limited number together with `more`: each is processed
    before any other request has a turn."""
    named = len(rows) + sum(map(len, more))
    if named > MOST_NAMED:
        raise RequestError(TOO_MANY.format(most=MOST_NAMED, named=named))
    return rows


class Body:
    """A JSON object of a body, read field by field."""

    def __init__(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise RequestError("a body that is no JSON object")
        self._value = value

    def text(self, name: str, default: str = "") -> str:
        value = self._value.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise RequestError(f"{name} is no text")
        return value

    def number(self, name: str, default: int = 0) -> int:
        value = self._value.get(name, default)
        if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
            raise RequestError(f"{name} is no number")
        return value

    def row(self, name: str) -> Body:
        return Body(self._value.get(name) or {})

    def rows(self, name: str) -> list[Body]:
        value = self._value.get(name) or []
        if not isinstance(value, list):
            raise RequestError(f"{name} is no list")
        return [Body(row) for row in value]


def read_heartbeat(header: Header) -> ClientBeat:
    body = _read_json(header)
    producers, consumers = body.rows("producerDataSet"), body.rows("consumerDataSet")
    _keep_few(producers, consumers, *(row.rows("subscriptionDataSet") for row in consumers))
    return ClientBeat(
        client_id=body.text("clientID"),
        producers=tuple(row.text("groupName") for row in producers),
        consumers=tuple(_consumer(row) for row in consumers),
        software=Software(header.born_host, header.command.language, header.command.version),
    )


def _consumer(row: Body) -> Consumer:
    return Consumer(
        row.text("groupName"),
        tuple(_subscription(one) for one in row.rows("subscriptionDataSet")),
        Kind(*(row.text(name) for name in ("consumeType", "messageModel", "consumeFromWhere"))),
    )


def _subscription(row: Body) -> Subscription:
    kind = row.text("expressionType") or TAG
    return read_expression(row.text("topic"), row.text("subString"), row.number("subVersion"), kind)


def read_client_config(header: Header) -> None:
    """May this consumer filter as it wants to? It is asked for anything but tags."""
    _subscription(_read_json(header).row("subscriptionData")).check_kind()


def read_locks(header: Header) -> answers.QueueLocks:
    body = _read_json(header)
    rows = _keep_few(body.rows("mqSet"))
    queues = tuple((row.text("topic"), row.number("queueId")) for row in rows)
    return answers.QueueLocks(body.text("consumerGroup"), body.text("clientId"), queues)


# ---- topics, and what is in the log ----------------------------------------------------------


def read_group(header: Header) -> answers.UpdateAndCreateSubscriptionGroup:
    body = _read_json(header)
    retry_max = body.number("retryMaxTimes", 16)
    return answers.UpdateAndCreateSubscriptionGroup(body.text("groupName"), retry_max)


def read_reset(header: Header) -> answers.ResetOffset:
    offset = header.long("offset", -1)
    return answers.ResetOffset(
        group=header.text("group"),
        topic=header.text("topic"),
        at_ms=header.long("timestamp", 0),
        queue_id=header.integer("queueId", -1),
        offset=None if offset < 0 else offset,
    )
