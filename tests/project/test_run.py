"""The runner behind `make test`: what it counts, and when it says no."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest

from tests import conftest, run

RESULTS = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><error/></testcase>
<testcase name="d"><skipped message="Java 17 or 21 is missing: install it"/></testcase>
</testsuite></testsuites>"""


def test_counts_what_pytest_wrote(tmp_path: Path) -> None:
    file = tmp_path / "results.xml"
    file.write_text(RESULTS)
    result = run.Result("kafka")
    run._count(result, file)
    assert (result.passed, result.failed, result.skipped.total()) == (1, 2, 1)


@pytest.mark.parametrize(("strict", "code"), [(False, 0), (True, 1)])
def test_a_skip_is_listed_and_fails_when_strict(
    strict: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run.Result("spark", seconds=1.0, passed=2)
    result.skipped["Java 17 or 21 is missing: install it"] = 3
    assert run.report([result], 1.0, strict) == code
    out = capsys.readouterr().out
    assert "  3 × Java 17 or 21 is missing: install it" in out
    assert out.splitlines()[-1] == "2 passed, 0 failed, 3 skipped"


def test_a_part_that_dies_without_results_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "OUT", tmp_path)
    assert run.run("types", ["-c", "raise SystemExit(3)"]).failed == 1
    assert run.run("types", ["-c", ""]).passed == 1


def test_a_part_keeps_what_python_has_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "OUT", tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    asked = "import sys; sys.exit(sys.dont_write_bytecode)"
    assert run.run("types", ["-c", asked]).passed == 1


