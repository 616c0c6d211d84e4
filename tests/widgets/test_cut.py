"""What is cut where room is short, and what is not."""

from __future__ import annotations

import pytest
from mqlab_widgets.scene import Node
from mqlab_widgets.style import font_of
from mqlab_widgets.views import PANELS
from mqlab_widgets.views.common import ROW, plan
from mqlab_widgets.widths import fit_apart, halve, width

from mqlab.cli.run import open_scenario
from mqlab.kernel.snapshot import Cell, Frontier, Lane, Log, Snapshot, Table
from mqlab.kernel.text import Lang, Text
from mqlab.kernel.trace import Fact, Trace
from mqlab.places import SCENARIOS

from .test_views import draw, flat


def test_cells_of_a_long_log_take_the_room_that_is_left_for_one_more() -> None:
    """Two of 580538+31678 in a narrow strip, among five places: a name that is cut anyway leaves
    them its room, one that would be whole does not."""
    cells = tuple(Cell(i, "580538+31678") for i in range(5))

    def show(name: str) -> dict[str, Node]:
        log = Log(name, cells, (Frontier("HW", 5),))
        return draw("logs/small", Trace("s", (), (), (Snapshot(logs=(log,)),)), 0)

    seen = show("__consumer_offsets-0")
    assert [seen[f"text:__consumer_offsets-0:{i}"].text for i in (3, 4)] == ["580538+31678"] * 2
    assert show("order-income-0")["name:order-income-0"].text == "order-income-0"


THREE = tuple(Lane(name, Text(name)) for name in "abc")


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("glyph", ["✗", "↻"])
def test_a_label_too_wide_for_one_line_is_whole_in_two(lang: Lang, glyph: str) -> None:
    """Labs 02, 04 and 13: kills of three facts, which were cut in their middle."""
    told = Text(
        "killed: Answer had left, Confirm had left, confirm was not written, order is not there",
        "进程被杀：Answer 已发出，2 个消息 Confirm 已发出 1 个，confirm 未写入，2 个消息 Try 也未发出",
    )
    trace = Trace("s", (), (Fact(1, 1, "a", glyph, told),), (Snapshot(lanes=THREE),) * 2)
    seen = flat(PANELS["space-time"].view(trace, 1, lang=lang))
    lines, plate = (seen["lab:1"], seen["lab:1:1"]), seen["plate:1"].attrs
    words = " ".join(str(line.text) for line in lines)
    assert words.replace("， ", "，") == told.of(lang)
    assert str(lines[0].text)[-1] in ",，", "a line ends where a fact does"
    right = float(plate["x"]) + float(plate["width"])
    for line in lines:
        size, bold, _ = font_of(str(line.attrs["class"]))
        base = float(line.attrs["y"])
        assert (
            float(line.attrs["x"]) + width(str(line.text), size, bold)
            < right
            <= plan(trace, lang, False).width
        )
        assert base - 0.78 * size > 0 and base + 0.12 * size < ROW
    assert float(lines[1].attrs["y"]) - float(lines[0].attrs["y"]) >= 10.5


def test_two_lines_end_behind_a_comma_else_between_words_else_within_one() -> None:
    told = "recovered PrepareCommit, markers pending for orders-0"
    assert halve(told, 200, 10.5) == ["recovered PrepareCommit,", "markers pending for orders-0"]
    assert halve("AddSubscriptionToTxn orders-0/billing", 120, 10.5) == [
        "AddSubscriptionToTxn", "orders-0/billing",
    ]  # fmt: skip
    assert halve("TRANSACTION_COORDINATOR_FENCED", 130, 10.5) == [
        "TRANSACTION_", "COORDINATOR_FENCED",
    ]  # fmt: skip
    assert halve("PrepareCommit", 50, 10.5) == ["Prepare", "Commit"]
    assert halve("580538", 10, 10.5) == ["580538"]


def test_a_row_keeps_the_end_of_what_it_says() -> None:
    """Lab 00: what had not happened stands last."""
    told = (
        "killed: Produce C-316.78 had left, Produce C-316.79 had left, Produce C-316.80 had left, "
        "Produce C-316.81 had left, send accounts-0 C-316.78 had not returned"
    )
    facts = (Fact(1, 1, "a", "✗", Text(told)),)
    trace = Trace("s", (), facts, (Snapshot(lanes=THREE),) * 2)
    seen = draw("space-time", trace, 1)
    first, second = str(seen["lab:1"].text), str(seen["lab:1:1"].text)
    assert first.startswith("killed: Produce") and told.startswith(first)
    assert "…" in second and second.endswith("had not returned")


