"""What a dispatcher sends, to whom, and what it acknowledges by itself."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mqlab.kernel import replace
from mqlab.pulsar.config import LEDGERS
from mqlab.pulsar.errors import ServerError
from mqlab.pulsar.ledger import Cursor
from mqlab.pulsar.messages import (
    AckPosition,
    AckResponse,
    Answer,
    CloseConsumer,
    DeleteLedger,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    Flow,
    Seek,
    Subscribe,
    TxnID,
    Unsubscribe,
)
from mqlab.pulsar.pending_ack import PendingAck
from mqlab.pulsar.states import PendingAckState, SubType, TxnAction
from mqlab.pulsar.subscription import Subscription
from tests.pulsar.subscription.stand import NAME, T1, T2, T3, TOPIC, Stand


def test_exclusive_has_one_consumer_and_types_do_not_mix() -> None:
    stand = Stand("a", sub_type=SubType.EXCLUSIVE)
    stand.connect("app")
    assert stand.connect("twin") == []
    assert stand.answers[-1].error is ServerError.ConsumerBusy
    stand.ask(Subscribe(TOPIC, NAME, SubType.SHARED), "twin")
    assert stand.answers[-1].message == "Subscription is of different type"
    stand.ask(CloseConsumer(TOPIC, NAME), "app")
    assert stand.connect("twin") == ["twin a"]


@pytest.mark.parametrize("kind", [SubType.EXCLUSIVE, SubType.SHARED])
def test_a_client_with_a_second_consumer_is_refused_beside_its_first(kind: SubType) -> None:
    stand = Stand("a", "b", sub_type=SubType.EXCLUSIVE, max_read=0)
    stand.connect()
    before = stand.sub
    stand.ask(Subscribe(TOPIC, NAME, kind, beside=True), "app")
    assert stand.answers[-1].error is ServerError.ConsumerBusy and stand.sub == before
    assert stand.move_bound(1) == ["app b"]  # it has its permits still
    stand.ask(CloseConsumer(TOPIC, NAME), "app")
    stand.ask(Subscribe(TOPIC, NAME, kind, beside=True), "app")
    assert stand.answers[-1].ok


def test_a_client_that_comes_back_replaces_itself() -> None:
    stand = Stand("a", sub_type=SubType.EXCLUSIVE)
    stand.connect()
    assert stand.connect() == ["app a"] and len(stand.sub.consumers) == 1


@pytest.mark.parametrize(
    ("consumer", "error"), [("", ServerError.ConsumerBusy), ("b", ServerError.MetadataError)]
)
def test_a_subscription_that_others_use_stays(consumer: str, error: ServerError) -> None:
    """An administrator's word and a consumer's are refused; nothing of it goes, nothing of its log.
    By force it goes all the same."""
    stand = Stand("a")
    stand.connect("a")
    stand.ack(0, txn=T1, client="a")
    stand.ask(Unsubscribe(TOPIC, NAME, consumer), consumer or "admin")
    assert stand.answers[-1].error is error and not stand.sub.gone
    assert stand.sub.pending.acked_by(T1) and stand.disk.log(stand.sub.log).end == 1
    stand.ask(Unsubscribe(TOPIC, NAME, force=True), "admin")
    assert stand.sub.gone and stand.disk.log(stand.sub.log).end == 0


def test_a_reader_keeps_no_place_and_goes_with_its_connection() -> None:
    stand = Stand("a", durable=False)
    stand.ask(Subscribe(TOPIC, NAME, durable=False), "app")
    assert stand.ask(Flow(TOPIC, NAME, 9), "app") == ["app a"]
    stand.ack(0)
    assert stand.sub.cursor == Cursor(0) and not len(stand.disk.table("cursors"))
    stand.lose("app")
    assert stand.sub.gone and stand.answers[-1].ok


# ---- a ledger of the pending-ack log is deleted


def lose_ledger(records: int, **options: Any) -> Stand:
    """Of two transactions that have acknowledged a and b; `app` is there again after the load."""
    stand = Stand("a", "b", "c", **options)
    stand.connect()
    stand.ack(0, txn=T1)
    stand.ack(1, txn=T2)
    stand.ask(DeleteLedger(TOPIC, NAME, records), "operator")
    assert stand.answers[-1].ok and stand.sub.pending.acked_by(T1)  # nobody has noticed
    stand.restart()
    return stand


def test_a_replay_that_meets_a_deleted_ledger_never_ends() -> None:
    stand = lose_ledger(1)
    assert stand.sub.pending == PendingAck(PendingAckState.INITIALIZING)
    answered = len(stand.answers)
    assert stand.connect() == []
    assert len(stand.answers) == answered and not stand.sub.consumers
    assert [text.en for text in stand.sub.describe_changes(stand.sub)] == []
    stand.end_txn(T1, TxnAction.COMMIT)
    told = [text.en for text in stand.sub.describe_changes(None)]
    wait = "shop: the replay meets a deleted ledger; {} waits"
    assert told == [wait.format(kind) for kind in ("Subscribe", "Flow", "EndTxnOnSubscription")]
    stand.restart()
    assert stand.sub.pending.state is PendingAckState.INITIALIZING  # another load is no help
    stand.end_txn(T1, TxnAction.COMMIT)
    stand.ask(Unsubscribe(TOPIC, NAME, force=True), "operator")
    ended = EndTxnOnSubscriptionResponse(txn=T1, subscription=NAME)
    assert stand.answers[answered:] == [Answer(), ended]
    assert stand.sub.gone and not len(stand.disk.table(LEDGERS))


def test_a_consumer_that_gives_up_waits_no_more_for_the_replay() -> None:
    stand = lose_ledger(1)
    stand.connect()
    stand.end_txn(T1, TxnAction.COMMIT)
    waits = stand.sub
    stand.ask(CloseConsumer(TOPIC, NAME), "app")
    assert [type(ask) for _, ask in stand.sub.stuck] == [EndTxnOnSubscription]
    told = [text.en for text in stand.sub.describe_changes(waits)]
    assert told == [f"shop: {kind} of app waits no more" for kind in ("Subscribe", "Flow")]


def test_what_a_deleted_ledger_has_held_may_be_left_out() -> None:
    stand = lose_ledger(1, auto_skip=1)
    assert stand.sub.pending.state is PendingAckState.READY
    assert stand.connect() == ["app a", "app c"] and stand.sub.pending.acked_by(T2)
    assert stand.ack(0, txn=T3) == ""  # though T1 has it, and commits
    stand.end_txn(T3, TxnAction.COMMIT)
    stand.end_txn(T1, TxnAction.COMMIT)
    assert stand.sub.cursor == Cursor(0)


@pytest.mark.parametrize("auto_skip", [0, 1])
def test_the_last_ledger_is_left_out_without_a_word(auto_skip: int) -> None:
    """And what was written to it since; the log begins again."""
    stand = Stand("a", "b", auto_skip=auto_skip)
    stand.connect()
    stand.ack(0, txn=T1)
    stand.ask(DeleteLedger(TOPIC, NAME), "operator")
    stand.ack(1, txn=T2)
    stand.restart()
    assert stand.sub.pending == PendingAck(PendingAckState.READY)
    assert stand.connect() == ["app a", "app b"] and not len(stand.disk.table(LEDGERS))
    stand.ack(1, txn=T2)
    stand.restart()
    assert stand.connect() == ["app a"] and stand.sub.pending.acked_by(T2)


@pytest.mark.parametrize(("acked", "records"), [(0, 0), (0, 1), (1, 1), (1, 2)])
def test_a_ledger_that_is_not_there_is_not_deleted(acked: int, records: int) -> None:
    """The last record lies in the one that is written to."""
    stand = Stand("a")
    stand.connect()
    if acked:
        stand.ack(0, txn=T1)
    stand.ask(DeleteLedger(TOPIC, NAME, records), "operator")
    assert stand.answers[-1].message == "No such ledger exists on Metadata Server"
    assert not len(stand.disk.table(LEDGERS))


class Permits(int):
    """Counts how often the permits of any consumer were looked at."""

    looks = 0

    def __gt__(self, other: int) -> bool:
        Permits.looks += 1
        return int(self) > other


@pytest.mark.parametrize("permits", [1, 5])
def test_to_whom_a_message_goes_looks_at_each_consumer_once(permits: int) -> None:
    """Two hundred consumers, and as many messages as they may be sent; the turn goes on."""
    stand = Stand(*map(str, range(200 * permits)), max_read=-1)
    names = [f"app-{number:03}" for number in range(200)]
    for name in names:
        stand.connect(name, permits=0)
    attached = tuple(replace(c, permits=Permits(permits)) for c in stand.sub.consumers)
    stand.sub = replace(stand.sub, consumers=attached)
    Permits.looks = 0
    sent = stand.move_bound(200 * permits - 1)
    assert Permits.looks == 200
    assert sorted(one.split(" ")[0] for one in sent) == sorted(names * permits)
    assert all(not c.permits and len(c.held) == permits for c in stand.sub.consumers)


# ---- Acknowledgements with and without transactions, and what their ends send again

COMMIT, ABORT = TxnAction.COMMIT, TxnAction.ABORT


def test_a_plain_cumulative_acknowledgement_is_applied_over_a_held_slot() -> None:
    stand = Stand("a", "b", sub_type=SubType.EXCLUSIVE)
    stand.connect()
    stand.ack_up_to(0, txn=T1)
    stand.ack_up_to(1)
    assert stand.sub.cursor == Cursor(1)
    stand.end_txn(T1, COMMIT)
    assert stand.sub.cursor == Cursor(1)


def test_a_cumulative_acknowledgement_on_shared_is_ignored_and_succeeds() -> None:
    stand = Stand("a")
    stand.connect()
    assert stand.ack_up_to(0, txn=T1) == "" and stand.answers[-1] == AckResponse()
    assert stand.sub.pending.cumulative is None and stand.disk.log(stand.sub.log).end == 0


@pytest.mark.parametrize("sub_type", [SubType.SHARED, SubType.EXCLUSIVE])
def test_the_low_watermark_aborts_what_has_ended_one_after_the_other(sub_type: SubType) -> None:
    """Shared sends the messages again by itself; Exclusive has no consumer to send them to."""
    stand = Stand("a", "b", "c", sub_type=sub_type)
    stand.connect()
    stand.ack(0, txn=T1)
    stand.ack(1, txn=T2)
    stand.ack(2, txn=T3)
    came = stand.end_txn(T3, COMMIT, low_watermark=2)
    assert stand.sub.pending.of_txn == ()
    if sub_type is SubType.SHARED:
        assert came == ["app a+1", "app b+1"]
    else:
        assert came == [] and stand.redeliver() == ["app a", "app b"]


def test_a_batch_comes_again_without_what_is_acknowledged_or_pending() -> None:
    stand = Stand(("a", "b", "c"))
    stand.connect()
    stand.ack(AckPosition(0, 0, 3), txn=T1)
    stand.ack(AckPosition(0, 1, 3), txn=T2)
    stand.end_txn(T2, COMMIT)
    assert stand.redeliver() == ["app c+1"]
    assert stand.end_txn(T1, ABORT) == ["app a,c+2"]


def test_who_acknowledges_one_of_a_batch_counts_the_others_anew() -> None:
    """InMemoryRedeliveryTracker#removeBatch; recorded as partial-ack-resets-the-count."""
    stand = Stand(("a", "b", "c"))
    stand.connect()
    assert stand.redeliver() == ["app a,b,c+1"]
    stand.ack(AckPosition(0, 0, 3))
    assert stand.redeliver() == ["app b,c+1"]
    stand.ack(AckPosition(0, 1, 3), txn=T1)
    stand.end_txn(T1, COMMIT)
    assert stand.redeliver() == ["app c+1"]


