"""Timed, random runs: messages take 1 to 10 ms, timers their time, from one seed.

`Timing` says otherwise: how long messages take, how often one is lost, how quickly an application
calls. A message is lost with its connection: of a request nothing arrives, an answer is gone, and
the client hears that the connection broke, and no more than that.

Only `Random.random()` is used: it alone keeps its sequence across Python versions.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from .choice import Choice, parse
from .maps import frozen
from .moves import Moved, apply, current, initial, list_choices
from .role import CancelTimer, SetTimer
from .run import Run
from .system import System
from .text import Text
from .trace import Trace
from .world import World

Faults = Iterable[tuple[int, str]]


@frozen
class Timing:
    """A message takes `fastest_ms` to `slowest_ms`, all equally likely, and is lost with the
    probability `loss`; `lossy`: only where one of these clients asks one of these servers, none
    named: everywhere. An application makes its next call within `call_ms`."""

    fastest_ms: float = 1
    slowest_ms: float = 10
    loss: float = 0.0
    call_ms: float = 1
    lossy: tuple[tuple[str, str], ...] = ()

    def may_lose(self, choice: Choice) -> bool:
        """Whether the message that a choice delivers could have been lost."""
        on_the_way = not self.lossy or (choice.a, choice.b) in self.lossy
        return bool(self.loss) and is_message(choice) and on_the_way

    def wait_ms(self, choice: Choice, dice: random.Random) -> float:
        """After how long a choice that has become possible is done."""
        if is_message(choice):
            return self.fastest_ms + (self.slowest_ms - self.fastest_ms) * dice.random()
        return dice.random() * (self.call_ms if choice.kind == "call" else 1)


STEADY = Timing()


class Moving(Protocol):
    """What time moves: something that knows its world, and does a choice."""

    system: System
    world: World

    def do(self, choice: str, at_ms: int = 0) -> list[Moved]: ...


@dataclass
class Untold:
    """An execution of which nothing but its world is kept: for figures over many executions, which
    are not shown one by one."""

    system: System
    world: World

    def do(self, choice: str, at_ms: int = 0) -> list[Moved]:
        moved = apply(self.system, self.world, parse(choice), at_ms)
        self.world = moved[-1].world
        return moved


def simulate(
    system: System,
    seed: int,
    until_ms: int = 60_000,
    faults: Faults = (),
    title: Text = Text(""),
    timing: Timing = STEADY,
) -> Trace:
    """Run a system in simulated time, with random delays from a seed, until nothing is left to do
    or `until_ms` has passed. Returns the trace of all that happened.

    `faults`: (at_ms, choice) pairs, for example `(500, "kill store")`. A fault that is not possible
    at its time raises ValueError, and so does an execution with too many facts. `timing`: how long
    messages and calls take, and how many messages are lost.
    """
    run = Run(system, title)
    advance(run, random.Random(seed), until_ms, sorted(faults), timing)
    return run.trace


def simulate_world(
    system: System, seed: int, until_ms: int = 60_000, faults: Faults = (), timing: Timing = STEADY
) -> World:
    """The world in which the same execution ends, without its facts."""
    run = Untold(system, initial(system))
    advance(run, random.Random(seed), until_ms, sorted(faults), timing)
    return run.world


def advance(
    run: Moving, dice: random.Random, until_ms: int, pending: list[tuple[int, str]], timing: Timing
) -> None:
    """Make choices in the sequence of their simulated times until nothing is left to do or
    `until_ms` has passed. `pending`: the planned faults, (ms, choice), sorted; each is removed when
    it happens, and comes before another choice of the same time. `dice` draws delays and losses."""
    due_at: dict[str, float] = {}
    timers = _first_timers(run.world)
    now_ms = 0.0
    while True:
        # without a choice: infinity, so that only a planned fault can come next
        choices = _list_due(run, due_at, timers, now_ms, dice, timing)
        at_ms, choice = min(choices, default=(float("inf"), ""))
        planned = bool(pending) and pending[0][0] <= at_ms
        if planned:
            at_ms, choice = pending.pop(0)
        if at_ms > until_ms:
            return
        now_ms = max(now_ms, at_ms)
        due_at.pop(choice, None)
        happens = choice if planned else _or_loss(run, choice, dice, timing)
        _set_timers(run.do(happens, int(now_ms)), timers, now_ms)


def _or_loss(run: Moving, text: str, dice: random.Random, timing: Timing) -> str:
    """The choice; or, where it delivers a message and chance is against it, its loss."""
    choice = parse(text)
    if not timing.may_lose(choice) or dice.random() >= timing.loss:
        return text
    if choice.conn != current(run.system, run.world, choice.a, choice.b):
        return text  # late already: its connection cannot break again
    return str(Choice("lose" if choice.kind == "request" else "break", choice.a, choice.b))


def _first_timers(world: World) -> dict[tuple[str, str], float]:
    return {(name, t): ms for name, n in world.nodes.items() for _, t, ms in n.timers}


def _list_due(
    run: Moving,
    due: dict[str, float],
    timers: dict[tuple[str, str], float],
    now: float,
    dice: random.Random,
    timing: Timing,
) -> list[tuple[float, str]]:
    """Every possible choice with its time, as (ms, choice). A choice that is new gets a random
    delay, which `due` keeps from one call to the next; choices that are no longer possible are
    removed from it. `timers`: when each timer expires, by node and name. All times are in ms."""
    timed: list[tuple[float, str]] = []
    possible: set[str] = set()
    for choice in list_choices(run.system, run.world):
        if choice.kind == "fire":
            # a node's `fire` is listed once, but each of its timers has a time of its own
            for _, timer, _ms in run.world.nodes[choice.a].timers:
                named = replace(choice, b=timer)
                timed.append((timers[choice.a, timer], str(named)))
            continue
        text = str(choice)
        possible.add(text)
        if text not in due:
            due[text] = now + timing.wait_ms(choice, dice)
        timed.append((due[text], text))
    for gone in [text for text in due if text not in possible]:
        del due[gone]
    return timed


def is_message(choice: Choice) -> bool:
    """Whether a choice delivers something that was in flight."""
    return choice.kind in ("request", "response")


def _set_timers(moved: list[Moved], timers: dict[tuple[str, str], float], now: float) -> None:
    for move in moved:
        match move.stage.effect if move.stage else None:
            case SetTimer(timer=timer, after_ms=ms):
                timers[move.node, timer] = now + ms
            case CancelTimer(timer=timer):
                timers.pop((move.node, timer), None)
