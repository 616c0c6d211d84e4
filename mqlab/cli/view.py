"""`mqlab view FILE -o page.html`: a scenario as one page that steps without kernel or net."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..kernel import Trace
from ..lessons.registry import with_evidence
from .errors import UserError
from .run import open_scenario

HELP = "turn a scenario (.scn) or trace (.json) into a self-contained page"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .scn file, or a trace as .json")
    parser.add_argument("-o", "--output", metavar="PAGE", help="an .html or .svg file to write")
    parser.add_argument("--step", type=int, default=0, help="where to open it (default: start)")
    parser.add_argument("--lang", choices=("en", "zh"), default="en")
    parser.add_argument("--trace", action="store_true", help="write the trace as JSON instead")


def run(args: argparse.Namespace) -> int:
    from mqlab_widgets import Player

    trace = read_trace(Path(args.file))
    suffix = ".json" if args.trace else ".html"
    out = Path(args.output or Path(args.file).with_suffix(suffix).name)
    if not 0 <= args.step <= len(trace):
        raise UserError(f"--step {args.step}: the trace has positions 0 to {len(trace)}")
    if args.trace:
        trace.save(out)
    else:
        Player(trace, step=args.step, lang=args.lang).save(str(out))
    print(f"wrote {out} ({out.stat().st_size / 1000:.0f} kB, {len(trace)} facts)")
    return 0


def read_trace(path: Path) -> Trace:
    if not path.is_file():
        raise UserError(f"no file {path}: give a .scn file or a trace as .json")
    if path.suffix != ".json":
        return with_evidence(open_scenario(path).run.trace, path.stem)
    try:
        return Trace.load(path)
    except ValueError as error:
        raise UserError(
            f"{path} is no trace: {error}; give a file that `mqlab view --trace` has written"
        ) from error
