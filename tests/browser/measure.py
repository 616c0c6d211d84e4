"""How long a learner waits for the first diagram, and for a choice in a playground, against the
barest widgets there are.

Not a test: times depend on the machine. `make bench` prints what `measure` returns; by hand:
`python -m tests.browser.measure 5`. Each time the kernel is a new one, in which the first cell has
imported what both need and made the run (`make bench ARGS=imports` says what imports take).
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat

from .jupyter import jupyterlab, notebook, run_all

READY = """import ipywidgets
from mqlab.lab import Player, Playground, continue_scenario, scenario
trace = scenario('''
# One transaction
system kafka partitions=1 producers=app:order-service
run app: init, begin, send orders-0 a, commit
''')"""
SLIDER = "ipywidgets.IntSlider()"
DIAGRAM = "Player(trace)"
#: what is run, and what is then seen: of a player its still, and what answers in its place
SHOWN = (
    (SLIDER, ".jp-OutputArea .widget-slider .noUi-handle"),
    (DIAGRAM, ".jp-OutputArea .mqlab :is(img, .row)"),
    (DIAGRAM, ".jp-OutputArea .mqlab[data-step] .row"),
)
#: A slider whose value comes back from the kernel in a label, and a playground.
ECHO = """moved, said = ipywidgets.IntSlider(), ipywidgets.Label()
moved.observe(lambda change: setattr(said, 'value', str(change.new)), 'value')
ipywidgets.VBox([moved, said])"""
GROUND = """Playground(continue_scenario('''
system kafka partitions=1 "app=init; begin; send orders-0 a; commit"
'''))"""
CHOICES = 5
# Milliseconds until what the kernel has answered is seen: the slider moved, the first choice made.
ANSWER = {
    ECHO: """[".widget-vbox .noUi-handle",
      (el) => el.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })),
      (el) => el.closest(".widget-vbox").querySelector(".widget-label:last-child").textContent]""",
    GROUND: """[".mqlab:has(.act)", (el) => el.querySelector(".act button").click(),
      (el) => el.dataset.step]""",
}
ASK = """async () => {{
  const [where, act, read] = {};
  const el = document.querySelector(where), before = read(el), start = performance.now();
  act(el);
  while (read(el) === before) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}}"""
# Milliseconds from Shift+Enter in a new kernel to what is seen.
WAIT = """async ([index, shown]) => {
  const { content, sessionContext } = jupyterapp.shell.currentWidget;
  await jupyterapp.commands.execute("notebook:clear-all-cell-outputs");
  await sessionContext.restartKernel();
  await sessionContext.session.kernel.requestKernelInfo();
  const frame = () => new Promise(requestAnimationFrame);
  content.deselectAll();
  content.activeCellIndex = 0;
  await jupyterapp.commands.execute("notebook:run-cell");
  while (sessionContext.session.kernel.status !== "idle") await frame();
  content.activeCellIndex = index;
  const start = performance.now();
  jupyterapp.commands.execute("notebook:run-cell");
  const isSeen = (el) => el?.checkVisibility() && el.complete !== false; // an image has loaded
  while (!isSeen(document.querySelector(shown))) await frame();
  return performance.now() - start;
}"""


def measure(rounds: int, browser: Any) -> dict[str, float]:
    """Medians in ms, and their ratio."""
    with TemporaryDirectory() as folder, jupyterlab(Path(folder)) as address:
        sources = (READY, SLIDER, DIAGRAM, *ANSWER)
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        path = Path(folder) / "labs" / "first.ipynb"
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)
        with notebook(browser, address, path.name) as page:
            times: dict[str, list[float]] = {shown: [] for _, shown in SHOWN}
            for _ in range(rounds):
                for source, shown in SHOWN:
                    took = page.evaluate(WAIT, [sources.index(source), shown])
                    times[shown].append(took)
            for _ in range(rounds):
                run_all(page)  # a new playground: of a choice that was made before, much is known
                for source, how in ANSWER.items():
                    page.wait_for_selector(".mqlab .act button")
                    took = [page.evaluate(ASK.format(how)) for _ in range(CHOICES)]
                    times.setdefault(source, []).extend(took)
    slider, diagram, player, echo, choice = map(statistics.median, times.values())
    return {
        "slider_ms": round(slider),
        "first_diagram_ms": round(diagram),
        "first_diagram_per_slider": round(diagram / slider, 2),
        "player_ms": round(player),
        "slider_answered_ms": round(echo),
        "choice_answered_ms": round(choice),
        "choice_per_slider": round(choice / echo, 2),
    }


def main() -> None:
    from playwright.sync_api import sync_playwright

    from mqlab.cli import doctor

    with sync_playwright() as session:
        browser = session.chromium.launch(executable_path=doctor.chromium(), args=["--no-sandbox"])
        print(measure(int(sys.argv[1]), browser))
        browser.close()


if __name__ == "__main__":
    main()
