"""What producers, the broker, consumers and a database say to each other, and what a message is.

A message is a topic, a body and *properties*: words under names, and nearly all that
RocketMQ knows of a transaction is in them. Field names follow the protocol's; a request's
class is called as the code that it has on the wire (RequestCode).

A queue is written "orders-0". Two offsets must be distinguished: a *queue offset* counts the
messages of one queue; a *commit log offset* says where in the one log of a broker a message is.
Here it counts records, where the real one counts bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..kernel import Map, frozen, phrase, phrase_word, replace, worded
from .errors import ResponseCode
from .states import SendStatus, TransactionType, read_type, set_type

# ---- properties (MessageConst) ---------------------------------------------------------

TRAN_MSG = "TRAN_MSG"
PGROUP = "PGROUP"
UNIQ_KEY = "UNIQ_KEY"
TRANSACTION_ID = "__transactionId__"
KEYS = "KEYS"
TAGS = "TAGS"
DELAY = "DELAY"
WAIT = "WAIT"  # "false": the sender does not wait until the message is on the disk
REAL_TOPIC = "REAL_TOPIC"
REAL_QID = "REAL_QID"
TIMER_DELAY_SEC = "TIMER_DELAY_SEC"
TIMER_DELAY_MS = "TIMER_DELAY_MS"
TIMER_DELIVER_MS = "TIMER_DELIVER_MS"
TIMER_OUT_MS = "TIMER_OUT_MS"
TIMER_ENQUEUE_MS = "TIMER_ENQUEUE_MS"
TIMER_DEQUEUE_MS = "TIMER_DEQUEUE_MS"
RETRY_TOPIC = "RETRY_TOPIC"
ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"
CHECK_TIMES = "TRANSACTION_CHECK_TIMES"
CHECK_IMMUNITY = "CHECK_IMMUNITY_TIME_IN_SECONDS"
PREPARED_QUEUE_OFFSET = "TRAN_PREPARED_QUEUE_OFFSET"

#: what Java takes for a number; int() also takes spaces, underlines and digits of other scripts
NUMBER = re.compile("[-+]?[0-9]{1,19}")

Properties = Map[str, str]
NO_PROPERTIES: Properties = Map()


def name_queue(topic: str, queue_id: int) -> str:
    """A queue by one word, which is also the name of its file on the disk."""
    return f"{topic}-{queue_id}"


def read_number(text: str, bits: int) -> int | None:
    """Java's Integer.parseInt (32 bits), Long.parseLong (64 bits); None where it throws."""
    number = int(text) if NUMBER.fullmatch(text) else None
    return number if number is not None and wrap(number, bits) == number else None


def wrap(number: int, bits: int) -> int:
    """As Java counts with this number of bits: the smallest number follows the largest."""
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half


def split_queue(queue: str) -> tuple[str, int]:
    """Topic and number of a queue that is written "orders-0"."""
    topic, _, number = queue.rpartition("-")
    return topic, int(number)


@frozen
class Message:
    """A message as a producer sends it and as the broker keeps it (MessageExtBrokerInner).

    `born_ms`, `born_host`: when and by whom it was made; both stay when it is written again.
    `sys_flag`: its transaction bits, and how the client has compressed the body. `flag`: a number
    of the application's own. `prepared_offset`: of a committed message, where its half message is
    in the commit log. `reconsume_times`: how often a consumer has sent it back."""

    topic: str
    queue_id: int
    body: Any
    properties: Properties = NO_PROPERTIES
    born_ms: int = 0
    born_host: str = ""
    sys_flag: int = TransactionType.NOT_TYPE
    prepared_offset: int = 0
    reconsume_times: int = 0
    flag: int = 0

    @property
    def queue(self) -> str:
        return name_queue(self.topic, self.queue_id)

    @property
    def words(self) -> str:
        """How a lesson names it: its body, or the key it is known by."""
        return self.body if isinstance(self.body, str) else str(self.get(KEYS) or phrase("message"))

    @property
    def check_times(self) -> int:
        """How often it was asked about; 0: the property is not there."""
        return int(self.get(CHECK_TIMES) or 0)

    @property
    def delay_level(self) -> int:
        """0 or less: it does not wait."""
        return int(self.get(DELAY) or 0)

    @property
    def is_half(self) -> bool:
        """Whether a broker makes a half message of it: Java's Boolean.parseBoolean(TRAN_MSG), but
        not of one that a client before 4.6.1 sends back (SendMessageProcessor#sendMessage)."""
        sent_back = self.reconsume_times > 0 and self.delay_level > 0
        return (self.get(TRAN_MSG) or "").lower() == "true" and not sent_back

    def get(self, name: str) -> str | None:
        value: str | None = self.properties.get(name)
        return value

    @property
    def immunity_s(self) -> int | None:
        """Its immunity of its own in seconds; None where it has none, or no number that a long
        can hold (TransactionalMessageUtil#getImmunityTime)."""
        text = self.get(CHECK_IMMUNITY) or ""
        number = text.isascii() and text.isdigit() and len(text) < 20
        return int(text) if number and int(text) < 1 << 63 else None

    def put(self, *pairs: tuple[str, str]) -> Message:
        """This message with these properties as well."""
        return replace(self, properties=self.properties.update(pairs))

    @property
    def transaction_type(self) -> int:
        """The transaction's bits of its sysFlag."""
        return read_type(self.sys_flag)

    def mark(self, kind: TransactionType) -> Message:
        """This message with these transaction bits; how its body is compressed stays."""
        return replace(self, sys_flag=set_type(self.sys_flag, kind))

    def clear(self, names: Iterable[str]) -> Message:
        """This message without these properties."""
        properties = self.properties
        for name in names:
            properties = properties.remove(name)
        return replace(self, properties=properties)


