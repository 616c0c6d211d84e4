"""`mqlab explore SYSTEM`: every schedule within a budget."""

from __future__ import annotations

import argparse
import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ..brokers import list_brokers
from ..explore import Budget, Counterexample, Verdict, explore
from ..explore.search import Further
from ..explore.swarm import Swarm, swarm
from ..explore.symmetry import explore_equal
from ..explore.verdict import name_claim, say_idle
from ..kernel.system import System
from ..kernel.text import NOTHING, Text, Words, say_cause, say_unknown, tr
from ..places import TO_INSTALL
from ..registry import system
from ..registry.searches import (
    Searched,
    find_lesson,
    list_rows,
    pairs,
    search_all,
    searches_of,
    sum_up,
    table,
)
from ..registry.tables import wrap
from ..scenario.language import ScenarioError
from .errors import UserError, as_user_error
from .language import add_flag, tell
from .searching import (
    COUNTEREXAMPLE,
    MB,
    STATES,
    add_bounds,
    choose_progress,
    clear_line,
    group_runs,
    print_run,
    read_bounds,
    read_number,
    show_progress,
    spare_memory,
    view,
)

if TYPE_CHECKING:
    from ..explore.shelf import Shelf

HELP = "search every possible sequence of events of a system for one that breaks a claim"
EPILOG = (
    "Exit code: 0 if no claim breaks within the printed bounds; 1 if a claim breaks, "
    "or a state that must be reachable is not (with --off and --claim this is the "
    "expected result); 2 for wrong usage. With --safeguards: 0 if every anomaly was "
    "found."
)
ON_DISK = 1_000_000_000
OF_CLAIMS = Words(" of {} --claim")
CLAIMS = Words("looking for an execution that breaks one of {n} claims: {names}")
HOLDS = tr("no claim breaks within these bounds")
SO_FAR = tr("no claim breaks so far")
BROKEN = Words("a claim breaks in {n} of them")
SEARCHED = Words("{} of {} systems searched (Ctrl-C ends the search)")
BYTES = Words(", {n:,.0f} bytes per state")
SHRUNK = tr("found, and shrunk: a counterexample to")
MANY = 10_000  # states from which the memory per state can be computed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mqlab explore`: what is searched, within which bounds, and what is
    printed or written of it."""
    parser.epilog = EPILOG
    parser.add_argument(
        "system",
        nargs="*",
        metavar="SYSTEM",
        help="a broker (kafka, rocketmq, pulsar): its most telling systems, in half a minute of "
        "CPU time; a classical model (two_phase, tcc …): its lesson system; each within bounds of "
        "its own; or a system line, for example: kafka 'app=init; begin; send orders-0 a; commit'",
    )
    parser.add_argument(
        "--off",
        metavar="SAFEGUARD",
        action="append",
        default=[],
        help="switch a safeguard off (repeat for another); `BROKER --off NAME`: in the "
        "smallest system that needs it",
    )
    parser.add_argument(
        "--claim",
        metavar="NAME",
        help="`BROKER --claim NAME`: test a claim that the real broker does not promise",
    )
    add_flag(
        parser,
        "--safeguards",
        help="`BROKER --safeguards`: a table of safeguards, and the anomaly that appears "
        "without each",
    )
    add_flag(
        parser,
        "--pairs",
        help="with --safeguards: which claims break only when two safeguards are missing "
        "(takes minutes)",
    )
    parser.add_argument(
        "--coordinator",
        metavar="FILE",
        type=Path,
        help="use the coordinator that you wrote (`mqlab build`) instead of the engine's",
    )
    add_flag(
        parser,
        "--table",
        help="`BROKER --table`: search all systems of the lessons (takes minutes)",
    )
    add_bounds(parser)
    _add_ways(parser)
    parser.add_argument("--view", metavar="PAGE", help="write the counterexample as a page")


def _add_ways(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say how to search: at random, by symmetry, on disk or on Spark."""
    parser.add_argument(
        "--swarm",
        type=read_number,
        metavar="N",
        help="try N random schedules, with the seeds 0 to N-1, when a search would never end",
    )
    parser.add_argument(
        "--disk",
        metavar="DIR",
        help="keep finished levels in this folder, so that the disk and not the memory is "
        "the limit",
    )
    parser.add_argument(
        "--resume", metavar="DIR", help="continue the search in this folder (Ctrl-C keeps it)"
    )
    add_flag(
        parser,
        "--symmetry",
        help="count states that differ only in the names of interchangeable nodes as one; "
        "search again without this option to compare",
    )
    parser.add_argument(
        "--spark",
        metavar="MASTER",
        help="search on Spark: local[2], spark://HOST:7077 … (--disk then names an empty "
        "folder that all its machines can see)",
    )


