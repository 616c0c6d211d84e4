"""The check: the broker goes through the half topic and asks about half messages without an end.

Nothing in the broker says which transactions are open. The check service finds out, one *round*
at a time, by reading two queues side by side: the half topic from the offset where the last round
stopped, and the op topic, whose records name the half messages that have ended. A half message that
no op record names is asked about. Since a log cannot be changed, and the round wants to move on,
that half message is *put back*: a copy, with its number of checks raised by one, is written at the
end of the half topic, and the question goes out about the copy.

From this follow most surprises of RocketMQ's transactions:

- a transaction has several addresses in the course of time, its first half and each copy; an op
  record for an old one is read too late, and the newest copy is asked about all the same
- the number of checks rises with every copy, also when there was no producer to ask
- a half message that is too young stops the whole round, for half messages are expected in order of
  their age
- after `transactionCheckMax` checks the half message is set aside in TRANS_CHECK_MAX_TIME_TOPIC.
  That is no rollback: a late COMMIT still commits it

*Durable* are the two queues and the two offsets, these with a delay (`log.py`).
*Invariants:* a round examines each half message at most once; it writes its offsets last, so that a
round which was cut short is done again, with a second copy of what it had put back.

Read on in TransactionalMessageServiceImpl#check, TransactionalMessageCheckService (5.5.0).
"""

from __future__ import annotations

from ..kernel import CancelTimer, Disk, Effects, Send, SetTimer, frozen, replace
from .config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, RocketMQConfig
from .group import Producers
from .log import HALF_QUEUE, OP_QUEUE, Stored, Writer, find_misfit, read_queue
from .messages import (
    CHECK_IMMUNITY,
    CHECK_TIMES,
    PGROUP,
    PREPARED_QUEUE_OFFSET,
    REAL_QID,
    REAL_TOPIC,
    TAGS,
    TRANSACTION_ID,
    UNIQ_KEY,
    WAIT,
    CheckTransactionState,
    Message,
    Properties,
)
from .states import TransactionType

# What a half message is turned into: its first record, a copy, one set aside, the message itself
#
# Sources: TransactionalMessageBridge#parseHalfMessageInner, #renewHalfMessageInner,
# DefaultTransactionalMessageCheckListener#resolveDiscardMsg,
# AbstractTransactionalMessageCheckListener#sendCheckMessage,
# EndTransactionProcessor#endMessageTransaction,
# AdminBrokerProcessor#resumeCheckHalfMessage (5.5.0).


def build_half(message: Message, config: RocketMQConfig) -> Message:
    """An ordinary message of another topic: topic and queue are noted in properties, and the
    PREPARED bit is *cleared*, or no queue entry would be written for it."""
    message = message.mark(TransactionType.NOT_TYPE)
    if "half_topic" not in config.on:
        return message
    half = message.put((REAL_TOPIC, message.topic), (REAL_QID, str(message.queue_id)))
    key = message.get(UNIQ_KEY)
    if config.batches_ops and key:  # since 5.1
        half = half.put((TRANSACTION_ID, key))
    return replace(half, topic=HALF_TOPIC, queue_id=0)


def restore_message(half: Stored) -> Message:
    """With its real topic and queue again."""
    message = half.message
    return replace(
        message,
        topic=message.get(REAL_TOPIC) or message.topic,
        queue_id=int(message.get(REAL_QID) or 0),
    )


def build_committed(half: Stored, config: RocketMQConfig) -> Message:
    """The message that consumers get: a complete new record. It keeps the half's properties, so
    consumers see TRAN_MSG and PGROUP; 5.5 takes REAL_TOPIC and REAL_QID off."""
    message = restore_message(half)
    if config.release != "4.9":
        message = message.clear((REAL_TOPIC, REAL_QID))
    return replace(message.mark(TransactionType.COMMIT_TYPE), prepared_offset=half.base)


def build_copy(half: Stored, times: int) -> Message:
    """The half once more, for the end of the half topic. When it was born stays; the flag that
    its application gave it is lost here, so that a message whose half was asked about comes
    without it."""
    return replace(half.message, flag=0).put((CHECK_TIMES, str(times)))


def mark_immune(half: Stored, message: Message) -> Message:
    """A copy made while the half message is immune says where the first one is: its end may name
    that."""
    if message.get(PREPARED_QUEUE_OFFSET) is not None:
        return message
    return message.put((PREPARED_QUEUE_OFFSET, str(half.queue_offset)))


def build_parked(half: Stored) -> Message:
    return replace(half.message, topic=DISCARD_TOPIC, queue_id=0)


