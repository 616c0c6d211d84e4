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

HELP = "show what is stuck in your broker, and why: live, from its data folder or its tools' output"
EPILOG = (
    "It only reads, and shows no keys and values without --payloads. Exit code: 0 if "
    "nothing is stuck, 1 if something is, 2 if it could not be read in full."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = parser.add_subparsers(dest="broker", metavar="BROKER", required=True)
    for name, broker in list_brokers("inspect").items():
        one = names.add_parser(
            name, help=broker.title, epilog=EPILOG, description=load(broker.inspect).TARGETS
        )
        one.add_argument(
            "target", metavar="ADDRESS|FOLDER|FILE|-", help="what to read; - is the standard input"
        )
        one.add_argument(
            "--topic", metavar="T[:P]", default="", help="only this topic or partition"
        )
        one.add_argument("--offsets", metavar="A..B", default="", help="only these offsets")
        one.add_argument("--payloads", action="store_true", help="show keys and values")
        one.add_argument(
            "--config", metavar="FILE", default="", help="file with your client's settings"
        )
        one.add_argument("--json", action="store_true", help="print the report as data")
        one.add_argument(
            "-o", "--output", metavar="PAGE", type=Path, help="write the report as a page (.html)"
        )
        add_language(one)


def run(args: argparse.Namespace) -> int:
    speak(args.lang)
    if args.output and args.output.suffix != ".html":
        raise UserError(
            "cannot write {}: name a page, .html; --json prints the report as data", args.output
        )
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
            raise UserError("cannot write {}: {}", args.output, error.strerror) from error
        _say(f"wrote {args.output}")
    return report.exit_code


def _say(line: str) -> None:
    """Progress goes beside the report."""
    print(escape_unseen(line), file=sys.stderr, flush=True)
