"""`mqlab inspect BROKER`: a real broker, or what its tools printed: what is stuck, and why."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..brokers import list_brokers, load
from ..inspect import Unreadable, inspect, parse_ask
from ..inspect.show import to_json, write_page
from ..kernel import escape_unseen, replace, speak
from .errors import UserError
from .language import add_language

HELP = "what is stuck in a broker of yours, and why: read live, from its folder, from its tools"
EPILOG = (
    "It only reads. No key and no value is shown without --payloads. Exit codes: 0 nothing was "
    "found, 1 something was, 2 it, or a part of it, could not be read."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = parser.add_subparsers(dest="broker", metavar="BROKER", required=True)
    for name, broker in list_brokers("inspect").items():
        one = names.add_parser(
            name, help=broker.title, epilog=EPILOG, description=load(broker.inspect).TARGETS
        )
        one.add_argument(
            "target", metavar="ADDRESS|FOLDER|FILE|-", help="what to read; -: the standard input"
        )
        one.add_argument("--topic", metavar="T[:P]", default="", help="this topic, or partition")
        one.add_argument("--offsets", metavar="A..B", default="", help="these offsets only")
        one.add_argument("--payloads", action="store_true", help="show keys and values")
        one.add_argument("--config", metavar="FILE", default="", help="your client's settings")
        one.add_argument("--json", action="store_true", help="the report as data")
        one.add_argument(
            "-o", "--output", metavar="PAGE", type=Path, help="write it as a page (.html)"
        )
        add_language(one, "the report")


def run(args: argparse.Namespace) -> int:
    speak(args.lang)
    if args.output and args.output.suffix != ".html":
        raise UserError(f"cannot write {args.output}: a page ends in .html; data: --json")
    try:
        ask = parse_ask(args.target, args.topic, args.offsets, args.payloads, args.config)
        report = inspect(args.broker, replace(ask, say=_say))
    except Unreadable as error:
        raise UserError(escape_unseen(str(error))) from error
    if args.json:
        print(json.dumps(to_json(report), ensure_ascii=False, indent=1))
    else:
        print(report)
    if args.output:
        try:
            args.output.write_text(write_page(report), "utf-8")
        except OSError as error:
            raise UserError(f"cannot write {args.output}: {error.strerror}") from error
        _say(f"wrote {args.output}")
    return report.exit_code


def _say(line: str) -> None:
    """Progress goes beside the report."""
    print(escape_unseen(line), file=sys.stderr, flush=True)
