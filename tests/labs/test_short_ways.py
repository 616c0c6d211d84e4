"""The quick route of each lab, run without what is folded."""

from __future__ import annotations

import pytest

from mqlab.lessons.course import notebook_checks as checks
from mqlab.lessons.course.notebooks import labs_in
from tests.project.sources import ROOT

LABS = {lab.name: lab for lab in labs_in(ROOT / "labs")}


@pytest.mark.spread("mqlab/lab.py", "mqlab/lessons/course", by="name")
@pytest.mark.parametrize("name", LABS)
def test_the_short_way_needs_no_folded_part(name: str) -> None:
    assert list(checks.short_way_runs(LABS[name])) == []