def test_a_batch_that_is_pending_as_a_whole_is_held_by_nobody() -> None:
    """Consumer#checkCanRemovePendingAcks: so the request to redeliver does not count it."""
    stand = Stand(("a", "b"))
    stand.connect()
    stand.ack(AckPosition(0, 0, 2), txn=T1)
    stand.ack(AckPosition(0, 1, 2), txn=T1)
    assert stand.redeliver() == []
    assert stand.end_txn(T1, ABORT) == ["app a,b+1"]


# ---- A subscription moves: what is sent then, and what stays as it was ---------------


def seek(stand: Stand, after: int | None, *done: int) -> None:
    """To the entry behind `after`, of which the indexes `done` are left out."""
    batch = (after + 1, done) if after is not None and done else None
    assert stand.ask(Seek(TOPIC, NAME, after, batch), "app") == []
    assert not stand.sub.consumers, "those that were connected subscribe again"


@pytest.mark.parametrize("sub_type", SubType)
def test_back_and_ahead(sub_type: SubType) -> None:
    stand = Stand("a", "b", "c", sub_type=sub_type)
    stand.connect()
    stand.ack(0, 1, 2)
    seek(stand, 0)
    assert stand.connect() == ["app b", "app c"]
    seek(stand, -1)
    assert stand.connect() == ["app a", "app b", "app c"]
    seek(stand, None)
    assert stand.connect() == []


