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
    EndTxn,
    EndTxnOnPartition,
    EndTxnOnPartitionResponse,
    EndTxnOnSubscription,
    EndTxnOnSubscriptionResponse,
    GetTransactionMetadata,
    NewTxn,
    TcClientConnect,
    TxnID,
)
from mqlab.pulsar.states import TxnAction
from tests.pulsar.stepping import Alone

LOG = "__transaction_log_0"
COMMIT, ABORT = TxnAction.COMMIT, TxnAction.ABORT
T0 = TxnID(0, 0)


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


def test_nothing_is_known_before_a_client_connects() -> None:
    tc = start(connected=False)
    assert tc.call(NewTxn(0, 1)).error is ServerError.TransactionCoordinatorNotFound
    tc.ask(TcClientConnect(0))
    assert open_txn(tc) == T0


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


def test_a_role_is_a_value() -> None:
    tc = start()
    assert replace(tc.role) == tc.role and hash(tc.role) == hash(replace(tc.role))
