"""The coordinator by itself, with the tables of Pulsar's own tests.

MLTransactionMetadataStoreTest, TransactionMetadataStoreProviderTest,
TransactionCoordinatorClientTest, TransactionMetadataStoreServiceTest (4.2).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from mqlab.kernel import Send
from mqlab.pulsar.config import SAFEGUARDS, PulsarConfig
from mqlab.pulsar.coordinator import Coordinator
from mqlab.pulsar.errors import ServerError
from mqlab.pulsar.messages import (
    AddPartitionToTxn,
    AddSubscriptionToTxn,
    EndTxn,
    EndTxnOnPartition,
    EndTxnOnPartitionResponse,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    GetCoordinatorStats,
    GetSlowTransactions,
    GetTransactionMetadata,
    NewTxn,
    TcClientConnect,
    TxnID,
)
from mqlab.pulsar.states import TxnAction, TxnStatus
from tests.pulsar.stepping import Alone

LOG = "__transaction_log_0"
COMMIT, ABORT = TxnAction.COMMIT, TxnAction.ABORT
T0, T1, T2 = (TxnID(0, n) for n in range(3))


def start(slow: bool = False, connected: bool = True, **config: Any) -> Alone:
    on = frozenset(SAFEGUARDS) - frozenset(config.pop("off", ()))
    tc = Alone(partial(Coordinator.recover, PulsarConfig(on=on, **config), 0), slow)
    if connected:
        tc.ask(TcClientConnect(0))
    return tc


def answer_all(tc: Alone, error: ServerError = ServerError.NoError) -> list[Send]:
    """Every participant that was told answers; returns who was told."""
    told = tc.take_sent()
    for send in told:
        match send.body:
            case EndTxnOnPartition(txn=txn):
                tc.answer(send, EndTxnOnPartitionResponse(error, txn=txn))
            case EndTxnOnSubscription(txn=txn, subscription=name):
                tc.answer(send, EndTxnOnSubscriptionResponse(error, txn=txn, subscription=name))
    return told


def open_txn(tc: Alone, *partitions: str, timeout_ms: int = 60_000) -> TxnID:
    txn: TxnID = tc.call(NewTxn(0, timeout_ms)).txn
    if partitions:
        assert tc.call(AddPartitionToTxn(txn, partitions)).ok
    return txn


def test_ids_count_from_zero_and_go_on_after_a_restart() -> None:
    tc = start()
    assert [open_txn(tc), open_txn(tc)] == [T0, T1]
    tc.restart()
    tc.ask(TcClientConnect(0))
    assert open_txn(tc) == T2


def test_ids_go_on_when_every_record_is_deleted() -> None:
    tc = start()
    open_txn(tc)
    assert tc.call(EndTxn(T0, ABORT)).ok
    tc.restart()
    tc.ask(TcClientConnect(0))
    assert not tc.role.txns and open_txn(tc) == T1


def test_nothing_is_known_before_a_client_connects() -> None:
    tc = start(connected=False)
    assert tc.call(NewTxn(0, 1)).error is ServerError.TransactionCoordinatorNotFound
    tc.ask(TcClientConnect(0))
    assert open_txn(tc) == T0


def test_five_records_for_one_topic_and_one_subscription_and_all_are_deleted() -> None:
    tc = start()
    open_txn(tc, "orders-0")
    assert tc.call(AddSubscriptionToTxn(T0, (("orders-0", "shop"),))).ok
    tc.ask(EndTxn(T0, COMMIT))
    answer_all(tc)
    assert tc.words(LOG) == [
        "NEW (0,0)",
        "ADD_PARTITION (0,0) orders-0",
        "ADD_SUBSCRIPTION (0,0) orders-0/shop",
        "COMMITTING (0,0)",
        "COMMITTED (0,0)",
    ]
    assert tc.role.cursor.mark_delete == 4 and not tc.role.cursor.individual


def test_participants_are_a_sorted_set() -> None:
    tc = start()
    open_txn(tc, "orders-1", "orders-0", "orders-1")
    assert tc.call(AddPartitionToTxn(T0, ("orders-0",))).ok
    said = dict(tc.call(GetTransactionMetadata(T0)).facts)
    assert said["producedPartitions"] == "{orders-0, orders-1}" and said["status"] == "OPEN"


def test_a_transaction_is_forgotten_when_it_has_ended() -> None:
    tc = start()
    open_txn(tc)
    assert tc.call(EndTxn(T0, COMMIT)).ok
    for body in (
        EndTxn(T0, COMMIT),
        AddPartitionToTxn(T0, ("orders-0",)),
        GetTransactionMetadata(T0),
    ):
        assert tc.call(body).error is ServerError.TransactionNotFound


def test_the_answer_waits_for_every_participant() -> None:
    tc = start()
    open_txn(tc, "orders-0", "orders-1")
    tc.replies = []
    tc.ask(EndTxn(T0, COMMIT))
    first, second = tc.take_sent()
    tc.answer(first, EndTxnOnPartitionResponse(txn=T0))
    assert not tc.replies and "COMMITTED (0,0)" not in tc.words(LOG)
    tc.answer(second, EndTxnOnPartitionResponse(txn=T0))
    assert [reply.body.ok for reply in tc.replies] == [True]


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [(COMMIT, ABORT, ServerError.InvalidTxnStatus), (ABORT, COMMIT, ServerError.InvalidTxnStatus)],
)
def test_a_decision_never_changes(first: TxnAction, second: TxnAction, error: ServerError) -> None:
    tc = start()
    open_txn(tc, "orders-0")
    tc.ask(EndTxn(T0, first))
    assert tc.call(EndTxn(T0, second)).error is error
    assert tc.call(AddPartitionToTxn(T0, ("orders-1",))).error is error


def test_two_ends_sent_together_one_is_too_late() -> None:
    """On a real broker: one marker, and InvalidTxnStatus for the second (5 of 5)."""
    tc = start()
    open_txn(tc, "orders-0")
    tc.slow, tc.replies = True, []
    tc.ask(EndTxn(T0, COMMIT), "one")
    tc.ask(EndTxn(T0, COMMIT), "two")
    tc.settle()
    assert len(answer_all(tc)) == 1
    tc.settle()
    told = {reply.caller.name: reply.body.error for reply in tc.replies}
    assert told == {"one": ServerError.NoError, "two": ServerError.InvalidTxnStatus}
    assert not tc.role.cursor.individual and tc.role.cursor.mark_delete == 4


def test_two_commits_when_one_waits_already_tell_everybody_twice() -> None:
    tc = start()
    open_txn(tc, "orders-0")
    tc.ask(EndTxn(T0, COMMIT))
    tc.ask(EndTxn(T0, COMMIT))
    sent = tc.take_sent()
    assert len(sent) == 2 and len({send.corr for send in sent}) == 2
    tc.replies = []
    for send in sent:
        tc.answer(send, EndTxnOnPartitionResponse(txn=T0))
    assert [r.body.error for r in tc.replies] == [
        ServerError.NoError,
        ServerError.TransactionNotFound,
    ]


def test_everybody_is_told_again_a_second_after_one_could_not() -> None:
    tc = start()
    open_txn(tc, "orders-0", "orders-1")
    tc.replies = []
    tc.ask(EndTxn(T0, COMMIT))
    first, second = tc.take_sent()
    tc.answer(first, EndTxnOnPartitionResponse(txn=T0))
    tc.answer(second, EndTxnOnPartitionResponse(ServerError.ServiceNotReady, txn=T0))
    assert tc.timers == {"retry (0,0)": 1_000} and not tc.replies
    tc.fire("retry (0,0)")
    assert [send.to for send in answer_all(tc)] == ["orders-0", "orders-1"]
    assert [reply.body.ok for reply in tc.replies] == [True] and not tc.timers


def test_a_broken_connection_is_no_answer() -> None:
    tc = start()
    open_txn(tc, "orders-0")
    tc.ask(EndTxn(T0, ABORT))
    tc.take_sent()
    tc.lose("orders-0")
    tc.fire("retry (0,0)")
    assert len(answer_all(tc)) == 1 and not tc.role.txns


def test_what_was_being_ended_is_ended_again_after_a_restart() -> None:
    tc = start()
    open_txn(tc, "orders-0")
    open_txn(tc, "orders-0")
    tc.ask(EndTxn(T0, COMMIT))
    tc.restart()
    tc.ask(TcClientConnect(0))
    assert [str(send.body) for send in answer_all(tc)] == [
        "EndTxnOnPartition commit (0,0) lowWatermark=-1"
    ]
    assert list(tc.role.txns) == [T1]


@pytest.mark.parametrize(("first", "second"), [(ABORT, COMMIT), (COMMIT, ABORT)])
def test_a_record_that_came_too_late_is_too_late_after_a_kill_as_well(
    first: TxnAction, second: TxnAction
) -> None:
    """The kill comes before the record is deleted; a search has found what happens else: a
    transaction that was aborted in one topic is committed in the other."""
    tc = start(slow=True)
    tc.ask(NewTxn(0, 60_000))
    tc.settle()
    tc.ask(EndTxn(T0, first))
    tc.ask(EndTxn(T0, second))
    tc.ask(AddPartitionToTxn(T0, ("orders-0",)))
    assert len(tc.words(LOG)) == 4
    tc.restart()
    tc.slow = False
    tc.ask(TcClientConnect(0))
    final = "ABORTED" if first is ABORT else "COMMITTED"
    assert tc.words(LOG)[4:] == [f"{final} (0,0)"]
    assert not tc.role.txns and tc.role.cursor.mark_delete == 4, "nobody needs any of them"


def test_an_open_transaction_keeps_its_deadline() -> None:
    tc = start()
    tc.at_ms = 10_000
    open_txn(tc, timeout_ms=5_000)
    tc.at_ms = 13_000
    tc.restart()
    assert not tc.timers, "nothing is watched before a client connects"
    tc.ask(TcClientConnect(0))
    assert tc.timers == {"timeout (0,0)": 2_001}
    tc.fire("timeout (0,0)")
    assert not tc.role.txns and tc.words(LOG)[-1] == "ABORTED (0,0)"


def test_a_timeout_below_a_tick_aborts_at_once() -> None:
    tc = start()
    open_txn(tc, timeout_ms=1)
    assert not tc.role.txns and tc.words(LOG)[-1] == "ABORTED (0,0)"


def test_a_deadline_does_nothing_to_what_is_being_ended() -> None:
    tc = start()
    open_txn(tc, "orders-0")
    assert "timeout (0,0)" in tc.timers
    tc.ask(EndTxn(T0, COMMIT))
    assert "timeout (0,0)" not in tc.timers


def test_the_low_watermark_is_below_the_oldest_live_transaction() -> None:
    tc = start()
    assert tc.role.low_watermark == 0
    for _ in range(3):
        open_txn(tc, "orders-0")
    tc.ask(EndTxn(T1, COMMIT))
    tc.ask(EndTxn(T0, COMMIT))
    marks = [send.body.low_watermark for send in answer_all(tc)]
    assert marks == [-1, -1] and tc.role.low_watermark == 1


def test_over_the_limit_there_is_no_answer() -> None:
    tc = start(max_active=1)
    open_txn(tc)
    tc.replies = []
    tc.ask(NewTxn(0, 60_000))
    assert not tc.replies
    assert tc.call(EndTxn(T0, COMMIT)).ok
    assert open_txn(tc) == T1


def test_what_an_administrator_is_told() -> None:
    tc = start()
    open_txn(tc, timeout_ms=60_000)
    open_txn(tc, timeout_ms=20_000)
    assert str(tc.call(GetSlowTransactions(0, 30_000))) == "ok transactions={(0,0)}"
    assert str(tc.call(GetCoordinatorStats(0))) == (
        "ok state=Ready leastSigBits=1 lowWaterMark=-1 ongoingTxnSize=2"
    )


def test_without_the_log_first_a_kill_forgets_the_decision() -> None:
    tc = start(off=("decision_before_markers",))
    open_txn(tc, "orders-0")
    tc.ask(EndTxn(T0, COMMIT))
    assert len(tc.take_sent()) == 1
    tc.restart()
    tc.ask(TcClientConnect(0))
    assert tc.role.txns[T0].status is TxnStatus.OPEN


def test_without_the_retry_a_participant_is_given_up() -> None:
    tc = start(off=("retry_until_answered",))
    open_txn(tc, "orders-0")
    tc.replies = []
    tc.ask(EndTxn(T0, COMMIT))
    tc.lose("orders-0")
    assert [reply.body.ok for reply in tc.replies] == [True] and not tc.timers


def test_without_the_replay_open_transactions_are_forgotten() -> None:
    tc = start(off=("replay_log",))
    open_txn(tc, "orders-0")
    tc.restart()
    tc.ask(TcClientConnect(0))
    assert not tc.role.txns and open_txn(tc) == T1


def test_without_the_timeout_nobody_watches() -> None:
    tc = start(off=("transaction_timeout",))
    open_txn(tc)
    assert not tc.timers


def test_a_role_is_a_value() -> None:
    tc = start()
    assert replace(tc.role) == tc.role and hash(tc.role) == hash(replace(tc.role))
