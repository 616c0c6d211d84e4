"""A job's processes: heard, killed together, and what the next one begins from. A shell plays
Flink's Python here."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mqlab.spark.errors import IncomeError
from mqlab.spark.flink.job import Flink, Process, last_checkpoint, last_words, number_of
from mqlab.spark.flink.statements import Job


@pytest.fixture
def play(tmp_path: Path):
    """A `Flink` whose Python does these lines of shell; beside it the job."""

    def make(*lines: str) -> tuple[Flink, Job]:
        python = tmp_path / "python"
        python.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        python.chmod(0o755)
        job = Job("there:1", "Order", "Income", (1, 2), "exactly-once", tmp_path / "job",
                  tmp_path / "connector.jar")  # fmt: skip
        return Flink(python, job.jar), job

    return make


def test_it_is_told_the_job_and_says_how_long_it_took(play) -> None:
    flink, job = play(
        "read task", 'echo "$task" > ' + "$FLINK_LOG_DIR/task",
        'echo noise; echo \'{"up": 10.5, "done": 14.0}\'',
    )  # fmt: skip
    with Process(flink, job) as process:
        process.wait()
        assert process.ended and process.job_s == 3.5
    told = (job.folder / "task").read_text()
    assert '"statements"' in told and "INSERT INTO income" in told


def test_its_last_words_are_passed_on(play) -> None:
    flink, job = play("read task", "echo 'Caused by: no such topic'; echo '... 14 more'; exit 1")
    with Process(flink, job) as process, pytest.raises(IncomeError, match="failed: no such topic"):
        process.wait()


def test_one_that_cannot_even_read_its_job_is_heard(play) -> None:
    flink, job = play("echo 'no module named pyflink' >&2; exit 3")
    with Process(flink, job) as process, pytest.raises(IncomeError, match="no module named pyfl"):
        process.wait()


def test_a_kill_gets_the_processes_that_it_has_started(play) -> None:
    """The child writes a line every tenth of a second: none comes any more."""
    flink, job = play(
        "(while :; do echo beat >> $FLINK_LOG_DIR/beats; sleep 0.1; done) &", "read task; wait"
    )
    beats = job.folder / "beats"
    with Process(flink, job) as process:
        while not beats.exists():
            time.sleep(0.05)
        process.kill()
        process.wait()
        assert process.ended
    heard = beats.read_text()
    time.sleep(0.5)
    assert beats.read_text() == heard


def test_the_newest_checkpoint_that_is_complete(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None and number_of(None) == 0
    for name in ("first/chk-9", "first/chk-10", "second/chk-11"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "first/chk-9/_metadata").touch()
    assert last_checkpoint(tmp_path) == tmp_path / "first/chk-9"
    (tmp_path / "first/chk-10/_metadata").touch()
    found = last_checkpoint(tmp_path)
    assert found == tmp_path / "first/chk-10" and number_of(found) == 10


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "its log is empty"),
        ("Traceback\n  File\nKeyError: 'x'\n", "KeyError: 'x'"),
        ("Caused by: outer\n  at a\nCaused by: inner\n  at b\n", "inner"),
    ],
)
def test_the_innermost_cause_is_what_counts(log: str, said: str) -> None:
    assert last_words(log) == said
