"""Requests of clients that the engine's roles have no word for: they are about topics, about who
is connected, or read what lies in the log. The server's front answers them.

A request's class is called as its code. `topic` and `queue_id` are always the client's words.
"""

from __future__ import annotations

from typing import Any

from ....kernel import frozen, worded
from ....rocketmq.messages import Message, SendMessage
from ....rocketmq.remoting import RemotingCommand
from ..front.clients import ClientBeat, Subscription

__all__ = ["ClientBeat"]


@frozen
class Ask:
    """A request as it came, what it says, and the address at which it has reached us."""

    command: RemotingCommand
    body: Any
    here: tuple[str, int] = ("127.0.0.1", 0)

    def __str__(self) -> str:
        return str(self.body)


# ---- name server -----------------------------------------------------------------------------


@frozen
class GetRouteInfoByTopic:
    topic: str


@frozen
class GetBrokerClusterInfo:
    pass


# ---- clients ---------------------------------------------------------------------------------


@frozen
class UnregisterClient:
    """A client leaves: one of its groups, or one of each kind."""

    producer: str
    consumer: str


@frozen
class CheckClientConfig:
    """May this consumer filter as it wants to? Asked for anything but tags."""


@frozen
class GetProducerConnectionList:
    group: str


@frozen
class GetConsumerListByGroup:
    group: str


@frozen
class LockBatchMq:
    """`queues`: (topic, queue id) of each."""

    group: str
    client_id: str
    queues: tuple[tuple[str, int], ...]


@frozen
class UnlockBatchMq:
    group: str
    client_id: str
    queues: tuple[tuple[str, int], ...]


# ---- topics and queues -----------------------------------------------------------------------


@worded("UpdateAndCreateTopic {topic}, {write_queues} queues")
class UpdateAndCreateTopic:
    topic: str
    read_queues: int
    write_queues: int
    perm: int
    sys_flag: int


@frozen
class UpdateAndCreateSubscriptionGroup:
    """`retry_max`: how often a message of this group comes back."""

    group: str
    retry_max: int


@frozen
class GetMaxOffset:
    topic: str
    queue_id: int


@frozen
class GetMinOffset:
    topic: str
    queue_id: int


@frozen
class SearchOffsetByTimestamp:
    topic: str
    queue_id: int
    at_ms: int


@frozen
class GetEarliestMsgStoretime:
    topic: str
    queue_id: int


# ---- messages --------------------------------------------------------------------------------


@frozen
class Send:
    """One message, or a batch of some for one queue. `size`: bytes of the request's body;
    `queues`: how many a topic gets that makes itself; `head`: of a batch, the message that its
    request describes, whose properties no message of the batch has; `most`: how often the message
    may have come back, None: as its group says."""

    group: str
    messages: tuple[Message, ...]
    size: int = 0
    batch: bool = False
    queues: int = 4
    head: Message | None = None
    most: int | None = None

    def __str__(self) -> str:
        more = f" and {len(self.messages) - 1} more" if self.batch else ""
        return f"{SendMessage(self.messages[0], self.group)}{more}"


@frozen
class SendReplyMessage:
    """The answer to a message that was sent as a question (`DefaultMQProducer#request`)."""

    send: Send

    def __str__(self) -> str:
        return f"SendReplyMessage {self.send.messages[0]}"


@frozen
class PullMessage:
    """`commit`: a position that the client wants noted, None for none; `suspend_ms`: how long it
    may wait for a message, 0 for not at all; `subscription`: what it wants, None for what its
    group has subscribed to, by `version`."""

    group: str
    topic: str
    queue_id: int
    offset: int
    most: int
    commit: int | None = None
    suspend_ms: int = 0
    subscription: Subscription | None = None
    version: int = 0


@frozen
class UpdateConsumerOffset:
    group: str
    topic: str
    queue_id: int
    offset: int


@frozen
class QueryMessage:
    """By a key, or by the id that the client gave the message (UNIQ_KEY)."""

    topic: str
    key: str
    most: int
    begin_ms: int
    end_ms: int


@frozen
class ViewMessageById:
    commit_log_offset: int
