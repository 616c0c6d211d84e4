"""Parsons exercises: every correct order passes, each wrong one is refuted by its own run."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from mqlab_widgets import Ordering
from mqlab_widgets.payload import HERE

from mqlab.explore import Budget
from mqlab.kernel import FactKind, Text
from mqlab.lessons.kafka.lab06 import COMMIT
from mqlab.lessons.kafka.systems.ruled import PIECES
from mqlab.lessons.parsons import Parsons, Piece, judge
from mqlab.registry import scenario, system
from tests.widgets.harness import answered, put

KAFKA = ("prepare", "reply", "markers", "wait", "complete")


def in_order(order: tuple[str, ...], *wanted: str) -> bool:
    places = [order.index(key) for key in wanted]
    return places == sorted(places)


CORRECT = [
    order
    for order in itertools.permutations(PIECES)
    if in_order(order, "prepare", "markers", "wait", "complete")
    and in_order(order, "prepare", "reply")
]


STORY = """
system {name} partitions=2 readers=reader
kill coordinator when=WriteTxnMarkers#1 after={after}
run app: init, begin, send orders-0 a, send orders-1 b, {end}
restart coordinator
run app: begin, send orders-0 c, commit
run reader: poll orders-0, poll orders-1
"""


@pytest.mark.parametrize("end", ["commit", "abort"])
@pytest.mark.parametrize("after", [1, 2])
def test_in_kafkas_order_the_pieces_do_what_the_coordinator_does(end: str, after: int) -> None:
    """The same messages and records, but for notes to itself and their number."""

    def said(name: str) -> list[str]:
        facts = scenario(STORY.format(name=name, after=after, end=end))
        return [f.line() for f in facts if f.peer != f.node and f.kind is not FactKind.KILL]

    assert said("end_txn") == said("kafka")


@pytest.mark.parametrize("order", CORRECT, ids=" ".join)
def test_every_correct_order_passes(order: tuple[str, ...]) -> None:
    verdict = judge(COMMIT, order)
    assert verdict.ok, verdict
    assert ("Kafka's own sequence" in str(verdict)) == (order == KAFKA)


@pytest.mark.parametrize(
    ("order", "broken", "last"),
    [
        ("reply prepare markers wait complete", "kept", "PrepareAbort"),
        ("markers prepare reply wait complete", "same outcome", "abort marker"),
        ("prepare reply markers complete wait", "settled", "recovered"),
        ("prepare reply markers complete", "settled", "recovered"),
        ("complete prepare reply markers wait", "settled", "recovered"),
    ],
)
def test_a_wrong_order_gets_its_own_shortest_run(order: str, broken: str, last: str) -> None:
    verdict = judge(COMMIT, order.split())
    assert not verdict.ok
    assert verdict.misconception == broken
    assert verdict.message == COMMIT.messages[broken]
    trace = verdict.trace()
    assert trace is not None
    assert last in "\n".join(trace.narrate().splitlines()[-3:])
    red = [
        step
        for step in range(len(trace) + 1)
        for light in trace.snapshot(step).lights
        if light.name == broken and not light.ok
    ]
    assert red and red[0] >= len(trace) - 3  # it breaks with the last choice, not before


@pytest.mark.parametrize(
    ("order", "missing"),
    [
        ("", "read back"),
        ("prepare reply wait markers complete", "read back"),
        ("prepare reply markers wait", "commits"),
        ("prepare markers wait complete", "told"),
    ],
)
def test_an_order_that_does_nothing_does_not_pass(order: str, missing: str) -> None:
    verdict = judge(COMMIT, order.split())
    assert not verdict.ok
    assert verdict.misconception == missing
    assert verdict.trace() is None


def test_no_other_order_of_all_pieces_passes() -> None:
    """The quick half of the claim: what is found without a fault, or soon."""
    wrong = [order for order in itertools.permutations(PIECES) if order not in CORRECT]
    assert len(wrong) == 116
    stuck = [o for o in wrong if o.index("wait") < o.index("markers")]
    assert all(judge(COMMIT, order).misconception in ("read back", "commits") for order in stuck)


def test_distractors_are_beliefs() -> None:
    told = {p.key: p for p in COMMIT.pieces if p.belief is not None}
    assert set(told) == {"vote", "producer", "undo", "drain", "clock"}
    for key, piece in told.items():
        verdict = judge(COMMIT, [*KAFKA, key])
        assert (verdict.ok, verdict.message) == (False, piece.belief)
        assert verdict.misconception == piece.misconception


def test_what_cannot_be_judged_is_said() -> None:
    with pytest.raises(ValueError, match="no piece 'vanish'; there are: complete, reply"):
        judge(COMMIT, ["vanish"])
    assert "twice" in str(judge(COMMIT, ["reply", "reply"]))
    with pytest.raises(ValueError, match=r"no piece .shout. in order\.end_txn; there are: "):
        system("end_txn order.end_txn=prepare,shout")


def test_effect_groups_of_one_step_are_pieces_too() -> None:
    """The coordinator's own step `prepared`: both orders are right, half of it is not."""
    line = "kafka partitions=1 order.prepared={} 'app=init; begin; send orders-0 a; commit'"
    exercise = Parsons(
        "prepared",
        Text("?"),
        (Piece("reply", Text("answer")), Piece("markers", Text("send the markers"))),
        lambda order: ((system(line.format(",".join(order))), Budget()),),
        {"commits": Text("it never ends"), "same outcome": Text("two outcomes")},
    )
    assert exercise.judge(["reply", "markers"]).ok
    assert exercise.judge(["markers", "reply"]).ok
    assert exercise.judge(["reply"]).misconception == "commits"


