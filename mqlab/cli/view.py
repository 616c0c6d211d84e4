"""`mqlab view FILE`: a scenario or a trace as a page, a picture or a film."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..kernel import Trace
from ..real.recording import FOLDER
from ..registry import with_evidence
from .errors import UserError
from .pictures import add_picture_arguments, write_picture
from .run import open_scenario

STORIES = FOLDER.parent / "scenarios"
HELP = "a scenario (.scn) or trace (.json) as a page, a picture or a film"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .scn file, or a trace as .json")
    add_picture_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from mqlab_widgets.lecture import Lecture, Part, divide

    path = Path(args.file)
    if not path.is_file():
        raise UserError(f"no file {path}: give a .scn file or a trace as .json")
    if path.suffix == ".json":
        trace, lecture = read_trace(path), Lecture()
    else:
        golden = open_scenario(path)
        trace = golden.run.trace
        if path.resolve().is_relative_to(STORIES):  # recordings and articles speak of ours only
            trace = with_evidence(trace, path.stem)
        parts = [Part(one.end, one.text if one.written else "") for one in golden.captions]
        scenes = divide(trace, parts, args.lang)
        lecture = Lecture(" ".join(golden.script.comments[1:]), scenes)
    default = Path(path.with_suffix(".html").name)
    return write_picture(trace, args, default, lecture, shown=args.present)


def read_trace(path: Path) -> Trace:
    try:
        return Trace.load(path)
    except ValueError as error:
        raise UserError(
            f"{path} is no trace: {error}; give a file that `mqlab view -o run.json` has written"
        ) from error