# ---- what most answers begin with ------------------------------------------------------


@worded("{words}")
class Answer:
    code: ResponseCode = ResponseCode.SUCCESS
    remark: str = ""

    @property
    def words(self) -> str:
        name = "ok" if self.code is ResponseCode.SUCCESS else self.code.name
        return f"{name} {self.remark}".rstrip()


# ---- producer → broker -----------------------------------------------------------------


@frozen
class Heartbeat:
    """HEART_BEAT 34: who uses a connection. Only by this does the broker know whom it can
    ask. `producers`: the producer groups of this client; `consumers`: its consumer groups."""

    producers: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"Heartbeat {', '.join((*self.producers, *self.consumers))}"


@frozen
class HeartbeatResponse(Answer):
    """The broker's answer. Here it is the first thing the broker sends over its own direction of
    the connection, so that it hears when the client is gone."""

    quiet = answers = True


@frozen
class SendMessage:
    """SEND_MESSAGE_V2 310. `message.properties[TRAN_MSG]` makes it a half message."""

    message: Message
    group: str

    def __str__(self) -> str:
        half = phrase("SendMessage half") if self.message.is_half else "SendMessage"
        return f"{half} {self.message.queue} {self.message.words}"


@frozen
class SendBatchMessage:
    """SEND_BATCH_MESSAGE 320: messages for one queue, stored together. None is a half message."""

    messages: tuple[Message, ...]
    group: str

    def __str__(self) -> str:
        return phrase("SendBatchMessage {} of {}", self.messages[0].queue, len(self.messages))


@frozen
class SendMessageResponse(Answer):
    """`queue_offset`, `commit_log_offset`: of the *half message* where it is one, though `queue_id`
    is that of the real topic. `transaction_id`: the unique key of a half message."""

    status: SendStatus = SendStatus.SEND_OK
    queue_id: int = 0
    queue_offset: int = -1
    commit_log_offset: int = -1
    transaction_id: str = ""

    def __str__(self) -> str:
        if self.code not in STORED:
            return self.words
        return f"{self.status} @{self.queue_offset}"


@frozen
class SendBatchResponse(SendMessageResponse):
    """`queue_offset`, `commit_log_offset`: of the first message; `commit_log_offsets`: of each."""

    commit_log_offsets: tuple[int, ...] = ()

    def __str__(self) -> str:
        return SendMessageResponse.__str__(self)


#: codes of an answer to a message that was stored all the same
STORED: dict[ResponseCode, SendStatus] = {
    ResponseCode.SUCCESS: SendStatus.SEND_OK,
    ResponseCode.FLUSH_DISK_TIMEOUT: SendStatus.FLUSH_DISK_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: SendStatus.FLUSH_SLAVE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: SendStatus.SLAVE_NOT_AVAILABLE,
}


