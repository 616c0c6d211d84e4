"""The first playground: what is in its file is what the engine does, and what it says is true."""

from __future__ import annotations

from collections import Counter

import pytest

from mqlab.kernel import replay
from mqlab.kernel.text import speaking
from mqlab.lessons import payment
from mqlab.lessons.payment import LINES, MARKS, MOVES, NAMES, PRICE, find_shortest
from mqlab.registry import system

Grown = dict[str, tuple[list[payment.State], list[tuple[str, ...]]]]


@pytest.fixture(scope="module")
def grown() -> Grown:
    return {name: payment.explore_states(name) for name in LINES}


def test_the_file_is_what_the_engine_does(grown: Grown) -> None:
    read = payment.read_payment()
    assert {name: states for name, (states, _) in grown.items()} == {
        name: one["states"] for name, one in read["systems"].items()
    }
    assert read["searched"] == payment.search_all()


def test_money_disappears_in_two_choices_and_never_in_a_transaction(grown: Grown) -> None:
    (plain, _), (transaction, _) = grown["plain"], grown["transaction"]
    assert find_shortest(plain, "lost") == 2
    assert find_shortest(transaction, "lost") == 0
    assert find_shortest(transaction, "twice") > 0


@pytest.mark.parametrize("name", LINES)
def test_what_is_drawn_is_what_a_replay_of_the_run_shows(name: str, grown: Grown) -> None:
    """`replay` and the system's own money know nothing of the playground's tree."""
    states, ways = grown[name]
    for number in range(0, len(states), 7):
        up, customer, shop, _, paid, got, mark, moves = states[number]
        snapshot = replay(system(LINES[name]), ways[number]).snapshots[-1]
        assert snapshot.money is not None
        assert (snapshot.money.due, snapshot.money.seen) == (paid, got)
        lane = next(lane for lane in snapshot.lanes if lane.name == payment.SERVICE)
        assert lane.up == bool(up)
        if MARKS[mark] in ("lost", "short"):
            assert snapshot.money.missing == paid - got > 0
            assert (MARKS[mark] == "short") == (got > 0)
        records = [sum(c.kind == "data" for c in log.cells) for log in snapshot.logs[:2]]
        assert records == [len(customer), len(shop)]
        ended = [NAMES[move] for move, _ in moves]
        assert ended == list(dict.fromkeys(ended))  # no two buttons say the same
        assert ("stop" in ended) <= bool(up)


def test_every_record_is_one_of_the_payment(grown: Grown) -> None:
    for states, _ in grown.values():
        for _, customer, shop, _, paid, got, _, _ in states:
            assert (paid, got) == (customer.count(0) * PRICE, shop.count(0) * PRICE)


def test_each_move_can_be_made_and_is_said_in_both_languages(grown: Grown) -> None:
    made = Counter(
        NAMES[move] for states, _ in grown.values() for *_, ms in states for move, _ in ms
    )
    assert set(made) == set(MOVES)
    for said, act, _, _ in MOVES.values():
        with speaking("zh"):
            assert said.of() != said.en and act.of() != act.en


def test_what_the_broker_has_decided_is_what_the_moves_say(grown: Grown) -> None:
    states, _ = grown["transaction"]
    says = {"broker": 0, "wait": 1, "customer counts": 0, "shop void": 1}
    made: Counter[str] = Counter()
    for *_, moves in states:
        for number, to in moves:
            if (name := NAMES[number]) in says:
                assert states[to][3] == says[name]
                made[name] += 1
    assert made.keys() == says.keys() and states[0][3] == 2


def test_a_search_that_finds_a_loss_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LINES, "transaction", LINES["plain"])
    with pytest.raises(ValueError, match="can be lost"):
        payment.search_all()
