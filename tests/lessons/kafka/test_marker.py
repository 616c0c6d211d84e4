"""Lab 07's order: what a leader does with a marker, and what each wrong order breaks."""

from __future__ import annotations

import itertools

import pytest

from mqlab.lessons.kafka.exercises.commit import COMMIT
from mqlab.lessons.kafka.lab07 import MARKER
from mqlab.lessons.kafka.systems.marker_pieces import PIECES
from mqlab.registry import scenario, system

RIGHT = {
    order
    for order in itertools.permutations(PIECES)
    if order.index("append") < min(order.index("lso"), order.index("answer"))
    and order.index("index") < order.index("lso")
}
STORY = """
system {name} partitions=2 readers=reader
kill orders-0 when={when} after=1
run app: init, begin, send orders-0 a, send orders-1 b, {end}
restart orders-0
run app: begin, send orders-0 c, commit
run reader: poll orders-0, poll orders-1
"""


def test_the_right_orders_are_those_with_marker_and_index_before_the_lso() -> None:
    assert len(RIGHT) == 5
    assert {order for order in itertools.permutations(PIECES) if MARKER.judge(order).ok} == RIGHT


def test_no_piece_can_be_left_out() -> None:
    for count in range(len(PIECES)):
        for order in itertools.permutations(PIECES, count):
            assert not MARKER.judge(order).ok, order


@pytest.mark.parametrize("end", ["commit", "abort"])
@pytest.mark.parametrize("when", ["⇒WriteTxnMarkers#1", "⇒Produce#1"])
def test_in_kafkas_order_the_pieces_do_what_the_leader_does(when: str, end: str) -> None:
    """The same messages and records, but for notes to itself and their number."""

    def said(name: str) -> list[str]:
        facts = scenario(STORY.format(name=name, when=when, end=end))
        return sorted(f.line() for f in facts if f.peer != f.node and f.glyph in "→⇒☞▮")

    assert said("markers") == said("kafka")


@pytest.mark.parametrize(
    ("order", "broken"),
    [
        ("append lso index answer", "clean read"),
        ("lso append index answer", "clean read"),
        ("answer append index lso", "marked"),
        ("append index answer", "read back"),
        ("append index lso", "commits"),
        ("delete append index lso answer", "aborted records are deleted"),
        ("append index lso answer push", "consumers are told"),
        ("append others index lso answer", "a transaction becomes visible everywhere at once"),
    ],
)
def test_a_wrong_order_hears_what_it_breaks(order: str, broken: str) -> None:
    verdict = MARKER.judge(order.split())
    assert not verdict.ok
    assert verdict.misconception == broken


def test_lab_06_and_lab_07_put_different_things_into_order() -> None:
    assert not {piece.key for piece in MARKER.pieces} & {piece.key for piece in COMMIT.pieces}
    with pytest.raises(ValueError, match=r"no piece 'shout' in order\.marker; there are: append, "):
        system("markers order.marker=append,shout")
