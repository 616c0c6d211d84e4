"""What consumers and the broker say to each other. A request's class is called as its code."""

from __future__ import annotations

from dataclasses import dataclass

from ..log import Stored
from ..messages import Answer

# ---- reading ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PullMessage:
    """PULL_MESSAGE 11. `most`: so many messages at most. `tags`: only those, () for all.
    `hold_ms`: where there is nothing, wait so long for something; 0: answer at once."""

    group: str
    queue: str
    offset: int
    most: int = 32
    tags: tuple[str, ...] = ()
    hold_ms: int = 0

    def __str__(self) -> str:
        return f"PullMessage {self.queue}@{self.offset}"


@dataclass(frozen=True, slots=True)
class PullMessageResponse(Answer):
    """`next_offset`: where to read on; messages that were filtered out lie before it too."""

    queue: str = ""
    messages: tuple[Stored, ...] = ()
    next_offset: int = 0
    min_offset: int = 0
    max_offset: int = 0

    def __str__(self) -> str:
        return ", ".join(s.message.words for s in self.messages) or self.words


# ---- offsets ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueryConsumerOffset:
    """QUERY_CONSUMER_OFFSET 14"""

    group: str
    queue: str

    def __str__(self) -> str:
        return f"QueryConsumerOffset {self.group} {self.queue}"


@dataclass(frozen=True, slots=True)
class UpdateConsumerOffset:
    """UPDATE_CONSUMER_OFFSET 15, one-way"""

    group: str
    queue: str
    offset: int

    def __str__(self) -> str:
        return f"UpdateConsumerOffset {self.group} {self.queue}@{self.offset}"


@dataclass(frozen=True, slots=True)
class OffsetResponse(Answer):
    """To each question for an offset."""

    queue: str = ""
    offset: int = -1

    def __str__(self) -> str:
        return self.words if self.code else f"{self.queue}@{self.offset}"


@dataclass(frozen=True, slots=True)
class GetMinOffset:
    """GET_MIN_OFFSET 31"""

    queue: str

    def __str__(self) -> str:
        return f"GetMinOffset {self.queue}"


@dataclass(frozen=True, slots=True)
class GetMaxOffset:
    """GET_MAX_OFFSET 30"""

    queue: str

    def __str__(self) -> str:
        return f"GetMaxOffset {self.queue}"


@dataclass(frozen=True, slots=True)
class SearchOffset:
    """SEARCH_OFFSET_BY_TIMESTAMP 29: the first message stored at this time or later"""

    queue: str
    at_ms: int

    def __str__(self) -> str:
        return f"SearchOffset {self.queue} {self.at_ms}"


# ---- sending back ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConsumerSendMsgBack:
    """CONSUMER_SEND_MSG_BACK 36: the consumer could not process a message. `delay_level` 0: the
    broker chooses, -1: no more tries. `most`: how often it may come back, -1: as the broker's
    configuration says."""

    group: str
    commit_log_offset: int
    delay_level: int = 0
    most: int = -1
    words: str = ""

    def __str__(self) -> str:
        return f"ConsumerSendMsgBack {self.words}"


@dataclass(frozen=True, slots=True)
class ConsumerSendMsgBackResponse(Answer):
    pass


# ---- who reads what --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GetConsumerListByGroup:
    """GET_CONSUMER_LIST_BY_GROUP 38"""

    group: str

    def __str__(self) -> str:
        return f"GetConsumerListByGroup {self.group}"


@dataclass(frozen=True, slots=True)
class GetConsumerListByGroupResponse(Answer):
    members: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join(self.members) or self.words


@dataclass(frozen=True, slots=True)
class NotifyConsumerIdsChanged:
    """NOTIFY_CONSUMER_IDS_CHANGED 40, broker → consumer, one-way: look again who is there"""

    group: str
    quiet = True

    def __str__(self) -> str:
        return f"NotifyConsumerIdsChanged {self.group}"


@dataclass(frozen=True, slots=True)
class LockBatchMQ:
    """LOCK_BATCH_MQ 41"""

    group: str
    queues: tuple[str, ...]

    def __str__(self) -> str:
        return f"LockBatchMQ {self.group} {', '.join(self.queues)}"


@dataclass(frozen=True, slots=True)
class LockBatchMQResponse(Answer):
    """`queues`: those that this client holds now."""

    queues: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join(self.queues) or self.words


@dataclass(frozen=True, slots=True)
class UnlockBatchMQ:
    """UNLOCK_BATCH_MQ 42"""

    group: str
    queues: tuple[str, ...]

    def __str__(self) -> str:
        return f"UnlockBatchMQ {self.group} {', '.join(self.queues)}"


# ---- looking a message up --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ViewMessageById:
    """VIEW_MESSAGE_BY_ID 33: a message's id on the broker is its place in the commit log"""

    commit_log_offset: int

    def __str__(self) -> str:
        return f"ViewMessageById {self.commit_log_offset}"


@dataclass(frozen=True, slots=True)
class QueryMessage:
    """QUERY_MESSAGE 12: by a key, or by UNIQ_KEY"""

    topic: str
    key: str
    most: int = 64

    def __str__(self) -> str:
        return f"QueryMessage {self.topic} {self.key}"


@dataclass(frozen=True, slots=True)
class FoundMessages(Answer):
    messages: tuple[Stored, ...] = ()

    def __str__(self) -> str:
        return ", ".join(map(str, self.messages)) or self.words
