"""The number of a step is shown whole, in letters of one size: 6204 is not 204."""

from dataclasses import replace

import pytest
from mqlab_widgets.views import PANELS
from mqlab_widgets.views.marks import SIZE, START
from mqlab_widgets.widths import width

from .sample import sample
from .test_views import flat


@pytest.mark.parametrize("first", [0, 900, 6_200, 9_990, 54_300, 888_888])
def test_a_number_is_whole_and_stands_before_its_row(first: int) -> None:
    run = sample()
    facts = tuple(replace(fact, index=fact.index + first) for fact in run.facts)
    trace = replace(run, facts=facts)
    drawn = flat(PANELS["space-time/all"].view(trace, len(trace)))
    at = [step for step in range(1, len(trace) + 1) if f"num:{step}" in drawn]
    for step in at:
        number, name = drawn[f"num:{step}"], drawn.get(f"txn:{step}")
        assert number.text == str(trace.facts[step - 1].index)
        assert number.attrs["class"] == "num"
        assert float(number.attrs["x"]) >= width(number.text, SIZE) - 0.1, (
            "it begins in the picture"
        )
        if name is not None:
            assert name.text == trace.facts[step - 1].txn
            assert float(name.attrs["x"]) > float(number.attrs["x"])
            assert float(name.attrs["x"]) + width(name.text, SIZE, bold=True) <= START
    assert len(at) > 10
