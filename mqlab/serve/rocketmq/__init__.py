"""RocketMQ behind sockets: name server and broker at one address, and what its journal keeps.

with serve() as broker:
    ...  # any remoting client, with broker.address as its name server
"""

from __future__ import annotations

from pathlib import Path

from ..options import list_arguments
from ..process import RunningBroker, start_broker
from .options import RocketMQOptions

__all__ = ["serve"]


def serve(
    *,
    data_dir: str | Path | None = None,
    fsync: bool = False,
    release: str = "5.5",
    check_max: int = 15,
    check_interval_ms: int | None = None,
    timeout_ms: int = 6_000,
    op_batch_ms: int = 3_000,
    off: tuple[str, ...] = (),
) -> RunningBroker:
    """Start a RocketMQ name server and broker on a free port of this machine, and return the
    running process.

    `data_dir`: keep everything there, so that `kill()` and `restart()` lose nothing that was
    acknowledged; `fsync`: nor does a power cut. `release`: behave as a broker of 5.5 or 4.9. `off`:
    names of safeguards to switch off. The others are the broker's own settings; see
    `RocketMQOptions`. Raises BrokerError when it does not start."""
    options = RocketMQOptions(release, check_max, check_interval_ms, timeout_ms, op_batch_ms, off)
    return start_broker("rocketmq", list_arguments(options), data_dir=data_dir, fsync=fsync)
