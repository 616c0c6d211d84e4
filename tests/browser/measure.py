"""How long a learner waits for the first diagram, against the barest widget there is.

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

from .jupyter import jupyterlab, notebook

READY = """import ipywidgets
from mqlab.lab import Player, scenario
trace = scenario('''
# One transaction
system kafka partitions=1 producers=app:order-service
run app: init, begin, send orders-0 a, commit
''')"""
SLIDER = "ipywidgets.IntSlider()"
DIAGRAM = "Player(trace)"
SHOWN = {
    SLIDER: ".jp-OutputArea .widget-slider .noUi-handle",
    DIAGRAM: ".jp-OutputArea .mqlab[data-step] .row",
}
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
  while (!document.querySelector(shown)?.checkVisibility()) await frame();
  return performance.now() - start;
}"""


def measure(rounds: int, browser: Any) -> dict[str, float]:
    """Medians in ms, and their ratio."""
    with TemporaryDirectory() as folder, jupyterlab(Path(folder)) as address:
        cells = [nbformat.v4.new_code_cell(source) for source in (READY, *SHOWN)]
        path = Path(folder) / "labs" / "first.ipynb"
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)
        with notebook(browser, address, path.name) as page:
            times: dict[str, list[float]] = {source: [] for source in SHOWN}
            for _ in range(rounds):
                for index, (source, shown) in enumerate(SHOWN.items(), 1):
                    times[source].append(page.evaluate(WAIT, [index, shown]))
    slider, diagram = (statistics.median(times[source]) for source in SHOWN)
    return {
        "slider_ms": round(slider),
        "first_diagram_ms": round(diagram),
        "first_diagram_per_slider": round(diagram / slider, 2),
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
