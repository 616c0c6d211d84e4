"""Spark's classes lie ready: where, for whom, and that a JVM takes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mqlab.spark import home as kept
from tests.project.sources import ROOT

MAPPED = """
from pathlib import Path
from mqlab.spark.session import process_ids, session
jvm, _ = process_ids(session())
print(*sorted({line.split()[-1] for line in Path(f"/proc/{jvm}/maps").read_text().splitlines()}))
"""


@pytest.mark.spread("mqlab/spark", "pyproject.toml")
@pytest.mark.needs("java")
def test_a_jvm_maps_the_classes_that_setup_has_written() -> None:
    # As a rule it is there. A process of its own makes it, as this one may have a session already.
    subprocess.run([sys.executable, "-m", "mqlab.spark.classes"], cwd=ROOT, check=True)
    done = subprocess.run(
        [sys.executable, "-c", MAPPED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert str(kept.find_folder() / kept.NAME) in done.stdout.split()


def test_one_home_for_all_without_the_archive_of_pyspark(tmp_path: Path) -> None:
    home = kept.make_home(tmp_path)
    assert (home / "jars").is_dir() and not (home / "python").exists()
    assert kept.make_home(tmp_path) == home
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_another_java_has_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = kept.find_folder()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert kept.find_folder() != before


def test_without_the_file_or_a_place_for_it_spark_starts_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mqlab.spark import session

    assert kept.read_flags(tmp_path) == ""
    (tmp_path / kept.NAME).touch()
    assert f'"-XX:SharedArchiveFile={tmp_path / kept.NAME}"' in kept.read_flags(tmp_path)
    monkeypatch.setattr(kept, "CACHE", tmp_path / kept.NAME)  # a file: no folder in it
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    own = tmp_path / "own"
    own.mkdir()
    assert session._find_home(own) == own / "home"
