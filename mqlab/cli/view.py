"""`mqlab view FILE`: a scenario or a trace as a page, a picture or a film."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..kernel import Trace
from ..lessons.registry import with_evidence
from .errors import UserError
from .pictures import add_picture_arguments, write_picture
from .run import open_scenario

HELP = "a scenario (.scn) or trace (.json) as a page, a picture or a film"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .scn file, or a trace as .json")
    add_picture_arguments(parser)


def run(args: argparse.Namespace) -> int:
    path = Path(args.file)
    trace = read_trace(path)
    return write_picture(trace, args, Path(path.with_suffix(".html").name), shown=False)


def read_trace(path: Path) -> Trace:
    if not path.is_file():
        raise UserError(f"no file {path}: give a .scn file or a trace as .json")
    if path.suffix != ".json":
        return with_evidence(open_scenario(path).run.trace, path.stem)
    try:
        return Trace.load(path)
    except ValueError as error:
        raise UserError(
            f"{path} is no trace: {error}; give a file that `mqlab view -o run.json` has written"
        ) from error
