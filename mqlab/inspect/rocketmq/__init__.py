"""A RocketMQ broker, running or by its store folder.

remote.py  a running broker, over its remoting protocol
folder.py  a store folder: commitlog, consumequeue, config
halves.py  from either to a Reading: undecided half messages, those set aside, who lags
judge.py   what is wrong with them
play.py    what happens next: the engine goes on from them

Left out, and said so: queues or half messages that a store keeps in RocksDB (5.x, off by default).
"""

from __future__ import annotations

from pathlib import Path

from ..reading import Ask, Reading, Unreadable
from .judge import judge

__all__ = ["TARGETS", "judge", "read"]

TARGETS = (
    "Reads a running broker (HOST:PORT; --config takes accessKey and secretKey), or its store "
    "folder (with commitlog, consumequeue and config), even while the broker is down."
)


def read(ask: Ask) -> Reading:
    """Read a RocketMQ broker by what `ask.target` names: its store folder, or a running broker,
    HOST:PORT. Raises Unreadable, also for a file and the standard input ("-")."""
    from .folder import Store
    from .halves import read_source
    from .remote import Broker

    path = Path(ask.target)
    if path.is_dir():
        return read_source(Store(path, ask), ask)
    if ask.target == "-" or path.exists():
        raise Unreadable(
            "{} is no store folder, and what mqadmin prints is not read: name a running RocketMQ "
            "broker (HOST:PORT) or its store folder",
            ask.target,
        )
    with Broker(ask) as broker:
        return read_source(broker, ask)
