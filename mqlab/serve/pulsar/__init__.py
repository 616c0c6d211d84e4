"""Pulsar behind sockets: one standalone broker, and what its journal keeps.

with serve() as broker:
    ...  # any Pulsar client, told "pulsar://" + broker.address; the admin interface is there too
"""

from __future__ import annotations

from pathlib import Path

from ..process import RunningBroker, start_broker

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
    """Start a broker with its coordinators on a free port of this machine.

    `data_dir`: keep everything there, so that `kill()` and `restart()` lose nothing that was
    acknowledged; `fsync`: nor does a power cut. The others are the broker's own settings; see
    `PulsarOptions`. Raises BrokerError when it does not start.
    """
    arguments = ["--max-active", str(max_active), "--snapshot-interval", str(snapshot_ms)]
    arguments += ["--coordinators", str(coordinators)]
    arguments += ["--dedup"] if dedup else []
    arguments += ["--off", *off] if off else []
    return start_broker("pulsar", arguments, data_dir=data_dir, fsync=fsync)
