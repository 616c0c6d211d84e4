"""The live picture of a real client, in a pane of JupyterLab's size: what was committed is in
sight, repeats and polling are not, until one asks for them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from mqlab_widgets import Follow

from mqlab.kernel.trace import Fact
from mqlab.serve.kafka import serve
from tests.serve.kafka.clients import PATIENCE_S, create, producer, read, transaction
from tests.widgets.harness import put, state

pytestmark = pytest.mark.needs("chromium")

PANE = {"width": 950, "height": 679}
ABORTED = 3  # which of the transactions

#: the words of a panel that is in sight, row by row
SAID = """(name) => [...document.querySelectorAll(`[data-panel=${name}]`)]
  .filter((svg) => svg.checkVisibility())
  .flatMap((svg) => [...svg.querySelectorAll("text")].map((el) => el.textContent))"""
#: the heads of lanes: name, left and right end, and the box they must stay in
HEADS = """() => {
  const svg = document.querySelector("[data-panel=space-time]");
  const box = svg.parentElement.getBoundingClientRect();
  return [...svg.querySelectorAll("text.lane")].map((el) => {
    const { left, right } = el.getBoundingClientRect();
    return [el.textContent, left >= box.left - 1 && right <= box.right + 1];
  });
}"""
#: the colour of each transaction's name
COLOURS = """() => Object.fromEntries([...document.querySelectorAll("[data-panel=outcomes] .tag")]
  .map((el) => [el.textContent, getComputedStyle(el).fill]))"""


@dataclass
class Shown:
    """A followed broker with a client of it."""

    page: Any
    follow: Follow
    who: Any

    def go_on(self) -> None:
        self.follow.poll()
        self.page.evaluate("(now) => take(now)", state(self.follow))
        self.page.wait_for_function(
            "(n) => Number(document.querySelector('.mqlab').dataset.step) === n",
            arg=len(self.follow.trace),
        )
        # What slides is in place, and nothing else comes.
        self.page.evaluate("() => new Promise((done) => setTimeout(done, 300))")

    def wait_for(self, rows: str) -> None:
        self.page.wait_for_function(f"() => {rows}")


def is_over(address: str, follow: Follow) -> bool:
    """Whether the last markers are written, and the server knows that a reader has left."""
    got = read(address, "orders", 2)
    follow.poll()
    return len(got) == 6 and "connection closed" in [fact.text.en for fact in follow.trace]


@pytest.fixture(scope="module", params=["light", "dark"])
def shown(browser: Any, request: Any) -> Iterator[Shown]:
    """Four transactions in two partitions, the third aborted; each begins while the markers of the
    one before are under way, and a reader of committed data has read."""
    with serve(pace_ms=200) as broker:
        create(broker.address, "orders", 2)
        who = producer(broker.address, "order-service")
        for i in range(1, 5):
            who.begin_transaction()
            for part in (0, 1):
                who.produce("orders", f"order-{i}{'ab'[part]}", partition=part)
            who.flush(60)
            (who.abort_transaction if i == ABORTED else who.commit_transaction)(60)
        follow = Follow(broker.trace_url, every_s=600)
        until = time.monotonic() + PATIENCE_S
        while not is_over(broker.address, follow):
            assert time.monotonic() < until, "the reader has not got all, or has not left"
        page = browser.new_page(viewport=PANE)
        page.on("pageerror", lambda error: pytest.fail(f"the page raised {error}"))
        put(page, follow, request.param)
        page.wait_for_selector(".follow .lanes button")
        yield Shown(page, follow, who)
        page.close()
        follow.close()


def test_it_says_what_was_committed_and_what_was_aborted(shown: Shown) -> None:
    said = shown.page.evaluate(SAID, "outcomes")
    outcomes = [text for text in said if ": " in text]
    assert outcomes == [
        "committed: read", "aborted: never read", "committed: read", "committed: read",
    ]  # fmt: skip
    assert said[1:4] == ["T4", "order-4a", "order-4b"], "the newest stands first"


def test_outcomes_readers_and_lights_are_in_sight_beside_the_rows(shown: Shown) -> None:
    for name in ("space-time", "outcomes", "readers", "lights"):
        assert shown.page.evaluate(SAID, name), name
    committed = shown.page.evaluate(SAID, "readers")
    assert "order-4a" in committed and "order-4b" in committed
    assert shown.page.locator(".tabs button[aria-selected=true]").count() <= 1


def test_a_client_has_one_lane_no_two_have_a_name_and_none_is_cut_off(shown: Shown) -> None:
    heads = shown.page.evaluate(HEADS)
    names = [name for name, _ in heads]
    assert names.count("order-service") == 1 and len(set(names)) == len(names)
    assert {"coordinator", "orders-0", "orders-1"} < set(names)
    assert all(inside for _, inside in heads), heads


def test_repeats_have_one_row_that_counts_them_and_polling_has_none(shown: Shown) -> None:
    def find(facts: Iterable[Fact]) -> list[Fact]:
        add = "AddPartitionsToTxn"
        return [f for f in facts if f.node == "order-service" and f.text.en.startswith(add)]

    facts, told = shown.follow.trace.facts, shown.follow._tail._facts
    rows, sent = find(facts), find(told)
    times = [int(row.label.en.partition(" ×")[2] or 1) for row in rows]
    assert max(times) > 1, "the client had to ask again"
    assert sum(times) == len(sent), "each of them is counted"
    assert [row.txn for row in rows] == ["T1", "T2", "T3", "T4"]
    polls = ("ListOffsets ", "Fetch ")
    assert [f for f in told if f.text.en.startswith(polls)]
    assert not [f for f in facts if f.text.en.startswith(polls)]


def test_a_client_that_has_left_is_no_crash(shown: Shown) -> None:
    closed = [fact.node for fact in shown.follow.trace.facts if fact.text.en == "connection closed"]
    assert closed, "the reader has left"
    assert shown.page.locator("[data-panel=space-time] .crash").count() == 0
    assert shown.page.locator("[data-panel=space-time] text.lane.bad").count() == 0


def test_a_transaction_keeps_its_colour_while_one_watches(shown: Shown) -> None:
    before = shown.page.evaluate(COLOURS)
    for i in range(2):
        transaction(shown.who, "orders", f"later-{i}")
    shown.go_on()
    after = shown.page.evaluate(COLOURS)
    both = before.keys() & after.keys()
    assert both and {n: before[n] for n in both} == {n: after[n] for n in both}


@pytest.mark.parametrize("how", ["button", "head", "keyboard"])
def test_a_lane_is_hidden_and_shown_again(shown: Shown, how: str) -> None:
    page = shown.page
    button = page.locator(".follow .lanes button", has_text="orders-1")
    if how == "head":
        page.locator("[data-panel=space-time] text.lane", has_text="orders-1").click()
    elif how == "keyboard":
        button.focus()
        page.keyboard.press("Enter")
    else:
        button.click()
    page.wait_for_selector(".follow .lanes button[aria-pressed=false]")
    assert "orders-1" not in [name for name, _ in page.evaluate(HEADS)]
    assert not [f for f in shown.follow.trace if "orders-1" in (f.node, f.peer)]
    page.locator(".follow .lanes button", has_text="orders-1").click()
    page.wait_for_selector(".follow .lanes button[aria-pressed=false]", state="detached")
    assert "orders-1" in [name for name, _ in page.evaluate(HEADS)]


def test_whoever_asks_gets_each_fact(shown: Shown) -> None:
    page, told = shown.page, shown.follow._tail._facts
    few = len(shown.follow.trace)
    page.check(".follow input")
    page.wait_for_function("document.querySelector('.follow input').checked")
    rows = min(len(told), shown.follow._tail.most)
    assert len(shown.follow.trace) == rows > few
    said = [fact.text for fact in shown.follow.trace]
    assert said == [fact.text for fact in told[-rows:]]
    page.uncheck(".follow input")
    assert len(shown.follow.trace) == few
