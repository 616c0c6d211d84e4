"""The committed labs: fresh copies, wrong stubs, right solutions, and the quick route without what
is folded. nbval runs the solutions."""

from __future__ import annotations

import pytest

from mqlab.lessons.course import notebook_checks as checks
from mqlab.lessons.course.notebooks import labs_in
from tests.project.sources import ROOT

LABS = {lab.name: lab for lab in labs_in(ROOT / "labs")}


def test_structure() -> None:
    assert [line for lab in LABS.values() for line in checks.structure(lab)] == []


def test_copies_are_fresh() -> None:
    assert [line for lab in LABS.values() for line in checks.freshness(lab)] == []


def test_solutions_are_right() -> None:
    assert [line for lab in LABS.values() for line in checks.solution_is_right(lab)] == []


@pytest.mark.spread("mqlab/lab.py", "mqlab/lessons/course", by="name")
@pytest.mark.parametrize("name", LABS)
def test_untouched_stubs_are_wrong(name: str) -> None:
    assert list(checks.stub_is_wrong(LABS[name])) == []


@pytest.mark.spread("mqlab/lab.py", "mqlab/lessons/course", by="name")
@pytest.mark.parametrize("name", LABS)
def test_the_short_way_needs_no_folded_part(name: str) -> None:
    assert list(checks.short_way_runs(LABS[name])) == []
