"""An exercise as a student meets it: the stub, the pieces, the check, and what is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqlab.lessons.course import notebooks

from .conftest import Served
from .jupyter import ROOT, errors, notebook

pytestmark = [
    pytest.mark.needs("chromium"),
    pytest.mark.spread("widgets/mqlab_widgets", by="file"),
]

NAME = "05-idempotent-producer"
RIGHT = ("duplicate", "fence", "sequence", "append", "answer")
PICTURES = Path(os.environ.get("PICTURES", ROOT / ".cache" / "test" / "pictures"))
RUN = """async (id) => {
  const { content, sessionContext } = jupyterapp.shell.currentWidget;
  content.deselectAll();
  content.activeCellIndex = content.widgets.findIndex((cell) => cell.model.id === id);
  await jupyterapp.commands.execute('notebook:run-cell');
}"""
#: as Shift+Enter does
GO_ON = RUN.replace("run-cell'", "run-cell-and-select-next'")
#: whether a verdict and the picture below it are both in the pane
TOGETHER = """(el) => {
  const pane = el.closest(".jp-WindowedPanel-outer").getBoundingClientRect();
  const said = el.closest(".jp-OutputArea").querySelector(".mqlab-verdict");
  return said.getBoundingClientRect().top >= pane.top
    && el.getBoundingClientRect().bottom <= pane.bottom;
}"""
#: faster than the kernel answers: all the moves are in its queue before the cell is
DOWN_AND_RUN = f"""async ([key, times, id]) => {{
  for (let i = 0; i < times; i++) {{
    document.querySelector(`.mqlab.ordering li[data-key=${{key}}] [data-action=down]`).click();
  }}
  await ({RUN})(id);
}}"""
SOURCE = """(id) => jupyterapp.shell.currentWidget.content.widgets
  .find((cell) => cell.model.id === id).model.sharedModel.getSource()"""
OUTPUT = """(id) => jupyterapp.shell.currentWidget.content.widgets
  .find((cell) => cell.model.id === id).outputArea.node.innerText"""


@pytest.fixture(scope="module")
def lab(served: Served, browser: Any) -> Iterator[tuple[Any, Path]]:
    """The student's copy, its imports run, and the folder it is saved in."""
    path = served.labs / f"{NAME}.ipynb"
    with notebook(browser, served.address, path.name) as page:
        student = notebooks.read(path)
        page.evaluate(RUN, next(c["id"] for c in student.cells if c.cell_type == "code"))
        yield page, path


def shoot(page: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(PICTURES / f"exercise-{name}.png"))


def test_an_untouched_stub_is_told_in_one_sentence(lab: Any) -> None:
    page, _ = lab
    for cell in ("order", "order-test", "accept", "accept-test"):
        page.evaluate(RUN, cell)
    assert page.evaluate(OUTPUT, "order-test").strip() == (
        "Not yet: no piece is in your list yet: move the pieces above, then run this cell again."
    )
    assert page.evaluate(OUTPUT, "accept-test").startswith("Not yet: nothing is written yet:")
    assert errors(page) == []
    shoot(page, "stub")


def test_what_is_moved_stands_in_the_cell_and_is_graded(lab: Any) -> None:
    page, path = lab
    page.evaluate(RUN, "order")
    pieces = page.locator(".mqlab.ordering")
    for key in ("answer", "duplicate", "fence", "sequence", "append"):
        pieces.locator(f"li[data-key={key}] [data-action=add]").click()
    wrong = 'order = PRODUCE.arrange(["answer", "duplicate", "fence", "sequence", "append"])'
    assert page.evaluate(SOURCE, "order") == wrong
    page.evaluate(GO_ON, "order-test")
    said = page.evaluate(OUTPUT, "order-test")
    assert said.count("got ok before its batch was in the log") == 1
    assert errors(page) == []
    player = page.locator(".jp-Cell .mqlab[data-heading]").last
    player.wait_for()
    page.wait_for_function("(el) => el.mqlab?.step >= 0", arg=player.element_handle())
    step = player.evaluate("(el) => [el.mqlab.step, el.mqlab.end]")
    assert 0 < step[0] <= step[1]
    page.wait_for_function(TOGETHER, arg=player.element_handle())
    shoot(page, "verdict")
    page.evaluate(DOWN_AND_RUN, ["answer", 4, "order-test"])
    assert page.evaluate(SOURCE, "order") == "order = PRODUCE.arrange({})".format(
        str(list(RIGHT)).replace("'", '"')
    )
    assert page.evaluate(OUTPUT, "order-test").startswith("Right:")
    pieces.scroll_into_view_if_needed()
    shoot(page, "pieces")
    page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")
    source = notebooks.read_source(notebooks.labs_in(ROOT / "labs", ["05"])[0])
    saved = notebooks.read(path)
    wanted = {"order", "order-test"}
    keep = [i for i, c in enumerate(saved.cells) if c["id"] in wanted or "PRODUCE,\n" in c.source]
    saved.cells = [saved.cells[i] for i in keep]
    graded = notebooks.run_for_grading(saved, source, path.parent)
    assert [(g.points, g.of) for g in notebooks.grades(graded)] == [(4, 4)]


def test_the_next_day_the_order_is_still_there(lab: Any) -> None:
    page, _ = lab
    page.evaluate(
        "async () => { const s = jupyterapp.shell.currentWidget.sessionContext;"
        " await s.restartKernel(); }"
    )
    page.reload()
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(
        "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status"
        " === 'idle'"
    )
    first = page.evaluate(
        "() => jupyterapp.shell.currentWidget.content.widgets"
        ".find((cell) => cell.model.type === 'code').model.id"
    )
    for cell in (first, "order", "order-test"):
        page.evaluate(RUN, cell)
    shown = page.locator(".mqlab.ordering ol.pieces li")
    shown.nth(len(RIGHT) - 1).wait_for()
    assert [item.get_attribute("data-key") for item in shown.all()] == list(RIGHT)
    assert page.evaluate(OUTPUT, "order-test").startswith("Right:")


def test_where_the_widget_cannot_write_the_cell_does_when_it_is_run_again(lab: Any) -> None:
    page, _ = lab
    page.evaluate(RUN, "order")
    page.evaluate(
        "() => document.querySelectorAll('.cm-content').forEach((el) => delete el.cmTile)"
    )
    pieces = page.locator(".mqlab.ordering")
    pieces.locator("li[data-key=duplicate] [data-action=down]").click()
    assert "Run this cell again to keep your order" in pieces.locator("[role=status]").inner_text()
    page.evaluate(RUN, "order-test")
    assert "on the screen only" in page.evaluate(OUTPUT, "order-test")
    page.evaluate(RUN, "order")
    kept = '["fence", "duplicate", "sequence", "append", "answer"]'
    page.wait_for_function(f"({SOURCE})('order').includes('{kept}')")
    page.evaluate(RUN, "order-test")
    assert page.evaluate(OUTPUT, "order-test").startswith("Right:")