def test_every_consumer_is_told_and_then_the_one_that_asked_is_answered() -> None:
    stand = Stand("a", "b")
    stand.connect()
    stand.connect("twin")
    before = len(stand.answers)
    seek(stand, -1)
    assert stand.answers[before:] == [CloseConsumer(TOPIC, NAME)] * 2 + [Answer()]


def test_who_waits_in_a_failover_stays_and_waits_on() -> None:
    stand = Stand("a", "b", sub_type=SubType.FAILOVER)
    stand.connect()
    stand.connect("twin")
    before = len(stand.answers)
    assert stand.ask(Seek(TOPIC, NAME, -1), "twin") == stand.ask(Flow(TOPIC, NAME, 9), "twin") == []
    assert stand.answers[before:] == [CloseConsumer(TOPIC, NAME), Answer()]
    assert stand.connect() == ["app a", "app b"]


def test_nobody_goes_beyond_what_is_there() -> None:
    stand = Stand("a", "b")
    seek(stand, 99)
    assert stand.sub.cursor.mark_delete == 1


def test_into_a_batch() -> None:
    stand = Stand("a", ("b", "c", "d"))
    seek(stand, 0, 0, 1)
    assert stand.connect() == ["app d"]


def test_a_restart_goes_on_there() -> None:
    stand = Stand("a", "b", "c")
    stand.connect()
    stand.ack(0, 1, 2)
    seek(stand, 1)
    stand.restart()
    assert stand.connect() == ["app c"]


