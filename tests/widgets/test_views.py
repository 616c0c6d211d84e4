"""What the pictures say: read off the scenes, without a browser."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from mqlab_widgets import Player
from mqlab_widgets.payload import draw_steps
from mqlab_widgets.scene import Node, Scene
from mqlab_widgets.style import font_of
from mqlab_widgets.views import PANELS
from mqlab_widgets.views.common import ROOMY, find_previous, plan
from mqlab_widgets.views.story import LARGE
from mqlab_widgets.views.tables import _lay_out_columns
from mqlab_widgets.widths import fit, width, wrap

from mqlab.cli.run import open_scenario
from mqlab.kernel.snapshot import (
    Cell,
    Frontier,
    Got,
    Lane,
    Light,
    Log,
    Money,
    Progress,
    Reader,
    Snapshot,
    Stretch,
    Table,
)
from mqlab.kernel.text import Text
from mqlab.kernel.trace import Fact, Trace

from .sample import long_trace, sample

EVIL = '<script>alert("x")</script>'


def flat(scene: Scene) -> dict[str, Node]:
    found: dict[str, Node] = {}

    def walk(nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            found[node.key] = node
            walk(node.children)

    walk(scene.nodes)
    return found


def draw(panel: str, trace: Trace, step: int) -> dict[str, Node]:
    return flat(PANELS[panel].view(trace, step))


def svg(panel: str, trace: Trace, step: int) -> str:
    return "".join(node.svg() for node in PANELS[panel].view(trace, step).nodes)


STORIES = Path(__file__).parents[2] / "datasets" / "scenarios"
LONG = ("kafka/coordinator-killed-between-markers", "rocketmq/check-commits", "pulsar/two-topics")


@pytest.mark.parametrize("story", LONG)
def test_a_roomy_panel_cuts_nothing_and_is_no_taller(story: str) -> None:
    trace = open_scenario(STORIES / f"{story}.scn").run.trace
    drawn = [name for name in Player(trace).look.names(trace) if name.endswith("/wide")]
    assert drawn
    for name in drawn:
        is_story = "story" in PANELS[name].levels
        wide, stem = (LARGE, "space-time/story") if is_story else (ROOMY, name[: -len("/wide")])
        for step in range(len(trace) + 1):
            roomy = PANELS[name].view(trace, step)
            short = PANELS[stem].view(trace, step)
            assert roomy.width == wide and roomy.height <= short.height
            said = [node.text for node in flat(roomy).values() if node.tag == "text"]
            assert not [text for text in said if "…" in text or text.startswith("+")], name


def test_a_frontier_that_moves_says_from_where_to_where() -> None:
    trace = open_scenario(STORIES / f"{LONG[0]}.scn").run.trace
    told = set()
    for step in range(1, len(trace) + 1):
        drawn = draw("logs", trace, step)
        before, now = (
            {(log.name, f.name): f.at for log in trace.snapshot(at).logs for f in log.frontiers}
            for at in (find_previous(trace, step), step)
        )
        for (log, name), at in now.items():
            way = drawn.get(f"way:{log}:{name}")
            moved = before.get((log, name), at) != at
            assert (way is not None) == moved
            if way is not None:
                assert way.text == f"{before[log, name]} → {at}"
                told.add((name, way.text))
    assert {("LSO", "0 → 2"), ("HW", "0 → 1")} <= told


def test_a_folded_step_says_why_it_is_folded() -> None:
    facts = Player(open_scenario(STORIES / f"{LONG[0]}.scn").run.trace).payload["meta"]["facts"]
    folded = [fact for fact in facts if fact.get("fold")]
    assert len(folded) > 5 and all(fact["why"] for fact in folded)
    assert len({fact["why"] for fact in folded}) > 2


def test_only_what_says_more_is_drawn_for_more_room() -> None:
    names = Player(sample()).look.names(sample())
    assert {"readers/wide", "graphs/wide"} <= set(names)
    assert not {"logs/wide", "lights/wide", "money/wide"} & set(names)


def test_rows_are_past_now_and_future_and_folded_ones_are_missing() -> None:
    seen = draw("space-time", sample(), 21)
    assert seen["row:20"].attrs["class"] == "row past"
    assert seen["row:21"].attrs["class"] == "row now"
    assert seen["row:22"].attrs["class"] == "row future"
    assert "row:3" not in seen
    assert seen["fold:4"].text == "+1"
    assert seen["num:21"].text == "21"


def test_unfolding_adds_rows_and_renumbers_none() -> None:
    seen = draw("space-time/all", sample(), 21)
    assert seen["num:3"].text == "3"
    assert not any(key.startswith("fold:") for key in seen)


def test_the_band_stands_between_the_rows_on_a_folded_fact() -> None:
    trace = sample()
    assert draw("space-time", trace, 4)["band"].attrs["height"] == 21
    assert draw("space-time", trace, 3)["band"].attrs["height"] == 6


def test_a_killed_node_is_red_and_its_open_transaction_is_cut() -> None:
    trace = sample()
    assert draw("space-time", trace, 17)["lane:tc"].attrs["class"] == "lane"
    crashed = draw("space-time", trace, 18)
    assert crashed["lane:tc"].attrs["class"] == "lane bad"
    assert "disc:18" in crashed
    ends = [draw("space-time", trace, s)["span:tc:T1:5"].attrs["height"] for s in (18, 19, 21)]
    assert ends[0] == ends[1] == ends[2]
    assert draw("space-time", trace, 22)["lane:tc"].attrs["class"] == "lane"


def test_a_span_ends_at_its_marker_and_an_open_one_reaches_the_current_row() -> None:
    trace = sample()
    done = [draw("space-time", trace, s)["span:o-0:T1:6"].attrs["height"] for s in (19, 23)]
    assert done[0] == done[1]
    still_open = [draw("space-time", trace, s)["span:o-1:T1:12"].attrs["height"] for s in (19, 23)]
    assert still_open[0] < still_open[1]


def test_a_second_marker_closes_nothing_and_late_data_opens_the_transaction_again() -> None:
    def log(*kinds: str) -> Snapshot:
        cells = tuple(Cell(i, k, k, "T1") for i, k in enumerate(kinds))
        return Snapshot(lanes=(Lane("p", Text("p")),), logs=(Log("p", cells),))

    kinds = ("data", "control", "control", "data")
    trace = Trace(
        "s", (),
        tuple(Fact(i, i, "p", "▮", Text(k), "disk", txn="T1") for i, k in enumerate(kinds, 1)),
        tuple(log(*kinds[:i]) for i in range(5)),
    )  # fmt: skip
    spans = [k for k in draw("space-time", trace, 4) if k.startswith("span:")]
    assert spans == ["span:p:T1:1"]
    longer = replace(
        trace, facts=(*trace.facts, Fact(5, 5, "p", "·", Text("nothing"))),
        snapshots=(*trace.snapshots, trace.snapshots[-1]),
    )  # fmt: skip
    seen = draw("space-time", longer, 5)
    assert [k for k in seen if k.startswith("span:")] == ["span:p:T1:1", "span:p:T1:4"]


def test_a_label_that_would_hide_its_arrow_stands_beside_it() -> None:
    lanes = tuple(Lane(n, Text(n)) for n in "abcdefgh")
    long = Text("WriteTxnMarkers commit epoch=1")
    facts = (
        Fact(1, 1, "a", "→", long, "b"),
        Fact(2, 2, "a", "→", long, "h"),
        Fact(3, 3, "h", "→", long, "g"),
    )
    trace = Trace("s", (), facts, (Snapshot(lanes=lanes),) * 4)
    seen = draw("space-time", trace, 3)
    assert "mid" not in str(seen["lab:1"].attrs["class"])
    assert float(seen["lab:1"].attrs["x"]) > float(seen["life:b"].attrs["x1"])
    assert str(seen["lab:2"].attrs["class"]).endswith("mid")
    assert str(seen["lab:3"].attrs["class"]).endswith("end")
    assert float(seen["lab:3"].attrs["x"]) < float(seen["life:g"].attrs["x1"])


@pytest.mark.parametrize("way", ["ltr", "rtl"])
def test_a_label_too_wide_for_both_sides_is_whole_and_leaves_the_head_visible(way: str) -> None:
    lanes = (Lane("a", Text("a")), Lane("b", Text("b")))
    ends = ("a", "b") if way == "ltr" else ("b", "a")
    words = "WriteTxnMarkers commit" if way == "ltr" else "OUT_OF_ORDER_SEQUENCE_NUMBER"
    fact = Fact(1, 1, ends[0], "⇒", Text(words), ends[1])
    seen = draw("space-time", Trace("s", (), (fact,), (Snapshot(lanes=lanes),) * 2), 1)
    assert seen["lab:1"].text == words
    x, wide = float(seen["lab:1"].attrs["x"]), width(words)
    tip = float(seen["life:b" if way == "ltr" else "life:a"].attrs["x1"])
    if way == "ltr":
        assert x >= 48 and x + wide < tip - 20
    else:
        assert x - wide > tip + 20


def test_flags_that_stand_close_hang_beside_each_other() -> None:
    """At the same offset, side by side, at the first offset, and at the right end."""
    for at in ((0, 0), (0, 1), (1, 1), (5, 5), (39, 40)):
        cells = tuple(Cell(i, f"r{i}") for i in range(max(at)))
        log = Log("orders-0", cells, (Frontier("LSO", at[0]), Frontier("HW", at[1])))
        seen = draw("logs", Trace("s", (), (), (Snapshot(logs=(log,)),)), 0)
        ends = []
        for name in ("LSO", "HW"):
            pole = re.match(
                r"translate\(([\d.-]+)", str(seen[f"flag:orders-0:{name}"].attrs["transform"])
            )
            cloth = seen[f"cloth:orders-0:{name}"].attrs
            assert pole is not None
            left = float(pole[1]) + float(cloth["x"] or 0)
            ends.append((left, left + float(cloth["width"] or 0)))
        assert ends[0][1] <= ends[1][0], at


def test_names_of_many_lanes_stand_in_stairs_and_none_is_cut() -> None:
    names = ("order-service", "coordinator", "orders-0", "payments-0", "reader", "billing")
    lanes = tuple(Lane(n, Text(n), Text("leader")) for n in names)
    facts = tuple(Fact(i, i, n, "·", Text("x")) for i, n in enumerate(names, 1))
    seen = draw("space-time", Trace("s", (), facts, (Snapshot(lanes=lanes),) * 7), 1)
    rows: dict[float, list[tuple[float, float]]] = {}
    for name in names:
        text = seen[f"lane:{name}"]
        assert text.text == name
        x, half = float(text.attrs["x"]), width(name, 12, bold=True) / 2
        rows.setdefault(float(text.attrs["y"]), []).append((x - half, x + half))
    assert len(rows) == 2
    for row in rows.values():
        assert all(a[1] < b[0] for a, b in pairwise(row))


def test_logs_show_frontiers_hatching_and_control_records() -> None:
    seen = draw("logs", sample(), 19)
    assert seen["flag:orders-0:LSO"].attrs["transform"] == "translate(40,0)"
    assert "hatch:orders-0:1" in seen and "hatch:orders-0:0" not in seen
    assert seen["box:orders-0:2"].attrs["class"] == "diamond"
    assert "fresh" in str(seen["cell:orders-0:2"].attrs["class"])
    assert "fresh" not in str(seen["cell:orders-0:0"].attrs["class"])


def test_a_frontier_out_of_sight_waits_at_the_edge_with_its_number() -> None:
    cells = tuple(Cell(i, f"r{i}", txn="T1", readable=False) for i in range(40))
    log = Log("orders-0", cells, (Frontier("LSO", 2), Frontier("HW", 40)))
    seen = draw("logs", Trace("s", (), (), (Snapshot(logs=(log,)),)), 0)
    assert seen["frontier:orders-0:LSO"].text == "◂ LSO 2"
    assert "pole:orders-0:LSO" not in seen
    assert sum(key.startswith("cell:") for key in seen) < 10


def test_an_inclusive_frontier_is_called_by_the_last_cell_before_it() -> None:
    cells = tuple(Cell(i, f"r{i}", readable=False) for i in range(40))
    log = Log("orders-0", cells, (Frontier("maxReadPosition", 0, inclusive=True),))
    seen = draw("logs", Trace("s", (), (), (Snapshot(logs=(log,)),)), 0)
    assert seen["frontier:orders-0:maxReadPosition"].text == "◂ maxReadPosition -1"


def test_aborted_records_are_struck_through() -> None:
    log = Log("p", (Cell(0, "a", txn="T1", aborted=True),))
    assert "struck:p:0" in draw("logs", Trace("s", (), (), (Snapshot(logs=(log,)),)), 0)


def test_a_reader_of_many_records_shows_the_latest_and_counts_the_rest() -> None:
    reader = Reader("read_committed", tuple(Got("p", f"r{i}") for i in range(50)))
    seen = draw("readers", Trace("s", (), (), (Snapshot(readers=(reader,)),)), 0)
    assert "got:read_committed:49" in seen
    shown = sum(key.startswith("got:") for key in seen)
    assert seen["more:read_committed"].text == f"+{50 - shown}"


def test_the_cell_of_a_table_that_changed_has_the_band() -> None:
    def table(*rows: tuple[str, ...]) -> Snapshot:
        return Snapshot(tables=(Table(Text("t"), ("key", "state"), rows),))

    shots = (table(("a", "1")), table(("a", "2")), table(("a", "2"), ("b", "1")))
    facts = tuple(Fact(i, i, "n", "▮", Text("x")) for i in (1, 2))
    trace = Trace("s", (), facts, shots)
    hot = [[k for k in draw("tables", trace, s) if k.startswith("hot:")] for s in (0, 1, 2)]
    assert hot == [[], ["hot:t:a:0:1"], ["hot:t:b:0:0", "hot:t:b:0:1"]]


def test_a_long_table_and_equal_first_columns_are_drawn() -> None:
    rows = tuple(("same", str(i)) for i in range(30))
    shot = Snapshot(tables=(Table(Text("t"), ("k", "v"), rows),))
    seen = draw("tables", Trace("s", (), (), (shot,)), 0)
    assert seen["more:t"].text == "+22"


def test_a_table_without_rows_says_so() -> None:
    shot = Snapshot(tables=(Table(Text("t"), ("k", "v"), ()),))
    assert draw("tables", Trace("s", (), (), (shot,)), 0)["empty:t"].text == "no rows"


def test_a_broken_invariant_turns_its_light_and_the_heading_red() -> None:
    lights = (Light("a", Text("holds")), Light("b", Text("is broken"), ok=False))
    seen = draw("lights", Trace("s", (), (), (Snapshot(lights=lights),)), 0)
    assert "bad" in str(seen["heading"].attrs["class"])
    assert "broken" in str(seen["lamp:b"].attrs["class"])
    assert "good" in str(seen["lamp:a"].attrs["class"])


def moneyed(*sums: tuple[int, ...]) -> Trace:
    """A run of (due, seen, missing, extra)."""
    words = Text("ordered", "已下单"), Text("seen by readers", "读者看到")
    shots = [Snapshot(money=Money(due, seen, *words, *more)) for due, seen, *more in sums]
    facts = (Fact(i, i, "n", "·", Text("x")) for i in range(1, len(sums)))
    return Trace("s", (), tuple(facts), tuple(shots))


def test_money_is_a_bar_on_one_scale_with_a_mark_and_both_sums_in_words() -> None:
    run = moneyed((0, 0), (1000, 500), (1000, 1000))
    middle, end = draw("money", run, 1), draw("money", run, 2)
    assert middle["seen"].text == "seen by readers £5.00"
    assert middle["due"].text == "ordered £10.00"
    assert middle["judged"].text == "£5.00 not settled yet"
    assert middle["rest"].attrs["class"] == "money open"
    assert "judged" not in end and "bad" not in svg("money", run, 2)
    assert middle["mark"].attrs == end["mark"].attrs, "the scale is that of the whole run"
    assert float(end["bar"].attrs["width"]) == pytest.approx(
        2 * float(middle["bar"].attrs["width"]), abs=0.2
    )


@pytest.mark.parametrize(
    ("sums", "said", "kind", "red"),
    [
        ((1000, 500, 500, 0), "£5.00 missing", "missing", {"judged", "due", "mark"}),
        ((1000, 1500, 0, 500), "£5.00 too much", "extra", {"judged", "seen"}),
        ((123456, 123456, 5, 5), "£0.05 missing · £0.05 too much", "missing", {"judged", "mark"}),
    ],
)
def test_money_is_red_and_says_how_much_is_wrong(
    sums: tuple[int, ...], said: str, kind: str, red: set[str]
) -> None:
    seen = draw("money", moneyed((1000, 0), sums), 1)
    assert seen["judged"].text == said
    assert seen["rest"].attrs["class"] == f"money {kind}"
    assert {key for key, node in seen.items() if "bad" in str(node.attrs.get("class"))} == red


def test_money_that_was_wrong_stays_red() -> None:
    run = moneyed((500, 0), (500, 0, 500, 0), (1000, 0), (1000, 500, 500, 0), (500, 500))
    said = [draw("money", run, step)["judged"].text for step in range(5)]
    assert said == [
        "£5.00 not settled yet", "£5.00 missing", "£10.00 missing", "£5.00 missing",
        "right again, but it was wrong",
    ]  # fmt: skip
    assert [node.text for node in draw("money", moneyed((7, 7)), 0).values() if node.text] == [
        "Money", "seen by readers £0.07", "ordered £0.07",
    ]  # fmt: skip


def test_the_scale_of_the_money_does_not_betray_that_a_payment_will_be_counted_twice() -> None:
    once, twice = moneyed((1000, 1000), (1000, 1000)), moneyed((1000, 1000), (1000, 1500, 0, 500))
    assert svg("money", once, 0) == svg("money", twice, 0)


def test_long_names_of_sums_are_shortened_and_never_the_figures() -> None:
    words = Text("taken from the accounts of all customers in this country of ours")
    money = Money(123_456_789_00, 123_456_788_00, words, words, missing=100)
    seen = draw("money", Trace("s", (), (), (Snapshot(money=money),)), 0)
    assert seen["seen"].text.endswith("… £123,456,788.00")
    assert seen["due"].text.endswith("… £123,456,789.00")
    left = width(seen["seen"].text, bold=True)
    assert left < float(seen["due"].attrs["x"]) - width(seen["due"].text, bold=True)


def test_no_money_no_panel() -> None:
    assert not PANELS["money"].shows(Trace("s", (), (), (Snapshot(),)))
    assert PANELS["money"].shows(moneyed((0, 0)))


@pytest.mark.parametrize("panel", ["space-time", "logs", "readers", "tables", "lights", "money"])
def test_payload_text_is_escaped_wherever_it_is_drawn(panel: str) -> None:
    shot = Snapshot(
        lanes=(Lane("a", Text(EVIL), Text(EVIL)),),
        logs=(
            Log(
                EVIL,
                (Cell(0, EVIL),),
                (Frontier(EVIL, 0),),
                progress=(Progress(EVIL, 0, (Stretch(0, 0, EVIL),)),),
            ),
        ),
        readers=(Reader(EVIL, (Got(EVIL, EVIL),), Text(EVIL)),),
        tables=(Table(Text(EVIL), (EVIL,), ((EVIL,),)),),
        lights=(Light(EVIL, Text(EVIL)),),
        money=Money(1, 0, Text(EVIL), Text(EVIL), currency=EVIL),
    )
    trace = Trace(EVIL, (), (Fact(1, 1, "a", "·", Text(EVIL), txn=EVIL),), (shot, shot))
    drawn = svg(panel, trace, 1)
    assert "<script" not in drawn
    assert "&lt;" in drawn


def test_no_scene_grows_with_the_trace() -> None:
    short, long = long_trace(100), long_trace(1_000)
    for panel in ("space-time", "logs", "readers", "tables", "money"):
        few = max(len(PANELS[panel].view(short, s)) for s in range(60, 100))
        many = len(PANELS[panel].view(long, 990))
        assert many <= few + 25, panel


def test_an_empty_run_and_an_unknown_node_are_drawn() -> None:
    empty = Trace("s", (), (), (Snapshot(),))
    assert draw("space-time", empty, 0)
    ghost = Trace("s", (), (Fact(1, 1, "ghost", "→", Text("hello"), "?"),), (Snapshot(),) * 2)
    assert draw("space-time", ghost, 1)["lab:1"].text == "hello"


def test_texts_are_measured_and_shortened() -> None:
    assert width("Wm") > width("il")
    assert width("事务", 12) == 24
    assert fit("short", 100) == "short"
    shortened = fit("a rather long label for a short place", 80)
    assert shortened.endswith("…") and width(shortened) <= 80
    lines = wrap("one two three four five six seven eight nine ten", 90, 11.5, 2)
    assert len(lines) == 2 and lines[1].endswith("…")
    assert wrap("进账等于出账永远成立", 60, 12, 3)[0] == "进账等于出"


@pytest.mark.parametrize(("ends", "closed"), [("half", True), ("", False)])
def test_a_control_record_in_another_log_ends_what_it_speaks_of(ends: str, closed: bool) -> None:
    """RocketMQ's op messages stand in a topic of their own, before or after the half topic."""
    half = Log("half", (Cell(0, "a", txn="T1"), Cell(1, "b", txn="T1")))
    op = Log("op", (Cell(0, "C", kind="control", txn="T1"),), ends=ends)
    lanes = (Lane("broker", Text("broker")),)
    facts = tuple(
        Fact(n, n, "broker", "▮", Text(f"write {n}"), "disk", txn="T1" if n < 3 else "")
        for n in (1, 2, 3, 4)
    )
    trace = Trace("toy", (), facts, (Snapshot(lanes, (op, half)),) * 5)
    span = next(span for span in plan(trace, "en", False).spans if span.lane == "broker")
    assert span.closed is closed
    assert Trace.from_json(trace.to_json()) == trace


