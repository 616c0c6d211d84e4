"""The short way of each lab, run without what is folded."""

from __future__ import annotations

import pytest

from mqlab.lessons.course import notebook_checks as checks
from mqlab.lessons.course.notebooks import Lab, labs_in
from tests.project.sources import ROOT

LABS = labs_in(ROOT / "labs")


@pytest.mark.parametrize("lab", LABS, ids=[lab.name for lab in LABS])
def test_the_short_way_needs_no_folded_part(lab: Lab) -> None:
    assert list(checks.short_way_runs(lab)) == []