def build_resumed(stored: Stored) -> Message:
    """Back into the half topic, with all its checks before it."""
    return replace(stored.message, topic=HALF_TOPIC, queue_id=0).put((CHECK_TIMES, "0"))


def build_question(half: Stored, copy: Stored) -> CheckTransactionState:
    """About the half as it was found, at the place of the copy: its flag is not lost yet, and it
    says what was sent to the store about the copy, not to keep the broker waiting."""
    times = str(copy.message.check_times)
    message = restore_message(half).put((CHECK_TIMES, times), (WAIT, "false"))
    return CheckTransactionState(message, copy.queue_offset, copy.base, half.store_ms)


# ---- Op records: "the half at this queue offset has ended" ---------------------------
#
# An op record is an ordinary message of the op topic with the tag `d`. Its body holds *queue
# offsets of the half topic*, not positions in the commit log. Up to 5.0 each end wrote one, at
# once. Since 5.1 the offsets wait in memory and leave together, after 3 s or 4,096 characters:
# **what a crash takes from there is forgotten**, the half is asked about again, and a second COMMIT
# delivers its message a second time.
#
# Sources: TransactionalMessageBridge#writeOp, TransactionalMessageServiceImpl#deletePrepareMessage,
# #batchSendOpMessage, #getOpMessage, TransactionalMessageUtil (4.9.8, 5.5.0).

REMOVE_TAG = "d"
OP_BATCH = "op batch"

Pending = tuple[int, ...]


def build_op(body: str, config: RocketMQConfig, at_ms: int) -> Message:
    properties = Properties([(TAGS, REMOVE_TAG)])
    return Message(OP_TOPIC, 0, body, properties, born_ms=at_ms, born_host=config.broker)


def parse_op(op: Stored) -> tuple[int, ...]:
    """The half offsets that an op record names; one with a foreign tag names none."""
    if op.message.get(TAGS) != REMOVE_TAG:
        return ()
    body = op.message.body
    text = body if isinstance(body, str) else body.decode()
    return tuple(int(part) for part in text.split(",") if part.strip().isdigit())


def record_end(
    config: RocketMQConfig, pending: Pending, offset: int, writer: Writer, at_ms: int, since_ms: int
) -> Pending:
    """Record that the half message at this offset of the half queue has ended: as an op message at
    once (4.9), or later with others in one op message. `pending`: the offsets that wait for that
    already; returns those that wait now. `since_ms`: when the first end of all came, or when a full
    op message was last written."""
    if "op_topic" not in config.on:
        return pending
    if not config.batches_ops:
        writer.put(build_op(str(offset), config, at_ms))
        return pending
    waiting = (*pending, offset)
    if _fill_a_record(config, waiting, largest=max(offset, writer.end_of(HALF_QUEUE))):
        writer.add(CancelTimer(OP_BATCH))
        return write_batch(config, waiting, writer, at_ms)
    if not pending:
        writer.add(schedule_batch(config, at_ms - since_ms))
    return waiting


def schedule_batch(config: RocketMQConfig, passed_ms: int) -> SetTimer:
    """The next pass of the batch service: it comes round at a fixed interval, of which so much
    has passed (TransactionalOpBatchService; lastWriteTimestamp of MessageQueueOpContext)."""
    return SetTimer(OP_BATCH, config.op_batch_ms - passed_ms % config.op_batch_ms)


def write_batch(config: RocketMQConfig, pending: Pending, writer: Writer, at_ms: int) -> Pending:
    """Write what waits, in records of a limited size; nothing waits afterwards."""
    body = ""
    for offset in pending:
        body += f"{offset},"
        if len(body) >= config.op_batch_chars:
            writer.put(build_op(body, config, at_ms))
            body = ""
    if body:
        writer.put(build_op(body, config, at_ms))
    return ()


def _fill_a_record(config: RocketMQConfig, offsets: Pending, largest: int) -> bool:
    """Whether a record cannot take more. Most often a number that none exceeds is enough to say
    no."""
    most = len(offsets) * (len(str(largest)) + 1)
    if most < config.op_batch_chars:
        return False
    return sum(len(str(offset)) + 1 for offset in offsets) >= config.op_batch_chars


