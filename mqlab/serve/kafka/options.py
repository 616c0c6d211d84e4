"""What `mqlab serve kafka` can be told beyond what any server can.

The command line reads this module to list the options, so the broker itself is imported only
when an adapter is made.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...kernel import frozen

if TYPE_CHECKING:
    from ..adapter import Adapter

DAY_MS = 24 * 3_600_000


@frozen
class KafkaOptions:
    """`off`: safeguards that are switched off, to show real clients what each is for.
    `auto_create`: a topic comes into being when a client asks about it; as the real broker's
    auto.create.topics.enable it is on by default.
    `coordinator`: how a transaction coordinator starts that takes the place of the engine's, as
    `Coordinator.recover`."""

    transaction_version: int = 2
    auto_create: bool = True
    off: tuple[str, ...] = ()
    coordinator: Callable[..., Any] | None = None

    def adapter(self, data_dir: Path | None = None) -> Adapter:
        """Raises ServeError for a safeguard that there is not."""
        from ...kafka.config import SAFEGUARDS, KafkaConfig
        from ...kafka.coordinator import Coordinator
        from ..adapter import keep_on
        from .adapter import make_adapter
        from .front import BrokerConfig

        kafka = KafkaConfig(
            on=keep_on(SAFEGUARDS, self.off),
            transaction_version=self.transaction_version,
            offsets_partitions=50,
            id_expiration_ms=7 * DAY_MS,
            pid_expiration_ms=DAY_MS,
        )
        return make_adapter(
            BrokerConfig(kafka, auto_create=self.auto_create),
            self.coordinator or Coordinator.recover,
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--transaction-version",
        type=int,
        choices=(0, 2),
        default=2,
        help="transaction.version (default: 2)",
    )
    parser.add_argument(
        "--auto-create",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="create a topic with one partition when a client requests it (default: yes, "
        "like a real broker)",
    )
    parser.add_argument(
        "--off", nargs="+", metavar="SAFEGUARD", default=[], help="switch safeguards off"
    )
    parser.add_argument(
        "--coordinator",
        type=Path,
        metavar="FILE",
        help="use a transaction coordinator that you wrote (mqlab build) instead of the engine's",
    )


def read_arguments(args: argparse.Namespace) -> Adapter:
    """Raises ServeError."""
    options = KafkaOptions(
        args.transaction_version, args.auto_create, tuple(args.off), args.coordinator
    )
    return options.adapter(args.data_dir)