def test_what_is_pending_stays_pending() -> None:
    stand = Stand("a", "b")
    stand.connect()
    stand.ack(1, txn=T1)
    seek(stand, -1)
    assert stand.connect() == ["app a"]
    assert stand.end_txn(T1, TxnAction.ABORT) == ["app b+1"]


def test_a_readers_subscription_ends() -> None:
    stand = Stand("a", durable=False)
    stand.ask(Subscribe(TOPIC, NAME, SubType.EXCLUSIVE, durable=False), "app")
    seek(stand, -1)
    assert stand.sub.gone


# ---- What is told of a subscription: who holds what back, and who is served ----------


def told(stand: Stand, old: Subscription | None) -> list[str]:
    return [text.en for text in stand.sub.describe_changes(old)]


def test_who_consumes_and_who_of_several_is_served() -> None:
    stand = Stand(sub_type=SubType.FAILOVER)
    before = stand.sub
    stand.connect("twin")
    assert told(stand, before) == ["shop: consumers: twin"]
    before = stand.sub
    stand.connect("app")
    assert told(stand, before) == ["shop: consumers: app, twin", "shop: app is the active consumer"]
    before = stand.sub
    stand.lose("app")
    stand.lose("twin")
    assert told(stand, before) == ["shop: consumers: –"]


# ---- Acknowledgements, ends, reconnects and restarts in any order: nothing is sent that may not
# be,
#
# and nothing is lost.

CLIENTS = ("app", "twin")
ENTRIES = 12


class Story:
    """A stand, driven at random; every message that is sent is checked on the way."""

    def __init__(self, seed: int, sub_type: SubType) -> None:
        self.dice = random.Random(seed)
        self.stand = Stand(*map(str, range(ENTRIES)), sub_type=sub_type, max_read=-1)
        self.acked: dict[TxnID, set[int]] = {}
        self.done: set[int] = set()

    def pick(self, most: int) -> int:
        return int(self.dice.random() * most)

    def act(self) -> None:
        before, stand = len(self.stand.sent), self.stand
        match self.pick(8):
            case 0:
                stand.connect(CLIENTS[self.pick(2)], permits=self.pick(6) + 1)
            case 1:
                stand.lose(CLIENTS[self.pick(2)])
            case 2:
                stand.restart()
            case 3:
                stand.move_bound(min(stand.max_read + self.pick(4), ENTRIES - 1))
            case 4:
                stand.redeliver(CLIENTS[self.pick(2)])
            case 5:
                self.ack_plain(self.pick(ENTRIES))
            case 6:
                self.ack_in_txn(TxnID(0, self.pick(4)), self.pick(ENTRIES))
            case _:
                self.end_txn(TxnID(0, self.pick(4)))
        for _, message in stand.sent[before:]:
            at = message.message_id.position
            assert at <= stand.max_read
            assert not stand.sub.cursor.is_deleted(at)
            assert not stand.sub.pending.is_pending(AckPosition(at))

    def ack_plain(self, position: int) -> None:
        self.stand.ack(position)
        self.done.add(position)

    def ack_in_txn(self, txn: TxnID, position: int) -> None:
        others = {p for held in self.acked.values() for p in held}
        refused = self.stand.ack(position, txn=txn)
        assert bool(refused) == (position in self.done | others)
        if not refused:
            self.acked.setdefault(txn, set()).add(position)

    def end_txn(self, txn: TxnID) -> None:
        commit = self.pick(2) == 0
        self.stand.end_txn(txn, TxnAction.COMMIT if commit else TxnAction.ABORT)
        self.done |= self.acked.pop(txn, set()) if commit else set()
        self.acked.pop(txn, None)


@pytest.mark.parametrize("sub_type", SubType)
@pytest.mark.parametrize("seed", range(20))
def test_nothing_forbidden_is_sent_and_nothing_is_lost(seed: int, sub_type: SubType) -> None:
    story = Story(seed, sub_type)
    for _ in range(80):
        story.act()
    stand = story.stand
    for txn in sorted(story.acked):
        stand.end_txn(txn, TxnAction.ABORT)
    for client in CLIENTS:
        stand.lose(client)
    stand.move_bound(ENTRIES - 1)
    left = [f"late {at}" for at in range(ENTRIES) if at not in story.done]
    stand.sub_type = SubType.EXCLUSIVE
    assert stand.connect("late") == left
    assert stand.sub.cursor == Cursor().delete(tuple(sorted(story.done)))
