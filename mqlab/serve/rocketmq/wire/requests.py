"""What a client's command asks, as a request that the roles understand.

A table from the code to its reader. Whatever is not in it is refused with
REQUEST_CODE_NOT_SUPPORTED, as a real broker refuses it; what cannot be read, with SYSTEM_ERROR.

Source: RequestCode; the request headers in org.apache.rocketmq.remoting.protocol.header (5.5.0)
and org.apache.rocketmq.common.protocol.header (4.9.7).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ....kernel import Map, replace
from ....rocketmq.group import ConsumerSendMsgBack, QueryConsumerOffset
from ....rocketmq.messages import EndTransaction, Message, ResumeCheckHalfMessage, name_queue
from ....rocketmq.remoting import (
    PullSysFlag,
    RemotingCommand,
    RemotingError,
    RequestCode,
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
from .headers import INTEGER, LONG, MAYBE, TEXT, Header, RequestError, copy_to

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
ENDS = (TransactionType.NOT_TYPE, TransactionType.COMMIT_TYPE, TransactionType.ROLLBACK_TYPE)


def read_request(command: RemotingCommand, born_host: str) -> Any:
    """Raises Refused, with the answer's frame."""
    reader = READERS.get(command.code)
    try:
        if reader is None:
            unserved = UNSERVED.get(command.code)
            remark = unserved.remark if unserved else f" request type {command.code} not supported"
            raise RequestError(remark, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
        if reader in SENDS:
            return reader(command, Header(command), born_host)
        return reader(command, Header(command))
    except RequestError as error:
        raise refuse(command, error.code, error.remark) from error
    except RemotingError as error:
        raise refuse(command, ResponseCode.SYSTEM_ERROR, error.args[0].en) from error


def refuse(command: RemotingCommand, code: ResponseCode, remark: str) -> Refused:
    """A one-way request is reported only in the server's log."""
    frame = encode_command(answer_to(command, code, remark=remark))
    return Refused(b"" if command.is_oneway else frame, f"{name_request(command.code)}: {remark}")


# ---- messages --------------------------------------------------------------------------------


def _send(command: RemotingCommand, header: Header, born_host: str) -> answers.Send:
    return _read_send(command, header, FULL, born_host)


def _send_v2(command: RemotingCommand, header: Header, born_host: str) -> answers.Send:
    return _read_send(command, header, SHORT, born_host)


def _send_batch(command: RemotingCommand, header: Header, born_host: str) -> answers.Send:
    return _read_send(command, header, SHORT, born_host, batch=True)


def _reply(command: RemotingCommand, header: Header, born_host: str) -> answers.SendReplyMessage:
    return answers.SendReplyMessage(_send(command, header, born_host))


def _reply_v2(command: RemotingCommand, header: Header, born_host: str) -> answers.SendReplyMessage:
    return answers.SendReplyMessage(_send_v2(command, header, born_host))


def _read_send(
    command: RemotingCommand,
    header: Header,
    names: dict[str, str],
    born_host: str,
    batch: bool = False,
) -> answers.Send:
    """Read a SEND_MESSAGE command, in any of its forms, as the messages to store. `names` maps the
    header's keys to those of this form (V2 shortens them to letters); `born_host`: the client's
    address; `batch`: the body holds several messages, each with properties of its own. Raises
    RequestError for a batch of none, or a field that is missing or no number."""
    first = Message(
        topic=header.text(names["topic"]),
        queue_id=header.integer(names["queueId"]),
        body=command.body,
        properties=_read_properties(header.text(names["properties"], "")),
        born_ms=header.long(names["bornTimestamp"], 0),
        born_host=born_host,
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
        most=_max_reconsume(command, header, names["maxReconsumeTimes"]),
    )


def _max_reconsume(command: RemotingCommand, header: Header, name: str) -> int | None:
    """How often the client lets a message come back; of an old client that is not looked at."""
    if command.version < V3_4_9 or name not in command.fields:
        return None
    return header.integer(name)


def _read_properties(text: str) -> Map[str, str]:
    return Map(decode_properties(text).items())


def _send_back(command: RemotingCommand, header: Header) -> ConsumerSendMsgBack:
    return ConsumerSendMsgBack(
        group=header.text("group"),
        commit_log_offset=header.long("offset"),
        delay_level=header.integer("delayLevel"),
        most=_max_reconsume(command, header, "maxReconsumeTimes"),
        words=header.text("originMsgId", ""),
    )


def _end_transaction(command: RemotingCommand, header: Header) -> EndTransaction:
    end = header.integer("commitOrRollback")
    if end not in ENDS:
        raise RequestError("commitOrRollback field wrong")
    return EndTransaction(
        group=header.text("producerGroup"),
        end=TransactionType(end),
        queue_offset=header.long("tranStateTableOffset"),
        commit_log_offset=header.long("commitLogOffset"),
        from_check=header.flag("fromTransactionCheck"),
        oneway=command.is_oneway,
        remark=command.remark,
    )


def _resume(command: RemotingCommand, header: Header) -> ResumeCheckHalfMessage:
    _, offset = read_msg_id(header.text("msgId"))
    return ResumeCheckHalfMessage(offset)


# ---- consumers -------------------------------------------------------------------------------


def _pull(command: RemotingCommand, header: Header) -> answers.PullMessage:
    """Read a PULL_MESSAGE command. Bits of its sysFlag say which of its fields count: the offset to
    commit, the time that it may wait, and the subscription (None: the one that the group has
    registered)."""
    flags = header.integer("sysFlag")
    topic, version = header.text("topic"), header.long("subVersion", 0)
    subscription = None
    if flags & PullSysFlag.SUBSCRIPTION:
        _only_tags(header.text("expressionType", TAG))
        subscription = read_expression(topic, header.text("subscription", "*"), version)
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


def _only_tags(kind: str) -> None:
    if kind not in ("", TAG, "null"):
        raise RequestError(f"The broker does not support consumer to filter message by {kind}")


def _query_offset(command: RemotingCommand, header: Header) -> QueryConsumerOffset:
    queue = name_queue(header.text("topic"), header.integer("queueId"))
    return QueryConsumerOffset(header.text("consumerGroup"), queue)


# ---- clients: their bodies are JSON ----------------------------------------------------------


def _read_json(command: RemotingCommand) -> Body:
    if len(command.body) > LONGEST_JSON:
        raise RequestError(TOO_LONG.format(most=LONGEST_JSON, size=len(command.body)))
    return Body(decode_json(command.body))


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


def _heartbeat(command: RemotingCommand, header: Header, born_host: str) -> ClientBeat:
    body = _read_json(command)
    producers, consumers = body.rows("producerDataSet"), body.rows("consumerDataSet")
    _keep_few(producers, consumers, *(row.rows("subscriptionDataSet") for row in consumers))
    return ClientBeat(
        client_id=body.text("clientID"),
        producers=tuple(row.text("groupName") for row in producers),
        consumers=tuple(_consumer(row) for row in consumers),
        software=Software(born_host, command.language, command.version),
    )


def _consumer(row: Body) -> Consumer:
    return Consumer(
        row.text("groupName"),
        tuple(_subscription(one) for one in row.rows("subscriptionDataSet")),
        Kind(*(row.text(name) for name in ("consumeType", "messageModel", "consumeFromWhere"))),
    )


def _subscription(row: Body) -> Subscription:
    _only_tags(row.text("expressionType", TAG))
    return read_expression(row.text("topic"), row.text("subString"), row.number("subVersion"))


def _check_client(command: RemotingCommand, header: Header) -> answers.CheckClientConfig:
    _only_tags(_read_json(command).row("subscriptionData").text("expressionType", TAG))
    return answers.CheckClientConfig()


def _lock(command: RemotingCommand, header: Header) -> answers.LockBatchMq:
    return answers.LockBatchMq(*_locked(command))


def _unlock(command: RemotingCommand, header: Header) -> answers.UnlockBatchMq:
    return answers.UnlockBatchMq(*_locked(command))


def _locked(command: RemotingCommand) -> tuple[str, str, tuple[tuple[str, int], ...]]:
    body = _read_json(command)
    queues = tuple(
        (row.text("topic"), row.number("queueId")) for row in _keep_few(body.rows("mqSet"))
    )
    return body.text("consumerGroup"), body.text("clientId"), queues


# ---- topics, and what is in the log ----------------------------------------------------------


def _create_group(
    command: RemotingCommand, header: Header
) -> answers.UpdateAndCreateSubscriptionGroup:
    body = _read_json(command)
    retry_max = body.number("retryMaxTimes", 16)
    return answers.UpdateAndCreateSubscriptionGroup(body.text("groupName"), retry_max)


READERS: dict[int, Callable[..., Any]] = {
    RequestCode.SEND_MESSAGE: _send,
    RequestCode.SEND_MESSAGE_V2: _send_v2,
    RequestCode.SEND_BATCH_MESSAGE: _send_batch,
    RequestCode.SEND_REPLY_MESSAGE: _reply,
    RequestCode.SEND_REPLY_MESSAGE_V2: _reply_v2,
    RequestCode.CONSUMER_SEND_MSG_BACK: _send_back,
    RequestCode.END_TRANSACTION: _end_transaction,
    RequestCode.RESUME_CHECK_HALF_MESSAGE: _resume,
    RequestCode.PULL_MESSAGE: _pull,
    RequestCode.LITE_PULL_MESSAGE: _pull,
    RequestCode.QUERY_CONSUMER_OFFSET: _query_offset,
    RequestCode.UPDATE_CONSUMER_OFFSET: copy_to(answers.UpdateConsumerOffset, consumerGroup=TEXT,
        topic=TEXT, queueId=INTEGER, commitOffset=LONG),
    RequestCode.HEART_BEAT: _heartbeat,
    RequestCode.UNREGISTER_CLIENT: copy_to(answers.UnregisterClient, producerGroup=MAYBE,
        consumerGroup=MAYBE),
    RequestCode.CHECK_CLIENT_CONFIG: _check_client,
    RequestCode.GET_PRODUCER_CONNECTION_LIST: copy_to(answers.GetProducerConnectionList,
        producerGroup=TEXT),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: copy_to(answers.GetConsumerListByGroup,
        consumerGroup=TEXT),
    RequestCode.LOCK_BATCH_MQ: _lock,
    RequestCode.UNLOCK_BATCH_MQ: _unlock,
    RequestCode.GET_ROUTEINFO_BY_TOPIC: copy_to(answers.GetRouteInfoByTopic, topic=TEXT),
    RequestCode.GET_BROKER_CLUSTER_INFO: copy_to(answers.GetBrokerClusterInfo),
    RequestCode.UPDATE_AND_CREATE_TOPIC: copy_to(answers.UpdateAndCreateTopic, topic=TEXT,
        readQueueNums=INTEGER, writeQueueNums=INTEGER, perm=INTEGER,
        topicSysFlag=partial(INTEGER, default=0)),
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: _create_group,
    RequestCode.GET_MAX_OFFSET: copy_to(answers.GetMaxOffset, topic=TEXT, queueId=INTEGER),
    RequestCode.GET_MIN_OFFSET: copy_to(answers.GetMinOffset, topic=TEXT, queueId=INTEGER),
    RequestCode.GET_EARLIEST_MSG_STORETIME: copy_to(answers.GetEarliestMsgStoretime, topic=TEXT,
        queueId=INTEGER),
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: copy_to(answers.SearchOffsetByTimestamp, topic=TEXT,
        queueId=INTEGER, timestamp=LONG),
    RequestCode.QUERY_MESSAGE: copy_to(answers.QueryMessage, topic=TEXT, key=TEXT, maxNum=INTEGER,
        beginTimestamp=LONG, endTimestamp=LONG),
    RequestCode.VIEW_MESSAGE_BY_ID: copy_to(answers.ViewMessageById, offset=LONG),
    **answers.READERS,
}  # fmt: skip
#: readers that take the client's address, too
SENDS = (_send, _send_v2, _send_batch, _reply, _reply_v2, _heartbeat)