def run(args: argparse.Namespace) -> int:
    """Choose the kind of search that the options name, and run it. Exit code 0: nothing found; 1: a
    claim breaks, or a state that must be reachable is never reached; for --safeguards, 0: every
    anomaly was found; 1: one was not."""
    memory = args.memory * MB if args.memory else spare_memory()  # in bytes; None: no bound
    if args.resume:
        return _resume(args, memory)
    if not args.system:
        raise UserError("name what to search: `mqlab explore kafka`, or a system line")
    if args.pairs and not args.safeguards:
        raise UserError("--pairs needs --safeguards: mqlab explore kafka --safeguards --pairs")
    if args.safeguards and args.table:
        raise UserError("--safeguards and --table are two tables: give one of them")
    if args.spark and (args.safeguards or args.table):
        raise UserError("Spark searches one system at a time: leave out --safeguards and --table")
    if args.coordinator:
        return _search_own(args, memory)
    if args.safeguards or args.table:
        return _search_lesson(args, memory)
    quick = choose_quick(args)  # `mqlab explore BROKER` without more: several systems
    if quick:
        return _search_all(quick, args, memory, workers=min(2, os.cpu_count() or 1))
    with as_user_error(ScenarioError, ValueError):
        line, bounds = choose_system(args)
        model = system(line)
    nodes = {spec.name for spec in model.nodes()}
    for name in (*(bounds.killable or ()), *(bounds.restartable or ())):
        if name not in nodes:
            raise UserError(say_unknown("node", name, sorted(nodes)))
    if args.swarm:
        return _swarm(model, bounds, args)
    if args.symmetry:
        return _search_both(model, bounds, args, memory)
    return _search(model, bounds, args, memory, args.disk)


def _search_own(args: argparse.Namespace, memory: int | None) -> int:
    """One system, in memory, with a learner's own coordinator, whose states are not shown."""
    from .build import search_own

    for name in ("safeguards", "table", "claim", "disk", "spark", "swarm", "symmetry"):
        if getattr(args, name):
            raise UserError("your own coordinator is searched in memory only: leave out --{}", name)
    line, bounds = choose_system(args)
    page = Path(args.view) if args.view else None
    return search_own(args.coordinator, line, bounds, memory, page)


def _search_both(
    model: System, bounds: Budget, args: argparse.Namespace, memory: int | None
) -> int:
    """Search a system twice, with interchangeable nodes counted as one and with each by itself, and
    print both verdicts and, if both searches are complete, whether they agree, which tests the
    reduction. Returns the exit code, which does not depend on that. `memory`: bytes that a search
    may use, None: any."""
    if args.disk or args.spark:
        raise UserError("--symmetry works in memory only: leave out --disk and --spark")
    tell("searching {}", model.line(), flush=True)
    verdicts = []
    with as_user_error(ValueError):
        for symmetry in (True, False):
            search = explore_equal if symmetry else explore
            # None: all the claims that the system has
            verdict = search(model, bounds, None, choose_progress(), memory)
            clear_line()
            equal = Words("{} equal")(", ".join(model.symmetric))
            label = equal if symmetry else tr("each node by itself")
            print(f"{label}:\n{verdict}", flush=True)
            verdicts.append(verdict)
    # How long the shortest counterexample to each claim is. Its schedule may differ: nodes swap.
    lengths = [{n: len(e.schedule) for n, e in v.counterexamples.items()} for v in verdicts]
    if all(v.complete for v in verdicts):  # a search that was cut short tells nothing
        same = lengths[0] == lengths[1] and verdicts[0].missing == verdicts[1].missing
        differ = tr("THEY DO NOT TELL THE SAME: this is a mistake")
        print(tr("both tell the same") if same else differ)
    return _print_verdicts(verdicts, args)


def _swarm(model: System, bounds: Budget, args: argparse.Namespace) -> int:
    """Run a system along as many random schedules as --swarm says, here or on Spark, and print what
    broke, with the shrunk counterexamples, which --view writes as a page. Returns the exit code: 1
    where a claim broke, else 0."""
    if args.disk:
        raise UserError("random schedules are not kept on disk: leave out --disk")
    tell("searching {}", model.line(), flush=True)
    with as_user_error(ValueError):
        if args.spark:
            walks = _swarm_on_spark(model, bounds, args)
        else:
            walks = swarm(model, bounds, range(args.swarm))
    clear_line()
    print(walks)
    if (idle := say_idle(model)).en:  # empty unless all clients' programs are
        print(idle)
    return _print_runs(SHRUNK, walks.counterexamples, args)


def _swarm_on_spark(model: System, bounds: Budget, args: argparse.Namespace) -> Swarm:
    try:
        from ..spark.search.walks import swarm_on_spark

        return swarm_on_spark(partial(system, model.line()), bounds, range(args.swarm), args.spark)
    except ModuleNotFoundError as error:
        raise UserError(
            "random schedules on Spark need the package {}: {}", error.name, TO_INSTALL
        ) from error