# ---- One round of the check, step by step, in the order of the real broker -----------
#
#     0  read op records: which half messages have ended
#     1  for each half message, from the offset where the last round stopped:
#        ended          pass over it; its body is not even read
#        asked too often, or older than the files are kept: set it aside
#        fresh          stored since this round began: stop
#        young          younger than its immunity: stop; with an immunity of its own: put it back
#        undecided      before anyone is asked, all op records are read
#                       then put it back, and ask some producer of its group
#     2  write down how far the round came
#
# Sources: TransactionalMessageServiceImpl#check, #fillOpRemoveMap, #needDiscard, #needSkip,
# #isNeedCheck, #checkPrepareQueueOffset, #calculateOpOffset (4.9.8, 5.5.0). *Left out:* the second
# that a round sleeps when there are no more op records, the round's own limit of 60 s, writes that
# fail because a disk is full, and the branch in which a slave that acts as master hands a half
# message to another broker. README.md says what a copy does that has become too long.

PULL = 32
HOUR_MS = 3_600_000


@frozen
class RoundResult:
    """How far the round came in either queue, and what it did. `half_offset`, `op_offset`: these;
    `producers`: as the round leaves them; `effects`: in order."""

    half_offset: int
    op_offset: int
    producers: Producers
    effects: Effects


def run_round(
    config: RocketMQConfig,
    disk: Disk,
    at_ms: int,
    half_offset: int,
    op_offset: int,
    producers: Producers,
) -> RoundResult:
    """Examine the half topic once."""
    this = _Round(config, disk, at_ms, half_offset, op_offset, producers)
    this.examine_all()
    this.check_invariants()
    return RoundResult(this.at, this.next_op_offset(), this.producers, this.writer.effects)


