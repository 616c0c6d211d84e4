"""`mqlab matrix`: which anomalies four ways make impossible, with what proves each cell."""

from __future__ import annotations

import argparse

from ..kernel import Words, speaking, tr
from ..kernel.text import say_unknown
from ..recordings.costs import load_costs
from ..registry.cases.anomalies import MATRIX
from ..registry.cases.prices import BULK, ORDER
from ..registry.matrix import WAYS, list_reasons, prove, tabulate
from ..registry.prices import list_real_reasons, tabulate_bulk, tabulate_prices, tabulate_real
from ..registry.tables import columns
from ..registry.ways import ROLES, tabulate_kills
from .errors import UserError
from .language import add_flag, add_language

HELP = "show which anomalies Kafka, RocketMQ, Pulsar and an outbox prevent, with evidence"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mqlab matrix`: which of its three tables, and how much of it."""
    parser.add_argument(
        "way",
        nargs="*",
        type=_read_way,
        metavar="WAY",
        help="print the reasons for these (default: the table)",
    )
    add_flag(parser, "--reasons", help="print below the table what proves each cell")
    add_flag(parser, "--check", help="prove every cell again; exit code 1 if one fails")
    parser.add_argument(
        "--kills",
        choices=ROLES,
        help="instead of the anomalies: one order, and its sender, or the node that carries "
        "out the decision, crashes in each of six stages; how many orders stock has "
        "during the crash → at the end, and what the caller gets",
    )
    add_flag(
        parser,
        "--prices",
        help="instead of the anomalies: the messages, writes and flushes that one order "
        "costs, how they grow with n partitions and m orders, and what was measured on "
        "real brokers (`mqlab real NAME cost`)",
    )
    add_language(parser)


def _read_way(text: str) -> str:
    if text not in WAYS:
        raise argparse.ArgumentTypeError(say_unknown("way", text, WAYS))
    return text


def run(args: argparse.Namespace) -> int:
    """0; 1: a proof of --check fails."""
    with speaking(args.lang):
        return _print_matrix(args)


def _print_matrix(args: argparse.Namespace) -> int:
    """Print one of three tables: what a crash leaves of an order (--kills), what an order costs
    (--prices), or which anomalies each way prevents, with the reasons and proofs asked for. Returns
    1 where a proof of --check fails."""
    if (args.kills or args.prices) and (args.way or args.reasons or args.check):
        raise UserError(
            "--kills and --prices are tables without reasons and proofs: leave out WAY, --reasons "
            "and --check"
        )
    if args.kills and args.prices:
        raise UserError("--kills and --prices are two tables: give one of them")
    if args.kills:
        print(columns(tabulate_kills(ORDER, args.kills)))
        return 0
    if args.prices:
        real = load_costs()  # what was measured on real brokers
        # In bulk: what 2 partitions and 3 orders cost, beside the formulas in n and m.
        print(columns(tabulate_prices(ORDER)), columns(tabulate_bulk(BULK, 2, 3)), sep="\n\n")
        print("", columns(tabulate_real(BULK, real, 2, 3)), sep="\n")
        print(*list_real_reasons(BULK, real, 2, 3), sep="\n")
        return 0
    print(tabulate(MATRIX))
    if args.way or args.reasons:
        for line in list_reasons(MATRIX, args.way or WAYS):
            print(line)
    if not args.check:
        return 0
    print()
    failed = prove(MATRIX, lambda line: print(line, flush=True))
    print(Words("{} proofs failed")(len(failed)) if failed else tr("every cell is proved"))
    return 1 if failed else 0
