"""`mqlab explore SYSTEM`: every schedule within a budget."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..brokers import list_brokers
from ..explore import Budget, Counterexample, Verdict, explore
from ..kernel.token import encode
from ..lessons.registry import system
from ..lessons.searches import Searched, find_lesson, lesson_table, searches_of, table
from ..scenario.language import ScenarioError
from .errors import UserError

HELP = "search every schedule of a system within a budget of faults"
BOUNDS = ("kills", "power_cuts", "breaks", "timers", "retries", "killable", "restartable")
MANY = 10_000  # states from which the memory of one of them can be told


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "system",
        nargs="+",
        metavar="SYSTEM",
        help=f"a broker ({', '.join(list_brokers('searches'))}) or a classical model (two_phase, "
        "tcc …): its lesson system with its own bounds; or a system line, for example: "
        "kafka 'app=init; begin; send orders-0 a; commit'",
    )
    parser.add_argument(
        "--off",
        metavar="SAFEGUARD",
        action="append",
        default=[],
        help="switch it off (again for another); `BROKER --off NAME`: in the smallest system "
        "that needs it",
    )
    parser.add_argument(
        "--claim",
        metavar="NAME",
        help="`BROKER --claim NAME`: what the real broker does not promise",
    )
    parser.add_argument(
        "--safeguards",
        action="store_true",
        help="`BROKER --safeguards`: which anomaly appears without which safeguard",
    )
    parser.add_argument(
        "--table", action="store_true", help="`BROKER --table`: all lesson systems, searched"
    )
    parser.add_argument("--kills", type=_count, help="processes killed, at most")
    parser.add_argument("--power-cuts", type=_count, help="machines that lose power")
    parser.add_argument("--breaks", type=_count, help="broken connections")
    parser.add_argument("--timers", type=_count, help="timers that run out")
    parser.add_argument(
        "--retries", type=_count, help="how often each timer that only asks again may run out"
    )
    parser.add_argument("--killable", type=_names, help="which nodes may stop: coordinator,app")
    parser.add_argument("--restartable", type=_names, help="which of them may start again")
    parser.add_argument("--states", type=_count, default=1_000_000, help="give up after so many")
    parser.add_argument("--view", metavar="PAGE", help="write the counterexample as a page")


def run(args: argparse.Namespace) -> int:
    """0: nothing found; 1: a property is violated, or something is never reached."""
    if args.safeguards or args.table:
        return _table(args)
    line, bounds = choose_system(args)
    try:
        found = system(line)
    except ScenarioError as error:
        raise UserError(str(error)) from error
    nodes = {spec.name for spec in found.nodes()}
    for name in (*(bounds.killable or ()), *(bounds.restartable or ())):
        if name not in nodes:
            raise UserError(f"no node {name!r}; there are: {', '.join(sorted(nodes))}")
    print(f"system {line}", flush=True)
    verdict = explore(found, bounds, progress=_progress() if sys.stderr.isatty() else None)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    print(verdict)
    figures = (
        f"{verdict.seconds:.1f} s, {verdict.states / max(verdict.seconds, 1e-9):,.0f} states/s"
    )
    if verdict.memory and verdict.states >= MANY:
        figures += f", {verdict.memory / verdict.states:,.0f} bytes a state"
    print(figures)
    for names, example in _grouped(verdict):
        _tell(names, example)
    if args.view:
        _view(list(verdict.counterexamples.values()), Path(args.view))
    return 0 if verdict.ok else 1


def _table(args: argparse.Namespace) -> int:
    if len(args.system) > 1 or args.system[0] not in list_brokers("searches"):
        known = ", ".join(list_brokers("searches"))
        raise UserError(
            f"--safeguards and --table belong to a broker's lesson ({known}): mqlab explore "
            "kafka --safeguards"
        )
    searches = searches_of(args.system[0])
    if args.table:
        print(lesson_table(searches.systems))  # minutes; each system in a process of its own
        return 0
    text = table(searches, progress=_progress() if sys.stderr.isatty() else None)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    print(text)
    return 0


def choose_system(args: argparse.Namespace) -> tuple[str, Budget]:
    """The system line and its bounds. A bare name of a broker is its lesson system or, without
    one safeguard, the smallest system that needs it; both have bounds of their own, which hold
    as long as none is given."""
    given = {name: getattr(args, name) for name in BOUNDS if getattr(args, name) is not None}
    line = shlex.join(args.system) if len(args.system) > 1 else args.system[0]
    found = _lesson(line, args.off, args.claim)
    own = replace(found.budget, states=args.states)
    off = f" off={','.join(args.off)}" if args.off else ""
    return found.line + off, Budget(**given, states=args.states) if given else own


def _lesson(line: str, off: list[str], claim: str | None) -> Searched:
    """What is searched: the lesson's own where a broker is named and nothing more."""
    found = find_lesson(line)
    if found is None:
        if claim is not None:
            known = ", ".join(list_brokers("searches"))
            raise UserError(
                f"--claim belongs to a broker ({known}): expected `kafka --claim` and its name"
            )
        return Searched("", line)
    searches, lesson = found
    if claim is not None and claim not in searches.claims:
        raise UserError(f"expected `{line} --claim` with one of {', '.join(searches.claims)}")
    case = searches.claims[claim] if claim is not None else None
    if case is None and len(off) == 1:
        case = searches.safeguards.get(off[0])
    return lesson if case is None else Searched(case.name, case.line, case.budget)


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no number: expected 0, 1, 2 …")
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _progress() -> Callable[[int, int], None]:
    started = time.perf_counter()

    def tell(states: int, depth: int) -> None:
        rate = states / max(time.perf_counter() - started, 1e-9)
        text = f"{states:,} states, depth {depth}, {rate:,.0f} states/s (Ctrl-C ends the search)"
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    return tell


def _grouped(verdict: Verdict) -> list[tuple[list[str], Counterexample]]:
    """Each run that was found, the shortest first, with everything it breaks."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for name, example in sorted(
        verdict.counterexamples.items(), key=lambda found: len(found[1].schedule)
    ):
        runs.setdefault(example.schedule, []).append(name)
    return [(names, verdict.counterexamples[names[0]]) for names in runs.values()]


def _tell(names: list[str], example: Counterexample) -> None:
    trace = example.trace()
    said = ", ".join(f"“{name}”" for name in names)
    print(f"\nshortest counterexample to {said}:\n{trace}")
    print(f"\nthe same run, to see: mqlab open {encode(example.system, trace)}")


def _view(examples: list[Counterexample], page: Path) -> None:
    """The shortest of them, opened at its last fact."""
    if not examples:
        print(f"nothing was found, so {page} is not written")
        return
    from mqlab_widgets import Player

    example = min(examples, key=lambda e: len(e.schedule))
    try:
        Player(example.trace(), title=example.property).save(page)
    except (ValueError, OSError) as error:
        raise UserError(f"--view {page}: {error}") from error
    print(f"wrote {page}")
