"""What each message, record and row of RocketMQ means: a transaction, a sentence why (`Telling`).

What must be known for that is a `Book`; a lesson's facts are explained by `annotate`.
"""

from __future__ import annotations

from ...kernel import (
    Append,
    Effect,
    Event,
    Named,
    Put,
    Reply,
    Request,
    Return,
    Send,
    Stage,
    Telling,
    Text,
    Words,
    World,
    name_plainly,
    tr,
)
from ...kernel.role import Outcome
from ...kernel.run import put_in_words
from ...kernel.story import TOLD_YES
from ..application import TABLE
from ..check import parse_op
from ..config import DLQ_PREFIX, RETRY_PREFIX
from ..consumer import APPLIED, Consume
from ..group import (
    ConsumerSendMsgBack,
    ConsumerSendMsgBackResponse,
    GetConsumerListByGroup,
    PullMessage,
    PullMessageResponse,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from ..log import TABLE as OFFSETS
from ..log import QueueEntry, Stored
from ..messages import (
    UNIQ_KEY,
    AllConsumerOffset,
    CheckTransactionState,
    EndTransaction,
    EndTransactionResponse,
    GetAllConsumerOffset,
    GetRouteInfoByTopic,
    HaReport,
    HaTransfer,
    Heartbeat,
    HeartbeatResponse,
    RegisterBroker,
    ResumeCheckHalfMessage,
    SendMessage,
    SendMessageResponse,
    Statement,
    StatementResponse,
)
from ..producer import End, SendInTransaction
from ..states import SendStatus, TransactionType
from . import words as sentences
from .view import Book, Cluster, read_world
from .why import SENTENCES, Kind

# ---- What a RocketMQ fact means: its transaction, whether it may be folded, one sentence why
#
# To explain a message one must know which transactions there are (`Book`); everything else is in
# the message. So the same message means the same in a lesson, which reads its whole world, and on a
# server, which takes notes of what went by:
#
#     half, its answer           the transaction of its key
#     end of a transaction       that of the half at the place it names, else of its order
#     question, and its answer   that of the copy that was put back
#     statement, row             that of the order
#     record                     whose it is, and what it being durable decides

SENT_HALF = Words("half {words}", context="label")
OFFSET = Words("offset {at}", context="label")
TOLD_ENDS: dict[int, Words] = {
    TransactionType.COMMIT_TYPE: sentences.TOLD_COMMIT,
    TransactionType.ROLLBACK_TYPE: sentences.TOLD_ROLLBACK,
    TransactionType.NOT_TYPE: sentences.TOLD_UNKNOW,
}
TOLD_MESSAGES: dict[Words, Words] = {
    sentences.DEAD: sentences.TOLD_DEAD,
    sentences.PLAIN_RECORD: sentences.TOLD_SHOWN,
    sentences.UNDECIDED_RECORD: sentences.TOLD_UNDECIDED,
    sentences.DELIVERED: sentences.TOLD_SHOWN,
    sentences.DELIVERED_AGAIN: sentences.TOLD_AGAIN,
}
#: of an end, by its type's name: the word in its label
END_WORDS = {"COMMIT_TYPE": "COMMIT", "ROLLBACK_TYPE": "ROLLBACK", "NOT_TYPE": "UNKNOW"}


# ---- requests ------------------------------------------------------------------------


def explain_request(book: Book, body: object, most: int = 15) -> Telling:
    """Explain a request for the picture: its transaction's name, its label, the sentence why.
    `book`: the transactions that the commit log contains; `most`: how often a producer is asked
    about a half message."""
    match body:
        case SendMessage(message=message) if message.is_half:
            return Telling(
                book.name(message), label=SENT_HALF(words=message.words), why=sentences.HALF()
            )
        case SendMessage(message=message):
            return Telling(label=Text(f"send {message.words}"), why=sentences.PLAIN())
        case EndTransaction():
            return _explain_end(book, body)
        case CheckTransactionState(message=message):
            label = sentences.ASKED(order=message.words, times=message.check_times, most=most)
            return Telling(
                book.name(message),
                label=label,
                why=sentences.QUESTION(),
                story=sentences.TOLD_QUESTION,
                record=Text(message.words),
            )
        case Statement(verb=verb, key=key):
            return Telling(
                book.name_order(key), label=put_in_words(body), why=SENTENCES["statements"][verb]()
            )
        case Heartbeat():
            return Telling(fold=True, label=Text("Heartbeat"), why=sentences.HEARTBEAT())
        case HeartbeatResponse():  # an answer, but sent as a request of the broker's own
            return Telling(fold=True)
        case ResumeCheckHalfMessage():
            return Telling(why=sentences.RESUME())
        case HaTransfer(records=records):
            return Telling(fold=not records, label=tr("copy", "label"), why=sentences.COPIED())
        case HaReport():
            return Telling(fold=True, why=sentences.HA_REPORT())
        case RegisterBroker():
            return Telling(fold=True, why=sentences.REGISTER())
        case GetRouteInfoByTopic():
            return Telling(fold=True, why=sentences.ROUTE())
        case GetAllConsumerOffset():
            return Telling(label=tr("offsets?", "label"), why=sentences.ASK_OFFSETS())
    return _explain_consumer(book, body)


def _explain_consumer(book: Book, body: object) -> Telling:
    match body:
        case PullMessage(queue=queue):  # of what was sent back there is rarely any
            again = queue.startswith(RETRY_PREFIX)
            return Telling(fold=again, label=put_in_words(body), why=sentences.PULL())
        case ConsumerSendMsgBack(words=order):
            label = sentences.SENT_BACK(order=order)
            return Telling(book.name_order(order), label=label, why=sentences.SEND_BACK())
        case UpdateConsumerOffset(queue=queue, offset=offset):
            return Telling(label=OFFSET(at=f"{queue}@{offset}"), why=sentences.UPDATE_OFFSET())
        case QueryConsumerOffset() | GetConsumerListByGroup():
            return Telling(fold=True, why=sentences.WHO_READS())
    return Telling(fold=True)


def _explain_end(book: Book, end: EndTransaction) -> Telling:
    kind = TransactionType(end.end).name if end.end in TOLD_ENDS else ""
    words = SENTENCES["checks" if end.from_check else "ends"].get(kind, sentences.END_WRONG)
    name = END_WORDS.get(kind, str(end.end))
    return Telling(
        find_ended(book, end),
        label=Text(f"{name} {end.words}".rstrip()),
        why=words(),
        stage=Stage.PUBLISH,
        story=TOLD_ENDS.get(end.end),
        record=Text(end.words),
    )


def find_ended(book: Book, end: EndTransaction) -> str:
    """The transaction that an end is about; one that names a wrong place, by its order."""
    txn = book.at_place(end.queue_offset)
    if txn is not None and end.words in ("", txn.order):
        return txn.name
    return book.name_order(end.words)


# ---- answers -------------------------------------------------------------------------


def explain_answer(book: Book, request: object, body: object) -> Telling:
    """Explain an answer for the picture: its transaction's name, its label, the sentence why; one
    that teaches nothing is folded away (hidden until a reader unfolds it). `book`: the transactions
    that the commit log contains; `request`: what it answers; None where that is no longer known."""
    match body:
        case SendMessageResponse(transaction_id=key):
            if isinstance(request, SendMessage):  # 4.9's answer does not say
                key = request.message.get(UNIQ_KEY) or ""
            txn = book.find(key)
            name = txn.name if txn is not None else ""
            is_stored = body.status is SendStatus.SEND_OK
            half_words = sentences.HALF_STORED if is_stored else sentences.HALF_DOUBTFUL
            words = half_words if name else sentences.PLAIN_STORED
            return Telling(name, fold=not name and is_stored, label=put_in_words(body), why=words())
        case StatementResponse():
            name = book.name_order(request.key) if isinstance(request, Statement) else ""
            if not isinstance(request, Statement) or request.verb not in ("get", "insert"):
                return Telling(name, fold=True, label=Text("ok"))
            if request.verb == "insert":
                return Telling(name, label=put_in_words(body), why=sentences.ROW_INSERTED())
            label = sentences.NO_ROW() if body.value is None else Text(body.value)
            return Telling(name, label=label, why=sentences.ROW_READ())
        case EndTransactionResponse():
            name = find_ended(book, request) if isinstance(request, EndTransaction) else ""
            return Telling(name, label=put_in_words(body), why=sentences.RAW_ANSWER())
        case PullMessageResponse(messages=messages):
            # a name only where all messages are of one transaction
            names = {book.name(stored.message) for stored in messages}
            name = names.pop() if len(names) == 1 else ""
            return Telling(
                name, fold=not messages, label=put_in_words(body), why=sentences.PULLED()
            )
        case AllConsumerOffset(pulled=True):
            return Telling(label=tr("offsets", "label"), why=sentences.UNREADABLE())
        case ConsumerSendMsgBackResponse(code=code):
            if not code:
                return Telling(fold=True, label=Text("ok"))
            return Telling(label=Text(code.name), why=sentences.NOT_TAKEN_BACK())
    return Telling(fold=True)


# ---- what is written -----------------------------------------------------------------


def explain_record(book: Book, stored: Stored) -> Telling:
    """Explain a message that was appended to the commit log: its transaction, the sentence why, the
    stage it begins and the sentence of the story. An op message may name several transactions; then
    it has no name. `book`: the transactions of the commit log, this message included."""
    message = stored.message
    if stored.kind == "op":
        txns = [t for t in map(book.at_place, parse_op(stored)) if t is not None]
        txn_name = txns[0].name if len({t.name for t in txns}) == 1 else ""
        return Telling(txn_name, why=sentences.OP_RECORD(), stage=Stage.FORGET)
    txn_name, record = book.name(message), Text(message.words)
    if stored.kind == "half" and message.check_times:
        return Telling(txn_name, why=sentences.COPY())
    if stored.kind == "half":
        why, story = sentences.HALF_RECORD(), sentences.TOLD_HALF
        return Telling(txn_name, why=why, stage=Stage.RESERVE, story=story, record=record)
    if stored.kind == "discard":
        why, story = sentences.PARKED(), sentences.TOLD_PARKED
        return Telling(txn_name, why=why, story=story, record=record)
    words = _explain_message(book, stored)
    is_visible = words in (sentences.DELIVERED, sentences.DELIVERED_AGAIN)
    return Telling(
        txn_name,
        why=words(),
        stage=Stage.SHOW if is_visible else None,
        story=TOLD_MESSAGES.get(words),
        record=record,
    )


def _explain_message(book: Book, stored: Stored) -> Words:
    """The sentence why this message was appended to the topic it is in: delayed, delivered again,
    dead-lettered, plain, undecided, or committed (for the second time, too). `book`: the
    transactions of the commit log, this message included."""
    topic = stored.message.topic
    if stored.kind == "delayed":
        return sentences.RETRIED if stored.message.reconsume_times else sentences.DELAYED
    if topic.startswith(RETRY_PREFIX):
        return sentences.COMES_AGAIN
    if topic.startswith(DLQ_PREFIX):
        return sentences.DEAD
    if not book.name(stored.message):
        return sentences.PLAIN_RECORD
    if stored.message.transaction_type != TransactionType.COMMIT_TYPE:
        return sentences.UNDECIDED_RECORD
    txn = book.find_of(stored.message)
    return (
        sentences.DELIVERED_AGAIN if txn is not None and txn.delivered > 1 else sentences.DELIVERED
    )


def explain_row(book: Book, order: str, value: str | None) -> Telling:
    """Explain a row of the producer's database that was written, or (`value` None) removed; its key
    is the order, by which `book` finds the transaction."""
    if value is None:
        return Telling(
            book.name_order(order),
            label=sentences.ROW_GONE(order=order),
            why=sentences.REMOVED(),
            story=sentences.TOLD_NO_ROW,
            record=Text(order),
        )
    return Telling(
        book.name_order(order),
        label=sentences.ROW(order=order, value=value),
        why=sentences.WRITTEN(),
        show=True,  # although writes to a table are folded
        stage=Stage.DECIDE,
        story=sentences.TOLD_ROW,
        record=Text(order),
    )


def explain_applied(book: Book, order: str, times: int) -> Telling:
    """Of an order that a consumer has applied."""
    again = times > 1
    return Telling(
        book.name_order(order),
        label=sentences.APPLIES(order=order, times=times),
        why=(sentences.APPLIED_AGAIN if again else sentences.APPLIED)(),
        show=True,
        story=sentences.TOLD_APPLIED_AGAIN if again else sentences.TOLD_APPLIED,
        record=Text(order),
    )


def find_kind(cluster: Cluster, name: str) -> Kind:
    """What a node of a lesson is."""
    if name == cluster.config.database:
        return Kind.DATABASE
    if name in dict(cluster.producers):
        return Kind.PRODUCER
    if cluster.slave and name == cluster.config.slave:
        return Kind.SLAVE
    if name == cluster.config.name_server:
        return Kind.NAME_SERVER
    return Kind.CONSUMER if name in dict(cluster.consumers) else Kind.BROKER


def annotate(
    cluster: Cluster, world: World, role: str, event: Event | None, effect: Effect | None
) -> Telling:
    """All that the system adds to a fact of the narration: transaction, label, sentence why, stage.
    The fact is `effect` of `role` when it handled `event`; without an effect (None) it is a change
    in the role's memory. `world`: after the fact."""
    book = read_world(cluster, world).book  # the transactions of the commit log
    match effect:
        case None:
            # only the transaction's name; why.py has the sentences for such facts
            request = event.body if isinstance(event, Request) else None
            return Telling(explain_request(book, request).txn)
        case Append(entry=QueueEntry()):
            return Telling(hide=True)  # part of its message
        case Append(entry=Stored() as stored):
            return explain_record(book, stored)
        case Put(table=table, key=key, value=value) if table == TABLE:
            return explain_row(book, key, value)
        case Put(table=table, key=key, value=value) if table == APPLIED:
            return explain_applied(book, key, value)
        case Send(body=body):
            return explain_request(book, body, cluster.config.check_max)
        case Reply(body=body):
            return explain_answer(book, event.body if isinstance(event, Request) else None, body)
        case Return(value=Outcome(call=SendInTransaction() | End() as call) as outcome):
            return Telling(book.name_order(call.order), story=TOLD_YES if outcome.ok else None)
        # not folded, with nothing to add: its rows had their sentences
        case Return(value=Outcome(call=Consume())):
            return Telling()
    return Telling(fold=True)


# ---- What an effect of a RocketMQ role is called where a stop shows if it had been done

ANSWER = Words("the answer")
ANSWERS = Words("answers")
QUESTION = Words("the question about {order}")
QUESTIONS = Words("questions")
HALF = Words("the half message"), Words("half messages")
COPY = (Words("the copy of the half message"), Words("copies of half messages"))
RECORDS = {
    "op": (Words("the op record"), Words("op records")),
    "discard": (
        Words("the half message that was set aside"),
        Words("half messages that were set aside"),
    ),
    "delayed": (Words("the delayed message"), Words("delayed messages")),
    "message": (Words("the message"), Words("messages")),
}
ROW = Words("the row")
ROWS = Words("rows")


def name_effect(effect: Effect) -> Named | None:
    """The label of an effect in the diagram of a step, and what its kind is called. None for
    effects whose loss does no harm: a queue's entry is written again after a restart, and a stored
    offset is only a little old."""
    match effect:
        case Append(entry=QueueEntry()) | Send(body=HeartbeatResponse()):
            return None
        case Append(entry=Stored() as stored):
            return _name_record(stored)
        case Put(table=table) if table == TABLE:
            return Named(ROW(), ROWS())
        case Put(table=table) if table == OFFSETS:
            return None
        case Send(body=CheckTransactionState(message=message)):
            return Named(QUESTION(order=message.words), QUESTIONS())
        case Reply():
            return Named(ANSWER(), ANSWERS())
    return name_plainly(effect)


def _name_record(stored: Stored) -> Named:
    half = COPY if stored.message.check_times else HALF
    one, many = half if stored.kind == "half" else RECORDS[stored.kind]
    return Named(one(), many())
