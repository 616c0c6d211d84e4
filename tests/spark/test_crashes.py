"""Killed anywhere, the job with the progress record is right; the other two sinks are wrong where
they must be. Each run has every sink, killed around its commit; four commits have every pair."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mqlab.spark.errors import IncomeError
from mqlab.spark.files import DAY, read, read_lines
from mqlab.spark.kills import Kill, Killed, Point
from mqlab.spark.sinks import DATABASES

pytestmark = pytest.mark.needs("java")
KILLED = 3  # the batch
spread = pytest.mark.spread("mqlab/spark")


def cells(sinks: Iterable[str], points: Iterable[Point], *every_run: tuple[str, Point]) -> Any:
    """Each sink with each kill point, as parameters; one that is not of every run is spread."""
    return pytest.mark.parametrize(
        ("sink", "point"),
        [
            pytest.param(sink, point, id=f"{sink}-{point.name}", marks=marks)
            for sink, point in product(sinks, points)
            for marks in [() if (sink, point) in every_run else spread]
        ],
    )


@pytest.fixture(scope="module")
def setup(broker_address: str, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Topic Order with the day, in 5 batches to be quick; the cells read it together."""
    from mqlab.spark.crashes import prepare

    return prepare(broker_address, DAY, tmp_path_factory.mktemp("chaos"), KILLED, minutes=110)


@cells(
    ["at-least-once", "transactions", "exactly-once"], Point,
    ("at-least-once", Point.OUT), ("transactions", Point.COMMITTED),
    ("exactly-once", Point.OUT), ("exactly-once", Point.COMMITTED),
)  # fmt: skip
def test_soft_kill(setup: Any, sink: str, point: Point) -> None:
    from mqlab.spark.crashes import run_cell

    cell = run_cell(setup, sink, point, hard=False)
    assert cell.as_expected, cell
    if sink == "exactly-once":
        assert cell.error == ""


@cells(["two-phase"], Point, ("two-phase", Point.COMMITTED))
def test_a_two_phase_sink_ends_what_it_finds_open_by_the_checkpoint(
    setup: Any, sink: str, point: Point
) -> None:
    from mqlab.spark.crashes import run_cell

    cell = run_cell(setup, sink, point, hard=False)
    assert cell.error == "" and cell.as_expected
    after = point in (Point.NEXT, Point.SOURCE)
    assert (KILLED in cell.redone) is not after, "after the checkpoint only the commit is redone"


@cells(DATABASES, [Point.HALF, Point.COMMITTED], ("a database", Point.COMMITTED))
def test_a_database_doubles_where_its_transaction_lacks_the_progress(
    setup: Any, sink: str, point: Point
) -> None:
    from mqlab.spark.crashes import run_cell

    cell = run_cell(setup, sink, point, hard=False)
    assert cell.as_expected, cell


#: without batch 5 at SOURCE: no offsets/6 is written, as nothing comes after batch 5
LAST = [
    pytest.param(batch, point, marks=() if (batch, point) == (4, Point.NEXT) else spread)
    for batch, point in product((4, 5), Point)
    if (batch, point) != (5, Point.SOURCE)
]


@pytest.mark.parametrize(("batch", "point"), LAST, ids=str)
def test_killed_in_the_last_batches_the_last_minutes_come_out(
    setup: Any, batch: int, point: Point
) -> None:
    """Batch 4 has the last orders, batch 5 closes their minutes. Spark forgets at a restart that
    such a batch is due: killed after commits/4, the job once lost everything of batch 4."""
    from mqlab.spark.crashes import run_cell

    last = replace(setup, batch=batch)
    cell = run_cell(
        last, "exactly-once", point, hard=False, name=f"{setup.run}-{batch}-{point.name}"
    )
    assert cell.error == ""


def test_kill_9_of_jvm_and_driver(setup: Any) -> None:
    """The cell that matters most: committed, and Spark does not know. The job is started again in
    a process of its own too, as it would be in life."""
    from mqlab.spark import crashes, job

    target = crashes.target_of(setup, f"{setup.run}-killed")
    job.create_topics(target)
    crashes.kill_hard(setup, target, "exactly-once", Point.COMMITTED)
    crashes.run_apart(setup, target, "exactly-once")
    rows = job.read_rows(target.address, target.topic)
    assert rows and job.error_of(rows, setup.true) == ""


def test_a_job_that_hangs_is_not_taken_for_a_killed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from mqlab.spark import crashes

    monkeypatch.setattr(crashes, "HARD_S", 1)
    sleeper = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    setup: Any = SimpleNamespace(
        victims=SimpleNamespace(take=lambda: sleeper), plan=None, batch=1, minutes=1
    )
    with pytest.raises(IncomeError, match=r"not ended after \d+ s"):
        crashes.kill_hard(setup, None, "exactly-once", Point.OUT)  # type: ignore[arg-type]
    assert sleeper.returncode is not None, "it was killed"


@pytest.mark.parametrize("point", [Point.OUT, Point.COMMITTED], ids=lambda point: point.name)
def test_dead_letters_are_exact_after_a_kill(
    broker_address: str, spark: Any, tmp_path: Path, point: Point
) -> None:
    from mqlab.spark import feeder, job, topics
    from mqlab.spark.cuts import Plan

    lines = [
        line | {"Quantity": "?"} if number % 10 == 0 else line
        for number, line in enumerate(read_lines(DAY)[:300])
    ]
    records = feeder.records_of(read(lines))
    names = job.Names(job.run_name(broker_address, tmp_path, records, "exactly-once"))
    feeder.feed(broker_address, names.order, records)
    target = names.target(broker_address, tmp_path)
    job.create_topics(target)
    with pytest.raises(Killed):
        job.run_income(spark, target, "exactly-once", Plan(minutes=50), Kill(point, 1))
    job.run_income(spark, target, "exactly-once", Plan(minutes=50))
    letters = [json.loads(value) for value in topics.read_values(broker_address, target.dead)]
    places = [(letter["partition"], letter["offset"]) for letter in letters]
    assert len(places) == len(set(places)) == 30
