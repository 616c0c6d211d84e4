"""`mqlab build`: a part of a broker that you write yourself, its check, and its playground."""

from __future__ import annotations

import argparse
import shlex
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..explore import Budget, explore
from ..kernel import escape_unseen, speak
from ..kernel.play import Token, decode
from ..kernel.text import Words, say_cause, say_unknown, tr
from ..places import LABS
from ..scenario.language import ScenarioError
from . import searching as search
from .alone import PageServer
from .errors import UserError, as_user_error
from .lab_server import has_screen
from .labs import COPIES
from .language import add_flag, add_language, tell

HELP = "write a part of a broker yourself, and search every possible execution of it"
#: in Kafka, RocketMQ and Pulsar; "-" is "_" in the names of files
WHATS = ("coordinator", "check-round", "pending-acks")
SITTINGS = (1, 2, 3, 4, 5)
PLAY = Words("to continue from it: mqlab build play {} --run")
UNWALLED = tr(
    "this machine offers no sandbox (Linux with `unshare` or Landlock), so the file can read and "
    "write what you can"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the three actions of `mqlab build` (new, check, play), which share FILE, --what and
    --part; check and play also share --system."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    new = actions.add_parser(
        "new", help="write the file that a part begins with; yours is never overwritten"
    )
    check = actions.add_parser(
        "check",
        help="check your file: it is right, or the shortest example that breaks it (exit code 1)",
    )
    play = actions.add_parser(
        "play", help="drive your file by hand, in a playground in the browser"
    )
    for action in (new, check, play):
        action.add_argument("file", nargs="?", type=Path, metavar="FILE",
                            help="your file (default: my-labs/coordinator.py, or as --what "
                                "says); a check reads from the file what it is")  # fmt: skip
        action.add_argument("--what", choices=WHATS, default=WHATS[0],
                            help="Kafka's coordinator, RocketMQ's check round, or Pulsar's "
                                "pending acks (default: coordinator)")  # fmt: skip
        action.add_argument("--part", "--sitting", dest="sitting", type=int,
                            choices=SITTINGS, default=1,
                            help="part of the work (default: 1). Coordinator: 1 it works, 2 "
                                "it crashes, 3 it has a second instance, 4 clients do not "
                                "return, 5 older clients. The other two have parts 1 and "
                                "2. A check includes the earlier parts")  # fmt: skip
    for action in (check, play):
        action.add_argument("--system", metavar="LINE",
                       help="check it in a system of your own, such as \"kafka partitions=1 "
                       "'app=init; "
            "begin; send orders-0 a; commit'\"")  # fmt: skip
    check.add_argument("--view", type=Path, metavar="PAGE",
                       help="where to write the counterexample as a page (default: next to FILE, "
                       "ending in "
        ".html)")  # fmt: skip
    search.add_bounds(check.add_argument_group("what may happen in the system of --system"))
    play.add_argument(
        "--run", metavar="TOKEN", help="begin at the end of the counterexample that a check found"
    )
    play.add_argument("--port", type=int, default=0, help="port of the page (default: any)")
    add_flag(play, "--no-browser", help="do not open the page")
    add_language(play)


def run(args: argparse.Namespace) -> int:
    folder = args.what.replace("-", "_")
    args.file = args.file or COPIES / f"{folder}.py"
    return {"new": _new, "check": _check, "play": _play}[args.action](args)


def _new(args: argparse.Namespace) -> int:
    """Write the file from which a part of the work (`args.sitting`, from 1) begins to `args.file`,
    unless that exists. A later part begins with the solution of the part before it. UserError where
    there is none, or the file exists or cannot be written."""
    from ..lessons.builder.right import read_right

    folder = LABS / args.what.replace("-", "_")
    try:
        text = read_right(folder, args.sitting - 1)
    except FileNotFoundError as error:
        raise UserError(
            "no {}: continue with your own file from the part before, or take it from a clone",
            error.filename,
        ) from error
    try:
        args.file.parent.mkdir(parents=True, exist_ok=True)
        with args.file.open("x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        raise UserError(
            "{} exists and is not overwritten: rename it, or name another FILE", args.file
        ) from None
    except OSError as error:
        raise UserError("cannot write {}: {}", args.file, say_cause(error)) from error
    is_default = args.file == COPIES / "coordinator.py"
    command = "mqlab build check" + ("" if is_default else f" {args.file}")
    tell("wrote {}\nnext, when you have saved a change: {}", args.file, command)
    return 0


def load_coordinator(path: Path) -> Any:
    """How a server starts the coordinator in a file. UserError where it is none."""
    from ..lessons.builder.host import BuildError
    from ..lessons.builder.serving import read_coordinator

    try:
        return read_coordinator(path)
    except BuildError as error:
        raise UserError(escape_unseen(str(error))) from error


