"""A partition by itself, with the tables of Pulsar's own tests.

TransactionStablePositionTest, TransactionTest, TopicTransactionBufferTest,
TransactionLowWaterMarkTest, TransactionProduceTest (4.2); N is a plain message, T one of a
transaction, C and A are markers.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from mqlab.kernel import Appended, ConnectionLost, Response
from mqlab.pulsar.buffer import Buffer
from mqlab.pulsar.config import (
    LEDGERS,
    PENDING_ACK_SUFFIX,
    SAFEGUARDS,
    SNAPSHOT_LOG,
    PulsarConfig,
)
from mqlab.pulsar.errors import ServerError
from mqlab.pulsar.messages import (
    Ack,
    AckPosition,
    CloseProducer,
    CreateNamespace,
    DeleteLedger,
    DeleteTopic,
    EndTxnOnPartition,
    Flow,
    GetLastMessageId,
    OpenProducer,
    ProducerOpened,
    PushMessage,
    SendMessage,
    SendReceipt,
    Subscribe,
    TxnID,
)
from mqlab.pulsar.states import AccessMode, BufferState, TxnAction
from mqlab.pulsar.topic import Topic
from tests.pulsar.stepping import Alone

NAME = "orders-0"
T0, T1, T2 = (TxnID(0, n) for n in range(3))


def start(slow: bool = False, **config: Any) -> Alone:
    on = frozenset(SAFEGUARDS) - frozenset(config.pop("off", ()))
    given = PulsarConfig(on=on, partitions=(NAME,), **config)
    return Alone(partial(Topic.recover, given, NAME), slow)


def reload(topic: Alone) -> None:
    """Unload and load, until the buffer has recovered, if there is anything to recover."""
    topic.restart()
    for recover in topic.take_sent():
        topic.ask(recover.body, NAME)


def send(topic: Alone, value: str, txn: TxnID | None = None, sequence: int = 0) -> SendReceipt:
    receipt: SendReceipt = topic.call(SendMessage(NAME, "p", sequence, (value,), txn))
    return receipt


def end(topic: Alone, txn: TxnID, action: TxnAction = TxnAction.COMMIT, mark: int = -1) -> None:
    assert topic.call(EndTxnOnPartition(txn, action, NAME, mark), "tc-0").ok


def commit(topic: Alone, txn: TxnID, mark: int = -1) -> None:
    end(topic, txn, TxnAction.COMMIT, mark)


def abort(topic: Alone, txn: TxnID, mark: int = -1) -> None:
    end(topic, txn, TxnAction.ABORT, mark)


def subscribe(topic: Alone, name: str = "shop") -> None:
    topic.ask(Subscribe(NAME, name, initial_position="Earliest"), "reader")
    topic.ask(Flow(NAME, name, 1_000), "reader")


def received(topic: Alone) -> list[str]:
    """What was pushed to consumers since this was asked last."""
    pushed = [s.body for s in topic.take_sent() if isinstance(s.body, PushMessage)]
    return [value for message in pushed for value in message.values]


def readable(topic: Alone) -> int:
    number: int = topic.role.readable
    return number


def test_open_transactions_are_open_again_after_a_load() -> None:
    topic = start()
    send(topic, "n0")
    for value, txn in (("a", T1), ("b", T2), ("c", T1)):
        send(topic, value, txn)
    topic.restart()
    assert topic.role.buffer.state is BufferState.INITIALIZING and readable(topic) == -1
    topic.replies = []
    topic.ask(EndTxnOnPartition(T2, TxnAction.COMMIT, NAME, -1), "tc-0")
    topic.ask(GetLastMessageId(NAME), "reader")
    assert not topic.replies, "who needs the buffer waits for it"
    topic.ask(topic.take_sent()[0].body, NAME)
    assert [reply.body.ok for reply in topic.replies] == [True, True] and readable(topic) == 0
    subscribe(topic)
    commit(topic, T1)
    assert received(topic) == ["n0", "a", "b", "c"]


@pytest.mark.parametrize("seed", range(20))
def test_a_load_at_any_time_knows_what_was_known(seed: int) -> None:
    """From any snapshot and the topic, everything but the watermarks."""
    dice = random.Random(seed)
    topic = start(snapshot_count=dice.choice((1, 2, 5)))
    for _ in range(40):
        txn = TxnID(0, dice.randrange(5))
        dice.choice(
            (
                partial(send, topic, "n"),
                partial(send, topic, "t", txn),
                partial(send, topic, "t", txn),
                partial(commit, topic, txn),
                partial(abort, topic, txn),
            )
        )()
        before = topic.role.buffer
        twin = start()
        twin.disk = topic.disk
        reload(twin)
        after = twin.role.buffer
        assert after.state is before.state
        assert (after.ongoing, after.aborts) == (before.ongoing, before.aborts)
        expected = before.ongoing[0][1] - 1 if before.ongoing else topic.role.lac
        assert after.readable == expected


def test_an_abort_does_not_take_a_sequence_number_back() -> None:
    topic = start(dedup=1)
    assert send(topic, "a", T1, sequence=5).position == 0
    abort(topic, T1)
    assert send(topic, "a", T2, sequence=5) == SendReceipt(position=-1)
    reload(topic)
    assert send(topic, "a", T2, sequence=5) == SendReceipt(position=-1)
    assert send(topic, "a", T2, sequence=6).position == 2


@pytest.mark.parametrize(("dedup", "last"), [(0, -1), (1, 7)])
def test_a_producer_hears_the_last_number_of_its_name(dedup: int, last: int) -> None:
    topic = start(dedup=dedup)
    send(topic, "a", sequence=7)
    topic.ask(OpenProducer(NAME, "p"), "again")
    assert [s.body.last_sequence for s in topic.take_sent() if s.to == "again"] == [last]


def test_snapshots_by_count_and_by_time() -> None:
    topic = start(snapshot_ms=5_000, snapshot_count=3)
    send(topic, "a", T0)
    abort(topic, T0)
    assert topic.timers == {"snapshot": 5_000}
    send(topic, "n")
    send(topic, "n")
    topic.fire("snapshot")
    assert topic.words(SNAPSHOT_LOG)[1:] == ["Snapshot maxReadPosition=3 aborts={(0,0)}"]
    for value in "bc":
        send(topic, value)
    send(topic, "d", T1)
    commit(topic, T1)
    assert len(topic.words(SNAPSHOT_LOG)) == 3 and not topic.timers


def test_without_its_snapshot_a_buffer_hides_nothing_and_an_abort_does_not_either() -> None:
    topic = start()
    send(topic, "a", T0)
    abort(topic, T0)
    send(topic, "b", T1)
    send(topic, "c")
    assert topic.role.buffer.readable == 1 and T0 in topic.role.buffer.aborts
    assert topic.call(DeleteLedger(NAME)).ok and topic.role.buffer.readable == 1
    reload(topic)
    assert topic.role.buffer == Buffer(BufferState.NO_SNAPSHOT, max_read_position=3)
    assert not len(topic.disk.table(LEDGERS))
    abort(topic, T1)
    assert topic.words(NAME)[-1] == "c @3" and topic.role.buffer.readable == 3
    send(topic, "d", T2)
    reload(topic)
    assert topic.role.buffer.readable == 3 and topic.role.buffer.is_ongoing(T2)
    assert start().call(DeleteLedger(NAME)).message == "No such ledger exists on Metadata Server"


def test_with_a_topic_goes_what_is_known_of_a_deleted_ledger() -> None:
    topic = start()
    topic.ask(Subscribe(NAME, "shop"), "reader")
    assert topic.call(DeleteLedger(NAME, "nope")).error is ServerError.SubscriptionNotFound
    topic.call(Ack(NAME, "shop", (AckPosition(0),), txn=T1))
    assert topic.call(DeleteLedger(NAME, "shop")).ok and len(topic.disk.table(LEDGERS))
    assert topic.call(DeleteTopic(NAME)).ok and not len(topic.disk.table(LEDGERS))


def test_without_a_namespace_nothing_can_be_done_until_there_is_one() -> None:
    topic = start(missing=(NAME,))
    asked = EndTxnOnPartition(T0, TxnAction.COMMIT, NAME, -1)
    assert topic.call(asked, "tc-0").error is ServerError.ServiceNotReady
    assert send(topic, "a").error is ServerError.TopicNotFound
    topic.ask(Subscribe(NAME, "shop"), "reader")
    assert [str(sent.body) for sent in topic.take_sent()] == ["Subscribed shop TopicNotFound"]
    assert topic.call(GetLastMessageId(NAME)).error is ServerError.TopicNotFound
    assert topic.call(CreateNamespace(NAME)).ok
    topic.restart()
    assert topic.call(asked, "tc-0").ok and send(topic, "a").position == 1


def test_an_answer_concerns_nobody() -> None:
    topic = start()
    before = topic.role
    topic.step(Response("tc-0", 0, None))
    assert topic.role == before


# ---- Producers that want a partition alone: a 4.2.4 gave the same answers to the same frames
#
# Each test is a conversation that was held with a real broker, by one raw connection per producer.

SHARED, EXCLUSIVE = AccessMode.SHARED, AccessMode.EXCLUSIVE
WAITS, FENCES = AccessMode.WAIT_FOR_EXCLUSIVE, AccessMode.EXCLUSIVE_WITH_FENCING
FENCED, BUSY = "ProducerOpened ProducerFenced", "ProducerOpened ProducerBusy"
QUEUED = "ProducerOpened waits"


class Conversation:
    def __init__(self) -> None:
        config = PulsarConfig(on=frozenset(SAFEGUARDS), partitions=(NAME,))
        self.topic = Alone(partial(Topic.recover, config, NAME))

    def open(self, who: str, mode: AccessMode, epoch: int | None = None, name: str = "") -> str:
        """What is heard by one that asks."""
        return self.tell(who, OpenProducer(NAME, name or who, mode, epoch)).get(who, "")

    def tell(self, who: str, body: object) -> dict[str, str]:
        """What everybody hears."""
        self.topic.sent.clear()
        self.topic.ask(body, who)
        return self.heard()

    def heard(self) -> dict[str, str]:
        return {s.to: str(s.body) for s in self.topic.sent if isinstance(s.body, ProducerOpened)}

    def close(self, who: str) -> dict[str, str]:
        return self.tell(who, CloseProducer(NAME))

    def leave(self, who: str) -> dict[str, str]:
        self.topic.sent.clear()
        self.topic.step(ConnectionLost(who))
        return self.heard()

    def send(self, who: str, opened: bool = True) -> str:
        receipt: SendReceipt = self.topic.call(
            SendMessage(NAME, who, 0, ("m",), opened=opened), who
        )
        return receipt.error.name

    def writers(self) -> tuple[int, tuple[str, ...]]:
        access = self.topic.role.access
        return access.epoch, tuple(ask.producer for ask in access.open.values())


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


def ok(epoch: int) -> str:
    return f"ProducerOpened ok epoch {epoch}"


def test_who_shares_keeps_out_who_wants_it_alone(talk: Conversation) -> None:
    assert talk.open("a", SHARED) == talk.open("b", SHARED) == "ProducerOpened ok"
    assert talk.open("x", EXCLUSIVE) == FENCED
    assert talk.open("w", WAITS) == QUEUED
    assert (talk.open("c", SHARED), talk.open("x", EXCLUSIVE)) == (BUSY, FENCED)
    assert talk.close("a") == {}
    assert talk.close("b") == {"w": ok(0)}
    assert talk.writers() == (0, ("w",))


def test_those_that_wait_are_served_in_their_order(talk: Conversation) -> None:
    assert talk.open("a", EXCLUSIVE) == ok(0)
    assert talk.open("b", SHARED) == BUSY
    assert talk.open("b", EXCLUSIVE) == FENCED
    assert talk.open("w", WAITS) == talk.open("v", WAITS) == QUEUED
    assert talk.open("w", WAITS) == "ProducerOpened ServiceNotReady"
    assert talk.send("w") == "ServiceNotReady"
    assert talk.leave("a") == {"w": ok(1)}
    assert talk.send("w") == "NoError"
    assert talk.tell("f", OpenProducer(NAME, "f", FENCES)) == {"f": ok(2), "v": FENCED}
    assert (talk.send("w"), talk.send("f")) == ("ServiceNotReady", "NoError")


def test_an_older_epoch_is_fenced_whoever_is_there(talk: Conversation) -> None:
    talk.open("a", EXCLUSIVE)
    assert talk.open("b", FENCES) == ok(1)
    assert talk.open("a", EXCLUSIVE, 0) == FENCED
    assert talk.close("b") == {}
    assert [talk.open("a", mode, 0) for mode in (EXCLUSIVE, WAITS, FENCES)] == [FENCED] * 3
    assert talk.open("a", SHARED, 0) == ok(1)


def test_a_refused_one_that_fences_has_thrown_the_others_out(talk: Conversation) -> None:
    talk.open("a", EXCLUSIVE)
    talk.open("b", FENCES)
    assert talk.open("w", WAITS, 0) == QUEUED
    assert talk.tell("c", OpenProducer(NAME, "c", FENCES, 0)) == {"c": FENCED, "w": FENCED}
    assert talk.writers() == (1, ())
    assert talk.open("b", FENCES, 1) == ok(1)


def test_one_that_waits_comes_with_an_epoch_of_its_own(talk: Conversation) -> None:
    assert talk.open("a", EXCLUSIVE, 5) == ok(5)
    talk.open("w", WAITS, 2)
    talk.open("v", WAITS, 9)
    assert talk.close("a") == {"w": ok(2)}
    assert talk.close("w") == {"v": ok(9)}


def test_one_that_has_left_while_it_waited_raises_the_epoch(talk: Conversation) -> None:
    talk.open("a", EXCLUSIVE)
    talk.open("w", WAITS)
    talk.open("v", WAITS)
    assert talk.leave("w") == {}
    assert talk.close("a") == {"v": ok(2)}


def test_names_are_looked_at_among_those_that_share(talk: Conversation) -> None:
    talk.open("one", SHARED, name="a")
    assert talk.open("two", SHARED, name="a") == BUSY
    assert talk.open("two", FENCES, name="a") == ok(0)


def test_a_load_forgets_producers_and_keeps_the_epoch(talk: Conversation) -> None:
    talk.open("a", EXCLUSIVE)
    talk.open("b", FENCES)
    talk.topic.restart()
    assert talk.writers() == (1, ())
    assert talk.send("b") == "ServiceNotReady"
    assert (talk.open("a", EXCLUSIVE, 0), talk.open("b", FENCES, 1)) == (FENCED, ok(1))


def test_a_deleted_partition_counts_anew(talk: Conversation) -> None:
    talk.open("a", EXCLUSIVE)
    talk.tell("operator", DeleteTopic(NAME))
    talk.topic.restart()
    assert talk.open("b", EXCLUSIVE) == ok(0)


def test_a_producer_that_nobody_has_opened_shares(talk: Conversation) -> None:
    assert talk.send("a", opened=False) == "NoError"
    talk.open("b", EXCLUSIVE)
    assert talk.send("a", opened=False) == "ProducerBusy"


def test_a_pending_ack_log_whose_subscription_is_gone_makes_no_message_durable() -> None:
    topic = start(slow=True)
    topic.ask(SendMessage(NAME, "p", 0, ("a",), None))
    topic.step(Appended(f"{NAME}-gone{PENDING_ACK_SUFFIX}", 99))
    assert topic.replies == [] and topic.role.appends
    topic.settle()
    assert [reply.body.position for reply in topic.replies] == [0] and not topic.role.appends
