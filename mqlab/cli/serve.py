"""`mqlab serve NAME`: the engine behind a real port, for real clients.

Each broker's options are its own: the class `OPTIONS` of a module that is imported when
`mqlab serve` is used.
"""

from __future__ import annotations

import argparse
from typing import Any

from ..brokers import find_broker, list_brokers, load
from ..kernel.text import Words
from ..serve.options import Options, add_options, read_options
from .errors import UserError

HELP = "run the engine as a server that real clients can use"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = parser.add_subparsers(dest="broker", metavar="NAME", required=True)
    for name, broker in list_brokers("serve").items():
        one = names.add_parser(name, help=str(Words("serve clients of {}")(broker.title)))
        add_options(one, Options)
        add_options(one, options_of(name))


def options_of(name: str) -> Any:
    return load(find_broker(name).serve).OPTIONS


def run(args: argparse.Namespace) -> int:
    """Serve a broker until a signal ends it or, with --salvage-to, copy the sound part of its data
    folder instead. UserError for options or data with which it cannot start."""
    if args.salvage_to is None:
        check_arguments(args)
    elif args.data_dir is None:
        raise UserError("--salvage-to needs the damaged folder too: add --data-dir DIR")
    from mqlab.serve.salvage import salvage
    from mqlab.serve.server import main

    # a learner's own coordinator, an option of Kafka only
    if getattr(args, "coordinator", None) is not None:
        from .build import load_coordinator

        args.coordinator = load_coordinator(args.coordinator)
    # How the server drives this broker's engine.
    adapter = read_options(args, options_of(args.broker)).adapter()
    if args.salvage_to is not None:
        print(salvage(args.data_dir, args.salvage_to, adapter))
        return 0
    main(adapter, read_options(args, Options))
    return 0


def check_arguments(args: argparse.Namespace) -> None:
    """Raises UserError for options that no server can take."""
    if args.fsync and args.data_dir is None:
        raise UserError("--fsync needs a folder to write to: add --data-dir DIR")
    for port in (args.port, args.trace_port):
        if not 0 <= port < 1 << 16:
            raise UserError("{} is not a port: name one from 1 to 65535, or 0 for any", port)
    if args.pace_ms < 0:
        raise UserError("--pace {}: expected milliseconds, 0 or more", args.pace_ms)
