"""Measures what is in sight: every display of a notebook, in the pane that JupyterLab gives it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PICTURES = Path(os.environ.get("PICTURES", Path(__file__).parents[2] / ".cache/test/pictures"))
ALL = "PICTURES" in os.environ  # a folder is named to see each display, not what is wrong
SIZES = ((1280, 800), (1440, 900), (1920, 1080), (853, 533), (800, 800))
"""The fourth is 1280×800 at a zoom of 150 %."""
AT_ONCE = 1280  # px: from this width on everything that is pinned is in sight at once

DISPLAYS = """() => [...document.querySelectorAll(".jp-OutputArea-output .mqlab")]
    .filter((el) => !el.parentElement.closest(".mqlab") && el.offsetHeight)"""

FAULTS = """(display, atOnce) => {
  const before = display.closest(".jp-OutputArea-child").previousElementSibling;
  const menus = atOnce && before?.querySelector(".mqlab-vary, .mqlab-verdict");
  (menus || display).scrollIntoView({ block: "start" });
  const pane = display.closest(".jp-WindowedPanel-outer").getBoundingClientRect();
  const out = [];
  const inside = (el, name) => {
    const box = el.getBoundingClientRect();
    if (box.top < pane.top - 1 || box.bottom > pane.bottom + 1
        || box.left < pane.left - 1 || box.right > pane.right + 1) {
      out.push([name, box.left, box.top, box.right, box.bottom, "outside", pane.bottom]);
    }
  };
  if (menus) inside(menus, "menus");
  for (const stage of display.querySelectorAll(".stage")) {
    if (!stage.checkVisibility()) continue;
    const host = stage.closest(".mqlab");
    const others = [".ask", ".acts"].map((name) => host.querySelector(name)).filter(Boolean);
    if (atOnce && display.matches(".explorer")) inside(display, "display");
    if (display.offsetHeight > pane.height) host.scrollIntoView({ block: "start" });
    for (const part of others) {
      if (host.matches(".low")) part.scrollIntoView({ block: "nearest" });
      inside(part, part.className);
    }
    if (host.matches(".low")) host.querySelector(".top").scrollIntoView({ block: "start" });
    if (atOnce && host.matches(".low")) out.push(["too low"]);
    const shared = host.closest(".mqlab-pair"); // two runs beside each other
    const frame = stage.getBoundingClientRect();
    for (const name of [".top", ".controls", ".say", ".stage"]) {
      const part = host.querySelector(name);
      if (!host.matches(".twin") || part.offsetHeight) inside(part, name); // one has the controls
    }
    const title = host.querySelector(".top .title");
    if (title.scrollWidth > title.clientWidth) out.push(["cut off", title.textContent]);
    for (const text of host.querySelectorAll(".title, .line, .why, .say")) {
      if (text.scrollHeight > text.clientHeight + 1) out.push(["cut off", text.textContent]);
    }
    for (const svg of host.querySelectorAll("svg.picture")) {
      const name = svg.dataset.panel, box = svg.getBoundingClientRect();
      const pinned = ["space-time", "logs", "readers", "lights"].includes(name);
      if (!svg.checkVisibility()) {
        if (pinned && atOnce && !shared) out.push([name, "is behind a tab"]);
        continue;
      }
      if (!pinned) continue;
      if (box.bottom > frame.bottom + 1) out.push([name, "is cut off below", box.bottom]);
      if (atOnce && box.right > frame.right + 1) out.push([name, "is cut off at the right"]);
    }
    if (!host.querySelector("svg.picture")) out.push(["no picture"]);
  }
  return out;
}"""


def set_size(page: Any, size: tuple[int, int]) -> None:
    """Another window; the frames follow at once, JupyterLab a moment later, by the page's time."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate("() => new Promise((done) => setTimeout(done, 800))")


def find_faults(page: Any, lab: str, size: tuple[int, int]) -> dict[str, list[Any]]:
    """What is not in sight, by display; where something is not, it is photographed."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    set_size(page, size)
    found: dict[str, list[Any]] = {}
    displays = page.evaluate_handle(DISPLAYS)
    for number in range(page.evaluate("(all) => all.length", displays)):
        display = page.evaluate_handle("([all, i]) => all[i]", [displays, number]).as_element()
        faults = display.evaluate(FAULTS, size[0] >= AT_ONCE)
        name = f"{lab}-{size[0]}x{size[1]}-{number}"
        if faults or ALL:
            page.screenshot(path=str(PICTURES / f"{name}.png"))
        if faults:
            found[name] = faults
    return found


def use_all(page: Any) -> None:
    """Search with every Explorer, answer every question: then each shows the most it ever has."""
    page.emulate_media(reduced_motion="reduce")  # the asked moment comes at once
    for panel in page.query_selector_all(".mqlab.explorer[data-phase=ready]"):
        panel.query_selector(".toggle").click()
        page.wait_for_function("(el) => el.dataset.phase === 'done'", arg=panel)
    for ask in page.query_selector_all(".mqlab.predict:not(.told)"):
        ask.query_selector("input").check()
        ask.query_selector(".buttons button").click()
        ask.query_selector(".buttons .main").click()
        ask.wait_for_selector(".verdict b")
