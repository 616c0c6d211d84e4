"""The table of both jobs: what it says, what it expects, and how it is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mqlab.lessons.spark.lab11 import recorded_kills
from mqlab.spark.flink.statements import RECORDING, Instant, Table, Trial

RIGHT = Trial("Flink 2.2.1", "exactly-once", Instant.DECIDED, "", 0, 0, 12.34)
DOUBLED = Trial("Spark 4.3.0", "at-least-once", Instant.OUT, "+12.8 %", 17, 17, 20.0)


def test_a_trial_is_a_line_and_the_verdict_comes_last() -> None:
    head, first, second, verdict, *notes = str(Table(5331, (DOUBLED, RIGHT))).splitlines()
    texts, numbers = head[:54].split(), head[54:].split()
    assert (texts, numbers) == (
        ["job", "sink", "killed"],
        ["income", "twice", "seen", "twice", "seconds"],
    )
    assert first.split("  ")[0] == "Spark 4.3.0" and "rows out, nothing decided" in first
    assert first[54:].split() == ["+12.8", "%", "17", "17", "20.0"]
    assert second.endswith(" ok     0          0    12.3")
    assert verdict == "5,331 order lines: as it must be" and len(notes) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        replace(RIGHT, error="+3.0 %"),
        replace(DOUBLED, error=""),
        replace(DOUBLED, killed=Instant.NEVER),
    ],
    ids=["exactly once doubled", "at least once did not", "doubled without a kill"],
)
def test_what_must_not_come_out_is_marked(wrong: Trial) -> None:
    table = Table(5331, (RIGHT, DOUBLED, wrong))
    assert not table.as_expected and Table(5331, (RIGHT, DOUBLED)).as_expected
    *trials, verdict = str(table).splitlines()[1:-3]
    assert [" ! " in line for line in trials] == [False, False, True]
    assert verdict.endswith("cells marked ! are not as expected")


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    table = Table(5331, (RIGHT, DOUBLED))
    assert Table.from_json(table.to_json()) == table
    kept = tmp_path / "kills.json"
    kept.write_text(table.to_json(), "utf-8")
    assert recorded_kills(kept) == str(table)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"orders": 1, "trials": [{}]}',
                                  '{"orders": 1, "trials": [{"killed": "at lunch"}]}'])  # fmt: skip
def test_a_damaged_file_says_how_to_make_it_anew(tmp_path: Path, text: str) -> None:
    kept = tmp_path / "kills.json"
    kept.write_text(text)
    assert "`mqlab income flink --record` makes one" in recorded_kills(kept)


def test_without_a_file_too(tmp_path: Path) -> None:
    assert "there is no recorded table" in recorded_kills(tmp_path / "none")


def test_the_recorded_run_was_a_right_one_of_both_jobs() -> None:
    table = Table.from_json(RECORDING.read_text("utf-8"))
    assert table.as_expected and table.orders == 5331
    jobs = {trial.job for trial in table.trials}
    assert jobs == {"Spark 4.3.0", "Flink 2.2.1"}
    for job in jobs:
        of = {(t.sink, t.killed): t for t in table.trials if t.job == job}
        assert {killed for sink, killed in of if sink == "exactly-once"} == set(Instant)
        aborted = of["exactly-once", Instant.OUT]
        assert aborted.seen > 0 == aborted.twice, "rows that were aborted are there for some"
        assert of["at-least-once", Instant.OUT].twice > 0
    assert recorded_kills() == str(table)