@contextmanager
def _open_spark(args: argparse.Namespace) -> Iterator[Further | None]:
    """Yield the function that continues a search on the Spark of --spark, for `explore`'s
    `further`; None without --spark. The search's states are kept in the folder of --disk, which
    must be empty, or in one that is removed at the end."""
    if not args.spark:
        yield None
        return
    if args.resume:
        raise UserError("a search on Spark cannot be resumed: leave out --resume")
    try:
        from ..spark.search import on_spark
    except ModuleNotFoundError as error:
        raise UserError(
            "a search on Spark needs the package {}: {}", error.name, TO_INSTALL
        ) from error
    with TemporaryDirectory(prefix="mqlab-search-") as folder:
        with as_user_error(FileExistsError):
            yield on_spark(args.spark, Path(args.disk or folder))


def _resume(args: argparse.Namespace, memory: int | None) -> int:
    """Continue the search in the folder of --resume, which contains its own system line and bounds,
    so that no other option may name them, but --states: UserError. Returns the exit code."""
    from ..explore.described import read_search

    if args.system or args.disk or args.off or args.claim or args.coordinator or read_bounds(args):
        raise UserError(
            "--resume reads system and bounds from the folder: `mqlab explore --resume DIR`, "
            "with nothing else"
        )
    line, bounds = read_search(Path(args.resume))
    model = system(line)
    bounds = replace(bounds, states=args.states or ON_DISK)
    return _search(model, bounds, args, memory, args.resume)


def _search(
    model: System, bounds: Budget, args: argparse.Namespace, memory: int | None, disk: str | None
) -> int:
    """Search one system in memory, in the folder `disk` or on Spark, and print the verdict, the
    speed and the counterexamples. Returns the exit code. `memory`: bytes that it may use, None:
    any."""
    tell("searching {}\n{}", model.line(), _say_claims([model]), flush=True)
    try:
        with _open_spark(args) as further:
            shelf = _open_shelf(Path(disk), model, bounds) if disk and not further else None
            # None: all the claims that the system has.
            verdict = explore(model, bounds, None, choose_progress(), memory, shelf, further)
    except OverflowError as error:
        raise UserError("{}: take a smaller system, or smaller bounds", error) from error
    except OSError as error:
        if not disk:
            raise
        raise UserError(f"{disk}: {say_cause(error)}") from error
    clear_line()
    print(verdict)
    if not verdict.counterexamples:
        print(HOLDS if verdict.complete else SO_FAR)
    rate = verdict.states / max(verdict.seconds, 1e-9)  # a clock may say 0 s
    # with fewer states the memory, of the whole process, says nothing of a state
    memory_known = verdict.memory and verdict.states >= MANY
    per_state = BYTES(n=verdict.memory / verdict.states) if memory_known else NOTHING
    tell("{:.1f} s, {:,.0f} states/s{}", verdict.seconds, rate, per_state)
    if disk and not args.spark and not verdict.complete:
        tell("next: `mqlab explore --resume {}` continues the search", disk)
    return _print_verdicts([verdict], args)


def _say_claims(models: list[System]) -> str:
    """What a search looks for."""
    named = dict.fromkeys(claim.name for model in models for claim in model.properties())
    text = CLAIMS(n=len(named), names=", ".join(map(str, map(name_claim, named))))
    return "\n".join(wrap(str(text), 96, rest="  "))


def _open_shelf(folder: Path, model: System, bounds: Budget) -> Shelf:
    try:
        from ..explore.shelf import Shelf
    except ModuleNotFoundError as error:
        raise UserError(
            "a search on disk needs the package {}: {}", error.name, TO_INSTALL
        ) from error
    with as_user_error(OSError):
        return Shelf(folder, model, bounds)


def _print_verdicts(verdicts: list[Verdict], args: argparse.Namespace) -> int:
    """Every violated claim by its shortest execution, in whichever system that was found; the exit
    code."""
    shortest: dict[str, Counterexample] = {}
    for name, example in (pair for v in verdicts for pair in v.counterexamples.items()):
        if name not in shortest or len(example.schedule) < len(shortest[name].schedule):
            shortest[name] = example
    _print_runs(COUNTEREXAMPLE, shortest, args)
    return 0 if all(verdict.ok for verdict in verdicts) else 1


def _print_runs(head: Text, shortest: dict[str, Counterexample], args: argparse.Namespace) -> int:
    for names, example in group_runs(shortest):
        print_run(head, names, example)
    if args.view:
        view(list(shortest.values()), Path(args.view))
    return 1 if shortest else 0


