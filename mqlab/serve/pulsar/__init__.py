"""Pulsar behind sockets: one standalone broker, and what its journal keeps.

with serve() as broker:
    ...  # any Pulsar client, at "pulsar://" + broker.address; the admin interface is there too
"""

from __future__ import annotations

from pathlib import Path

from ..options import list_arguments
from ..process import RunningBroker, start_broker
from .options import PulsarOptions

__all__ = ["serve"]


def serve(
    *,
    data_dir: str | Path | None = None,
    fsync: bool = False,
    dedup: bool = False,
    max_active: int = 0,
    snapshot_ms: int = 5_000,
    coordinators: int = 1,
    off: tuple[str, ...] = (),
) -> RunningBroker:
    """Start a Pulsar broker with its transaction coordinators on a free port of this machine, and
    return it running.

    `data_dir`: keep everything there, so that `kill()` and `restart()` lose nothing that was
    acknowledged; `fsync`: nor does a power cut. `dedup`: brokers deduplicate by sequence id. `off`:
    names of safeguards to switch off. The others are the broker's own settings; see
    `PulsarOptions`. Raises BrokerError when it does not start."""
    options = PulsarOptions(dedup, max_active, snapshot_ms, coordinators, off)
    return start_broker("pulsar", list_arguments(options), data_dir=data_dir, fsync=fsync)
