"""`mqlab explore 'SYSTEM LINE'`: every schedule within a budget."""

from __future__ import annotations

import argparse
import sys

from ..explore import Budget, explore
from ..lessons.systems import system
from ..scenario.language import ScenarioError
from .errors import UserError

HELP = "search every schedule of a system within a budget of faults"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "system",
        nargs="+",
        help="a system line, for example: kafka 'app=init; begin; send orders-0 a; commit'",
    )
    parser.add_argument("--off", metavar="SAFEGUARD", action="append", default=[])
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--power-cuts", type=int, default=0)
    parser.add_argument("--breaks", type=int, default=0, help="broken connections")
    parser.add_argument("--timers", type=int, default=0)
    parser.add_argument("--killable", help="which nodes may die, for example tc,app")
    parser.add_argument("--states", type=int, default=1_000_000, help="give up after so many")


def run(args: argparse.Namespace) -> int:
    """0: nothing found; 1: a property is violated."""
    words = [w if w == args.system[0] or " " not in w else f"'{w}'" for w in args.system]
    try:
        found = system(" ".join(words) + (f" off={','.join(args.off)}" if args.off else ""))
    except ScenarioError as error:
        raise UserError(str(error)) from error
    budget = Budget(
        kills=args.kills,
        power_cuts=args.power_cuts,
        breaks=args.breaks,
        timers=args.timers,
        states=args.states,
        killable=tuple(args.killable.split(",")) if args.killable else None,
    )
    verdict = explore(found, budget, progress=_progress if sys.stderr.isatty() else None)
    print(verdict)
    print(f"{verdict.seconds:.1f} s, {verdict.states / max(verdict.seconds, 1e-9):,.0f} states/s")
    for name, example in verdict.counterexamples.items():
        print(f"\nshortest counterexample to “{name}”:\n{example.trace()}")
    return 0 if verdict.ok else 1


def _progress(states: int, depth: int) -> None:
    print(f"\r{states:,} states, depth {depth} ", end="", file=sys.stderr, flush=True)
