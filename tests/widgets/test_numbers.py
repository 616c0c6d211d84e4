"""The number of a step is shown whole: 6204 is not 204."""

import re

import pytest
from mqlab_widgets.payload import HERE
from mqlab_widgets.views.marks import NUMBER, number_class
from mqlab_widgets.widths import width


@pytest.mark.parametrize("index", [7, 204, 999, 1000, 6204, 9999, 10_000, 88_888])
def test_a_number_fits_before_its_row(index: int) -> None:
    css = (HERE / "player.css").read_text("utf-8")
    rule = re.escape(number_class(index).replace(" ", "."))
    size = re.search(rf"\.{rule} {{ font-size: ([\d.]+)px", css)
    assert size is not None
    assert width(str(index), float(size[1])) <= NUMBER
