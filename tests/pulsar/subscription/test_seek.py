"""A subscription moves: what is sent then, and what stays as it was."""

from __future__ import annotations

import pytest

from mqlab.pulsar.messages import Seek, Subscribe
from mqlab.pulsar.states import SubType, TxnAction
from tests.pulsar.subscription.stand import NAME, T1, TOPIC, Stand


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
