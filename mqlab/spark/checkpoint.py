"""What Spark has written down, read as text.

`offsets/N` is written before batch N runs (a write-ahead log: what the batch consists of), and
`commits/N` after its sink is done. A driver that dies between the two leaves a batch in doubt:
`offsets` is one ahead of `commits`, and the restarted query runs that batch again.

Read with ordinary file calls, so the checkpoint is a folder the driver can see: a local one, or
a shared mount where the executors are on other machines.
"""

from __future__ import annotations

import json
from pathlib import Path

from .cuts import Cut
from .errors import IncomeError


def cut_of(checkpoint: Path, batch: int) -> Cut:
    """Where batch `batch` ends. Raises IncomeError where Spark has not written it."""
    path = checkpoint / "offsets" / str(batch)
    try:
        _version, _metadata, offsets = path.read_text(encoding="utf-8").splitlines()
        return Cut.from_json(json.loads(offsets))
    except (OSError, ValueError, KeyError) as error:
        raise IncomeError(
            f"{path} cannot be read ({error}): the checkpoint must be a folder that the driver "
            "sees; if it is damaged, start with a fresh --checkpoint and fresh topics"
        ) from error


def batches(checkpoint: Path) -> list[int]:
    """The batches in `offsets`, in order."""
    return _numbers(checkpoint / "offsets")


def read_commits(checkpoint: Path) -> list[int]:
    """The batches in `commits`, in order."""
    return _numbers(checkpoint / "commits")


def _numbers(folder: Path) -> list[int]:
    if not folder.is_dir():
        return []
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())
