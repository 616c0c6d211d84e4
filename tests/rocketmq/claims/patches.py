"""Faults of RocketMQ that spoil one line of the engine: see `tests/models/faults.py`."""

from mqlab.explore import Budget
from mqlab.kernel import Reply, Send, replace
from mqlab.registry.cases.rocketmq import ASKED, NEXT, ORDER, TWIN
from mqlab.rocketmq import broker as end
from mqlab.rocketmq import broker as groups
from mqlab.rocketmq import broker as pull
from mqlab.rocketmq import broker as send
from mqlab.rocketmq import check, consumer
from mqlab.rocketmq import check as rounds
from mqlab.rocketmq import producer as checking
from mqlab.rocketmq import producer as sending
from mqlab.rocketmq.application import Finished
from mqlab.rocketmq.broker import timer as back
from mqlab.rocketmq.broker import timer as delay
from mqlab.rocketmq.config import DLQ_PREFIX
from mqlab.rocketmq.group import ConsumerSendMsgBackResponse
from mqlab.rocketmq.log import OP_KEY, Offsets, Writer, offset_key
from mqlab.rocketmq.messages import KEYS, NAMES, name_queue
from mqlab.rocketmq.states import LocalTransactionState, TransactionType
from tests.models.faults import change_result


def change_sent(patch, **values):
    """What every producer sends has these values: a search of its own has no use for them."""
    change_result(patch, sending, "_build_message", lambda m, *_: replace(m, **values))


def change_committed(patch, change):
    change_result(patch, end, "build_committed", change)


# ---- a commit ------------------------------------------------------------------------------


def drops_the_flag(patch):
    """A commit drops Message.flag."""
    change_sent(patch, flag=7)
    change_committed(patch, lambda message, *_: replace(message, flag=0))


def born_at_the_commit(patch):
    """A committed message was born when its half was stored."""
    change_sent(patch, born_ms=5)
    change_committed(patch, lambda message, half, _: replace(message, born_ms=half.store_ms))


def forgets_the_sender(patch):
    """A committed message comes from the broker."""
    change_committed(patch, lambda message, *_: replace(message, born_host="broker"))


def drops_the_keys(patch):
    """A commit drops a property."""
    change_committed(patch, lambda message, *_: message.clear((KEYS,)))


def always_the_first_queue(patch):
    """A half comes back into queue 0, wherever it was sent to."""
    change_result(patch, check, "restore_message", lambda m, *_: replace(m, queue_id=0))


def delivers_twice(patch):
    """A commit writes the message two times."""
    real = Writer.put

    def put(writer, message):
        if message.sys_flag == TransactionType.COMMIT_TYPE:
            real(writer, message)
        return real(writer, message)

    patch.setattr(Writer, "put", put)


def takes_unknown_for_no(patch):
    """UNKNOW is taken for ROLLBACK."""
    real = end.end_transaction

    def end_transaction(broker, ask, *rest):
        if ask.end in NAMES and ask.end == TransactionType.NOT_TYPE:
            ask = replace(ask, end=TransactionType.ROLLBACK_TYPE)
        return real(broker, ask, *rest)

    patch.setattr(end, "end_transaction", end_transaction)


def acknowledges_before_the_flush(patch):
    """With flush=sync a half is acknowledged before it is on the disk."""
    patch.setattr(send, "acknowledge", lambda broker, _, to, said: (broker, (Reply(to, said),)))


# ---- the check -----------------------------------------------------------------------------


def names_the_original(patch):
    """The question names the original half, and not the copy that was put back."""

    def ask(this, half):
        this.writer.put(check.build_copy(half, half.message.check_times + 1))
        this.producers, client = this.producers.choose(half.message.get("PGROUP") or "")
        if client is not None:
            this.writer.add(Send(client, check.build_question(half, half)))

    patch.setattr(rounds._Round, "ask", ask)


def asks_the_dead(patch):
    """A producer whose connection has closed is asked all the same."""
    change_result(
        patch, groups, "forget_client", lambda new, old, *_: replace(new, producers=old.producers)
    )


def ignores_the_first_op(patch):
    """The op record of the first half is ignored."""
    change_result(patch, rounds, "parse_op", lambda named, _: tuple(n for n in named if n))


def reads_no_ops(patch):
    """A round does not look at op records."""
    patch.setattr(rounds._Round, "read_ops", lambda this: [])


def skips_behind_an_end(patch):
    """Behind a half that has ended the next one is passed over unseen."""
    real = rounds._Round.pass_ended

    def pass_ended(this, half):
        real(this, half)
        this.at += 1

    patch.setattr(rounds._Round, "pass_ended", pass_ended)


def never_counts(patch):
    """A check leaves the number of checks as it was."""
    change_result(patch, check, "build_copy", lambda _, half, times: half.message)


def counts_two(patch):
    """A check counts for two."""
    real = check.build_copy
    patch.setattr(check, "build_copy", lambda half, times: real(half, times + 1))


def parks_too_soon(patch):
    """A half is given up one check too early."""
    real = rounds._Round.is_spent

    def is_spent(this, half):
        return real(this, half) or half.message.check_times == this.config.check_max - 1

    patch.setattr(rounds._Round, "is_spent", is_spent)
    patch.setattr(rounds._Round, "count_check", lambda this, half: half)


