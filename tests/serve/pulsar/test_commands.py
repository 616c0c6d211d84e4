"""Odd commands: each is answered as a real 4.2.4 has answered it."""

from __future__ import annotations

from mqlab.serve import RunningBroker
from tests.serve.pulsar import commands


def test_odd_commands_are_answered_as_by_a_real_broker(broker: RunningBroker) -> None:
    for ours, real in zip(commands.tell(broker.address), commands.read(), strict=True):
        assert ours == real
