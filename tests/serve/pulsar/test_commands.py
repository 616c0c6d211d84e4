"""Odd commands: each is answered as a real 4.2.4 has answered it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mqlab.serve import RunningBroker
from mqlab.serve.pulsar.wire import PulsarApi_pb2
from tests.serve.pulsar import commands


def test_odd_commands_are_answered_as_by_a_real_broker(broker: RunningBroker) -> None:
    for ours, real in zip(commands.tell(broker.address), commands.read(), strict=True):
        assert ours == real


def test_the_classes_were_made_from_the_file_beside_them() -> None:
    """`make proto` says at the end of what it makes what it was made from."""
    made = Path(PulsarApi_pb2.__file__)
    source = made.with_name("PulsarApi.proto").read_bytes()
    said = made.read_text("utf-8").splitlines()[-1]
    assert said == f"# made from {hashlib.sha256(source).hexdigest()}", "run `make proto`"
