"""The broker: it stores half messages, ends transactions, and lets the check service ask.

There is **no table of transactions** here. A half message is an ordinary message of another
topic; its end is a second message (the real one) and a record in a third topic. A reader who wants
to know the state of a transaction has to read them. So nothing forbids to end a transaction twice,
or with ROLLBACK first and COMMIT later: the message is delivered with each COMMIT.

    Heartbeat, …             here       who is connected
    PullMessage, …           here       consumers read, and report how far they have come
    SendMessage              here       a message arrives; a half message goes to the half topic
    (acknowledgements)       here       when a message counts as stored: on the disk, on a slave
    EndTransaction           here       look the half up, check it, write message and end
    (rounds of the check)    timer.py   when they are made (what a round does: `check.py`)
    ConsumerSendMsgBack      timer.py   what consumers could not process comes back by the retry
                                        topic, or is given up
    (delayed, timed)         timer.py   messages by levels of delay, and for a time of delivery
    `Slave`, `NameServer`    here       a copy of the log, read while the master is away

*Durable*: the commit log. *Memory*: op records that wait to be written (5.1 and later), offsets
since they were last written, who is connected. *What can go wrong:* the broker dies between the
message and its op record, or before waiting op records were written; then the half message is asked
about although it has ended, and a second COMMIT delivers the message twice. *Invariants:* a half
message is never removed; a transactional message reaches its queue only by a COMMIT, and after its
half message.

*Left out:* several masters, access control, and the second implementation of 5.5 that keeps half
messages in RocksDB (`transRocksDBEnable`, off by default).
Read on in BrokerController, SendMessageProcessor, EndTransactionProcessor,
TransactionalMessageCheckService, TransactionalOpBatchService (5.5.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ...kernel import (
    Append,
    Appended,
    Caller,
    CancelTimer,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Flush,
    Map,
    Quiet,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    Text,
    Words,
    frozen,
    replace,
)
from ..check import OP_BATCH, Pending, build_committed, build_half, record_end, write_batch
from ..config import NOT_ALLOWED_TO_SEND, TIMER_TOPIC, TRANS_GROUP, RocketMQConfig
from ..errors import (
    COMMIT_LOG_OFFSET_WRONG,
    END_TOO_LARGE,
    FLAG_WRONG,
    GROUP_WRONG,
    HALF_NOT_FOUND,
    NOT_ALLOWED,
    NOT_NOW,
    QUEUE_OFFSET_WRONG,
    REJECTED,
    SEND_TOO_LARGE,
    ResponseCode,
)
from ..group import (
    ConsumerSendMsgBack,
    ConsumerSendMsgBackResponse,
    GetConsumerListByGroup,
    GetConsumerListByGroupResponse,
    Members,
    Met,
    OffsetResponse,
    Producers,
    PullMessage,
    PullMessageResponse,
    QueryConsumerOffset,
    UpdateConsumerOffset,
    close,
    join_group,
    leave_groups,
    meet,
)
from ..log import (
    COMMIT_LOG,
    PERSIST,
    Offsets,
    Stored,
    Writer,
    build_entry,
    find_misfit,
    find_undispatched,
    offset_key,
    read_offsets,
    read_queue,
    read_stored,
    write_offsets,
)
from ..messages import (
    CHECK_IMMUNITY,
    NAMES,
    PGROUP,
    REAL_TOPIC,
    UNIQ_KEY,
    AllConsumerOffset,
    EndTransaction,
    EndTransactionResponse,
    GetAllConsumerOffset,
    GetRouteInfoByTopic,
    HaReport,
    HaTransfer,
    Heartbeat,
    HeartbeatResponse,
    Message,
    RegisterBroker,
    RegisterBrokerResponse,
    ResumeCheckHalfMessage,
    RouteInfo,
    SendBatchMessage,
    SendBatchResponse,
    SendMessage,
    SendMessageResponse,
)
from ..states import SendStatus, TransactionType
from . import timer as timers
from .timer import (
    CHECK,
    GROUP,
    ILLEGAL,
    Timed,
    deliver_level,
    is_timed,
    make_round,
    plan_round,
    put_later,
    put_on_time,
    read_delivery,
    read_progress,
    resume,
    resume_rounds,
    schedule,
    schedule_level,
    schedule_levels,
    take_back,
)

# ---- Who is connected: heartbeats, connections that close, members of a consumer group
#
# Sources: ClientManageProcessor, ClientHousekeepingService, ConsumerManageProcessor (5.5.0). *Left
# out here:* that the members of a consumer group are notified when one comes or goes, and locks on
# queues, which the server for real clients has.

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


# ---- Consumers read, and say how far they have come ----------------------------------
#
# A broker pushes nothing: a "push" consumer pulls, and its pull waits where there is nothing yet.
# An offset that a group has reported is memory until the next write of the table, and a crash turns
# the group back.
#
# Sources: PullMessageProcessor, ConsumerManageProcessor#queryConsumerOffset (5.5.0). *Left out
# here:* the waiting, tags and other filters, which the server for real clients has.


def pull(broker: Broker, ask: PullMessage, caller: Caller, disk: Disk) -> Result:
    """What is there from the offset on; an offset past the end is moved to it."""
    end = disk.log(ask.queue).end
    messages = tuple(read_queue(disk, ask.queue, ask.offset, ask.most))
    if messages:
        next_offset = messages[-1].queue_offset + 1
        answer = PullMessageResponse(queue=ask.queue, messages=messages, next_offset=next_offset)
    else:
        moved = ask.offset > end
        code = ResponseCode.PULL_OFFSET_MOVED if moved else ResponseCode.PULL_NOT_FOUND
        answer = PullMessageResponse(code, queue=ask.queue, next_offset=min(ask.offset, end))
    if broker.config.name_server and broker.config.release != "4.9":
        broker = replace(broker, pulled=True)
    return broker, (Reply(caller, answer),)


def query_offset(broker: Broker, ask: QueryConsumerOffset, caller: Caller, disk: Disk) -> Result:
    """A group that has never reported one begins at 0 where the queue still has its first message;
    else the answer is that nothing is known, and the client decides."""
    offset = broker.offsets.get(offset_key(ask.group, ask.queue))
    log = disk.log(ask.queue)
    if offset is not None and offset < 0:
        offset = None  # a client may report anything
    if offset is None and log.start == 0 and log.end > 0:
        offset = 0
    if offset is None:
        answer = OffsetResponse(ResponseCode.QUERY_NOT_FOUND, queue=ask.queue)
    else:
        answer = OffsetResponse(queue=ask.queue, offset=offset)
    return broker, (Reply(caller, answer),)


def note_offsets(old: Broker, new: Broker, disk: Disk) -> Result:
    """After a change of the offsets in memory: they are written at the next pass, or at once."""
    if new.offsets is old.offsets:
        return new, ()
    if new.config.persist_ms == 0:
        return new, write_offsets(new.offsets, disk)
    timer = () if new.unwritten else (SetTimer(PERSIST, new.config.persist_ms),)
    return replace(new, unwritten=True), timer


def update_offset(broker: Broker, ask: UpdateConsumerOffset) -> Result:
    """The last word counts, also where it turns the group back."""
    key = offset_key(ask.group, ask.queue)
    if broker.offsets.get(key) == ask.offset:
        return broker, ()
    return replace(broker, offsets=broker.offsets.set(key, ask.offset)), ()


# ---- Acknowledgements: when a message counts as stored, and what its sender gets -----
#
# By default a message is acknowledged as soon as it is in the commit log, which the operating
# system
# writes to the disk later (ASYNC_FLUSH) and a slave copies later. Both can be waited for. Then the
# sender may hear one of three words that are neither yes nor no:
#
#     FLUSH_DISK_TIMEOUT     it was not on the disk in time
#     FLUSH_SLAVE_TIMEOUT    the slave did not have it in time
#     SLAVE_NOT_AVAILABLE    there is no slave to wait for, in 4.9; 5.5 waits for one all the same
#
# In all three **the message is stored**, and consumers may get it. A transactional producer that
# hears one of them does not run its local transaction.
#
# Sources: CommitLog#asyncPutMessage, #handleDiskFlushAndHA, #handleHA, GroupCommitService,
# DefaultHAService (4.9.8, 5.5.0). *Left out:* a slave that is connected and too far behind its
# master; that 5.5 stores nothing without its slaves where one of them may act as master
# (enableSlaveActingMaster), or with a controller.

ACKNOWLEDGE = "acknowledge"
FLUSH = "flush"
FLUSH_TIMEOUT_MS, SLAVE_TIMEOUT_MS = 5_000, 3_000


@frozen
class Waiting:
    """An answer that waits until the record at `offset` is on the disk, is copied, or both."""

    offset: int
    caller: Caller
    answer: SendMessageResponse
    flush: bool
    copy: bool

    @property
    def timer(self) -> str:
        return f"{ACKNOWLEDGE} {self.offset}"


def acknowledge(
    broker: Broker, stored: Stored, caller: Caller, answer: SendMessageResponse
) -> Result:
    """Answer now, or when the message is as safe as the configuration wants it."""
    flush, copy = broker.config.flush == "sync", broker.config.in_sync > 1
    if copy and broker.copied is None and broker.config.release == "4.9":
        answer, copy = _with_status(answer, SendStatus.SLAVE_NOT_AVAILABLE), False
    if not flush and not copy:
        return broker, (Reply(caller, answer),)
    waiting = Waiting(stored.base, caller, answer, flush, copy)
    timer = SetTimer(waiting.timer, FLUSH_TIMEOUT_MS if flush else SLAVE_TIMEOUT_MS)
    return replace(broker, waiting=(*broker.waiting, waiting)), (timer,)


def _with_status(answer: SendMessageResponse, status: SendStatus) -> SendMessageResponse:
    return replace(answer, status=status, code=ResponseCode[status])


def flush_now(broker: Broker, end: int) -> Result:
    """The flush service comes round: all that is written is on the disk now."""
    waiting = tuple(replace(w, flush=False) if w.offset < end else w for w in broker.waiting)
    new, replies = _answer_ready(replace(broker, waiting=waiting))
    return new, (Flush(), *replies)


def take_report(broker: Broker, report: HaReport, caller: Caller, disk: Disk) -> Result:
    """The slave says how far its copy goes. The first report of a connection is how it connects:
    it is sent what it does not have yet."""
    known, met = broker.met.get(caller.name), meet(broker.met, caller)
    if met is None:
        return broker, ()
    waiting = tuple(replace(w, copy=False) if w.offset < report.end else w for w in broker.waiting)
    new, replies = _answer_ready(replace(broker, waiting=waiting, copied=report.end, met=met))
    if broker.copied is not None and met.get(caller.name) == known:
        return new, replies
    missing = tuple(disk.log(COMMIT_LOG).read(report.end))
    return new, (*replies, Send(caller.name, HaTransfer(missing)))


def _answer_ready(broker: Broker) -> Result:
    ready = tuple(w for w in broker.waiting if not w.flush and not w.copy)
    replies = tuple(e for w in ready for e in (CancelTimer(w.timer), Reply(w.caller, w.answer)))
    left = tuple(w for w in broker.waiting if w.flush or w.copy)
    return replace(broker, waiting=left), replies


def give_up(broker: Broker, timer: str) -> Result:
    """It took too long: the sender learns what was missing. If both were, the slave is named."""
    (late,) = (w for w in broker.waiting if w.timer == timer)
    missing = SendStatus.FLUSH_SLAVE_TIMEOUT if late.copy else SendStatus.FLUSH_DISK_TIMEOUT
    left = tuple(w for w in broker.waiting if w is not late)
    return replace(broker, waiting=left), (Reply(late.caller, _with_status(late.answer, missing)),)


def copy_records(broker: Broker, effects: Effects) -> Effects:
    """What a step has written goes to the slave, if one is connected."""
    if broker.copied is None:
        return ()
    written = tuple(e.entry for e in effects if isinstance(e, Append) and e.log == COMMIT_LOG)
    if not written:
        return ()
    return (Send(broker.config.slave, HaTransfer(written)),)


def plan_flush(broker: Broker, effects: Effects) -> Effects:
    """With ASYNC_FLUSH: the next pass of the flush service, where a lesson has one."""
    if broker.config.flush != "async" or broker.config.flush_ms <= 0:
        return ()
    written = any(isinstance(e, Append) and e.log == COMMIT_LOG for e in effects)
    return (SetTimer(FLUSH, broker.config.flush_ms),) if written else ()


def lose_slave(broker: Broker) -> Broker:
    """Its connection closed. Who waits for it waits on, until the time is over."""
    return replace(broker, copied=None)


# A message arrives. One with TRAN_MSG goes to the half topic instead of its own, one with DELAY
# to the queue of its delay level.
#
# Sources: SendMessageProcessor#sendMessage, #sendBatchMessage,
# TransactionalMessageServiceImpl#asyncPrepareMessage,
# TransactionalMessageBridge#parseHalfMessageInner (5.5.0).

_TOO_LARGE = SendMessageResponse(ResponseCode.MESSAGE_ILLEGAL, SEND_TOO_LARGE)


def store_message(
    broker: Broker, ask: SendMessage, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """Handle SEND_MESSAGE: store a message, or a half message on the half topic, and acknowledge
    it once it is as safe as the configuration asks. A message is a half message by its property
    (TRAN_MSG), not by the PREPARED bit of the request. Delayed and timed messages go to topics of
    their own until they are due. Refused are a topic of the broker's own, a time of delivery that
    is no number or too far ahead, and a topic or properties too long for a record."""
    message = ask.message
    if refusal := _find_refusal(message, broker.config):
        return broker, (Reply(caller, refusal),)
    if message.is_half:
        message, has_time = build_half(message, broker.config), False
    else:
        has_time = is_timed(message, broker.config)
        if has_time and read_delivery(message, at_ms) is None:
            refusal = SendMessageResponse(ResponseCode.MESSAGE_ILLEGAL, ILLEGAL)
            return broker, (Reply(caller, refusal),)
        # put_later: one with a delay level; any other it leaves as it is
        message = put_on_time(message, at_ms) if has_time else put_later(message)
    if find_misfit(message, broker.config.release):
        return broker, (Reply(caller, _TOO_LARGE),)
    # the timer of its level of delay, if it has one and none is set; `schedule`: for a timed one
    timer = schedule_level(message, disk, broker)
    writer = Writer(disk, at_ms, notify=broker.config.flush == "sync")
    stored = writer.put(message)
    if has_time:
        broker, timer = schedule(broker, stored, at_ms)
    # the queue that was asked for: a half, delayed or timed message is now in another
    answer = SendMessageResponse(
        queue_id=ask.message.queue_id,
        queue_offset=stored.queue_offset,
        commit_log_offset=stored.base,
        transaction_id=_name_transaction(message, broker.config),
    )
    new, replies = acknowledge(broker, stored, caller, answer)
    return new, (*writer.effects, *timer, *replies)


def store_batch(
    broker: Broker, ask: SendBatchMessage, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """Handle SEND_BATCH_MESSAGE: store all messages of a batch in one step, with one answer once
    the last is as safe as the configuration asks. Delays of single messages are ignored: a store
    reads only the request's own properties (CommitLog#asyncPutMessages), and clients batch no such
    message (MessageBatch#generateFromList)."""
    # the first stands for all: the messages of a batch have one topic
    if refusal := _find_refusal(ask.messages[0], broker.config):
        return broker, (Reply(caller, refusal),)
    if any(find_misfit(message, broker.config.release) for message in ask.messages):
        return broker, (Reply(caller, _TOO_LARGE),)
    writer = Writer(disk, at_ms, notify=broker.config.flush == "sync")
    stored = [writer.put(message) for message in ask.messages]
    answer = SendBatchResponse(
        queue_id=ask.messages[0].queue_id,
        queue_offset=stored[0].queue_offset,
        commit_log_offset=stored[0].base,
        commit_log_offsets=tuple(one.base for one in stored),
    )
    new, replies = acknowledge(broker, stored[-1], caller, answer)
    return new, (*writer.effects, *replies)


def _find_refusal(message: Message, config: RocketMQConfig) -> SendMessageResponse | None:
    timers = TIMER_TOPIC if config.release != "4.9" else ""
    if message.topic not in NOT_ALLOWED_TO_SEND and message.topic != timers:
        return None
    remark = NOT_ALLOWED.format(topic=message.topic)
    return SendMessageResponse(ResponseCode.NO_PERMISSION, remark)


def _name_transaction(message: Message, config: RocketMQConfig) -> str:
    """transactionId of the answer: the client's own key; 4.9 says nothing there."""
    return "" if config.release == "4.9" else message.get(UNIQ_KEY) or ""


# ---- EndTransaction: the half is looked up, checked, and its end written down --------
#
# A commit is two records: the message itself, complete, in its real topic; then the op record. They
# are not written as one. A stop in between leaves a delivered message whose half message still
# counts as open. The other order would leave a half message that counts as ended and was never
# delivered: that one loses a message, so the real broker does it this way round.
#
# A rollback writes the op record only. Nothing is deleted: the half stays where it is, and a
# COMMIT that comes later still finds it.
#
# Sources: EndTransactionProcessor#processRequest, #checkPrepareMessage, #endMessageTransaction,
# #rejectCommitOrRollback (4.9.8, 5.5.0).


def end_transaction(
    broker: Broker, ask: EndTransaction, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """Handle END_TRANSACTION: commit or roll back a half message if the request passes the checks
    of EndTransactionProcessor, made in its sequence. UNKNOW (NOT_TYPE) does nothing and gets no
    answer."""
    if ask.end not in NAMES:
        return broker, _answer(ask, caller, ResponseCode.SYSTEM_ERROR, FLAG_WRONG)
    if ask.end == TransactionType.NOT_TYPE:
        return broker, ()
    half = read_stored(disk, ask.commit_log_offset)
    if half is None:
        return broker, _answer(ask, caller, ResponseCode.SYSTEM_ERROR, HALF_NOT_FOUND)
    # since 5.1.1: a check may be in flight, and the answer to it is to decide
    if _comes_too_late(broker, ask, half, at_ms):
        return broker, _answer(ask, caller, ResponseCode.ILLEGAL_OPERATION)
    mismatch = _find_mismatch(ask, half) if "end_validation" in broker.config.on else ""
    if mismatch:
        return broker, _answer(ask, caller, ResponseCode.SYSTEM_ERROR, mismatch)
    if ask.end == TransactionType.COMMIT_TYPE:
        # its properties are too long for a record
        if find_misfit(build_committed(half, broker.config), broker.config.release):
            return broker, _answer(ask, caller, ResponseCode.MESSAGE_ILLEGAL, END_TOO_LARGE)
    new, effects = _write_end(broker, ask, half, disk, at_ms)
    return new, (*effects, *_answer(ask, caller, ResponseCode.SUCCESS))


def _answer(ask: EndTransaction, caller: Caller, code: ResponseCode, remark: str = "") -> Effects:
    """Clients send it one-way; an error is then known to the broker's log only."""
    return () if ask.oneway else (Reply(caller, EndTransactionResponse(code, remark)),)


def _comes_too_late(broker: Broker, ask: EndTransaction, half: Stored, at_ms: int) -> bool:
    """Since 5.1.1: an end of the client's own accord, of a half message with an immunity of its own
    that has passed. The check may be in flight, and its answer is to decide."""
    config = broker.config
    if config.release == "4.9" or ask.from_check or half.message.get(CHECK_IMMUNITY) is None:
        return False
    own = (half.message.immunity_s or 0) * 1_000
    return at_ms - half.message.born_ms > max(own, config.timeout_ms)


def _find_mismatch(ask: EndTransaction, half: Stored) -> str:
    """Three comparisons, in this order (checkPrepareMessage)."""
    if half.message.get(PGROUP) != ask.group:
        return GROUP_WRONG
    if half.queue_offset != ask.queue_offset:
        return QUEUE_OFFSET_WRONG
    if half.base != ask.commit_log_offset:
        return COMMIT_LOG_OFFSET_WRONG
    return ""


def _write_end(broker: Broker, ask: EndTransaction, half: Stored, disk: Disk, at_ms: int) -> Result:
    """The message, then the op record. A half message that was stored in its real topic (no half
    topic) is there already, whatever is said of it now."""
    if half.message.get(REAL_TOPIC) is None:
        return broker, ()
    config, ops, since = broker.config, broker.ops, broker.ops_since or at_ms
    writer = Writer(disk, at_ms, notify=config.flush == "sync")
    usual = ("message", "op") if "message_before_op" in config.on else ("op", "message")
    for part in config.order_of("end_transaction", *usual):
        if part == "op":
            ops = record_end(config, ops, half.queue_offset, writer, at_ms, since)
            since = since if ops else at_ms
        elif ask.end == TransactionType.COMMIT_TYPE:
            writer.put(build_committed(half, config))
    return replace(broker, ops=ops, ops_since=since), writer.effects


# ---- What a step has changed in the broker's memory, in words ------------------------

PROGRESS = Words("half offset {half}, op offset {op}")
WAITING = Words("ends that wait for their op record: {ops}")
NONE_WAITS = Words("ends that wait for their op record: –")
PRODUCERS = Words("producers of {group}: {names}")
CONSUMERS = Words("consumers of {group}: {names}")
REPORTED = Words("{group} reads on at {queue}@{offset}")
NOBODY = "–"


def tell_changes(old: Broker | None, new: Broker) -> tuple[Text, ...]:
    """After a start only how far the check service had come."""
    if old is None:
        return (_tell_progress(new.offsets),)
    return tuple(_tell(old, new))


def _tell_progress(offsets: Offsets) -> Text:
    half, op = read_progress(offsets)
    return PROGRESS(half=half, op=op)


def _tell(old: Broker, new: Broker) -> Iterator[Text]:
    if read_progress(new.offsets) != read_progress(old.offsets):
        yield _tell_progress(new.offsets)
    if new.ops != old.ops:
        yield WAITING(ops=", ".join(map(str, new.ops))) if new.ops else NONE_WAITS()
    for words, then, now in (
        (PRODUCERS, old.producers.groups, new.producers.groups),
        (CONSUMERS, old.consumers, new.consumers),
    ):
        if then is not now:
            for group in sorted({*then, *now}):
                if then.get(group) != now.get(group):
                    yield words(group=group, names=", ".join(now.get(group, ())) or NOBODY)
    if new.offsets is not old.offsets:
        yield from _tell_reported(old.offsets, new.offsets)


def _tell_reported(old: Offsets, new: Offsets) -> Iterator[Text]:
    for key, offset in new.items():
        queue, _, group = key.partition("@")
        if group not in (TRANS_GROUP, GROUP) and old.get(key) != offset:
            yield REPORTED(group=group, queue=queue, offset=offset)


@frozen
class Broker:
    """`offsets`: how far every consumer group has come, the check service among them;
    `unwritten`: the table on the disk is older. `ops`: ends that are not recorded yet;
    `ops_since`: from when the passes that record them are counted, in ms; 0 before the first end.
    `producers`, `consumers`: who is connected. `copied`: where the slave's copy ends, None while
    it is not connected; `waiting`: answers that wait for it, or for the disk.
    `timed`: what waits for which second; `met`: by which connections clients have come;
    `pulled`: a consumer has, since the start (5.5, and where a slave would ask)."""

    config: RocketMQConfig
    offsets: Offsets = Offsets()
    unwritten: bool = False
    ops: Pending = ()
    ops_since: int = 0
    producers: Producers = Producers()
    consumers: Members = Members()
    copied: int | None = None
    waiting: tuple[Waiting, ...] = ()
    timed: Timed = Timed()
    met: Met = Met()
    pulled: bool = False
    broker_id: ClassVar = 0

    def step(self, event: Event, disk: Disk) -> tuple[Broker, Effects]:
        new, effects = self._handle_event(event, disk)
        new.check_invariants()
        new, noted = note_offsets(self, new, disk)
        later = (
            *plan_round(new, event, effects, disk),
            *plan_flush(new, effects),
            *copy_records(new, effects),
        )
        return new, (*effects, *noted, *later)

    def check_invariants(self) -> None:
        """AssertionError where the oldest answer waits for what its record has already."""
        for oldest in self.waiting[:1]:
            copied = self.copied is not None and oldest.offset < self.copied
            assert oldest.flush or (oldest.copy and not copied), oldest

    def _handle_event(self, event: Event, disk: Disk) -> tuple[Broker, Effects]:
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self._handle_request(body, caller, disk, at_ms)
            case Fired(timer=timer, at_ms=at_ms):
                return self._handle_timer(timer, disk, at_ms)
            case Appended(end=end):
                return flush_now(self, end)
            case ConnectionLost(peer=peer) if peer == self.config.name_server:
                return self, self.register()
            case ConnectionLost(peer=peer):
                return self._lose_client(peer), ()
        # What was asked of a client is one-way; nothing else comes here.
        return self, ()

    def _handle_request(
        self, body: Any, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Broker, Effects]:
        """Pass a request to the function that handles it, by its type; heartbeats and questions
        about a group go to the module's `handle_request`."""
        match body:
            case SendMessage():
                return store_message(self, body, caller, disk, at_ms)
            case SendBatchMessage():
                return store_batch(self, body, caller, disk, at_ms)
            case EndTransaction():
                return end_transaction(self, body, caller, disk, at_ms)
            case ResumeCheckHalfMessage():
                return resume(self, body, caller, disk, at_ms)
            case PullMessage():
                return pull(self, body, caller, disk)
            case QueryConsumerOffset():
                return query_offset(self, body, caller, disk)
            case UpdateConsumerOffset():
                return update_offset(self, body)
            case ConsumerSendMsgBack():
                return take_back(self, body, caller, disk, at_ms)
            case HaReport():
                return take_report(self, body, caller, disk)
            case RegisterBrokerResponse():
                return self, ()
            case GetAllConsumerOffset():
                # pulled: a consumer has pulled here; a 5.5.0 slave cannot read the answer then
                return self, (Reply(caller, AllConsumerOffset(self.offsets, self.pulled)),)
        return handle_request(self, body, caller)

    def register(self) -> Effects:
        """Tell the name server, where there is one, who is here."""
        names = self.config.name_server
        return (Send(names, RegisterBroker(self.broker_id)),) if names else ()

    def _lose_client(self, client: str) -> Broker:
        met, named = close(self.met, client)
        new = replace(self, met=met)
        if named is None:
            return new
        if client == self.config.slave:
            return lose_slave(new)
        return forget_client(new, client, named)

    def _handle_timer(self, timer: str, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
        """A timer has fired: start a round of the check, write a batch of op messages, offsets or a
        flush, give up an acknowledgement that took too long, or deliver messages that are due."""
        if timer == CHECK:
            return make_round(self, disk, at_ms)
        if timer == OP_BATCH:
            writer = Writer(disk, at_ms)
            ops = write_batch(self.config, self.ops, writer, at_ms)
            return replace(self, ops=ops), writer.effects
        if timer == PERSIST:
            return replace(self, unwritten=False), write_offsets(self.offsets, disk)
        if timer == FLUSH:
            return self, (Flush(),)
        if timer.startswith(ACKNOWLEDGE):
            return give_up(self, timer)
        if timer.startswith(timers.TIMED):
            return timers.deliver_second(self, timer, disk, at_ms)
        return deliver_level(self, timer, disk, at_ms)

    def describe_changes(self, old: Broker | None) -> tuple[Text, ...]:
        return tell_changes(old, self)

    @classmethod
    def recover(cls, config: RocketMQConfig, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
        """Queue entries that a stop cut off are written; offsets are as the table says; no client
        is connected, and no op record waits."""
        new, timed = timers.schedule_all(cls(config, offsets=read_offsets(disk)), disk, at_ms)
        missing = find_undispatched(disk)
        rounds = resume_rounds(new, missing, disk, at_ms)
        later = (*schedule_levels(new, disk, at_ms), *timed)
        return new, (*missing, *rounds, *later, *new.register())


# ---- A slave, and a name server -------------------------------------------------------
#
# A slave is a broker with another role. It connects to its master and says how far its copy of the
# commit log goes; the master sends what follows, and again whenever something is written. It stores
# no message, ends no transaction and makes no check round: all three are the master's, and wait
# until that is back. Where the cluster has a name server (`slave=read`), consumers find the slave
# by it while the master is not registered, and read there.
#
# How far the groups have come the slave asks its master, every minute in 5.5 and every 10 s in 4.9;
# but 5.5.0 cannot read the answer of a master from which a consumer has pulled (issue 10284).
# **Nothing goes the other way.** So a consumer that comes to the slave reads again what was
# consumed since the last of these copies; and what is consumed on the slave the master never hears
# of, but from a consumer that is still running when the master is back, which reports its offsets
# to whom it finds. Another one begins at the master's old offset, and the next copy turns the slave
# back, too.
#
# *Durable*: the commit log, the offsets. *Left out:* a slave that is far behind its master; that it
# knows a topic only from its next copy; that it is read from because its master has much to do; a
# slave that *acts* as master (enableSlaveActingMaster), and the controller that would elect one; of
# the name server all but who is registered, and that a machine without power is there for two
# minutes more.
#
# Sources: DefaultHAClient, DefaultHAConnection, EndTransactionProcessor, SlaveSynchronize,
# PullMessageProcessor (slaveReadEnable), RouteInfoManager (5.5.0).

SYNCHRONIZE = "synchronize"
#: what a slave does not store, and how it says so
REFUSED: dict[type, Any] = {
    SendMessage: SendMessageResponse,
    SendBatchMessage: SendBatchResponse,
    ConsumerSendMsgBack: ConsumerSendMsgBackResponse,
}


@frozen
class Slave(Broker):
    """`connected`: to its master, which has answered."""

    connected: bool = False
    broker_id: ClassVar = 1

    def step(self, event: Event, disk: Disk) -> Result:
        new, effects = self._handle_event(event, disk)
        new, noted = note_offsets(self, new, disk)
        return new, (*effects, *noted)

    def _handle_event(self, event: Event, disk: Disk) -> Result:
        """Handle one event: copy the records that the master sends, let consumers pull, and ask the
        master for the groups' offsets at an interval; connect again after a broken connection. A
        slave stores no message of a client and
        ends no transaction: such requests are refused, with a code that depends on the release.
        Every other event is handled as by a master."""
        config = self.config
        match event:
            case Request(body=HaTransfer(records=records)):
                return replace(self, connected=True), self._copy(records, disk)
            case Request(caller=caller, body=EndTransaction(oneway=oneway)):
                refusal = EndTransactionResponse(ResponseCode.SLAVE_NOT_AVAILABLE)
                return self, () if oneway else (Reply(caller, refusal),)
            # REFUSED: by class of what a slave does not store, the class of its answer
            case Request(caller=caller, body=body) if type(body) in REFUSED:
                answer = REFUSED[type(body)]
                if config.release != "4.9":
                    return self, (Reply(caller, answer(ResponseCode.SYSTEM_BUSY, REJECTED)),)
                code, remark = ResponseCode.SERVICE_NOT_AVAILABLE, NOT_NOW
                if isinstance(body, ConsumerSendMsgBack):
                    # another code, whose remark is the name of the first one
                    code, remark = ResponseCode.SYSTEM_ERROR, code.name
                return self, (Reply(caller, answer(code, remark)),)
            case Request(caller=caller, body=PullMessage() as ask):
                return self._pull(ask, caller, disk)
            # pulled: a consumer has pulled from the master; 5.5.0 cannot read its answer then
            case Response(body=AllConsumerOffset(offsets=offsets, pulled=False)):
                return replace(self, offsets=self.offsets.update(offsets.items())), ()
            case Fired(timer=timer) if timer == SYNCHRONIZE:
                asks = (Send(config.broker, GetAllConsumerOffset()),) if self.connected else ()
                return self, (*asks, SetTimer(SYNCHRONIZE, config.synchronize_ms))
            # the report of where its copy ends is what connects it again
            case ConnectionLost(peer=peer) if peer == config.broker:
                return replace(self, connected=False), (self._report(disk.log(COMMIT_LOG).end),)
        return Broker._handle_event(self, event, disk)

    def _pull(self, ask: PullMessage, caller: Caller, disk: Disk) -> Result:
        """As of the master; but who asks for what is not copied yet is not moved back."""
        if ask.offset <= disk.log(ask.queue).end:
            return pull(self, ask, caller, disk)
        code = ResponseCode.PULL_RETRY_IMMEDIATELY
        return self, (Reply(caller, PullMessageResponse(code, "", ask.queue, (), ask.offset)),)

    def _copy(self, records: tuple[Stored, ...], disk: Disk) -> Effects:
        """What it has already, it does not write again; nothing new: the master has said hello."""
        end = disk.log(COMMIT_LOG).end
        new = [stored for stored in records if stored.base >= end]
        written = [e for s in new for e in (Append(COMMIT_LOG, s, notify=False), build_entry(s))]
        return (*written, Flush(), self._report(new[-1].base + 1)) if new else ()

    def _report(self, end: int) -> Send:
        return Send(self.config.broker, HaReport(end))

    def describe_changes(self, old: Broker | None) -> tuple[Text, ...]:
        return () if old is None else Broker.describe_changes(self, old)

    @classmethod
    def recover(cls, config: RocketMQConfig, disk: Disk, at_ms: int) -> tuple[Slave, Effects]:
        new = cls(config, offsets=read_offsets(disk))
        report = new._report(disk.log(COMMIT_LOG).end)
        reads = (*new.register(), SetTimer(SYNCHRONIZE, config.synchronize_ms))
        return new, (*find_undispatched(disk), report, *(reads if config.name_server else ()))


@frozen
class NameServer(Quiet):
    """`brokers`: those that are registered and connected, with their brokerId; `met`: by which
    connections."""

    brokers: Map[str, int] = Map()
    met: Met = Met()

    def step(self, event: Event, disk: Disk) -> tuple[NameServer, Effects]:
        match event:
            case Request(caller=caller, body=RegisterBroker(broker_id=broker_id)):
                met = meet(self.met, caller)
                if met is not None:
                    new = NameServer(self.brokers.set(caller.name, broker_id), met)
                    return new, (Send(caller.name, RegisterBrokerResponse()),)
            case Request(caller=caller, body=GetRouteInfoByTopic()):
                there = sorted(self.brokers.items(), key=lambda broker: broker[1])
                return self, (Reply(caller, RouteInfo(tuple(name for name, _ in there))),)
            case ConnectionLost(peer=peer):
                met, gone = close(self.met, peer)
                brokers = self.brokers if gone is None else self.brokers.remove(peer)
                return NameServer(brokers, met), ()
        return self, ()

    @classmethod
    def recover(cls, disk: Disk, at_ms: int) -> tuple[NameServer, Effects]:
        return cls(), ()
