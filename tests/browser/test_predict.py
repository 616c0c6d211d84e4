"""A prediction as a student meets it: in view, judged by what the run shows, there the next day."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from mqlab.lessons.course import notebooks

from .conftest import Served
from .jupyter import ROOT, errors, notebook
from .test_exercises import RUN, SOURCE

pytestmark = [
    pytest.mark.needs("chromium"),
    pytest.mark.spread("widgets/mqlab_widgets", by="file"),
]

NAME = "predict.ipynb"
ASKED = 'Predict("07-commit-returned"'
PICTURES = Path(os.environ.get("PICTURES", ROOT / ".cache" / "test" / "pictures"))
SELECT = """(id) => {
  const { content } = jupyterapp.shell.currentWidget;
  content.deselectAll();
  content.activeCellIndex = content.widgets.findIndex((cell) => cell.model.id === id);
  content.mode = 'command';
  content.activate();
}"""
#: where the question is in the notebook's pane, from its top, and how high the pane is
SEEN = """() => {
  const pane = document.querySelector('.jp-WindowedPanel-outer').getBoundingClientRect();
  const ask = document.querySelector('.mqlab .ask').getBoundingClientRect();
  return [Math.round(ask.top - pane.top), Math.round(ask.bottom - pane.top), pane.height];
}"""
#: how far below the pane the cell after the question begins
NEXT = """() => {
  const pane = document.querySelector('.jp-WindowedPanel-outer').getBoundingClientRect();
  const asked = document.querySelector('.mqlab.predict').closest('.jp-Cell');
  return asked.nextElementSibling.getBoundingClientRect().top - pane.bottom;
}"""


def beginning_of_the_lab(folder: Path) -> str:
    """Lab 07 as a student gets it, as far as the first question and a piece more; the id of the
    cell that asks."""
    (lab,) = notebooks.labs_in(ROOT / "labs", ["07"])
    copy = notebooks.student_copy(notebooks.read_source(lab))
    place = next(i for i, cell in enumerate(copy.cells) if cell.source.startswith(ASKED))
    copy.cells = copy.cells[: place + 4]
    nbformat.write(copy, folder / NAME)
    return str(copy.cells[place]["id"])


@pytest.fixture(scope="module")
def lab(served: Served, browser: Any) -> Iterator[tuple[Any, Path, str]]:
    asks = beginning_of_the_lab(served.labs)
    with notebook(browser, served.address, NAME) as page:
        for cell in nbformat.read(served.labs / NAME, 4).cells:
            if cell["id"] == asks:
                break
            page.evaluate(RUN, cell["id"])
        yield page, served.labs / NAME, asks


def shoot(page: Any, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(PICTURES / f"predict-{name}.png"))


def test_shift_enter_does_not_leave_an_open_question_behind(lab: Any) -> None:
    page, _, asks = lab
    page.evaluate(SELECT, asks)
    page.keyboard.press("Shift+Enter")
    page.locator(".mqlab.predict .controls").wait_for()
    page.wait_for_function(f"({SEEN})()[0] < 60")
    page.wait_for_timeout(800)  # whatever still moves the page would have moved it
    top, bottom, pane = page.evaluate(SEEN)
    assert 0 <= top < bottom <= pane
    assert page.evaluate(NEXT) > 100, "what follows may tell the answer"
    shoot(page, "asked")


def test_the_verdict_comes_from_the_run_and_stays_in_the_notebook(lab: Any) -> None:
    page, path, asks = lab
    ask = page.locator(".mqlab.predict")
    assert "before any marker is sent" not in page.content(), "the answer is not in the page"
    ask.get_by_role("radio").first.check()
    ask.get_by_role("button", name="Lock my answer").click()
    assert f"{ASKED}, chosen=0, trace=torn" in page.evaluate(SOURCE, asks)
    ask.get_by_role("button", name="Run").click()
    ask.locator(".verdict .no").wait_for()
    assert f"{ASKED}, chosen=0, revealed=True, trace=torn" in page.evaluate(SOURCE, asks)
    assert "before any marker is sent" in ask.locator(".verdict").inner_text()
    assert page.evaluate(NEXT) < 100, "it comes up"
    line = ask.locator("rect.answer").locator("..")
    assert line.is_visible() and "read_committed" in line.text_content()
    step = int(ask.get_attribute("data-step"))
    page.keyboard.press("ArrowRight")  # the focus is still the widget's
    page.wait_for_function(f"Number(document.querySelector('.predict').dataset.step) > {step}")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"Number(document.querySelector('.predict').dataset.step) === {step}")
    still = page.get_by_text("Your answer:")
    still.wait_for(state="attached")
    assert not still.is_visible(), "the still is not shown beside it"
    shoot(page, "told")
    page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")
    saved = nbformat.read(path, 4)
    nbformat.validate(saved)
    (cell,) = [cell for cell in saved.cells if cell["id"] == asks]
    assert "Your answer:" in cell.outputs[0].data["text/html"]
    assert "before any marker is sent" in cell.outputs[0].data["text/plain"]
    assert errors(page) == []


def test_the_next_day_question_answer_and_verdict_are_there_without_a_kernel(lab: Any) -> None:
    page, _, _ = lab
    page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    page.reload()
    still = page.locator("[data-still]")
    still.wait_for()
    page.wait_for_function(
        "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status"
        " === 'idle'"
    )
    page.wait_for_timeout(1500)  # the widget's renderer has given up by then
    said = still.inner_text()
    assert "What does a read_committed consumer get" in said and "Your answer:" in said
    assert "Not so." in said and still.locator("img").is_visible()
    assert page.locator(".mqlab.predict").count() == 0
    assert "model not found" not in page.locator(".jp-Notebook").inner_text()
    still.scroll_into_view_if_needed()
    shoot(page, "next-day")


def test_who_runs_it_again_meets_the_answer_in_jupyterlab_and_headless(lab: Any) -> None:
    page, path, asks = lab
    again = notebooks.execute(nbformat.read(path, 4), path.parent)
    (cell,) = [cell for cell in again.cells if cell["id"] == asks]
    assert "Your answer:" in cell.outputs[0].data["text/html"]
    for cell in again.cells:
        page.evaluate(RUN, cell["id"])
        if cell["id"] == asks:
            break
    verdict = page.locator(".mqlab.predict .verdict .no")
    verdict.wait_for()
    assert not page.get_by_role("button", name="Run", exact=True).is_visible()
