"""`mqlab open TOKEN`: a run that somebody has sent, as a page in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..registry import reopen_run
from .errors import UserError
from .pictures import add_picture_arguments, write_picture

HELP = "show the run of a token, as a Playground's button or `mqlab explore` gives one"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "In a notebook: open_run(token) of mqlab.lab gives the run, to play on."
    parser.add_argument("token", metavar="TOKEN", help="the whole text that was copied")
    add_picture_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from mqlab_widgets.lecture import Lecture

    try:
        play, note = reopen_run(args.token)
    except ValueError as error:
        raise UserError(str(error)) from error
    if remark := note.of(args.lang):
        print(remark)
    return write_picture(play.trace, args, Path("run.html"), Lecture(), shown=True)
