"""A checkpoint with a part that is missing or damaged is named before Spark is started.

Spark 4.3.0 was asked with each of these: it starts over gaps among the commits, and of a missing
folder it says a plan or raises an error of Java.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mqlab.spark.errors import IncomeError
from mqlab.spark.files import STATES, check
from mqlab.spark.runs import read_span


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three batches begun, two done, as Spark leaves it when it is killed."""
    spark = tmp_path / "income"
    for name in ("offsets", "commits", *(f"state/0/{part}" for part in range(STATES))):
        (spark / name).mkdir(parents=True)
    (tmp_path / "run.json").write_text("{}")
    (spark / "metadata").write_text(json.dumps({"id": "4ccac0dc"}))
    for batch in range(3):
        cut = {"batch": batch + 1, "until": f"2011-12-05 08:4{batch}", "0": batch, "1": 0}
        (spark / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{json.dumps(cut)}")
    for batch in range(2):
        (spark / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
        for part in range(STATES):
            (spark / "state" / "0" / str(part) / f"{batch + 1}.delta").write_bytes(b"")
    return tmp_path


def remove(name: str) -> Callable[[Path], None]:
    def damage(spark: Path) -> None:
        path = spark / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


def write(name: str, text: str) -> Callable[[Path], None]:
    return lambda spark: (spark / name).write_text(text) and None


def make_file(name: str) -> Callable[[Path], None]:
    def damage(spark: Path) -> None:
        shutil.rmtree(spark / name)
        (spark / name).write_text("")

    return damage


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (remove("metadata"), "income/metadata is missing"),
    (write("metadata", ""), "income/metadata is damaged"),
    (write("metadata", "junk"), "income/metadata is damaged"),
    (remove("offsets"), "income/offsets is missing"),
    (remove("offsets/0"), "income/offsets/0 is missing"),
    (remove("offsets/1"), "income/offsets/1 is missing"),
    (write("offsets/2", "v1\nx"), "income/offsets/2 is damaged"),
    (write("offsets/2", 'v1\n{}\n{"batch": 3}'), "cannot read .*income/offsets/2 "),
    (remove("commits"), "income/commits is missing"),
    (remove("commits/0"), "income/commits/0 is missing"),
    (remove("commits/1"), "income/commits/1 is missing"),
    (write("commits/1", "x"), "income/commits/1 is damaged"),
    (remove("state"), "income/state is missing"),
    (make_file("state"), "income/state/0 is missing"),
    (remove("state/0/1"), "income/state/0/1 is missing"),
    (remove("state/0/1/2.delta"), r"income/state/0/1/2\.delta is missing"),
    (remove("../run.json"), r"run\.json is missing"),
    (make_file("."), "income is a file, not a folder"),
    (write("../run.json", "junk"), r"run\.json is damaged"),
    (write("commits/1", "v1\n" + "[" * 100_000), "income/commits/1 is damaged"),
    (write("commits/99", ""), "income/commits/2 is missing"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGES, ids=[words for _, words in DAMAGES])
def test_a_damaged_part_is_named_with_what_to_do(
    folder: Path, damage: Callable[[Path], None], words: str
) -> None:
    damage(folder / "income")
    with pytest.raises(IncomeError, match=f"{words}.* fresh --checkpoint"):
        check(folder)


@pytest.mark.parametrize("lost", ["offsets/2", "commits/1"])
def test_a_run_goes_on_wherever_it_was_killed(folder: Path, lost: str) -> None:
    check(folder)
    spark = folder / "income"
    if lost == "commits/1":  # killed between `offsets/1` and `commits/1`
        (spark / "offsets" / "2").unlink()
    (spark / lost).unlink()
    check(folder)


@pytest.mark.parametrize("name", ["²", "٣", "notes.txt", ".5.tmp"])
def test_a_file_that_is_no_batch_is_passed_over(folder: Path, name: str) -> None:
    (folder / "income" / "commits" / name).write_text("")
    check(folder)


@pytest.mark.parametrize("span", [[1], "abc", {"a": 1}, ["x"] * 4, [None] * 4, 5])
def test_a_note_with_other_times_is_damaged(tmp_path: Path, span: object) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"span": span}))
    with pytest.raises(IncomeError, match=r"run\.json is damaged .* fresh --checkpoint"):
        read_span(tmp_path)


def test_a_new_folder_is_no_damage(tmp_path: Path) -> None:
    check(tmp_path)
    (tmp_path / "income" / "offsets").mkdir(parents=True)
    check(tmp_path)
