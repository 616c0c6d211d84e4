"""What can be read of a damaged journal, in another folder.

Everything before the damage is a state in which the broker once was: transactions are whole in
it, offsets follow one another. What can be read after the damage is left out, because it is unknown
what it rests on: a batch whose predecessor is gone, a commit marker whose records are.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..kernel.text import Words, say_cause, tr
from .adapter import Adapter, keep
from .disk import ServerDisk
from .journal import JournalError, check_head, describe_misfit, find_damage, lock, read_effects

DONE = Words(
    "{} holds {} entries, all before byte {} of {} ({}); {} bytes are in the old file only, which "
    "is as it was. Go on with: mqlab serve {} --data-dir {}"
)


def salvage(source: Path, target: Path, adapter: Adapter) -> str:
    """Copy what precedes the damage in the journal of `source` into a new journal in `target`;
    return what was done, in words. The source stays as it is. Raises JournalError, also where
    `target` has a journal already."""
    path = source / "journal"
    if not path.is_file():
        raise JournalError("there is no {}: name the folder whose journal is damaged", path)
    if os.path.lexists(target / "journal"):
        raise JournalError("{} has a journal already: name a new folder", target)
    file = os.open(path, os.O_RDONLY)
    try:
        lock(file, source)  # so no server writes to it
        good_bytes, entries = check_head(file, path, adapter.name).size, 0
        damage, disk = "", ServerDisk(adapter.keeping)
        for at, effect, size in read_effects(path, adapter.entries):
            try:
                keep(adapter, disk, effect)
            except ValueError as error:  # readable, but does not follow from what precedes
                damage = describe_misfit(at, error)
                break
            good_bytes, entries = at + size, entries + 1
        # "" where what follows is only the incomplete entry that a stop leaves
        damage = damage or find_damage(path, good_bytes, adapter.entries)
        rest_bytes = os.fstat(file).st_size - good_bytes
        target.mkdir(parents=True, exist_ok=True)
        _copy_beginning(path, good_bytes, target / "journal")
    except OSError as error:
        raise JournalError("cannot copy {} into {}: {}", path, target, say_cause(error)) from error
    finally:
        os.close(file)
    rest = tr("no whole entry follows") if rest_bytes else tr("the journal is whole")
    return str(
        DONE(target / "journal", entries, good_bytes, path, damage or rest, rest_bytes,
             adapter.name, target)
    )  # fmt: skip


def _copy_beginning(path: Path, size: int, to: Path) -> None:
    """The first `size` bytes of a file as a new file. Raises OSError."""
    with open(path, "rb") as old, open(to, "xb") as new:
        while size:
            data = old.read(min(size, 1 << 20))
            new.write(data)
            size -= len(data)
        new.flush()
        os.fsync(new.fileno())
