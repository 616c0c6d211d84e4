"""The runner behind `make test`: what it counts, and when it says no."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import run

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


def test_every_folder_of_tests_is_a_part() -> None:
    folders = {path.parent.name for path in (run.ROOT / "tests").glob("*/test_*.py")}
    assert folders <= set(run.parts())
    assert "labs/solutions" in run.parts()["labs"]


def test_the_order_names_parts_there_are_and_they_come_first() -> None:
    assert tuple(run.parts())[: len(run.ORDER)] == run.ORDER
