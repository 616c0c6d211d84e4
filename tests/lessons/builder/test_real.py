"""Lab 13's last experiment, as the notebook has it, with a right coordinator beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mqlab.lab import say
from mqlab.lessons.lab13 import check_mine, serve
from tests.lessons.builder.wrong import LABS

LAB = LABS / "source" / "13-build-a-coordinator.py"


def test_a_released_client_commits_through_the_file_beside_the_notebook(
    tmp_path: Path,
    rights: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("confluent_kafka", reason="needs confluent-kafka: run `make setup`")
    cells = LAB.read_text("utf-8").split("# %%")
    (cell,) = (one for one in cells if "def count_committed" in one)
    shutil.copy(rights / "sitting-5.py", tmp_path / "coordinator.py")
    monkeypatch.chdir(tmp_path)
    given = {"check_mine": check_mine, "serve": serve, "say": say}
    exec(compile(cell, "lab 13", "exec"), given)
    assert "20 payments, 20 invoices" in capsys.readouterr().out