def test_what_fits_is_shown_and_not_counted() -> None:
    """The room for "+1" is taken only where something is left out."""
    got = tuple(Got("p", label) for label in ("order-17", "invoice-16", "paid-17"))
    trace = Trace("x", (), (), (Snapshot(readers=(Reader("uncommitted", got),)),))
    seen = draw("readers", trace, 0)
    assert "more:uncommitted" not in seen
    assert [seen[f"text:uncommitted:{i}"].text for i in range(3)] == [one.label for one in got]


def test_where_nobody_reads_it_says_so() -> None:
    reader = Reader("read_committed")
    trace = Trace("x", (), (), (Snapshot(readers=(reader,)),))
    assert "nobody" not in draw("readers", trace, 0)
    trace = Trace("x", (), (), (Snapshot(),))
    assert draw("readers", trace, 0)["nobody"].text == "nobody reads at this step"


def test_no_text_of_a_picture_is_smaller_than_10_5_px() -> None:
    names = set(re.findall(r'class="([^"]+)"', Player(sample()).svg()))
    small = {name for name in names if font_of(name)[0] < 10.5}
    assert names and not small


@pytest.mark.parametrize(
    "story",
    [
        "kafka/coordinator-killed-between-markers",
        "rocketmq/broker-killed-before-offsets",
        "pulsar/ack-and-abort-exclusive",
    ],
)
def test_a_panel_is_drawn_again_only_where_its_part_has_changed(story: str) -> None:
    """And what is shown again is what would be drawn."""
    trace = open_scenario(STORIES / f"{story}.scn").run.trace
    shown = [panel for panel in PANELS.values() if panel.shows(trace)]
    for panel in shown:
        drawn = list(draw_steps(panel, trace, "en"))
        if panel.part:
            alone = [panel.view(trace, step) for step in range(len(trace) + 1)]
            assert list(map(_svg, drawn)) == list(map(_svg, alone))
    logs = list(draw_steps(PANELS["logs"], trace, "en"))
    assert len(set(map(id, logs))) <= len(logs) / 2


def _svg(scene: Scene) -> str:
    return "".join(node.svg() for node in scene.nodes)


def test_one_name_in_two_topics_is_two_lines_that_say_which() -> None:
    trace = open_scenario(STORIES / "pulsar" / "two-topics.scn").run.trace
    keys = [node.key for node in PANELS["readers"].view(trace, len(trace)).nodes]
    assert {"reader:billing · worker · orders-0", "reader:billing · worker · payments-0"} <= {*keys}


def test_a_table_of_more_columns_than_have_room_is_drawn() -> None:
    columns = tuple(f"column {i}" for i in range(14))
    table = Table(Text("t"), columns, (columns,))
    edges, _ = _lay_out_columns([table], 332)
    assert {b - a for a, b in pairwise(edges)} == {30}