def test_a_search_that_is_not_exhaustive_says_nothing_is_right() -> None:
    small = Parsons(
        "small",
        Text("?"),
        COMMIT.pieces,
        lambda order: tuple((s, Budget(kills=1, states=200)) for s, _ in COMMIT.systems(order)),
        COMMIT.messages,
    )
    with pytest.raises(ValueError, match="small: not exhaustive: 200 states"):
        judge(small, KAFKA)


# --- the widget ---------------------------------------------------------------------------


def test_the_widget_and_the_text_say_the_same() -> None:
    widget = COMMIT.widget(lang="zh")
    assert isinstance(widget, Ordering)
    for piece in COMMIT.pieces:
        assert piece.text.zh in widget.narration() and piece.text.zh in widget.still_html()
    assert widget.player() is None
    verdict = widget.judge(["reply", *KAFKA[:1], *KAFKA[2:]])
    assert not verdict.ok
    assert verdict.message.zh in widget.narration()
    player = widget.player()
    assert player is not None and player.step == len(player.trace)
    with pytest.raises(TypeError, match="Ordering has no argument 'scales'; did you mean 'scale'"):
        COMMIT.widget(scales=2)


def test_the_module_is_one_and_fetches_nothing() -> None:
    source = str(Ordering._esm)
    assert source.count("export default") == 1
    assert "import " not in source and "http" not in source.replace("http://www.w3.org/", "")
    assert all((HERE / name).read_text("utf-8") in source for name in ("player.js", "ordering.js"))


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_order_is_made_with_the_keyboard_alone(browser: Any, theme: str) -> None:
    widget = COMMIT.widget()
    page = browser.new_page(viewport={"width": 1000, "height": 900}, color_scheme=theme)
    put(page, widget, theme)
    button = "li[data-key={}] [data-action={}]".format
    for key in ("reply", "prepare"):
        page.focus(button(key, "add"))
        page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.dataset.action") == "add"
    answered(page)
    assert widget.order == ["reply", "prepare"]
    page.focus(button("prepare", "up"))
    page.keyboard.press("ArrowUp")
    answered(page)
    assert widget.order == ["prepare", "reply"]
    assert page.locator("[role=status]").inner_text().endswith("place 1 of 2")
    assert page.evaluate("() => document.activeElement.closest('li').dataset.key") == "prepare"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Delete")
    answered(page)
    assert widget.order == ["reply"]
    assert page.evaluate("() => document.activeElement.closest('li').dataset.key") == "prepare"
    page.close()


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_verdict_brings_the_run_that_refutes(browser: Any, theme: str) -> None:
    widget = COMMIT.widget()
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=theme)
    put(page, widget, theme)
    for key in ("reply", "prepare", "markers", "wait", "complete"):
        page.click(f"li[data-key={key}] [data-action=add]")
    page.click(".tools > button")
    page.wait_for_selector(".verdict .no")
    page.wait_for_selector(".ordering .controls")
    assert "before the decision was safe" in page.locator(".verdict").inner_text()
    page.click("li[data-key=prepare] [data-action=up]")
    assert "The order has changed since" in page.locator(".verdict").inner_text()
    page.click(".tools > button")
    page.wait_for_selector(".verdict .yes")
    assert page.locator(".ordering .controls").is_hidden()
    page.close()
