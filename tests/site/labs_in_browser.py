"""A lab in Chromium with the browser's own Python. `.ci/run` runs it, since it needs npm.

.venv/bin/python -m pytest tests/site/labs_in_browser.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.site.conftest import serve_folder

pytestmark = pytest.mark.needs("chromium")
PATIENCE_MS = 240_000  # JupyterLab and Python have to begin, on a machine that may be busy
LAB = "01-how-often.ipynb"
#: a learner's answers, in the place of the comments where they are to be written
WRITTEN = {
    "def count(": "def count(position, booked, offset, number, again):\n"
    "    return 'skip' if number in booked else 'count'"
}
SESSION = "window.jupyterapp.shell.currentWidget?.sessionContext"
OUTPUTS = """() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells
  .filter((cell) => cell.outputs)
  .map((cell) => [cell.source, cell.outputs, cell.execution_count])"""


@pytest.fixture(scope="module")
def opened(browser: Any, whole: Path) -> Iterator[Any]:
    """The lab, its kernel not yet asked; whatever is asked of another address is noted."""
    settings = whole / "below" / "labs" / "jupyter-lite.json"
    if not settings.is_file():
        pytest.skip("JupyterLite cannot be had here")
    told = json.loads(settings.read_text("utf-8"))
    told["jupyter-config-data"]["exposeAppInBrowser"] = True  # the test's own wish
    settings.write_text(json.dumps(told), "utf-8")
    with serve_folder(whole) as top:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        failed: list[str] = []
        page.on("pageerror", lambda error: failed.append(error.stack))
        # At the root of the host, wherever the site is: JupyterLite asks its service worker, and
        # Chromium asks for an icon where a page that is still being loaded has named none yet.
        at_root = (f"{top}/api/service-worker-heartbeat", f"{top}/favicon.ico")
        local = (f"{top}/below/", "data:", f"blob:{top}/", *at_root)
        context.on(
            "request", lambda one: failed.extend([one.url] * (not one.url.startswith(local)))
        )
        page.goto(f"{top}/below/labs/lab/index.html?path={LAB}")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        # before that JupyterLab would ask which kernel is meant, and wait for an answer
        page.wait_for_function(f"{SESSION}?.session?.kernel?.status === 'idle'")
        yield page
        assert failed == []
        context.close()


def run_cells(page: Any) -> list[tuple[str, list[dict[str, Any]]]]:
    """Run all; each cell's text with its outputs, once the last one was run. A busy machine may
    take as long as it likes for all of them, as long as one after the other comes."""
    page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    for number in range(1, len(page.evaluate(OUTPUTS)) + 1):
        page.wait_for_function(
            f"(number) => ({OUTPUTS})().filter(([, , count]) => count !== null).length >= number",
            arg=number,
        )
    return [(source, outputs) for source, outputs, _ in page.evaluate(OUTPUTS)]


def test_the_whole_lab_runs_and_its_widgets_live(opened: Any) -> None:
    opened.evaluate(
        """(written) => {
          for (const cell of window.jupyterapp.shell.currentWidget.content.model.cells)
            for (const [begin, text] of Object.entries(written))
              if (cell.sharedModel.source.startsWith(begin)) cell.sharedModel.setSource(text);
        }""",
        WRITTEN,
    )
    cells = run_cells(opened)
    errors = [
        (source, out["ename"]) for source, outputs in cells for out in outputs
        if out["output_type"] == "error"
    ]  # fmt: skip
    assert errors == []
    (verdict,) = (outputs for source, outputs in cells if source.startswith("check(COUNTING"))
    assert "Right" in json.dumps(verdict), verdict
    drawn = {kind for _, outputs in cells for out in outputs for kind in out.get("data", ())}
    assert "application/vnd.plotly.v1+json" in drawn
    assert "application/vnd.jupyter.widget-view+json" in drawn


def test_a_picture_steps_by_keys(opened: Any) -> None:
    picture = opened.locator(".jp-OutputArea-output .mqlab[data-step]").first
    before = picture.get_attribute("data-step")
    picture.focus()
    opened.keyboard.press("ArrowLeft")  # a Predict shows the end of what it asks about
    opened.wait_for_function(
        "(old) => document.querySelector('.jp-OutputArea-output .mqlab[data-step]')"
        ".dataset.step !== old",
        arg=before,
    )


def test_an_order_of_pieces_is_judged_by_the_browsers_python(opened: Any) -> None:
    # the exercise stands in a part that is folded, as a learner finds it
    opened.evaluate("window.jupyterapp.commands.execute('notebook:expand-all-headings')")
    order = opened.locator(".mqlab.ordering").first
    order.scroll_into_view_if_needed()
    order.locator("[data-action=add]").first.click()
    order.locator(".tools button").click()
    order.locator(".verdict .no").wait_for()


def test_an_answer_is_kept_in_the_browser_and_can_be_downloaded(opened: Any) -> None:
    (answer,) = WRITTEN.values()
    opened.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    opened.reload()
    opened.locator(".jp-Notebook .jp-Cell").first.click()  # what is restored may not be current
    opened.wait_for_function(f"{SESSION}?.session?.kernel?.status === 'idle'")
    assert answer in [source for source, _, _ in opened.evaluate(OUTPUTS)]
    with opened.expect_download() as waited:
        opened.evaluate("void window.jupyterapp.commands.execute('docmanager:download')")
    assert waited.value.suggested_filename == LAB
    cells = json.loads(waited.value.path().read_text("utf-8"))["cells"]
    assert answer in ["".join(cell["source"]) for cell in cells]
