"""Pulsar behind sockets: one standalone broker, and what its journal keeps.

with serve() as broker:
    ...  # any Pulsar client, at "pulsar://" + broker.address; the admin interface is there too
"""

from __future__ import annotations

from typing import Any

from ..process import RunningBroker, serve_with
from .options import PulsarOptions

__all__ = ["serve"]


def serve(**settings: Any) -> RunningBroker:
    """Start a Pulsar broker with its transaction coordinators on a free port of this machine, and
    return it running.

    `data_dir`: keep everything there, so that `kill()` and `restart()` lose nothing that was
    acknowledged; `fsync`: nor does a power cut. `dedup`: brokers deduplicate by sequence id. `off`:
    names of safeguards to switch off. The others are the broker's own settings; see
    `PulsarOptions`. Raises BrokerError when it does not start."""
    return serve_with("pulsar", PulsarOptions, settings)
