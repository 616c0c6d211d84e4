"""`mqlab serve NAME`: the engine behind a real port, for real clients.

Each broker's options are its own: the class `OPTIONS` of a module that is imported when
`mqlab serve` is used.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..brokers import find_broker, list_brokers, load
from ..kernel.text import Words, tr
from ..serve.options import ServeError, add_options, read_options
from .errors import UserError

HELP = "run the engine as a server that real clients can use"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = parser.add_subparsers(dest="broker", metavar="NAME", required=True)
    for name, broker in list_brokers("serve").items():
        one = names.add_parser(name, help=str(Words("serve clients of {}")(broker.title)))
        add_server_arguments(one)
        add_options(one, options_of(name))


def options_of(name: str) -> Any:
    return load(find_broker(name).serve).OPTIONS


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of any broker's server: where it listens, where its data is, the live
    picture."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: this machine only)"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=9092,
        help="port; 0 takes any that is free (default: %(default)s)",
    )
    parser.add_argument(
        "--trace-port",
        type=int,
        default=0,
        metavar="PORT",
        help="port of the live picture (default: any)",
    )
    parser.add_argument(
        "--data-dir",
        type=folder,
        metavar="DIR",
        help="keep all data in this folder (default: in memory)",
    )
    parser.add_argument(
        "--fsync", action="store_true", help="survive power cuts too; this costs speed"
    )
    parser.add_argument(
        "--pace",
        type=int,
        default=0,
        metavar="MS",
        help="how long a message between two roles takes (default: 0)",
    )
    parser.add_argument(
        "--salvage-to",
        type=folder,
        metavar="NEW",
        help="start no server: copy what precedes the damage in --data-dir to this folder",
    )
    parser.add_argument(
        "--gate",
        action="store_true",
        help="let Follow(address, hold=True) hold clients' requests; prints the address and "
        "its key",
    )
    parser.add_argument("--verbose", action="store_true", help="print each request of each client")
    parser.add_argument("--until-input-ends", action="store_true", help=argparse.SUPPRESS)


def folder(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError(tr("an empty name is not a folder: name one"))
    return Path(text)


def run(args: argparse.Namespace) -> int:
    """Serve a broker until a signal ends it or, with --salvage-to, copy the sound part of its data
    folder instead. UserError for options or data with which it cannot start."""
    if args.salvage_to is None:
        check_arguments(args)
    elif args.data_dir is None:
        raise UserError("--salvage-to needs the damaged folder too: add --data-dir DIR")
    from mqlab.serve.journal import JournalError
    from mqlab.serve.salvage import salvage
    from mqlab.serve.server import Options, main

    # a learner's own coordinator, an option of Kafka only
    if getattr(args, "coordinator", None) is not None:
        from .build import load_coordinator

        args.coordinator = load_coordinator(args.coordinator)
    try:
        # How the server drives this broker's engine.
        adapter = read_options(args, options_of(args.broker)).adapter()
        if args.salvage_to is not None:
            print(salvage(args.data_dir, args.salvage_to, adapter))
            return 0
        options = Options(
            host=args.host,
            port=args.port,
            trace_port=args.trace_port,
            data_dir=args.data_dir,
            fsync=args.fsync,
            until_input_ends=args.until_input_ends,
            verbose=args.verbose,
            pace_ms=args.pace,
            gate=args.gate,
        )
        main(adapter, options)
    except (ServeError, JournalError) as error:
        raise UserError(str(error)) from error
    return 0


def check_arguments(args: argparse.Namespace) -> None:
    """Raises UserError for options that no server can take."""
    if args.fsync and args.data_dir is None:
        raise UserError("--fsync needs a folder to write to: add --data-dir DIR")
    for port in (args.port, args.trace_port):
        if not 0 <= port < 1 << 16:
            raise UserError("{} is not a port: name one from 1 to 65535, or 0 for any", port)
    if args.pace < 0:
        raise UserError("--pace {}: expected milliseconds, 0 or more", args.pace)
