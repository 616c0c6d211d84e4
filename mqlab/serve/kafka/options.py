"""Options of `mqlab serve kafka` beyond those of any server."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..options import keep_on, option

if TYPE_CHECKING:
    from ..adapter import Adapter

DAY_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """`off`: safeguards that are switched off, to show real clients what each is for.
    `auto_create`: a topic comes into being when a client asks about it; as the real broker's
    auto.create.topics.enable it is on by default.
    `coordinator`: how a transaction coordinator starts that takes the place of the engine's, as
    `Coordinator.recover`."""

    port: ClassVar = 9092
    transaction_version: int = option(
        2,
        "--transaction-version",
        type=int,
        choices=(0, 2),
        help="transaction.version (default: 2)",
    )
    auto_create: bool = option(
        True, "--auto-create", action=argparse.BooleanOptionalAction,
        help="create a topic with one partition when a client requests it (default: yes, "
        "like a real broker)",
    )  # fmt: skip
    off: tuple[str, ...] = option(
        (), "--off", nargs="+", metavar="SAFEGUARD", help="switch safeguards off"
    )
    coordinator: Any = option(
        None, "--coordinator", type=Path, metavar="FILE",
        help="use a transaction coordinator that you wrote (mqlab build) instead of the engine's",
    )  # fmt: skip

    def adapter(self) -> Adapter:
        """Build the adapter of a Kafka server with these options. Raises ServeError for the name of
        a safeguard that does not exist. Imports the engine here, so that listing options stays
        quick."""
        from ...kafka.config import SAFEGUARDS, KafkaConfig
        from ...kafka.coordinator import Coordinator
        from .adapter import make_adapter
        from .front import BrokerConfig

        kafka = KafkaConfig(
            on=keep_on(SAFEGUARDS, self.off),
            transaction_version=self.transaction_version,
            # Kafka's own defaults: partitions of `__consumer_offsets`, and how long ids are kept
            offsets_partitions=50,
            id_expiration_ms=7 * DAY_MS,
            pid_expiration_ms=DAY_MS,
        )
        return make_adapter(
            BrokerConfig(kafka, auto_create=self.auto_create),
            self.coordinator or Coordinator.recover,
        )


OPTIONS = KafkaOptions
