"""What mqadmin asks: topics, progress of groups, who is connected.

A request's class is called as its code; `READERS` is the part of the table in `requests.py`.
Source: RequestCode, the request headers in org.apache.rocketmq.remoting.protocol.header (5.5.0).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ....kernel import frozen
from ....rocketmq.remoting import RemotingCommand, RequestCode
from .headers import Header


@frozen
class ListTopics:
    """GET_ALL_TOPIC_LIST_FROM_NAMESERVER and GET_TOPICS_BY_CLUSTER. `cluster`: None for any."""

    cluster: str | None = None


@frozen
class GetTopicConfig:
    topic: str


@frozen
class GetTopicStatsInfo:
    topic: str


@frozen
class GetConsumeStats:
    """`topic`: "" for all that the group reads."""

    group: str
    topic: str


@frozen
class GetConsumerConnectionList:
    group: str


@frozen
class GetAllProducerInfo:
    pass


@frozen
class QueryTopicConsumeByWho:
    topic: str


@frozen
class ResetOffset:
    """INVOKE_BROKER_TO_RESET_OFFSET. `queue_id`: -1 for all; `offset`: None where `at_ms` counts,
    which is negative for the end."""

    group: str
    topic: str
    at_ms: int
    queue_id: int = -1
    offset: int | None = None


@frozen
class DeleteTopic:
    """`broker`: whether the broker is asked, or the name server, which is told of nothing here."""

    topic: str
    broker: bool


# ---- from the header -------------------------------------------------------------------------


def _reset(command: RemotingCommand, header: Header) -> ResetOffset:
    offset = header.long("offset", -1)
    return ResetOffset(
        group=header.text("group"),
        topic=header.text("topic"),
        at_ms=header.long("timestamp", 0),
        queue_id=header.integer("queueId", -1),
        offset=None if offset < 0 else offset,
    )


def _named(kind: Callable[[str], Any], name: str, command: RemotingCommand, header: Header) -> Any:
    return kind(header.text(name))


def _plain(kind: Callable[[], Any], command: RemotingCommand, header: Header) -> Any:
    return kind()


def _consume_stats(command: RemotingCommand, header: Header) -> GetConsumeStats:
    return GetConsumeStats(header.text("consumerGroup"), header.text("topic", ""))


def _delete(broker: bool, command: RemotingCommand, header: Header) -> DeleteTopic:
    return DeleteTopic(header.text("topic"), broker)


READERS: dict[int, Callable[..., Any]] = {
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: partial(_plain, ListTopics),
    RequestCode.GET_TOPICS_BY_CLUSTER: partial(_named, ListTopics, "cluster"),
    RequestCode.GET_TOPIC_CONFIG: partial(_named, GetTopicConfig, "topic"),
    RequestCode.GET_TOPIC_STATS_INFO: partial(_named, GetTopicStatsInfo, "topic"),
    RequestCode.GET_CONSUME_STATS: _consume_stats,
    RequestCode.GET_CONSUMER_CONNECTION_LIST: partial(
        _named, GetConsumerConnectionList, "consumerGroup"
    ),
    RequestCode.GET_ALL_PRODUCER_INFO: partial(_plain, GetAllProducerInfo),
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: partial(_named, QueryTopicConsumeByWho, "topic"),
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: _reset,
    RequestCode.DELETE_TOPIC_IN_BROKER: partial(_delete, True),
    RequestCode.DELETE_TOPIC_IN_NAMESRV: partial(_delete, False),
}
