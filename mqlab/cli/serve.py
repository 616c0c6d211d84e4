"""`mqlab serve kafka`: the engine behind a real port, for real clients."""

from __future__ import annotations

import argparse
from pathlib import Path

from .errors import UserError

HELP = "serve the engine's Kafka to real clients"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("broker", choices=("kafka",), help="whose protocol to speak")
    parser.add_argument(
        "--host", default="127.0.0.1", help="where to listen (default: this machine only)"
    )
    parser.add_argument("--port", type=int, default=9092, help="0 takes any (default: 9092)")
    parser.add_argument(
        "--trace-port", type=int, default=0, metavar="PORT", help="of the live trace (default: any)"
    )
    parser.add_argument(
        "--data-dir", type=folder, metavar="DIR", help="keep everything there (default: memory)"
    )
    parser.add_argument(
        "--fsync", action="store_true", help="survive power cuts too, at a price in speed"
    )
    parser.add_argument(
        "--transaction-version", type=int, choices=(0, 2), default=2, help="(default: 2)"
    )
    parser.add_argument(
        "--auto-create", action="store_true", help="create a topic when a client asks about it"
    )
    parser.add_argument(
        "--off", nargs="+", metavar="SAFEGUARD", default=[], help="switch safeguards off"
    )
    parser.add_argument(
        "--pace",
        type=int,
        default=0,
        metavar="MS",
        help="let messages between coordinator and leaders take so long (default: 0)",
    )
    parser.add_argument(
        "--salvage-to",
        type=folder,
        metavar="NEW",
        help="serve nothing: copy what stands before the damage in --data-dir to this folder",
    )
    parser.add_argument("--verbose", action="store_true", help="say each request of each client")
    parser.add_argument("--until-input-ends", action="store_true", help=argparse.SUPPRESS)


def folder(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty name is no folder: name one")
    return Path(text)


def run(args: argparse.Namespace) -> int:
    if args.salvage_to is not None:
        return salvage_to(args)
    if args.fsync and args.data_dir is None:
        raise UserError("--fsync needs a folder to write to: add --data-dir DIR")
    for port in (args.port, args.trace_port):
        if not 0 <= port < 1 << 16:
            raise UserError(f"{port} is no port: name one from 1 to 65535, or 0 for any")
    if args.pace < 0:
        raise UserError(f"--pace {args.pace}: name a number of milliseconds, 0 or more")
    from mqlab.kafka.config import SAFEGUARDS

    for name in args.off:
        if name not in SAFEGUARDS:
            raise UserError(f"no safeguard {name!r}; there are: {', '.join(SAFEGUARDS)}")
    from mqlab.serve.server import JournalError, Options, ServeError, main

    options = Options(
        host=args.host,
        port=args.port,
        trace_port=args.trace_port,
        data_dir=args.data_dir,
        fsync=args.fsync,
        transaction_version=args.transaction_version,
        auto_create=args.auto_create,
        off=tuple(args.off),
        until_input_ends=args.until_input_ends,
        verbose=args.verbose,
        pace_ms=args.pace,
    )
    try:
        main(options)
    except (ServeError, JournalError) as error:
        raise UserError(str(error)) from error
    return 0


def salvage_to(args: argparse.Namespace) -> int:
    if args.data_dir is None:
        raise UserError("--salvage-to needs the damaged folder too: add --data-dir DIR")
    from mqlab.serve.journal import JournalError
    from mqlab.serve.salvage import salvage

    try:
        print(salvage(args.data_dir, args.salvage_to))
    except JournalError as error:
        raise UserError(str(error)) from error
    return 0
