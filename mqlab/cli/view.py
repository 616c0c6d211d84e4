"""`mqlab view FILE`: a scenario or a trace as a page, a picture or a film."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..kernel import NOTHING, Trace, escape_unseen
from ..kernel.text import say_cause
from ..places import SCENARIOS
from ..registry import with_evidence
from .errors import UserError
from .pictures import add_picture_arguments, write_comparison, write_picture
from .run import find_file, open_scenario

HELP = "show a scenario (.scn) or a trace (.json) as a page, a picture or a film"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a .scn file, the name of a scenario, such as kafka/torn-read, or a trace (.json)",
    )
    parser.add_argument(
        "--compare", nargs="+", metavar="FILE",
        help="a page with this .scn file and one to three others side by side, played block "
            "by block (a block ends with dashes and a blank line)",
    )  # fmt: skip
    add_picture_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Write a scenario or a saved trace as the file that --output names, or several scenarios side
    by side (--compare). UserError where a line of the scenario waits for something that never
    comes."""
    from mqlab_widgets.lecture import Lecture, Part, divide

    path = find_file(args.file)
    if args.compare:
        return compare_files([path, *map(find_file, args.compare)], args)
    if path.suffix == ".json":
        trace, lecture = read_trace(path), Lecture()
    else:
        golden = open_scenario(path)  # the scenario's execution, beside its file's text
        if golden.done.idle:  # a sentence for each line that waited in vain
            raise UserError(f"{path}: {'; '.join(golden.done.idle)}")
        trace = golden.run.trace
        if waits := golden.done.waits.of(args.lang):  # what still waits at its end, in words
            print(escape_unseen(waits))
        if path.resolve().is_relative_to(SCENARIOS):  # recordings and articles speak of ours only
            trace = with_evidence(trace, path.stem)
        # A block without a written caption has its commands as one; a slide leaves it out.
        parts = [Part(one.end, one.text if one.written else NOTHING) for one in golden.captions]
        lecture = Lecture(golden.script.story, divide(trace, parts))
    default = Path(path.with_suffix(".html").name)
    return write_picture(trace, args, default, lecture, shown=args.present)


def read_trace(path: Path) -> Trace:
    try:
        return Trace.load(path)
    except OSError as error:
        raise UserError("cannot read {}: {}", path, say_cause(error)) from error
    except ValueError as error:
        raise UserError(
            "{} is not a trace: {}; give a file that `mqlab view -o run.json` wrote", path, error
        ) from error


def compare_files(paths: list[Path], args: argparse.Namespace) -> int:
    """The page on which several scenarios play on one clock, their blocks."""
    if bad := [str(path) for path in paths if path.suffix != ".scn"]:
        raise UserError("{}: --compare takes .scn files", ", ".join(bad))
    golden = [open_scenario(path) for path in paths]
    ends = [one.ends for one in golden]
    if len({*map(len, ends)}) > 1:
        counts = ", ".join(f"{path} has {len(end)}" for path, end in zip(paths, ends, strict=True))
        raise UserError(
            "--compare plays block by block, and these files differ in their number of blocks: {}",
            counts,
        )
    traces = [with_evidence(one.run.trace, "") for one in golden]
    return write_comparison(traces, list(zip(*ends, strict=True)), args)
