"""The tables of states, against the rows of Pulsar's own tests (TxnStatusTest)."""

from __future__ import annotations

import pytest

from mqlab.pulsar.states import CLIENT_PREVIOUS, PREVIOUS, ClientTxnState, TxnStatus, may_enter

MAY = {
    "OPEN": "OPEN COMMITTING ABORTING",
    "COMMITTING": "COMMITTING COMMITTED",
    "COMMITTED": "COMMITTED",
    "ABORTING": "ABORTING ABORTED",
    "ABORTED": "ABORTED",
}


@pytest.mark.parametrize("old", TxnStatus)
def test_a_transaction_may_go_where_pulsar_lets_it(old: TxnStatus) -> None:
    assert [new for new in TxnStatus if may_enter(new, old)] == MAY[old].split()


def test_every_state_is_in_its_table() -> None:
    assert set(PREVIOUS) == set(TxnStatus) and set(CLIENT_PREVIOUS) == set(ClientTxnState)
