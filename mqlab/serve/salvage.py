"""What can be read of a damaged journal, in another folder.

Everything before the damage is a state in which the broker once was: transactions are whole in
it, offsets follow one another. What can be read behind the damage is left out, because nobody can
say what it rests on: a batch whose predecessor is gone, a commit marker whose records are.
"""

from __future__ import annotations

import os
from pathlib import Path

from .adapter import Adapter, keep
from .disk import ServerDisk
from .journal import JournalError, check_head, describe_misfit, find_damage, lock, read_effects


def salvage(source: Path, target: Path, adapter: Adapter) -> str:
    """Copy what stands before the damage of a data folder's journal into another folder, which
    must have none; what was done, in words. The source stays as it is. Raises JournalError."""
    path = source / "journal"
    if not path.is_file():
        raise JournalError(f"there is no {path}: name the folder whose journal is damaged")
    if os.path.lexists(target / "journal"):
        raise JournalError(f"{target} has a journal already: name a new folder")
    file = os.open(path, os.O_RDONLY)
    try:
        lock(file, source)
        whole, entries = check_head(file, path, adapter.name).size, 0
        damage, disk = "", ServerDisk(adapter.keeping)
        for at, effect, size in read_effects(path, adapter.entries):
            try:
                keep(adapter, disk, effect)
            except ValueError as error:
                damage = describe_misfit(at, error)
                break
            whole, entries = at + size, entries + 1
        damage = damage or find_damage(path, whole, adapter.entries)
        left = os.fstat(file).st_size - whole
        target.mkdir(parents=True, exist_ok=True)
        _copy_front(path, whole, target / "journal")
    except OSError as error:
        raise JournalError(f"cannot copy {path} into {target}: {error.strerror}") from error
    finally:
        os.close(file)
    why = damage or ("no whole entry follows" if left else "the journal is whole")
    return (
        f"{target / 'journal'} holds {entries} entries, all before byte {whole} of {path} ({why}); "
        f"{left} bytes are in the old file only, which is as it was. "
        f"Go on with: mqlab serve {adapter.name} --data-dir {target}"
    )


def _copy_front(path: Path, size: int, to: Path) -> None:
    """The first `size` bytes of a file as a new file. Raises OSError."""
    with open(path, "rb") as old, open(to, "xb") as new:
        while size:
            data = old.read(min(size, 1 << 20))
            new.write(data)
            size -= len(data)
        new.flush()
        os.fsync(new.fileno())
