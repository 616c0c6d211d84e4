"""Timed, random runs: messages take 1 to 10 ms, timers their time, from one seed.

Only `Random.random()` is used: it alone keeps its sequence across Python versions.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

from .choice import Choice
from .role import CancelTimer, SetTimer
from .run import Run
from .system import System
from .text import Text
from .trace import Trace
from .world import Moved, list_choices


def simulate(
    system: System,
    seed: int,
    until_ms: int = 60_000,
    faults: Iterable[tuple[int, str]] = (),
    title: Text = Text(""),
) -> Trace:
    """Run a system in simulated time until nothing is left to do or `until_ms` is over.

    `faults`: (at_ms, choice) pairs, for example `(500, "kill store")`. A fault that is not
    possible at its time raises ValueError.
    """
    run = Run(system, title)
    dice = random.Random(seed)
    due: dict[str, float] = {}
    timers: dict[tuple[str, str], float] = _first_timers(run)
    pending = sorted(faults)
    now = 0.0
    while True:
        choices = _ripe(run, due, timers, now, dice)
        at, choice = min(choices, default=(float("inf"), ""))
        if pending and pending[0][0] <= at:
            at, choice = pending.pop(0)
        if at > until_ms:
            return run.trace
        now = max(now, at)
        due.pop(choice, None)
        _rearm(run.do(choice, int(now)), timers, now)


def _first_timers(run: Run) -> dict[tuple[str, str], float]:
    return {(name, t): ms for name, n in run.world.nodes.items() for _, t, ms in n.timers}


def _ripe(
    run: Run,
    due: dict[str, float],
    timers: dict[tuple[str, str], float],
    now: float,
    dice: random.Random,
) -> list[tuple[float, str]]:
    """Every possible choice with its time; a choice keeps the time it got when first seen."""
    out: list[tuple[float, str]] = []
    seen: set[str] = set()
    for choice in list_choices(run.system, run.world):
        if choice.kind == "fire":
            for _, timer, _ms in run.world.nodes[choice.a].timers:
                named = replace(choice, b=timer)
                out.append((timers[choice.a, timer], str(named)))
            continue
        text = str(choice)
        seen.add(text)
        if text not in due:
            due[text] = now + (1 + 9 * dice.random() if _travels(choice) else dice.random())
        out.append((due[text], text))
    for gone in [text for text in due if text not in seen]:
        del due[gone]
    return out


def _travels(choice: Choice) -> bool:
    return choice.kind in ("request", "response")


def _rearm(moved: list[Moved], timers: dict[tuple[str, str], float], now: float) -> None:
    for move in moved:
        match move.stage.effect if move.stage else None:
            case SetTimer(timer=timer, after_ms=ms):
                timers[move.node, timer] = now + ms
            case CancelTimer(timer=timer):
                timers.pop((move.node, timer), None)
