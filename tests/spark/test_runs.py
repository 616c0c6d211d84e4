"""A run's folder: one process at a time, and each damage is named."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest

from mqlab.spark import runs
from mqlab.spark.errors import IncomeError
from mqlab.spark.sinks import SINKS


def test_a_second_process_is_refused_and_hears_who_is_there(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from mqlab.spark import runs\n"
        "with runs.open_folder(pathlib.Path(sys.argv[1])):\n"
        "    print('in', flush=True); sys.stdin.read()"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as holder:  # fmt: skip
        assert holder.stdout is not None and holder.stdout.readline() == "in\n"
        with pytest.raises(IncomeError, match=f"process {holder.pid} on .* is using this"):
            with runs.open_folder(tmp_path):
                pass
        holder.kill()
    with runs.open_folder(tmp_path):  # kill -9 has freed it
        pass


def test_a_checkpoint_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IncomeError, match="file is a file: give --checkpoint a new folder"):
        with runs.open_folder(tmp_path / "file"):
            pass


@pytest.mark.parametrize("text", ["", "{", "[]", '{"run": "x"}'])
def test_a_damaged_note_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(
        IncomeError, match=r"run\.json is damaged .* start with a fresh --checkpoint"
    ):
        runs.name_of(tmp_path, "digest", "exactly-once")


def test_a_name_stays(tmp_path: Path) -> None:
    name = runs.name_of(tmp_path, "digest", "exactly-once")
    assert runs.name_of(tmp_path, "digest", "exactly-once") == name
    with pytest.raises(IncomeError, match="a job with other orders"):
        runs.name_of(tmp_path, "other", "exactly-once")


def test_a_run_keeps_its_sink(tmp_path: Path) -> None:
    for number, (begun, other) in enumerate(permutations(SINKS, 2)):
        folder = tmp_path / str(number)
        folder.mkdir()
        runs.name_of(folder, "digest", begun)
        with pytest.raises(IncomeError, match=f"job with --sink {begun}: .* fresh .* for {other}"):
            runs.name_of(folder, "digest", other)


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full on this system")
    (tmp_path / "run.new").symlink_to("/dev/full")
    with pytest.raises(IncomeError, match=r"No space left on device.*free some space"):
        runs.name_of(tmp_path, "digest", "exactly-once")
    assert not (tmp_path / "run.json").exists(), "nothing half written is left"
