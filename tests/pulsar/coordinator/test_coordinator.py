"""The coordinator by itself: what no scenario shows of it, since theirs are given no clock."""

from __future__ import annotations

from functools import partial

from mqlab.pulsar.config import SAFEGUARDS, PulsarConfig
from mqlab.pulsar.coordinator import Coordinator
from mqlab.pulsar.messages import NewTxn, TcClientConnect
from tests.pulsar.stepping import Alone


def test_an_open_transaction_keeps_its_deadline() -> None:
    tc = Alone(partial(Coordinator.recover, PulsarConfig(on=frozenset(SAFEGUARDS)), 0))
    tc.ask(TcClientConnect(0))
    tc.at_ms = 10_000
    assert tc.call(NewTxn(0, 5_000)).ok
    tc.at_ms = 13_000
    tc.restart()
    assert not tc.timers, "nothing is watched before a client connects"
    tc.ask(TcClientConnect(0))
    assert tc.timers == {"timeout (0,0)": 2_001}
    tc.fire("timeout (0,0)")
    assert not tc.role.txns and tc.words("__transaction_log_0")[-1] == "ABORTED (0,0)"
