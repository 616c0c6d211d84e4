"""What a reader needs is whole, and a label that fits nowhere is cut where most of it is seen."""

from __future__ import annotations

from mqlab_widgets.views.common import ROW
from mqlab_widgets.views.space_time import EDGE

from mqlab.kernel.snapshot import Lane, Snapshot
from mqlab.kernel.text import Text
from mqlab.kernel.trace import Fact, Trace
from mqlab.registry import scenario

from .sample import sample
from .test_views import draw


def test_a_label_that_fits_nowhere_is_cut_where_most_of_it_is_seen() -> None:
    lanes = tuple(Lane(n, Text(n)) for n in "abcdef")
    fact = Fact(1, 1, "a", "→", Text("SyncGroup accounting " * 8), "f")
    seen = draw("space-time", Trace("s", (), (fact,), (Snapshot(lanes=lanes),) * 2), 1)
    first, second = str(seen["lab:1"].text), str(seen["lab:1:1"].text)
    assert first.startswith("SyncGroup") and "…" in second and len(first) > 30 < len(second)
    assert " mid " in str(seen["lab:1"].attrs["class"])


def test_the_number_of_rows_folded_before_the_first_in_sight_is_whole() -> None:
    run = sample()
    drawn = [draw("space-time", run, step) for step in range(len(run) + 1)]
    folds = [node for seen in drawn for key, node in seen.items() if key.startswith("fold:")]
    assert folds
    below = [float(fold.attrs["y"]) % ROW for fold in folds]
    assert all(0.73 * 10.5 - y <= EDGE for y in below), "digits are 0.73 of their size high"


def test_coordinators_rows_are_whole_beside_the_diagram() -> None:
    run = scenario("""
system charges producers=old:order-service partitions=1
run old: init, begin, send charges-0 580538, commit
""")
    tables = (draw("tables", run, step).values() for step in range(len(run) + 1))
    shown = {part.text for table in tables for part in table if part.text}
    assert {"order-service", "PrepareCommit", "{charges-0}"} <= shown
    assert not [text for text in shown if "…" in text]
