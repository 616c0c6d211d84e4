"""What consumers and the broker say to each other. A request's class is called as its code."""

from __future__ import annotations

from ...kernel import frozen, worded
from ..log import Stored
from ..messages import Answer

# ---- reading ---------------------------------------------------------------------------


@worded("PullMessage {queue}@{offset}")
class PullMessage:
    """PULL_MESSAGE 11. `most`: so many messages at most."""

    group: str
    queue: str
    offset: int
    most: int = 32


@frozen
class PullMessageResponse(Answer):
    """`next_offset`: where to read on."""

    queue: str = ""
    messages: tuple[Stored, ...] = ()
    next_offset: int = 0

    def __str__(self) -> str:
        return ", ".join(s.message.words for s in self.messages) or self.words


# ---- offsets ---------------------------------------------------------------------------


@worded("QueryConsumerOffset {group} {queue}")
class QueryConsumerOffset:
    """QUERY_CONSUMER_OFFSET 14"""

    group: str
    queue: str


@worded("UpdateConsumerOffset {group} {queue}@{offset}")
class UpdateConsumerOffset:
    """UPDATE_CONSUMER_OFFSET 15, one-way"""

    group: str
    queue: str
    offset: int


@frozen
class OffsetResponse(Answer):
    """`offset`: the group's, where one is known."""

    queue: str = ""
    offset: int = -1

    def __str__(self) -> str:
        return self.words if self.code else f"{self.queue}@{self.offset}"


# ---- sending back ----------------------------------------------------------------------


@worded("ConsumerSendMsgBack {words}")
class ConsumerSendMsgBack:
    """CONSUMER_SEND_MSG_BACK 36: the consumer could not process a message. `delay_level` 0: the
    broker chooses, -1: no more tries. `most`: how often it may come back, None: as the broker's
    configuration says. `msg_id`: the offsetMsgId of the message, which says by which address the
    broker is reached; without it the broker's name and the offset stand for it."""

    group: str
    commit_log_offset: int
    delay_level: int = 0
    most: int | None = None
    words: str = ""
    msg_id: str = ""


@frozen
class ConsumerSendMsgBackResponse(Answer):
    pass


# ---- who reads what --------------------------------------------------------------------


@worded("GetConsumerListByGroup {group}")
class GetConsumerListByGroup:
    """GET_CONSUMER_LIST_BY_GROUP 38"""

    group: str


@frozen
class GetConsumerListByGroupResponse(Answer):
    members: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join(self.members) or self.words
