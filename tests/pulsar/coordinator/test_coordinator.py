"""The coordinator by itself: what no scenario shows of it."""

from __future__ import annotations

from functools import partial

import pytest

from mqlab.pulsar.config import SAFEGUARDS, PulsarConfig
from mqlab.pulsar.coordinator import Coordinator
from mqlab.pulsar.messages import (
    AddPartitionToTxn,
    EndTxn,
    NewTxn,
    TcClientConnect,
    TxnID,
)
from mqlab.pulsar.states import TxnAction
from tests.pulsar.stepping import Alone

LOG = "__transaction_log_0"
COMMIT, ABORT = TxnAction.COMMIT, TxnAction.ABORT
T0 = TxnID(0, 0)


def start(slow: bool = False) -> Alone:
    tc = Alone(partial(Coordinator.recover, PulsarConfig(on=frozenset(SAFEGUARDS)), 0), slow)
    tc.ask(TcClientConnect(0))
    return tc


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
    assert tc.call(NewTxn(0, 5_000)).ok
    tc.at_ms = 13_000
    tc.restart()
    assert not tc.timers, "nothing is watched before a client connects"
    tc.ask(TcClientConnect(0))
    assert tc.timers == {"timeout (0,0)": 2_001}
    tc.fire("timeout (0,0)")
    assert not tc.role.txns and tc.words(LOG)[-1] == "ABORTED (0,0)"
