"""An installed mqlab has what a clone has: a wheel is unpacked and used in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mqlab.lessons.course.notebooks import read, read_language
from mqlab.places import LABS
from mqlab.site.pages import DOCUMENTS, SOURCES
from tests.project.chinese import CJK
from tests.project.sources import ROOT

#: what students, and those who teach, read from; a file of each kind
BROUGHT = (
    "labs/07-markers-and-lso.ipynb", "labs/source/07-markers-and-lso.py", "labs/instructor/07.md",
    "labs/coordinator/begin.py", "labs/reports/kafka-lost-marker/lost_marker.py",
    "labs/check_round/begin.py", "labs/pending_acks/begin.py",
    "datasets/orders-2011-12-05.csv", "datasets/scenarios/kafka/torn-read.scn",
    "datasets/recordings/flink-2.2.1/kills.json", "datasets/recordings/SHA256SUMS",
    ".ci/setup", ".ci/etc/jupyter/jupyter_server_config.d/zz-mqlab.json", "requirements.lock",
)  # fmt: skip

BARE = ("-S", "-m", "mqlab")
#: Java that commands run: a broker with a hand on its clocks, and clients that write histories
JAVA = {
    "mqlab/real/pulsar/History.java", "mqlab/real/rocketmq/History.java",
    "mqlab/real/rocketmq/RoundHost.java",
}  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def unpacked(wheel: Path) -> Path:
    with zipfile.ZipFile(wheel) as zipped:
        zipped.extractall(wheel.parent / "unpacked")
    return wheel.parent / "unpacked"


def run(unpacked: Path, folder: Path, *words: str) -> str:
    """What Python prints in this folder; with `-S` it has no other package than the wheel."""
    command = [sys.executable, *words]
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_brings_labs_and_data_and_stays_small(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as zipped:
        names = set(zipped.namelist())
    files = (path for path in SOURCES.rglob("*") if "__pycache__" not in path.parts)
    pages = [path.relative_to(ROOT).as_posix() for path in files if path.is_file()]
    assert {f"mqlab/shipped/{name}" for name in (*BROUGHT, *pages, *DOCUMENTS)} <= names
    assert "mqlab/lessons/questions/07.toml" in names
    assert {name.partition("/")[0] for name in names if "dist-info" not in name} == {
        "mqlab", "mqlab_widgets",
    }  # fmt: skip
    assert not any(name.endswith(".pyc") or "/solutions/" in name for name in names)
    assert wheel.stat().st_size < 12_000_000


def test_it_brings_neither_tests_nor_other_clients(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as zipped:
        names = zipped.namelist()
    assert {name for name in names if name.endswith(".java")} == JAVA
    assert not [name for name in names if "tests/" in name or "/oracle/" in name]
    assert not [name for name in names if name.endswith((".go", "go.mod", "package.json"))]


@pytest.mark.parametrize("words", ["kafka compare", "pulsar record abort", "rocketmq cost"])
def test_what_needs_a_clone_says_so(unpacked: Path, tmp_path: Path, words: str) -> None:
    code = f"from mqlab.cli import main; print(main('real {words}'.split()))"
    said = run(unpacked, tmp_path, "-c", f"import sys; sys.stderr = sys.stdout; {code}")
    told, status = said.splitlines()
    assert "clone the project, run `make setup` there, and ask again" in told and status == "2"


def test_lab_14_asks_its_programs_without_a_clone(unpacked: Path, tmp_path: Path) -> None:
    names = "'segments', 'claimed-in-compressed', 'client-confluent-kafka'"
    code = f"from mqlab.lessons.laid import ask_both; print(*ask_both({names}), sep='\\n')"
    said = run(unpacked, tmp_path, "-c", code)
    assert "segments: 13 lines, 1 of them differ" in said
    assert "OffsetFetch accounting" in said, "raw requests, after the library's own story"


def test_a_story_plays_by_its_name_without_another_package(unpacked: Path, tmp_path: Path) -> None:
    said = run(unpacked, tmp_path, *BARE, "run", "kafka/torn-read")
    assert "1 of 1 scenarios as expected" in said
    assert str(unpacked) in said, "the wheel's own, not the clone's"
    run(unpacked, tmp_path, *BARE, "view", "kafka/basic-commit", "-o", "run.json")
    assert "recorded on Kafka" in (tmp_path / "run.json").read_text("utf-8"), "found in the wheel"
    run(unpacked, tmp_path, *BARE, "view", "kafka/torn-read", "--no-browser")
    assert (tmp_path / "torn-read.html").stat().st_size > 100_000


def test_the_day_of_orders_needs_no_other_package(unpacked: Path, tmp_path: Path) -> None:
    read = "from mqlab.spark.files import DAY, read_lines; print(DAY, len(read_lines(DAY)))"
    day, _, lines = run(unpacked, tmp_path, "-S", "-c", read).rpartition(" ")
    assert Path(day).is_relative_to(unpacked) and int(lines) > 5_000


def test_a_lab_is_laid_out_in_the_current_folder(unpacked: Path, tmp_path: Path) -> None:
    run(unpacked, tmp_path, "-m", "mqlab", "labs", "renew", "07")
    assert [path.name for path in tmp_path.iterdir()] == ["my-labs"]
    assert (tmp_path / "my-labs" / "07-markers-and-lso.ipynb").is_file()


def test_the_labs_in_chinese_are_made_where_they_are_asked_for(
    wheel: Path, unpacked: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheel) as zipped:
        assert not any("labs/zh/" in name for name in zipped.namelist())
    run(unpacked, tmp_path, "-m", "mqlab", "labs", "copy", "--lang", "zh")
    copies = sorted((tmp_path / "my-labs").glob("*.ipynb"))
    assert [path.name for path in copies] == sorted(path.name for path in LABS.glob("*.ipynb"))
    for path in copies:
        notebook = read(path)
        assert read_language(notebook) == "zh", path
        assert re.search(f"[{CJK}]", notebook.cells[0].source), path
    assert not (unpacked / "mqlab" / "shipped" / "labs" / "zh").exists()
