"""What an effect does to the disk: the same while a server runs, when it starts again, and when a
damaged journal is salvaged."""

from __future__ import annotations

from ..kernel import Append, Put
from .disk import ServerDisk
from .entries import Effect
from .home import Change, Home


def keep(home: Home, disk: ServerDisk, effect: Effect) -> None:
    """Raises ValueError for an entry that does not belong where its log ends."""
    if isinstance(effect, Append):
        disk.append(effect.log, effect.entry)
    elif isinstance(effect, Put):
        put(home, disk, effect)
    else:
        disk.cut(effect.log, effect.end)


def put(home: Home, disk: ServerDisk, effect: Put) -> tuple[Change, int]:
    """A table's key: what it brings about, and how many bytes it freed."""
    old = disk.table(effect.table).get(effect.key)
    change = home.change(effect.table, effect.key, old, effect.value)
    freed = sum(disk.log(log).bytes for log in change.drop)
    disk.put(effect.table, effect.key, effect.value)
    for log_name in change.drop:
        disk.drop(log_name)
    return change, freed
