"""`mqlab inspect BROKER`: a real broker, or what its tools printed: what is stuck, and why."""

from __future__ import annotations

import argparse
import json
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path

from ..brokers import list_brokers, load
from ..inspect import Report, Unreadable, inspect, parse_ask
from ..inspect.show import FROM_HERE, to_json, write_page
from ..kernel import Lang, Words, escape_unseen, replace, speak
from .alone import PageServer
from .errors import UserError
from .lab_server import has_screen
from .language import add_flag, add_language

HELP = "show what is stuck in your broker, and why: live, from its data folder or its tools' output"
EPILOG = (
    "It only reads, and shows no keys and values without --payloads. Exit code: 0 if "
    "nothing is stuck, 1 if something is, 2 if it could not be read in full."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare a subcommand for each broker that can be inspected, with the same options."""
    subcommands = parser.add_subparsers(dest="broker", metavar="BROKER", required=True)
    for name, broker in list_brokers("inspect").items():
        command = subcommands.add_parser(
            name, help=broker.title, epilog=EPILOG, description=str(load(broker.inspect).TARGETS)
        )
        command.add_argument(
            "target", metavar="ADDRESS|FOLDER|FILE|-", help="what to read; - is the standard input"
        )
        command.add_argument(
            "--topic", metavar="T[:P]", default="", help="only this topic or partition"
        )
        command.add_argument("--offsets", metavar="A..B", default="", help="only these offsets")
        add_flag(command, "--payloads", help="show keys and values")
        command.add_argument(
            "--config", metavar="FILE", default="", help="file with your client's settings"
        )
        add_flag(
            command, "--play", help="search what happens next, from the records that were read"
        )
        add_flag(
            command, "--by-hand", help="open a playground that begins from them, in the browser"
        )
        add_flag(command, "--json", help="print the report as data")
        command.add_argument(
            "-o", "--output", metavar="PAGE", type=Path, help="write the report as a page (.html)"
        )
        add_language(command)


def run(args: argparse.Namespace) -> int:
    """Read a broker, a folder or a tool's output, and print the report, as text or as JSON; write
    it as a page, and serve a playground that begins from it until Ctrl-C, where asked. EPILOG says
    the exit codes."""
    speak(args.lang)
    if args.output and args.output.suffix != ".html":
        raise UserError(
            "cannot write {}: name a page, .html; --json prints the report as data", args.output
        )
    try:
        request = parse_ask(args.target, args.topic, args.offsets, args.payloads, args.config)
        report = inspect(args.broker, replace(request, say=_say), play=args.play or args.by_hand)
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
        _say(str(Words("wrote {}")(args.output)))
    if args.by_hand:
        _serve(report, args.lang)
    return report.exit_code


def _serve(report: Report, lang: Lang) -> None:
    """A page for it, until Ctrl-C."""
    with PageServer(lambda: (report.playground(), FROM_HERE), lang) as server:
        _say(str(Words("{}  (Ctrl-C ends it)")(server.address)))
        if has_screen():
            webbrowser.open(server.address)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def _say(line: str) -> None:
    """Progress goes beside the report."""
    print(escape_unseen(line), file=sys.stderr, flush=True)