class _Round:
    """What a round holds while it lasts. `ended`: half offset → the op record that names it;
    `named`: op record → the half messages it names that were not yet passed; `done`: op records of
    which nothing is left."""

    def __init__(
        self,
        config: RocketMQConfig,
        disk: Disk,
        at_ms: int,
        half_offset: int,
        op_offset: int,
        producers: Producers,
    ) -> None:
        """Begin a round at these offsets of the half queue and the op queue: where the last round
        stopped. Half messages at or above `fresh` are stored during the round and left to the next.
        `at` and `op_at` advance; the other fields that begin empty are explained at the class."""
        self.config, self.disk, self.at_ms, self.producers = config, disk, at_ms, producers
        self.start, self.at = half_offset, half_offset
        self.op_start, self.op_at = op_offset, op_offset
        self.fresh = disk.log(HALF_QUEUE).end
        self.ended: dict[int, int] = {}
        self.named: dict[int, list[int]] = {}
        self.done: list[int] = []
        self.writer = Writer(disk, at_ms)

    def check_invariants(self) -> None:
        """AssertionError where the next round would begin after an op record that is needed: it
        names a half message which no round has passed."""
        passed = range(self.op_start, self.next_op_offset())
        assert not any(self.named.get(op) for op in passed), (passed, self.named)

    # -- op records ----------------------------------------------------------------------

    def read_ops(self) -> list[Stored]:
        """The next op records. What is before the round's start is of no interest any more: a
        record that names nothing else is done with. One that names a half message twice (two ends
        of it in one batch) waits for it once."""
        ops = read_queue(self.disk, OP_QUEUE, self.op_at, PULL)
        for op in ops:
            offset = op.queue_offset
            halves_named = [half for half in dict.fromkeys(parse_op(op)) if half >= self.start]
            for half in halves_named:
                self.ended[half] = offset
            self.named[offset] = halves_named
            if not halves_named and (self.config.batches_ops or parse_op(op)):
                self.done.append(offset)
        self.op_at += len(ops)
        return ops

    def pass_ended(self, half: int) -> None:
        """Its op record is done with once the last half that it names has been passed."""
        op = self.ended.pop(half)
        self.named[op].remove(half)
        if not self.named[op]:
            self.done.append(op)

    def next_op_offset(self) -> int:
        """The offset after the longest sequence of op records that are done."""
        done, offset = set(self.done), self.op_start
        while offset in done:
            offset += 1
        return offset

    # -- half messages -----------------------------------------------------------------

    def examine_all(self) -> None:
        """Make one round of the check over the half queue: pass over half messages that have ended,
        ask a producer about those that are old enough or discard them, and stop at the first that
        has to stay (`examine` returns False). Op messages are read in portions of PULL."""
        ops = self.read_ops()
        while True:
            if self.at in self.ended:
                self.pass_ended(self.at)
                self.at += 1
                continue
            half = self.read_half()
            if half is None:
                return
            if ops and self.would_ask(half):  # no ops: the op queue was read to its end
                # before a producer is asked: further op messages may say that it has ended
                ops = self.read_ops()
                continue
            if not self.examine(half):
                return
            self.at += 1

    def read_half(self) -> Stored | None:
        """The half at the round's position. What this round has put back is seen by it only where
        the store is that quick (`same_round`)."""
        stored = read_queue(self.disk, HALF_QUEUE, self.at, 1)
        if stored:
            return stored[0]
        if self.config.same_round:
            own = [s for s in self.writer.written if s.message.queue == HALF_QUEUE]
            return next((s for s in own if s.queue_offset == self.at), None)
        return None

    def would_ask(self, half: Stored) -> bool:
        """Whether a producer would be asked about this half message now."""
        return not (self.is_spent(half) or half.queue_offset >= self.fresh or self.is_young(half))

    def examine(self, half: Stored) -> bool:
        """Examine a half message that no op record names; False: the round stops here. One that is
        no readable record (an old data folder may hold it) is passed over."""
        if find_misfit(half.message, self.config.release):
            return True
        if self.is_spent(half):
            parked = build_parked(self.count_check(half))
            if not find_misfit(parked, self.config.release):
                self.writer.put(parked)
            return True
        if half.queue_offset >= self.fresh:
            return False
        if self.is_young(half):
            return half.message.get(CHECK_IMMUNITY) is not None and self.let_travel(half)
        return self.ask(half)

    def is_spent(self, half: Stored) -> bool:
        """Asked about as often as is allowed, or as old as the file that it is in may become."""
        if "check_limit" not in self.config.on:
            return False
        checked = half.message.get(CHECK_TIMES) is not None
        age = self.at_ms - half.message.born_ms
        too_old = age > self.config.reserved_hours * HOUR_MS
        return too_old or (checked and half.message.check_times >= self.config.check_max)

    def count_check(self, half: Stored) -> Stored:
        """What is set aside for its age has one check more than it was asked about: the round
        counts first, unless all checks are spent (needDiscard), and looks at the age then
        (needSkip)."""
        times = half.message.check_times
        if half.message.get(CHECK_TIMES) is not None and times >= self.config.check_max:
            return half
        return replace(half, message=half.message.put((CHECK_TIMES, str(times + 1))))

    def is_young(self, half: Stored) -> bool:
        """Whether its own immunity, or else transactionTimeOut, has not passed. At exactly that
        age 5.5 still calls it young. An immunity of 0 never holds anything up."""
        if "immunity" not in self.config.on:
            return False
        own = half.message.get(CHECK_IMMUNITY)
        immunity = self.read_immunity(half.message)
        age = self.at_ms - half.message.born_ms
        if immunity == 0 or (own is None and age < 0):
            return False
        return age < immunity or (age == immunity and self.config.release != "4.9")

    def read_immunity(self, message: Message) -> int:
        """In ms; there is no lower bound. None, "-1", or what is no number: transactionTimeOut."""
        own = message.immunity_s
        return self.config.timeout_ms if own is None else own * 1_000

    def let_travel(self, half: Stored) -> bool:
        """A half message with an immunity of its own does not hold up the others: it is put back,
        which costs it one of its checks. If its first copy has ended, it is passed over instead."""
        first = half.message.get(PREPARED_QUEUE_OFFSET)
        if first is not None and int(first) in self.ended:
            self.pass_ended(int(first))
            return True
        copy = build_copy(half, half.message.check_times + 1)
        return self.put_back(mark_immune(half, copy)) is not None

    def put_back(self, copy: Message) -> Stored | None:
        """None where the copy does not fit into a record. A real round tries that again until its
        minute is over (#putBackHalfMsgQueue), and so does each one after it: nothing after that
        half message is examined until it has ended, or is too old."""
        return None if find_misfit(copy, self.config.release) else self.writer.put(copy)

    def ask(self, half: Stored) -> bool:
        """Ask a producer of the group about a half message (CHECK_TRANSACTION_STATE), after a copy
        of it was put back at the end of the queue. Without a producer, or if the question is too
        long, only the copy remains. Returns False if the copy cannot be stored."""
        copy = build_copy(half, half.message.check_times + 1)
        put_back: Stored | None
        # without this safeguard the half message itself takes the place of its copy
        if "put_back" in self.config.on:
            put_back = self.put_back(copy)
        else:
            put_back = Stored(half.base, copy, half.queue_offset, half.store_ms)
        if put_back is None:
            return False
        group = half.message.get(PGROUP) or ""
        # None: any producer of the group may answer
        wanted_producer = None if "any_producer" in self.config.on else half.message.born_host
        self.producers, client = self.producers.choose(group, wanted_producer)
        question = build_question(half, put_back)
        if client is not None and not find_misfit(question.message, self.config.release):
            self.writer.add(Send(client, question))
        return True
