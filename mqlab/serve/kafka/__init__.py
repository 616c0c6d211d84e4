"""Kafka behind sockets: its wire, the broker's front, what its journal keeps.

with serve() as broker:
    ...  # any Kafka client, at broker.address
"""

from __future__ import annotations

from pathlib import Path

from ..options import list_arguments
from ..process import RunningBroker, start_broker
from .options import KafkaOptions

__all__ = ["serve"]


def serve(
    *,
    data_dir: str | Path | None = None,
    fsync: bool = False,
    transaction_version: int = 2,
    auto_create: bool = True,
    off: tuple[str, ...] = (),
    coordinator: str | Path | None = None,
    pace_ms: int = 0,
) -> RunningBroker:
    """Start a broker that speaks Kafka on a free port of this machine, and return it running.

    `data_dir`: keep everything there, so that `kill()` and `restart()` lose nothing that was
    acknowledged; `fsync`: nor does a power cut. `transaction_version`: the level of Kafka's feature
    transaction.version, 0 or 2. `auto_create`: create a topic when a client asks about one that
    does not exist. `off`: names of safeguards to switch off. `coordinator`: the file of a
    transaction coordinator that you wrote, in place of the engine's. `pace_ms`: how long messages
    between coordinator and partition leaders take. Raises BrokerError when it does not start."""
    options = KafkaOptions(
        transaction_version, auto_create, off, Path(coordinator) if coordinator else None
    )
    return start_broker(
        "kafka", list_arguments(options), data_dir=data_dir, fsync=fsync, pace_ms=pace_ms
    )