def _check(args: argparse.Namespace) -> int:
    """Check a learner's file: search the systems of the part of the work `args.sitting`, or the one
    of --system, for an execution that breaks a claim. Where those of the part have none, released
    Kafka clients try the file, too, if the part asks for them. Returns 1 where something is wrong,
    else 0; UserError where it cannot be checked. A counterexample is also written as a page, one of
    --system only with --view."""
    given = search.read_bounds(args)  # only those that are on the command line
    if args.system is not None:
        bounds = Budget(**given, states=args.states or search.STATES)
        memory = args.memory * search.MB if args.memory else search.spare_memory()
        return search_own(args.file, args.system, bounds, memory, args.view, args.sitting)
    if given or args.states or args.memory:
        raise UserError("bounds apply to a system of your own: name it with --system LINE")
    from ..lessons.builder.checking import check_file
    from ..lessons.builder.closed import ask_version
    from ..lessons.builder.host import BuildError
    from ..lessons.course.judging import WALLED, find_sandbox

    if find_sandbox() not in WALLED and ask_version() <= 0:  # neither unshare nor Landlock
        print(UNWALLED, file=sys.stderr)
    try:
        card = check_file(args.file, args.sitting)  # each trial's result, and the counterexample
    except BuildError as error:
        raise UserError(escape_unseen(str(error))) from error
    print("\n".join(map(escape_unseen, str(card).splitlines())))
    if card.ok:
        from ..lessons.builder.clients import ask_clients

        verdict = ask_clients(args.file, args.sitting)
        if verdict.message.en:  # empty where this part tries no clients
            print(escape_unseen(str(verdict)))
        return 0 if verdict.ok else 1
    player = card.player()
    if player is not None:  # None: the file fails before any execution could show it
        page = args.view or args.file.with_suffix(".html")
        player.save(page)
        tell("wrote {}: the counterexample, opened at step {}", page, card.step)
    return 1


@contextmanager
def _open_own(path: Path) -> Iterator[tuple[Any, Any]]:
    """What the file is, and its process. UserError where it cannot be loaded."""
    from ..lessons.builder.host import BuildError, read_file
    from ..lessons.builder.whats import find_what

    try:
        source = read_file(path)
        what = find_what(source)
        with what.host(source) as host:
            yield what, host
    except BuildError as error:
        raise UserError(escape_unseen(str(error))) from error


def search_own(
    path: Path, line: str, bounds: Budget, memory: int | None, page: Path | None, sitting: int = 0
) -> int:
    """Search the system of `line`, in which the learner's file at `path` is one part of the broker,
    and print each claim that breaks, with its shortest execution; the shortest of these is also
    written to `page`, if there is one. Returns 1 where a claim breaks, or a state that must be
    reachable is not, else 0. `memory`: bytes that the search may use, None: any; `sitting`: the
    part of the work: claims that only a later one asks are left out; 0: none."""
    from ..lessons.builder.checking import NO_SITTING

    with _open_own(path) as (what, host):  # which part of a broker it is; the process that runs it
        if sitting and sitting not in what.sittings:
            raise UserError(str(NO_SITTING(sitting=sitting, last=len(what.sittings))))
        unasked = what.list_unasked(sitting) if sitting else ()  # names of the claims left out
        with as_user_error(ScenarioError, ValueError):
            # `host.recover` starts the learner's part, in place of the engine's own
            model = what.arrange_line(line, host.recover, unasked)
        nodes = sorted(spec.name for spec in model.nodes())
        for name in (*(bounds.killable or ()), *(bounds.restartable or ())):
            if name not in nodes:
                raise UserError(say_unknown("node", name, nodes))
        tell("searching {}, with {}", model.line(), path, flush=True)
        verdict = explore(model, bounds, progress=search.choose_progress(), memory=memory)
        search.clear_line()
        print("\n".join(map(escape_unseen, str(verdict).splitlines())))
        if unasked:
            tell("not required up to part {}: {}", sitting, ", ".join(unasked))
        for names, example in search.group_runs(verdict.counterexamples):
            shows = PLAY(shlex.quote(str(path)))
            search.print_run(search.COUNTEREXAMPLE, names, example, shows)
            why = what.explain(example.system, example.schedule, example.property)
            print(escape_unseen(str(why)))
        if page is not None:
            search.view(list(verdict.counterexamples.values()), page)
        return 0 if verdict.ok else 1


def _play(args: argparse.Namespace) -> int:
    """Serve a page in which the learner's file is played step by step, until Ctrl-C; it begins with
    the choices of the token --run. The file is read again each time the page is loaded. UserError
    where it cannot be played."""
    from ..lessons.builder.byhand import ByHand

    speak(args.lang)
    run = _read_run(args.run) if args.run else None
    line = run.line if run else args.system or ""  # "": the first system of the part of the work
    with _open_own(args.file):
        pass  # it can be loaded; a page says of a later change that it cannot
    hand = ByHand(args.file, line, args.sitting, run.choices if run else ())
    try:
        hand.begin()  # ValueError where the system or the part is none
        with PageServer(hand.begin, args.lang, args.port) as server:
            tell("{} can be played at {}\nCtrl-C ends it.", args.file, server.address, flush=True)
            if not args.no_browser and has_screen():
                webbrowser.open(server.address)
            with suppress(KeyboardInterrupt):
                server.serve_forever()
    except (ScenarioError, ValueError) as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(
            "port {}: {}; choose another, or 0 for any", args.port, say_cause(error)
        ) from error
    finally:
        hand.close()
    return 0


def _read_run(token: str) -> Token:
    with as_user_error(ValueError):
        return decode(token)