@pytest.mark.parametrize("written", ["", "<testsuites><testcase name='a'/></testsuites>", "<tests"])
def test_a_part_that_a_signal_ends_has_failed_and_says_so(
    written: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whatever it had written of its results by then."""
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "OUT", tmp_path)
    write = f"open('spark.xml', 'w').write({written!r})" if written else ""
    result = run.run("spark", ["-c", f"import os; {write}\nos.kill(os.getpid(), 9)"])
    assert result.failed and result.row().endswith("died: SIGKILL")
    assert run.report([result], 1.0, strict=False) == 1
    assert "spark was ended by SIGKILL." in capsys.readouterr().out


STORY = """
import pathlib, pytest
seen = pathlib.Path(__file__).with_name("seen")
def test_good(): pass
@pytest.mark.parametrize("n", [1, 2])
def test_by_chance(n):
    if n == 2 and not seen.exists():
        seen.touch()
        raise AssertionError
def test_skipped_then(request):
    if seen.exists() and request.config.getoption("numprocesses") == 0: pytest.skip("gone")
    raise AssertionError
@pytest.fixture
def wrong():
    yield
    raise ValueError
def test_bad(wrong): raise AssertionError
"""


def test_what_failed_runs_once_more_by_itself_and_what_fails_twice_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "OUT", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_story.py").write_text(STORY)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:nbval\n")
    command = run._pytest("kafka", "tests")
    result = run.run("kafka", command)
    assert (result.passed, result.failed) == (2, 4), "a fault of a test and of its fixture are two"
    run.run_again(result, command)
    assert result.by_chance == ["tests/test_story.py::test_by_chance[2]"]
    left = {"tests/test_story.py::test_bad": 2, "tests/test_story.py::test_skipped_then": 1}
    assert (result.failed, result.failures) == (3, left)
    assert run.report([result], 1.0, strict=False) == 1
    out = capsys.readouterr().out
    assert "To be fixed next:\n  tests/test_story.py::test_by_chance[2]\n" in out
    result = run.Result("kafka", passed=1, by_chance=["a::b"])
    (tmp_path / "kafka.log").touch()
    assert run.report([result], 1.0, strict=True) == 0


def test_many_failures_are_not_by_chance_and_a_notebook_runs_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(run, "run", lambda name, words: asked.append(words) or run.Result(name))
    result = run.Result("labs", failed=2)
    file = tmp_path / "results.xml"
    file.write_text(
        "<testsuites><testcase file='labs/x.ipynb' name='Cell 3'><failure/></testcase>"
        "<testcase file='labs/x.ipynb' name='Cell 4'><failure/></testcase></testsuites>"
    )
    run._count(result, file)
    run.run_again(result, [*run.parts()["labs"], "--spread=3"])
    assert asked[0][-1] == "labs/x.ipynb" and "tests/labs" not in asked[0]
    assert "--spread=3" not in asked[0], "no conftest is loaded that knows it"
    assert "--nbval-lax" in asked[0]
    result.failures.update(f"tests/x.py::test_{n}" for n in range(run.MOST_AGAIN))
    run.run_again(result, run.parts()["labs"])
    assert len(asked) == 1


SPREAD = """
import pytest
@pytest.mark.spread()
@pytest.mark.parametrize("n", range(40))
def test_dealt(n): pass
@pytest.mark.spread(by="lab")
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("lab", [f"{n:02}-lab" for n in range(12)])
def test_by_lab(lab, size): pass
@pytest.mark.spread("mqlab/serve")
def test_of_a_folder(): pass
def test_always(): pass
"""


class Collected:
    """Notes the names of the tests that would run."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.names = [item.name for item in session.items]


def collect(folder: Path, *options: str, file: str = "test_it.py") -> list[str]:
    conftest.changed.cache_clear()
    words = ["--collect-only", "-qq", "-pno:cacheprovider"]
    pytest.main([*words, *options, str(folder / file)], [conftest, found := Collected()])
    return found.names


def dealt(names: Iterable[str]) -> set[str]:
    return {name for name in names if name.startswith("test_dealt")}


def git(folder: Path, words: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *who, *words.split()], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The marked tests in a repository with one commit before, and one change."""
    folder = tmp_path.resolve()
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a second for each collection

    (folder / "test_it.py").write_text(SPREAD)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:nbval\nmarkers = spread\n")
    for words in ("init", "add .", "commit -m one", "commit -m two --allow-empty"):
        git(folder, words)
    return folder


def test_four_commits_take_everything_that_is_spread(repository: Path) -> None:
    every = collect(repository)
    assert len(every) == 40 + 24 + 2
    turns = [collect(repository, f"--spread={number}") for number in range(4)]
    assert collect(repository, "--spread=5") == turns[1]
    assert all("test_always" in turn for turn in turns)
    assert {len(dealt(turn)) for turn in turns} == {10}
    assert sorted(name for turn in turns for name in turn) == sorted([*every, *["test_always"] * 3])
    for turn in turns:
        labs = [name for name in turn if name.startswith("test_by_lab")]
        assert len(labs) == 6
        assert all(f"{name[:-2]}{size}]" in labs for name in labs for size in (1, 2))


def test_four_commits_take_a_folders_files_each_whole(repository: Path) -> None:
    (repository / "pages").mkdir()
    for name in "abcde":
        text = f"pytestmark = pytest.mark.spread(by='file')\ndef test_{name}(): pass\n"
        twice = text + f"def test_{name}_too(): pass\n"
        (repository / "pages" / f"test_{name}_page.py").write_text(f"import pytest\n{twice}")
    for words in ("add .", "commit -m three", "commit -m four --allow-empty"):
        git(repository, words)
    turns = [collect(repository, f"--spread={number}", file="pages") for number in range(4)]
    assert sorted(len(turn) for turn in turns) == [2, 2, 2, 4]
    whole = [[f"test_{name}", f"test_{name}_too"] for name in "abcde"]
    assert sorted(chain(*turns)) == sorted(chain(*whole))
    assert all(set(pair) <= set(turn) for turn in turns for pair in whole if pair[0] in turn)


@pytest.mark.parametrize(
    ("file", "whole"),
    [
        ("test_it.py", ["test_dealt", "test_by_lab", "test_of_a_folder"]),
        ("mqlab/serve/kafka/x.py", ["test_of_a_folder"]),
        ("labs/source/03-lab.py", ["test_by_lab[03-lab"]),
        ("mqlab/real/x.py", []),
    ],
)
def test_what_a_change_touches_is_taken_too(file: str, whole: list[str], repository: Path) -> None:
    """One that is committed, and one that is not yet."""
    every = collect(repository)
    before = set(collect(repository, "--spread=2"))
    (repository / file).parent.mkdir(parents=True, exist_ok=True)
    with (repository / file).open("a") as changed:
        changed.write("# other\n")
    touched = {name for name in every if name.startswith(tuple(whole))}
    assert set(collect(repository, "--spread=2")) == before | touched
    git(repository, "add .")
    git(repository, "commit -m three")
    assert set(collect(repository, "--spread=2")) == before | touched


def test_where_the_number_is_not_known_ci_takes_everything(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person takes the first quarter, so that `make test` is as short as elsewhere."""
    monkeypatch.setattr(run, "ROOT", repository)
    assert run.turn_of(False, True) == run.turn_of(False, False) == 2
    assert run.turn_of(True, True) is None
    inside, shallow = repository / "exported", tmp_path_factory.mktemp("clones") / "shallow"
    inside.mkdir()
    subprocess.run(["git", "clone", "-q", "--depth=1", repository.as_uri(), shallow], check=True)
    for tree in (inside, shallow, shallow.parent):
        monkeypatch.setattr(run, "ROOT", tree)
        assert (run.turn_of(False, True), run.turn_of(False, False)) == (None, 0)


def test_every_folder_of_tests_is_a_part() -> None:
    folders = {path.parent.name for path in (run.ROOT / "tests").glob("*/test_*.py")}
    assert folders <= set(run.parts())
    assert "labs/solutions" in run.parts()["labs"]


def test_the_order_names_parts_there_are_and_they_come_first() -> None:
    assert tuple(run.parts())[: len(run.ORDER)] == run.ORDER
