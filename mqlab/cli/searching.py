"""What the searches of the command line share: bounds, progress, and the counterexamples that were
found."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..explore import Counterexample
from ..explore.budget import MOST, available
from ..explore.verdict import name_claim
from ..kernel import escape_unseen
from ..kernel.play import encode
from ..kernel.text import Text, Words, tr
from .errors import UserError
from .language import tell

BOUNDS = ("kills", "power_cuts", "breaks", "timers", "retries", "killable", "restartable")
MB = 1_000_000
STATES = 1_000_000


COUNTEREXAMPLE = tr("found: the shortest counterexample to")
OPEN = tr("to step through it: mqlab open")


def add_bounds(parser: argparse._ActionsContainer) -> None:
    """Declare the bounds of a search as options: which faults may happen and how often, how many
    states, how much memory (MB). An option that is not given is None, which stands for the
    default."""
    parser.add_argument("--kills", type=_count, help="at most so many processes are killed")
    parser.add_argument("--power-cuts", type=_count, help="at most so many machines lose power")
    parser.add_argument("--breaks", type=_count, help="at most so many connections break")
    parser.add_argument("--timers", type=_count, help="at most so many timers run out")
    parser.add_argument("--retries", type=_count, help="how often each retry timer may run out")
    parser.add_argument(
        "--killable", type=_names, help="which nodes may stop, as in coordinator,app"
    )
    parser.add_argument("--restartable", type=_names, help="which of these may restart")
    parser.add_argument(
        "--states",
        type=read_number,
        help="give up after this many states (default for one system: 1,000,000)",
    )
    parser.add_argument(
        "--memory",
        type=read_number,
        metavar="MB",
        help="give up when the search uses more memory (default: three quarters of what is free)",
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST:
        raise argparse.ArgumentTypeError(Words("{!r}: expected a number from 0 to {}")(text, MOST))
    return int(text)


def read_number(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(Words("{!r}: expected 1, 2, 3 …")(text))
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def read_bounds(args: argparse.Namespace) -> dict[str, Any]:
    """The bounds that were given on the command line."""
    return {name: getattr(args, name) for name in BOUNDS if getattr(args, name) is not None}


def spare_memory() -> int | None:
    """Three quarters of what is free, so that the search ends before the machine does."""
    free = available()
    return None if free is None else free * 3 // 4


def choose_progress() -> Callable[[int, int], None] | None:
    return _progress() if sys.stderr.isatty() else None


def _progress() -> Callable[[int, int], None]:
    started = time.perf_counter()

    def show(states: int, depth: int) -> None:
        rate = states / max(time.perf_counter() - started, 1e-9)
        text = f"{states:,} states, depth {depth}, {rate:,.0f} states/s (Ctrl-C ends the search)"
        show_progress(text)

    return show


def show_progress(text: object) -> None:
    """Write `text` over the last line of progress; no terminal gets none."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def clear_line() -> None:
    show_progress("")


def group_runs(examples: dict[str, Counterexample]) -> list[tuple[list[str], Counterexample]]:
    """Each execution that was found, the shortest first, with everything it breaks."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for name, example in sorted(examples.items(), key=lambda pair: len(pair[1].schedule)):
        runs.setdefault((example.system.line(), *example.schedule), []).append(name)
    return [(names, examples[names[0]]) for names in runs.values()]


def print_run(head: Text, names: list[str], example: Counterexample, shows: Text = OPEN) -> None:
    """`shows`: what the execution is for, and the command that is given its token."""
    trace = example.trace()
    claims = ", ".join(f"“{name_claim(name)}”" for name in names)
    told = "\n".join(map(escape_unseen, str(trace).splitlines()))
    tell("\n{} {}, in\nsystem {}\n{}", head, claims, example.system.line(), told)
    tell("\nnext, {} {}", shows, encode(example.system, trace))


def view(examples: list[Counterexample], page: Path) -> None:
    """The shortest of them, opened at its last fact."""
    if not examples:
        tell("no counterexample, so {} is not written", page)
        return
    from mqlab_widgets import Player

    example = min(examples, key=lambda e: len(e.schedule))
    try:
        Player(example.trace(), title=example.property).save(page)
    except (ValueError, OSError) as error:
        raise UserError("--view {}: {}", page, error) from error
    tell("wrote {}", page)