def _search_lesson(args: argparse.Namespace, memory: int | None) -> int:
    """Run a broker's searches of the lessons: all its systems for --table; for --safeguards those
    with a safeguard switched off, in which an anomaly must be found; with --pairs those with two
    switched off. Returns the exit code, for --safeguards 1 where an anomaly was not found.
    UserError where SYSTEM is more than a broker's name."""
    if len(args.system) > 1 or args.system[0] not in list_brokers("searches"):
        known = ", ".join(list_brokers("searches"))
        raise UserError(
            "--safeguards and --table need the name of a broker alone ({}): mqlab "
            "explore kafka --safeguards",
            known,
        )
    searches = searches_of(args.system[0])
    if args.table:  # takes minutes
        return _search_all(searches.systems, args, memory, workers=1)
    try:
        write = pairs if args.pairs else table
        text = write(searches, progress=choose_progress())
    except LookupError as error:  # names the anomaly that was not found
        print(f"{error.args[0]}")
        return 1
    clear_line()
    print(text)
    return 0


def _search_all(
    systems: tuple[Searched, ...], args: argparse.Namespace, memory: int | None, workers: int
) -> int:
    """Search several systems, `workers` at a time, and print what was looked for, what was found
    and how much was searched, then the counterexamples; with --table, a line for each system as
    soon as it is done. Returns the exit code. `memory`: bytes that all of them may use, None:
    any."""
    if args.states is not None:
        systems = tuple(replace(s, budget=replace(s.budget, states=args.states)) for s in systems)
    verdicts: list[Verdict] = []

    def keep() -> Iterator[Verdict]:  # what `list_rows` prints is needed at the end, too
        for verdict in search_all(systems, workers, memory):
            verdicts.append(verdict)
            yield verdict

    print(_say_claims([system(one.line) for one in systems]), flush=True)
    started = time.perf_counter()
    if args.table:
        for line in list_rows(systems, keep()):
            print(line, flush=True)
    else:
        for _ in keep():
            show_progress(SEARCHED(len(verdicts), len(systems)))
        clear_line()
        print("\n".join(sum_up(systems, verdicts)))
    seconds, states = time.perf_counter() - started, sum(v.states for v in verdicts)
    found = sum(bool(verdict.counterexamples) for verdict in verdicts)
    held = HOLDS if all(verdict.complete for verdict in verdicts) else SO_FAR
    end = BROKEN(n=found) if found else held
    tell("searched {:,} states of {} systems in {:.0f} s: {}", states, len(systems), seconds, end)
    return _print_verdicts(verdicts, args)


def choose_quick(args: argparse.Namespace) -> tuple[Searched, ...]:
    """The systems of the plain form, `mqlab explore NAME`; none where anything else is asked."""
    other = args.off or args.claim or args.disk or _is_unusual(args) or read_bounds(args)
    if other or len(args.system) > 1 or args.system[0] not in list_brokers("searches"):
        return ()
    return searches_of(args.system[0]).quick


def _is_unusual(args: argparse.Namespace) -> bool:
    """Whether it is searched in another way than usual."""
    return bool(args.swarm or args.spark or args.symmetry)


def choose_system(args: argparse.Namespace) -> tuple[str, Budget]:
    """The system line and its bounds. A bare name of a broker is its lesson system or, without
    one safeguard, the smallest system that needs it; both have bounds of their own, which hold
    as long as none is given."""
    given = read_bounds(args)
    states = args.states or (ON_DISK if args.disk else STATES)
    line = shlex.join(args.system) if len(args.system) > 1 else args.system[0]
    searched = _choose_search(line, args.off, args.claim)
    own = replace(searched.budget, states=states)
    off = f" off={','.join(args.off)}" if args.off else ""
    return searched.line + off, Budget(**given, states=states) if given else own


def _choose_search(line: str, off: list[str], claim: str | None) -> Searched:
    """The system line and bounds that SYSTEM means. The bare name of a broker or of a classical
    model means the case of `claim`, that of the one safeguard in `off`, or else its lesson; any
    other line means itself. UserError for a `claim` without a case."""
    entry = find_lesson(line)  # None: the line is no bare name
    if entry is None:
        if claim is not None:
            known = ", ".join(list_brokers("searches"))
            raise UserError(
                "--claim needs the name of a broker ({}): `mqlab explore kafka --claim NAME`", known
            )
        return Searched(name="", line=line)
    searches, lesson = entry
    if claim is not None and claim not in searches.claims:
        raise UserError(say_unknown("case", claim, searches.claims, OF_CLAIMS(line)))
    case = searches.claims[claim] if claim is not None else None
    if case is None and len(off) == 1:
        case = searches.safeguards.get(off[0])
    return lesson if case is None else Searched(case.name, case.line, case.budget)
