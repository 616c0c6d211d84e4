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

STATES = 2  # partitions of the state: `spark.sql.shuffle.partitions`


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


def check(folder: Path) -> None:
    """Whether a run can go on in this folder: Spark itself starts a query whose log of commits has
    gaps, and of other damage it says a plan.

    Raises IncomeError that names the part which is missing or damaged.
    """
    spark = folder / "income"
    begun, done = batches(spark), read_commits(spark)
    if spark.exists() and not spark.is_dir():
        raise _damaged(spark, "is a file, not a folder")
    if not (begun or done):
        return  # new, or killed before its first batch
    if not (folder / "run.json").is_file():
        raise _missing(folder / "run.json")
    _read_json(spark / "metadata", 0)
    for name, numbers in (("offsets", begun), ("commits", done)):
        if gaps := sorted(set(range(max(len(begun) - 1, len(done)))) - set(numbers)):
            raise _missing(spark / name / str(gaps[0]))
        for number in numbers:
            _read_json(spark / name / str(number), 1)
    if len(done) > len(begun):
        raise _missing(spark / "offsets" / str(len(begun)))
    for number in begun:
        cut_of(spark, number)
    for version in range(1, len(done) + 1):
        for partition in range(STATES):
            part = spark / "state" / "0" / str(partition) / f"{version}.delta"
            if not part.is_file():
                raise _missing(part)


def _read_json(path: Path, line: int) -> None:
    try:
        json.loads(path.read_text(encoding="utf-8").splitlines()[line])
    except FileNotFoundError as error:
        raise _missing(path) from error
    except (OSError, ValueError, IndexError) as error:
        raise _damaged(path, f"is damaged ({error})") from error


def _missing(path: Path) -> IncomeError:
    """Of a folder that is gone the folder is named."""
    return _damaged(
        next(part for part in (*reversed(path.parents), path) if not part.exists()), "is missing"
    )


def _damaged(path: Path, how: str) -> IncomeError:
    return IncomeError(
        f"{path} {how}: put it back from a copy of the checkpoint, or begin again with a fresh "
        "--checkpoint, which gets topics of its own"
    )


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
