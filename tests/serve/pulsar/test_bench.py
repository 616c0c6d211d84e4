"""What measures a server does what it says: transactions are committed, messages are there."""

from __future__ import annotations

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.pulsar import bench
from mqlab.serve.pulsar.bench import BODY, Sender, messages_per_second, transactions_per_second
from tests.serve.pulsar.raw import Raw


def test_what_is_measured_has_happened(
    broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    senders: list[Sender] = []

    class Noted(Sender):
        def __init__(self, address: str) -> None:
            super().__init__(address)
            senders.append(self)

    monkeypatch.setattr(bench, "Sender", Noted)
    assert transactions_per_second(broker.address, 0.3) > 0
    assert messages_per_second(f"pulsar://{broker.address}", 300) > 0
    committed, plain = (sender.topic for sender in senders)
    with Raw(broker.address) as one, Raw(broker.address) as other:
        one.subscribe(committed)
        assert one.receive(1) == [BODY.decode()]
        other.subscribe(plain)
        assert len(other.receive(301, 1.0)) == 300


def test_a_refusal_is_no_figure(broker: RunningBroker) -> None:
    sender = Sender(broker.address)
    with pytest.raises(ConnectionError, match="does not exist"):
        sender.ask("PRODUCER", topic="persistent://public/none/t", producer_id=1)
    sender.close()
