"""Kafka behind sockets: its wire, the broker's front, what its journal keeps.

with serve() as broker:
    ...  # any Kafka client, at broker.address
"""

from __future__ import annotations

from typing import Any

from ..process import RunningBroker, serve_with
from .options import KafkaOptions

__all__ = ["serve"]


def serve(**settings: Any) -> RunningBroker:
    """Start a broker that speaks Kafka on a free port of this machine, and return it running.

    `data_dir`: keep everything there, so that `kill()` and `restart()` lose nothing that was
    acknowledged; `fsync`: nor does a power cut. `transaction_version`: the level of Kafka's feature
    transaction.version, 0 or 2. `auto_create`: create a topic when a client asks about one that
    does not exist. `off`: names of safeguards to switch off. `coordinator`: the file of a
    transaction coordinator that you wrote, in place of the engine's. `pace_ms`: how long messages
    between coordinator and partition leaders take. Raises BrokerError when it does not start."""
    return serve_with("kafka", KafkaOptions, settings)
