"""`mqlab build`: a part of a broker that you write yourself, and its check."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..kernel import escape_unseen
from ..places import LABS
from .errors import UserError
from .labs import COPIES

HELP = "write a part of a broker yourself, and have every run of it searched"
#: in Kafka, RocketMQ and Pulsar; "-" is "_" in the names of files
WHATS = ("coordinator", "check-round", "pending-acks")
SITTINGS = (1, 2, 3, 4, 5)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    new = actions.add_parser("new", help="a file to begin a sitting with; never over one of yours")
    check = actions.add_parser(
        "check", help="right, or the shortest run that breaks it; exit code 1 where one does"
    )
    for action in (new, check):
        action.add_argument("file", nargs="?", type=Path, metavar="FILE",
                            help="yours (my-labs/coordinator.py, or as --what says); what it is, "
                            "a check reads in it")  # fmt: skip
        action.add_argument("--what", choices=WHATS, default=WHATS[0],
                            help="Kafka's coordinator, RocketMQ's check round, or Pulsar's "
                            "pending acks (coordinator)")  # fmt: skip
        action.add_argument("--sitting", type=int, choices=SITTINGS, default=1,
                            help="of a coordinator: 1 it works, 2 it dies, 3 it is not alone, "
                            "4 nobody comes back, 5 older clients; of the others: 1 and 2 (1); "
                            "a check asks the earlier ones too")  # fmt: skip
    check.add_argument("--view", type=Path, metavar="PAGE", help="where the run is written as a "
                       "page (beside FILE, named .html)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    folder = args.what.replace("-", "_")
    args.file = args.file or COPIES / f"{folder}.py"
    return {"new": _new, "check": _check}[args.action](args)


def _new(args: argparse.Namespace) -> int:
    name = "begin.py" if args.sitting == 1 else f"sitting-{args.sitting - 1}.py"
    source = LABS / args.what.replace("-", "_") / name
    if not source.is_file():
        raise UserError(
            f"no {source}: go on with your own file of the sitting before, or take it from a clone"
        )
    try:
        args.file.parent.mkdir(parents=True, exist_ok=True)
        with args.file.open("x", encoding="utf-8") as out:
            out.write(source.read_text("utf-8"))
    except FileExistsError:
        raise UserError(
            f"{args.file} is there and stays as it is: rename it, or name another FILE"
        ) from None
    except OSError as error:
        raise UserError(f"cannot write {args.file}: {error.strerror}") from error
    usual = args.file == COPIES / "coordinator.py"
    command = "mqlab build check" + ("" if usual else f" {args.file}")
    print(f"wrote {args.file}; when you have saved a change: {command}")
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
    from ..lessons.builder.checking import check_file
    from ..lessons.builder.host import BuildError

    try:
        card = check_file(args.file, args.sitting)
    except BuildError as error:
        raise UserError(escape_unseen(str(error))) from error
    print("\n".join(map(escape_unseen, str(card).splitlines())))
    if card.ok:
        return 0
    player = card.player()
    if player is not None:
        page = args.view or args.file.with_suffix(".html")
        player.save(page)
        print(f"the run is in {page}, open at step {card.step}")
    return 1
