"""How fast the player is: building the payload, its size, and a step in Chromium.

Not a test: times depend on the machine. `make bench` prints what `measure` returns; by hand:
`python -m tests.widgets.measure 2000`. The p95 of a step is by the clock, and on a machine that
others use too it doubles; there only `cpu`, the time the page's thread was busy, compares.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mqlab_widgets import Player
from mqlab_widgets.lives import deflate

from .sample import long_trace

KINDS = ("forward", "back", "seek")
# Patch and layout of one step, ms: forward, back, or seeks all over the trace.
STEPS = """async (kind) => {
  const player = document.querySelector(".mqlab").mqlab;
  const end = player.end, times = [];
  const order = Array.from({ length: 200 }, (_, i) => Math.floor(end * 0.4) + i);
  const steps = {
    forward: order.filter((s) => s <= end), back: order.filter((s) => s <= end).reverse(),
    seek: order.map((_, i) => (i * 7919) % (end + 1)),
  }[kind];
  for (const step of steps) {
    const start = performance.now();
    player.draw(step);
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
    await new Promise(requestAnimationFrame);
  }
  times.sort((a, b) => a - b);
  return { steps: times.length, p95: times[Math.floor(times.length * 0.95)] };
}"""


def measure(facts: int = 2_000, browser: Any = None) -> dict[str, float]:
    """Build seconds, payload and page kB; with a Playwright browser, of a step of each kind the
    p95 by the clock and the mean by the processor, painting included, in ms."""
    trace = long_trace(facts)
    player = Player(trace)
    start = time.perf_counter()
    data = player.payload
    built = time.perf_counter() - start
    page = player.page()
    out = {
        "facts": facts,
        "build_s": round(built, 2),
        "payload_kb": round(len(deflate(data)) / 1_000, 1),
        "page_kb": round(len(page) / 1_000, 1),
    }
    return out | (_in_browser(browser, page) if browser else {})


def _in_browser(browser: Any, page: str) -> dict[str, float]:
    found: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page, "utf-8")
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        tools = context.new_cdp_session(tab)
        tools.send("Performance.enable", {"timeDomain": "threadTicks"})
        tab.goto(path.as_uri())
        tab.wait_for_function("document.querySelector('.mqlab')?.mqlab?.step >= 0")
        for kind in KINDS:
            before = _busy(tools)
            took = tab.evaluate(STEPS, kind)
            found[f"{kind}_p95_ms"] = round(took["p95"], 2)
            found[f"{kind}_cpu_ms"] = round((_busy(tools) - before) / took["steps"], 2)
        found["live_elements"] = tab.locator(".mqlab svg.picture *").count()
        context.close()
    return found


def _busy(tools: Any) -> float:
    """Milliseconds of processor time that the page's thread has used."""
    metrics = tools.send("Performance.getMetrics")["metrics"]
    return 1_000 * next(float(m["value"]) for m in metrics if m["name"] == "TaskDuration")


def main() -> None:
    from playwright.sync_api import sync_playwright

    from mqlab.cli import doctor

    sizes = [int(word) for word in sys.argv[1:]] or [20, 200, 2_000]
    with sync_playwright() as session:
        browser = session.chromium.launch(
            executable_path=doctor.chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        for size in sizes:
            print(measure(size, browser))
        browser.close()


if __name__ == "__main__":
    main()