def test_a_lane_has_its_whole_name_where_its_neighbours_names_are_short() -> None:
    """Lab 08: __consumer_offsets-0 among lanes with short names, without touching one of them."""
    names = ("worker", "group", "orders-0", "income-0", "__consumer_offsets-0")
    lanes = tuple(Lane(name, Text(name)) for name in names)
    trace = Trace("s", (), (Fact(1, 1, "worker", "·", Text("x")),), (Snapshot(lanes=lanes),) * 2)
    seen = draw("space-time", trace, 1)
    assert [seen[f"lane:{name}"].text for name in names] == list(names)
    ends: dict[object, float] = {}
    for name in names:
        x, y = float(seen[f"lane:{name}"].attrs["x"]), seen[f"lane:{name}"].attrs["y"]
        half = width(name, 12, bold=True) / 2
        assert x - half >= ends.get(y, 0)
        ends[y] = x + half


def test_a_column_as_wide_as_its_text_does_not_cut_it() -> None:
    """Edges are sums of floats: behind payments-0 and pid, epoch had some 1e-15 px too little."""
    head = ("partition", "pid", "epoch", "last batches (numbers @offset)")
    shot = Snapshot(tables=(Table(Text("t"), head, (("payments-0", "0", "0", "0 @0, 1 @1"),)),))
    seen = draw("tables", Trace("s", (), (), (shot,)), 0)
    assert [seen[f"col:t:{i}"].text for i in range(4)] == list(head)


def test_a_table_too_wide_for_its_panel_has_its_words_in_two_lines() -> None:
    """Story torn-read: PrepareCom… and {orders-0, or… of the coordinator's own table."""
    trace = open_scenario(SCENARIOS / "kafka" / "torn-read.scn").run.trace
    steps = [draw("tables", trace, step).items() for step in range(len(trace) + 1)]
    shown = {
        str(part.text): float(part.attrs["y"]) for seen in steps for _, part in seen if part.text
    }
    assert {"PrepareCommit", "CompleteCommit", "{orders-0,", "orders-1}"} <= set(shown)
    assert not [text for text in shown if "…" in text]
    assert shown["orders-1}"] - shown["{orders-0,"] == 12


def test_the_cells_of_a_short_log_do_not_keep_to_those_of_a_long_one() -> None:
    """Lab 07's torn read: paid-580538 was cut beside free places, for orders-0 has six."""
    long = Log("orders-0", tuple(Cell(i, "580538") for i in range(6)), (Frontier("HW", 6),))
    short = Log("payments-0", (Cell(0, "paid-580538"),), (Frontier("HW", 1),))
    seen = draw("logs/small", Trace("s", (), (), (Snapshot(logs=(long, short)),)), 0)
    assert seen["text:payments-0:0"].text == "paid-580538"
    assert seen["text:orders-0:5"].text == "580538"


def test_a_log_s_long_name_stands_in_lines_where_room_is_short() -> None:
    """Lab 03: RocketMQ's two topics of transactions were …S_HALF_TOPIC and …P_HALF_TOPIC."""
    names = ("RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "orders-0")
    logs = tuple(Log(name, (Cell(0, "580538"),), (Frontier("op", 1),)) for name in names)
    seen = draw("logs/small", Trace("s", (), (), (Snapshot(logs=logs),)), 0)
    for name in names:
        keys = [key for key in seen if f"{key}:".startswith(f"name:{name}:")]
        lines = [seen[key] for key in keys]
        assert "".join(str(line.text) for line in lines) == name
        assert all(width(str(line.text), 11.5, bold=True) <= 100 for line in lines)
        places = [float(line.attrs["y"]) for line in lines]
        assert places == sorted(set(places))


def test_a_name_is_shortened_in_its_middle_and_never_to_another_ones() -> None:
    names = ["RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "orders-0"]
    shown = fit_apart(names, 100, bold=True)
    assert len(set(shown.values())) == 3 and shown["orders-0"] == "orders-0"
    assert all(width(text, bold=True) <= 100 for text in shown.values())
    assert fit_apart(["order-of-service"], 80)["order-of-service"].partition("…")[2]
    twins = ["a" * 50 + "b" * 50, "a" * 50 + "c" + "b" * 49]
    assert len(set(fit_apart(twins, 50).values())) == 2
    trace = Trace("x", (), (), (Snapshot(logs=tuple(Log(name) for name in names)),))
    seen = draw("logs/small", trace, 0)
    drawn = [
        [node.text for key, node in seen.items() if f"{key}:".startswith(f"name:{name}:")]
        for name in names
    ]
    assert drawn[0] != drawn[1]
