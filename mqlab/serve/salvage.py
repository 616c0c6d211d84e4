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
    """Copy what precedes the damage in the journal of `source` into a new journal in `target`;
    return what was done, in words. The source stays as it is. Raises JournalError, also where
    `target` has a journal already."""
    path = source / "journal"
    if not path.is_file():
        raise JournalError(f"there is no {path}: name the folder whose journal is damaged")
    if os.path.lexists(target / "journal"):
        raise JournalError(f"{target} has a journal already: name a new folder")
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
        raise JournalError(f"cannot copy {path} into {target}: {error.strerror}") from error
    finally:
        os.close(file)
    why = damage or ("no whole entry follows" if rest_bytes else "the journal is whole")
    return (
        f"{target / 'journal'} holds {entries} entries, all before byte {good_bytes} of {path} "
        f"({why}); {rest_bytes} bytes are in the old file only, which is as it was. "
        f"Go on with: mqlab serve {adapter.name} --data-dir {target}"
    )


def _copy_beginning(path: Path, size: int, to: Path) -> None:
    """The first `size` bytes of a file as a new file. Raises OSError."""
    with open(path, "rb") as old, open(to, "xb") as new:
        while size:
            data = old.read(min(size, 1 << 20))
            new.write(data)
            size -= len(data)
        new.flush()
        os.fsync(new.fileno())
