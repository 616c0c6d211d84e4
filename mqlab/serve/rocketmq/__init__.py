"""RocketMQ behind sockets: name server and broker at one address, and what its journal keeps.

with serve() as broker:
    ...  # any remoting client, with broker.address as its name server
"""

from __future__ import annotations

from typing import Any

from ..process import RunningBroker, serve_with
from .options import RocketMQOptions

__all__ = ["serve"]


def serve(**settings: Any) -> RunningBroker:
    """Start a RocketMQ name server and broker on a free port of this machine, and return the
    running process.

    `data_dir`: keep everything there, so that `kill()` and `restart()` lose nothing that was
    acknowledged; `fsync`: nor does a power cut. `release`: behave as a broker of 5.5 or 4.9. `off`:
    names of safeguards to switch off. The others are the broker's own settings; see
    `RocketMQOptions`. Raises BrokerError when it does not start."""
    return serve_with("rocketmq", RocketMQOptions, settings)
