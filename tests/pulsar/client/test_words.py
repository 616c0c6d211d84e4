"""What is told of a client: the states of its transactions, and what waits in its queues."""

from __future__ import annotations

from mqlab.pulsar.client import Client
from mqlab.pulsar.client.calls import Commit, Receive
from tests.pulsar.client.stand import Stand, connected


def told(stand: Stand, old: Client) -> list[str]:
    return [text.en for text in stand.client.describe_changes(old)]


def test_a_transaction_tells_each_state_it_enters() -> None:
    stand = Stand()
    before = stand.client
    stand.begin()
    assert told(stand, before) == ["t1 (0,0): OPEN"]
    before = stand.client
    stand.call(Commit("t1"))
    assert told(stand, before) == ["t1 (0,0): COMMITTING"]
    assert told(stand, stand.client) == []


def test_what_comes_waits_to_be_received() -> None:
    stand = connected()
    stand.push("a", 0)
    before = stand.client
    stand.push(("b", "c"), 1, acked=(0,))
    assert told(stand, before) == ["shop: to be received: a, c"]
    before = stand.client
    stand.call(Receive("shop"))
    assert told(stand, before) == []
