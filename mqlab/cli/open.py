"""`mqlab open TOKEN`: an execution received as a token, as a page in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..registry import reopen_run
from .errors import as_user_error
from .pictures import add_picture_arguments, write_picture

HELP = "show what is in a token that `mqlab explore` or a Playground's button gave you"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "In a notebook, open_run(token) of mqlab.lab opens it, and you can continue it."
    parser.add_argument("token", metavar="TOKEN", help="the token, as it was copied")
    add_picture_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from mqlab_widgets.lecture import Lecture

    with as_user_error(ValueError):
        play, note = reopen_run(args.token)
    if remark := note.of(args.lang):
        print(remark)
    return write_picture(play.trace, args, Path("run.html"), Lecture(), shown=True)