def commits_by_guess(patch):
    """A producer that does not know says COMMIT to a check."""
    real = checking.answer_check

    def answer_check(producer, task, result):
        return real(producer, task, Finished(LocalTransactionState.COMMIT_MESSAGE))

    patch.setattr(checking, "answer_check", answer_check)


def commits_after_an_error(patch):
    """An exception in the local transaction counts as a commit."""
    real = sending.finish_local

    def finish_local(producer, result):
        if result.error:
            result = Finished(LocalTransactionState.COMMIT_MESSAGE)
        return real(producer, result)

    patch.setattr(sending, "finish_local", finish_local)


# ---- offsets -------------------------------------------------------------------------------


def keeps_no_op_offset(patch):
    """The op queue's offset is never written to the disk."""
    change_result(
        patch, pull, "write_offsets", lambda puts, *_: tuple(p for p in puts if p.key != OP_KEY)
    )


def forgets_its_offsets(patch):
    """A broker that starts knows no offsets."""

    patch.setattr("mqlab.rocketmq.broker.read_offsets", lambda disk: Offsets())


# ---- consumers -----------------------------------------------------------------------------


def reads_past_one(patch):
    """A consumer's offset is one further than it has come."""
    change_result(patch, consumer, "_process_queue", lambda offset, *_: offset + 1)


def loses_what_comes_back(patch):
    """What a consumer sends back is answered, and stored nowhere."""

    def take_back(broker, ask, caller, *_):
        return broker, (Reply(caller, ConsumerSendMsgBackResponse()),)

    patch.setattr(end, "take_back", take_back)


def loses_dead_letters(patch):
    """What was tried too often goes to a topic that nobody knows."""
    change_result(
        patch,
        back,
        "build_retry",
        lambda m, *_: replace(m, topic="gone") if m.topic.startswith(DLQ_PREFIX) else m,
    )


def retries_for_everybody(patch):
    """What comes back goes to the topic itself, and not to the group's retry topic."""
    change_result(patch, back, "build_retry", lambda m, ask, old, _: old.message)


def forgets_the_delayed(patch):
    """A delay level moves on and writes nothing."""

    def deliver_level(broker, timer, disk, at_ms):
        queue = name_queue(delay.SCHEDULE_TOPIC, int(timer.rpartition(" ")[2]) - 1)
        key = offset_key(delay.GROUP, queue)
        return replace(broker, offsets=broker.offsets.set(key, disk.log(queue).end)), ()

    patch.setattr(end, "deliver_level", deliver_level)


PLAIN = f"rocketmq persist_ms=0 {ORDER}"
ASKS = f"{ASKED} {ORDER}"
TWO = f"rocketmq persist_ms=0 queues=2 {ORDER.replace('orders-0', 'orders-1')}"
UNKNOWN = f"{ASKED} 'app=listener UNKNOW UNKNOW; send-in-transaction orders-0 A'"
SHOP = "rocketmq persist_ms=0 consumers=shop 'app=send orders-0 A' 'shop=consume later; consume'"
DEAD = SHOP.replace("persist_ms=0", "persist_ms=0 retry_max=0")
ROUND, ROUNDS = Budget(timers=1), Budget(timers=2)
BROKER = Budget(kills=1, timers=1, killable=("broker",))
PATCHES = [
    (drops_the_flag, PLAIN, Budget(), "delivered whole"),
    (born_at_the_commit, PLAIN, Budget(), "delivered whole"),
    (forgets_the_sender, PLAIN, Budget(), "delivered whole"),
    (drops_the_keys, PLAIN, Budget(), "delivered whole"),
    (always_the_first_queue, TWO, Budget(), "delivered whole"),
    (delivers_twice, f"{PLAIN} claims=delivered_once", Budget(), "delivered once"),
    (takes_unknown_for_no, PLAIN, Budget(breaks=1), "row with message"),
    (
        acknowledges_before_the_flush,
        f"{PLAIN} flush=sync claims=row_delivered",
        Budget(power_cuts=1, killable=("broker",)),
        "row delivered",
    ),
    (names_the_original, ASKS, ROUND, "names the copy"),
    (
        asks_the_dead,
        f"{ASKS} claims=asks_the_living",
        Budget(kills=1, killable=("app",)),
        "asks the living",
    ),
    (ignores_the_first_op, ASKS, ROUNDS, "ended for good"),
    (reads_no_ops, ASKS, ROUNDS, "ended for good"),
    (skips_behind_an_end, f"{ASKED} {TWIN} {ORDER} {NEXT}", ROUNDS, "no half message lost"),
    (never_counts, ASKS, ROUND, "names the copy"),
    (counts_two, ASKS, ROUND, "ended for good"),
    (parks_too_soon, UNKNOWN, ROUNDS, "not set aside early"),
    (commits_by_guess, ASKS, ROUND, "message with row"),
    (commits_after_an_error, PLAIN, Budget(breaks=1), "message with row"),
    (keeps_no_op_offset, ASKS, ROUNDS, "progress kept"),
    (forgets_its_offsets, ASKS, BROKER, "progress kept"),
    (reads_past_one, SHOP, Budget(), "applied or kept"),
    (loses_what_comes_back, SHOP, Budget(), "applied or kept"),
    (loses_dead_letters, DEAD, Budget(), "applied or kept"),
    (retries_for_everybody, SHOP, Budget(), "applied or kept"),
    (forgets_the_delayed, SHOP, ROUND, "applied or kept"),
]
