"""Options of `mqlab serve pulsar` beyond those of any server. Where nothing is said, a
standalone's own defaults hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...places import TO_INSTALL
from ..options import ServeError, check_numbers, keep_on, option

if TYPE_CHECKING:
    from ..adapter import Adapter

DAY_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class PulsarOptions:
    """`dedup`: brokerDeduplicationEnabled; `max_active`: maxActiveTransactionsPerCoordinator, 0 for
    no limit; `snapshot_ms`: transactionBufferSnapshotMinTimeInMillis; `coordinators`: how many
    there are (a cluster is set up with --initial-num-transaction-coordinators; a standalone has
    one); `off`: safeguards that are switched off."""

    port: ClassVar = 6650
    dedup: bool = option(
        False, "--dedup", action="store_true",
        help="drop a message whose sequence number the producer sent before (default: no)",
    )  # fmt: skip
    max_active: int = option(
        0, "--max-active", bounds=(0, 1_000_000), metavar="N",
        help="most transactions that a coordinator holds at once (default: no limit)",
    )  # fmt: skip
    snapshot_ms: int = option(
        5_000, "--snapshot-interval", bounds=(1, DAY_MS), metavar="MS",
        help="time between two snapshots of a transaction buffer (default: 5000)",
    )  # fmt: skip
    coordinators: int = option(
        1, "--coordinators", bounds=(1, 64), metavar="N",
        help="number of transaction coordinators; a cluster has 16 (default: 1, like a standalone)",
    )  # fmt: skip
    off: tuple[str, ...] = option(
        (), "--off", nargs="+", metavar="SAFEGUARD", help="switch safeguards off"
    )

    def adapter(self) -> Adapter:
        """Build the adapter of a Pulsar server with these options. Raises ServeError for a number
        out of its bounds, for the name of a safeguard that does not exist, and where the package
        protobuf is missing. Imports the engine here, so that listing options stays quick."""

        check_numbers(self)
        try:
            from google.protobuf import descriptor_pool  # noqa: F401
        except ImportError as error:
            raise ServeError(
                "mqlab serve pulsar needs the package protobuf: {}", TO_INSTALL
            ) from error
        from ...kernel.options import fill
        from ...pulsar.config import SAFEGUARDS, PulsarConfig
        from .adapter import make_adapter

        on = keep_on(SAFEGUARDS, self.off)
        return make_adapter(fill(PulsarConfig, self, on=on, dedup=int(self.dedup)))


OPTIONS = PulsarOptions