@frozen
class EndTransaction:
    """END_TRANSACTION 37. Clients send it one-way: no answer, no retry, and whatever error the
    broker finds is not reported. `oneway` False: a raw client that waits for the answer. `end` is a
    TransactionType, or a number that is none. `queue_offset`, `commit_log_offset`: where the half
    is; `from_check`: it answers a check; `words`: what the narration calls the
    message; `remark`: a text that the broker only logs."""

    group: str
    end: int
    queue_offset: int
    commit_log_offset: int
    from_check: bool = False
    oneway: bool = True
    words: str = ""
    remark: str = ""

    def __str__(self) -> str:
        name = NAMES.get(self.end, str(self.end))
        more = f" {phrase('from check')}" if self.from_check else ""
        if not self.oneway:
            more += f" {self.group} half@{self.queue_offset} log@{self.commit_log_offset}"
        return f"EndTransaction {name} {self.words}{more}"


#: what EndTransaction may contain, and how a narration calls it
NAMES: dict[int, str] = {
    TransactionType.NOT_TYPE: "NOT_TYPE",
    TransactionType.COMMIT_TYPE: "COMMIT",
    TransactionType.ROLLBACK_TYPE: "ROLLBACK",
}


@frozen
class EndTransactionResponse(Answer):
    """To a raw client only."""


# ---- broker → producer -----------------------------------------------------------------


@worded("CheckTransactionState {message.words} ({message.check_times})")
class CheckTransactionState:
    """CHECK_TRANSACTION_STATE 39, one-way, over the producer's own connection. `message` has its
    real topic and queue again; the offsets are those of the copy that was just put back,
    `store_ms` is still that of the half message it was made from."""

    message: Message
    queue_offset: int
    commit_log_offset: int
    store_ms: int = 0


# ---- application ↔ database ------------------------------------------------------------


@frozen
class Statement:
    """One statement, committed by itself: `get`, `put`, `insert` or `delete`."""

    verb: str
    key: str
    value: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (phrase_word(self.verb), self.key, self.value)))


@frozen
class StatementResponse:
    """`value`: what was read, None where there is no such row, or where nothing was read."""

    value: str | None = None

    def __str__(self) -> str:
        return "ok" if self.value is None else self.value


# ---- an operator -----------------------------------------------------------------------


@worded("ResumeCheckHalfMessage @{commit_log_offset}")
class ResumeCheckHalfMessage:
    """RESUME_CHECK_HALF_MESSAGE 323: take a half message that was given up back into the half
    topic."""

    commit_log_offset: int


@frozen
class ResumeCheckHalfMessageResponse(Answer):
    pass


# ---- master ↔ slave --------------------------------------------------------------------


@worded("HaReport {end}")
class HaReport:
    """Slave → master: my copy of the commit log ends here."""

    end: int
    quiet = True


@frozen
class HaTransfer:
    """Master → slave: what follows in the commit log. `records`: those of the master after the
    slave's end."""

    records: tuple[Any, ...]

    @property
    def quiet(self) -> bool:
        return not self.records

    def __str__(self) -> str:
        return f"HaTransfer {'; '.join(map(str, self.records)) or phrase('nothing')}"


@worded("GetAllConsumerOffset")
class GetAllConsumerOffset:
    """GET_ALL_CONSUMER_OFFSET 43, slave → master: how far has every group come?"""


@frozen
class AllConsumerOffset:
    """`offsets`: as the broker has them in memory, "orders-0@group" → the next to be read.
    `pulled`: its JSON has a pullOffsetTable as well, at which 5.5.0's own reader fails."""

    offsets: Map[str, int]
    pulled: bool = False

    def __str__(self) -> str:
        far = [f"{key}@{at}" for key, at in self.offsets.items()]
        return ", ".join((*far, *["pullOffsetTable"] * self.pulled)) or phrase("nothing")


# ---- the name server -------------------------------------------------------------------


@worded("RegisterBroker {broker_id}")
class RegisterBroker:
    """REGISTER_BROKER 103, broker → name server. `broker_id` 0: the master."""

    broker_id: int
    quiet = True


@frozen
class RegisterBrokerResponse(Answer):
    """It opens the name server's own direction of the connection, as that of a heartbeat does."""

    quiet = answers = True


@worded("GetRouteInfoByTopic")
class GetRouteInfoByTopic:
    """GET_ROUTEINFO_BY_TOPIC 105, client → name server. All topics have the same brokers here."""


@frozen
class RouteInfo:
    """`brokers`: those that are registered, the master first."""

    brokers: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(self.brokers) or phrase("nobody")
