"""What `mqlab serve rocketmq` can be told beyond what any server can.

The command line reads this module to list the options, so the broker itself is imported only
when an adapter is made. Where nothing is said, the release's own defaults hold.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...kernel import frozen

if TYPE_CHECKING:
    from ..adapter import Adapter

RELEASES = ("5.5", "4.9")
INTERVAL_MS = {"5.5": 30_000, "4.9": 60_000}
DAYS = 24 * 3_600_000
#: safeguards of the engine's producer and consumer
OF_CLIENTS = (
    "half_before_execute", "exception_is_unknown", "consumer_retry", "idempotent_consumer"
)  # fmt: skip


@frozen
class RocketMQOptions:
    """`check_max`: transactionCheckMax; `check_interval_ms`: transactionCheckInterval, None for
    the release's own; `timeout_ms`: transactionTimeOut; `op_batch_ms`:
    transactionOpBatchInterval; `off`: safeguards that are switched off."""

    release: str = "5.5"
    check_max: int = 15
    check_interval_ms: int | None = None
    timeout_ms: int = 6_000
    op_batch_ms: int = 3_000
    off: tuple[str, ...] = ()

    def adapter(self) -> Adapter:
        """Raises ServeError for a number that no broker can work with, or no safeguard."""
        from ...rocketmq.config import SAFEGUARDS, RocketMQConfig
        from ..adapter import ServeError, keep_on
        from .adapter import make_adapter
        from .front import FrontConfig

        interval_ms = self.check_interval_ms
        if interval_ms is None:
            interval_ms = INTERVAL_MS[self.release]
        given = {
            "--check-max": (self.check_max, 0),  # also of 0 a half is asked about once
            "--check-interval": (interval_ms, 1),
            "--transaction-timeout": (self.timeout_ms, 0),
            "--op-batch-interval": (self.op_batch_ms, 1),
        }
        for name, (number, least) in given.items():
            if not least <= number <= DAYS:
                raise ServeError("{} {}: expected {} to {}", name, number, least, DAYS)
        config = RocketMQConfig(
            on=keep_on(SAFEGUARDS, self.off, OF_CLIENTS),
            release=self.release,
            timeout_ms=self.timeout_ms,
            check_interval_ms=interval_ms,
            check_max=self.check_max,
            op_batch_ms=self.op_batch_ms,
        )
        return make_adapter(FrontConfig(config))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(port=9876)
    parser.add_argument(
        "--release",
        choices=RELEASES,
        default=RELEASES[0],
        help="release to imitate (default: %(default)s)",
    )
    parser.add_argument(
        "--check-max",
        type=int,
        default=15,
        metavar="N",
        help="how often a half message is checked at most (default: 15)",
    )
    parser.add_argument(
        "--check-interval",
        type=int,
        metavar="MS",
        help="time between two check rounds (default: 30000; in 4.9 60000)",
    )
    parser.add_argument(
        "--transaction-timeout",
        type=int,
        default=6_000,
        metavar="MS",
        help="age at which a half message is first checked (default: 6000)",
    )
    parser.add_argument(
        "--op-batch-interval",
        type=int,
        default=3_000,
        metavar="MS",
        help="how long 5.5 delays op records (default: 3000); if the age above is shorter, "
        "half messages that have ended are checked too",
    )

    parser.add_argument(
        "--off", nargs="+", metavar="SAFEGUARD", default=[], help="switch safeguards off"
    )


def read_arguments(args: argparse.Namespace) -> Adapter:
    """Raises ServeError."""
    options = RocketMQOptions(
        args.release,
        args.check_max,
        args.check_interval,
        args.transaction_timeout,
        args.op_batch_interval,
        tuple(args.off),
    )
    return options.adapter()
