"""Rows below a log's strip: how far each of its readers has come."""

from __future__ import annotations

from mqlab_widgets.scene import Node
from mqlab_widgets.widths import width

from mqlab.kernel.snapshot import Cell, Log, Progress, Snapshot, Stretch
from mqlab.kernel.trace import Trace

from .test_views import draw


def read_by(*readers: Progress, cells: int = 4, name: str = "orders-0") -> dict[str, Node]:
    """The strip of a log, with a row for each of its readers."""
    log = Log(name, tuple(Cell(i, f"r{i}") for i in range(cells)), progress=readers)
    return draw("logs", Trace("s", (), (), (Snapshot(logs=(log,)),)), 0)


def test_each_reader_of_a_log_has_a_row_below_its_strip() -> None:
    held = Stretch(1, 1, "T1", refused="T2")
    seen = read_by(
        Progress("billing", 1, (Stretch(0, 0), held, Stretch(2, 2))), Progress("audit", 0)
    )
    done = [seen[f"done:orders-0:billing:{at}:"].attrs for at in (0, 2)]
    assert [float(a["x"]) for a in done] == [0, 84] and {a["width"] for a in done} == {38}
    assert seen["by:orders-0:billing:1:T1"].text == "T1"
    assert "cross" in str(seen["refused:orders-0:billing:1:T1"].attrs["class"])
    assert seen["cursor:orders-0:billing"].attrs["transform"] == "translate(40,0)"
    names = [float(seen[f"reader:orders-0:{name}"].attrs["y"]) for name in ("billing", "audit")]
    assert names == sorted(names) and names[1] - names[0] > 12
    assert "free:orders-0:audit:3" in seen and "done:orders-0:audit:0:" not in seen


def test_what_a_reader_has_done_long_ago_ends_at_the_edge() -> None:
    seen = read_by(Progress("s", 38, (Stretch(0, 37),)), Progress("far", 2), cells=40)
    bar = seen["done:orders-0:s:0:"].attrs
    first = min(int(key.rpartition(":")[2]) for key in seen if key.startswith("free:orders-0:s:"))
    assert float(bar["x"]) == first * 42
    assert float(bar["x"]) + float(bar["width"]) == 37 * 42 + 38
    assert "cursor:orders-0:far" not in seen


def test_short_names_stand_beside_rows_where_a_long_one_stands_above_its_strip() -> None:
    logs = (
        Log("orders-0", (Cell(0, "a"),), progress=(Progress("billing", 0),)),
        Log("__a_log_with_a_very_long_name", (Cell(0, "b"),)),
    )
    seen = draw("logs", Trace("s", (), (), (Snapshot(logs=logs),)), 0)
    assert float(seen["view:orders-0"].attrs["x"]) > width("orders-0", 11.5, bold=True)
    assert float(seen["view:__a_log_with_a_very_long_name"].attrs["x"]) == 0
