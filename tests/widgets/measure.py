"""How fast the player is: building the payload, its size, and a step in Chromium.

Not a test: times depend on the machine. `make bench` prints what `measure` returns; by hand:
`python -m tests.widgets.measure 2000`.
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

# Patch and layout of one step, ms: forward, back, and seeks all over the trace.
STEPS = """async () => {
  const player = document.querySelector(".mqlab").mqlab;
  const end = player.end, all = {};
  const order = Array.from({ length: 200 }, (_, i) => Math.floor(end * 0.4) + i);
  const kinds = {
    forward: order.filter((s) => s <= end), back: order.filter((s) => s <= end).reverse(),
    seek: order.map((_, i) => (i * 7919) % (end + 1)),
  };
  for (const [kind, steps] of Object.entries(kinds)) {
    const times = [];
    for (const step of steps) {
      const start = performance.now();
      player.draw(step);
      document.body.getBoundingClientRect();
      times.push(performance.now() - start);
      await new Promise(requestAnimationFrame);
    }
    times.sort((a, b) => a - b);
    all[kind] = times[Math.floor(times.length * 0.95)];
  }
  all.live = document.querySelectorAll(".mqlab svg.picture *").length;
  return all;
}"""


def measure(facts: int = 2_000, browser: Any = None) -> dict[str, float]:
    """Build seconds, payload and page kB; with a Playwright browser, p95 of a step in ms."""
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
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page, "utf-8")
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        tab.goto(path.as_uri())
        tab.wait_for_function("document.querySelector('.mqlab')?.mqlab?.step >= 0")
        found = tab.evaluate(STEPS)
        context.close()
    p95 = {f"{kind}_p95_ms": round(found[kind], 2) for kind in ("forward", "back", "seek")}
    return {**p95, "live_elements": found["live"]}


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
