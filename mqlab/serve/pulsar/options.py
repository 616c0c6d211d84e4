"""What `mqlab serve pulsar` can be told beyond what any server can.

The command line reads this module to list the options, so the broker itself is imported only
when an adapter is made. Where nothing is said, a standalone's own defaults hold.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...kernel import frozen
from ...places import TO_INSTALL

if TYPE_CHECKING:
    from ..adapter import Adapter

SNAPSHOT_MS = 5_000
DAY_MS = 24 * 3_600_000
MOST_ACTIVE = 1_000_000
MOST_COORDINATORS = 64


@frozen
class PulsarOptions:
    """`dedup`: brokerDeduplicationEnabled; `max_active`: maxActiveTransactionsPerCoordinator, 0 for
    no limit; `snapshot_ms`: transactionBufferSnapshotMinTimeInMillis; `coordinators`: how many
    there are (a cluster is set up with --initial-num-transaction-coordinators; a standalone has
    one); `off`: safeguards that are switched off."""

    dedup: bool = False
    max_active: int = 0
    snapshot_ms: int = SNAPSHOT_MS
    coordinators: int = 1
    off: tuple[str, ...] = ()

    def adapter(self) -> Adapter:
        """Raises ServeError for a number that no broker can work with, for a safeguard that there
        is not, and where the library of Protocol Buffers is missing."""
        from ..adapter import ServeError, keep_on

        given = {
            "--max-active": (self.max_active, 0, MOST_ACTIVE),
            "--snapshot-interval": (self.snapshot_ms, 1, DAY_MS),
            "--coordinators": (self.coordinators, 1, MOST_COORDINATORS),
        }
        for name, (number, least, most) in given.items():
            if not least <= number <= most:
                raise ServeError("{} {}: expected {} to {}", name, number, least, most)
        try:
            from google.protobuf import descriptor_pool  # noqa: F401
        except ImportError as error:
            raise ServeError(
                "mqlab serve pulsar needs the package protobuf: {}", TO_INSTALL
            ) from error
        from ...pulsar.config import SAFEGUARDS, PulsarConfig
        from .adapter import make_adapter

        config = PulsarConfig(
            on=keep_on(SAFEGUARDS, self.off),
            max_active=self.max_active,
            snapshot_ms=self.snapshot_ms,
            dedup=int(self.dedup),
            coordinators=self.coordinators,
        )
        return make_adapter(config)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(port=6650)
    parser.add_argument(
        "--dedup",
        action="store_true",
        help="drop a message whose sequence number the producer sent before (default: no)",
    )
    parser.add_argument(
        "--max-active",
        type=int,
        default=0,
        metavar="N",
        help="most transactions that a coordinator holds at once (default: no limit)",
    )
    parser.add_argument(
        "--snapshot-interval",
        type=int,
        default=SNAPSHOT_MS,
        metavar="MS",
        help="time between two snapshots of a transaction buffer (default: 5000)",
    )
    parser.add_argument(
        "--coordinators",
        type=int,
        default=1,
        metavar="N",
        help="number of transaction coordinators; a cluster has 16 (default: 1, like a standalone)",
    )

    parser.add_argument(
        "--off", nargs="+", metavar="SAFEGUARD", default=[], help="switch safeguards off"
    )


def read_arguments(args: argparse.Namespace) -> Adapter:
    """Raises ServeError."""
    return PulsarOptions(
        args.dedup, args.max_active, args.snapshot_interval, args.coordinators, tuple(args.off)
    ).adapter()
