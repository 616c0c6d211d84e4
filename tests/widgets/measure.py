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

from mqlab_widgets import Player, Playground
from mqlab_widgets.encoding import base64_of

from mqlab.kernel import Play
from mqlab.registry import system

from .harness import put
from .sample import long_trace

STORY = "orders 'app=init; begin; send orders-0 580538; send payments-0 paid-580538; commit'"
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
    p95 by the clock and the mean by the processor, painting included, in ms: in the pane that
    JupyterLab has at 1280×800."""
    trace = long_trace(facts)
    player = Player(trace)
    start = time.perf_counter()
    data = player.payload
    built = time.perf_counter() - start
    page = player.page()
    out = {
        "facts": facts,
        "build_s": round(built, 2),
        "payload_kb": round(len(base64_of(data)) * 3 / 4_000, 1),
        "page_kb": round(len(page) / 1_000, 1),
    }
    return out | (_in_browser(browser, page) if browser else {})


# One click after the other on what may happen next, until nothing may: from the click to the drawn
# picture, Python's part included; a choice that tells nothing draws nothing, and is left out.
CLICKS = """async () => {
  const host = document.querySelector(".mqlab"), times = [];
  const frame = () => new Promise(requestAnimationFrame);
  for (let n = 0; n < 60; n++) {
    const next = [...host.querySelectorAll(".act button")]
      .find((button) => !button.textContent.includes("timer"));
    if (!next) break;
    const start = performance.now(), before = host.dataset.step;
    next.click();
    while (host.dataset.step === before && performance.now() - start < 2000) await frame();
    document.body.getBoundingClientRect();
    const took = performance.now() - start;
    if (took < 2000) times.push(took);
    await frame();
  }
  times.sort((a, b) => a - b);
  return { clicks: times.length, median: times[times.length >> 1],
           p95: times[Math.floor(times.length * 0.95)] };
}"""


def measure_clicks(browser: Any) -> dict[str, float]:
    """A playground of a transaction over two partitions, played to its end: how long a click
    takes by the clock, and by the processor (the page's thread and Python's), in ms."""
    play = Play(system(STORY))
    context = browser.new_context(viewport={"width": 950, "height": 679})
    tab = context.new_page()
    put(tab, Playground(play))
    tab.wait_for_selector(".mqlab[data-step]")
    tools = context.new_cdp_session(tab)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = _busy(tools) + 1_000 * time.process_time()
    took = tab.evaluate(CLICKS)
    busy = _busy(tools) + 1_000 * time.process_time() - before
    context.close()
    return {
        "playground_clicks": took["clicks"],
        "playground_click_median_ms": round(took["median"], 1),
        "playground_click_p95_ms": round(took["p95"], 1),
        "playground_click_cpu_ms": round(busy / took["clicks"], 1),
    }


def _in_browser(browser: Any, page: str) -> dict[str, float]:
    found: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page, "utf-8")
        context = browser.new_context(viewport={"width": 950, "height": 679})
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
        clicks = measure_clicks(browser)
        for size in sizes:
            print(measure(size, browser) | clicks)
        browser.close()


if __name__ == "__main__":
    main()
