"""Options of `mqlab serve rocketmq` beyond those of any server. Where nothing is
said, the release's own defaults hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..options import check_numbers, keep_on, option

if TYPE_CHECKING:
    from ..adapter import Adapter

RELEASES = ("5.5", "4.9")
INTERVAL_MS = {"5.5": 30_000, "4.9": 60_000}
DAYS = 24 * 3_600_000
#: safeguards of the engine's producer and consumer
OF_CLIENTS = (
    "half_before_execute", "exception_is_unknown", "consumer_retry", "idempotent_consumer"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RocketMQOptions:
    """`check_max`: transactionCheckMax; `check_interval_ms`: transactionCheckInterval, None for
    the release's own; `timeout_ms`: transactionTimeOut; `op_batch_ms`:
    transactionOpBatchInterval; `off`: safeguards that are switched off."""

    port: ClassVar = 9876
    release: str = option(
        RELEASES[0], "--release", choices=RELEASES, help="release to imitate (default: %(default)s)"
    )
    check_max: int = option(  # also of 0 a half message is asked about once
        15, "--check-max", bounds=(0, DAYS), metavar="N",
        help="how often a half message is checked at most (default: 15)",
    )  # fmt: skip
    check_interval_ms: int | None = option(
        None, "--check-interval", bounds=(1, DAYS), metavar="MS",
        help="time between two check rounds (default: 30000; in 4.9 60000)",
    )  # fmt: skip
    timeout_ms: int = option(
        6_000, "--transaction-timeout", bounds=(0, DAYS), metavar="MS",
        help="age at which a half message is first checked (default: 6000)",
    )  # fmt: skip
    op_batch_ms: int = option(
        3_000, "--op-batch-interval", bounds=(1, DAYS), metavar="MS",
        help="how long 5.5 delays op records (default: 3000); if the age above is shorter, "
        "half messages that have ended are checked too",
    )  # fmt: skip
    off: tuple[str, ...] = option(
        (), "--off", nargs="+", metavar="SAFEGUARD", help="switch safeguards off"
    )

    def adapter(self) -> Adapter:
        """Build the adapter of a RocketMQ server with these options. Raises ServeError for a number
        out of its bounds, and for the name of a safeguard that does not exist. Imports the engine
        here, so that listing options stays quick."""
        from ...kernel.options import fill
        from ...rocketmq.config import SAFEGUARDS, RocketMQConfig
        from .adapter import make_adapter
        from .front import FrontConfig

        interval_ms = self.check_interval_ms
        if interval_ms is None:  # as that release has it
            interval_ms = INTERVAL_MS[self.release]
        check_numbers(self)
        # OF_CLIENTS cannot be switched off here: the real clients have them
        on = keep_on(SAFEGUARDS, self.off, OF_CLIENTS)
        config = fill(RocketMQConfig, self, on=on, check_interval_ms=interval_ms)
        return make_adapter(FrontConfig(config))


OPTIONS = RocketMQOptions
