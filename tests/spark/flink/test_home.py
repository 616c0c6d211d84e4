"""Flink's own Python: whole or not there, and each obstacle in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mqlab.spark.errors import IncomeError
from mqlab.spark.flink import job


class Pip:
    """Stands in for pip: what it was told, and whether it can do it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, said: str = "") -> None:
        self.asked: list[list[Any]] = []
        self.said = said
        monkeypatch.setattr(job.subprocess, "run", self.run)
        monkeypatch.setattr(job.venv, "create", lambda folder, with_pip: folder.mkdir())

    def run(self, command: list[Any], **_: Any) -> subprocess.CompletedProcess:
        self.asked.append(command)
        return subprocess.CompletedProcess(command, int(bool(self.said)), "", self.said)


def test_without_it_the_command_that_sets_it_up_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        IncomeError, match="PyFlink is not installed: run `mqlab income flink --setup`"
    ):
        job.find_python(tmp_path)


def test_it_is_made_once_from_packages_with_their_digests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = Pip(monkeypatch)
    folder = tmp_path / "venv"
    python = job.make_python(lambda line: None, folder)
    assert python == folder / "bin" / "python" == job.find_python(folder)
    job.make_python(lambda line: None, folder)
    assert len(pip.asked) == 1
    assert {"--require-hashes", job.LOCK} <= set(pip.asked[0])


def test_with_another_list_of_packages_it_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = Pip(monkeypatch)
    folder = tmp_path / "venv"
    job.make_python(lambda line: None, folder)
    newer = tmp_path / "newer.lock"
    newer.write_text("apache-flink==9.9\n")
    monkeypatch.setattr(job, "LOCK", newer)
    with pytest.raises(IncomeError, match="is not installed"):
        job.find_python(folder)
    job.make_python(lambda line: None, folder)
    assert len(pip.asked) == 2


def test_what_pip_says_is_passed_on_and_nothing_counts_as_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pip(monkeypatch, said="WARNING: retrying\nERROR: no such package\nERROR: at all\n")
    with pytest.raises(IncomeError, match="could not install PyFlink: ERROR: no such package;"):
        job.make_python(lambda line: None, tmp_path / "venv")
    with pytest.raises(IncomeError, match="is not installed"):
        job.find_python(tmp_path / "venv")


def test_a_python_that_flink_does_not_know_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = Pip(monkeypatch)
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    with pytest.raises(IncomeError, match=r"3\.11 and 3\.12, and this is 3\.14: run `make clean`"):
        job.make_python(lambda line: None, tmp_path / "venv")
    assert not pip.asked
