"""The worlds of a search as Parquet files in one folder, which every machine sees.

    known/level=7/bucket=3.parquet     all worlds of a level with these keys: key, order, words
    worlds/level=7/part=2.parquet      the same worlds by their numbers: order, key, choice, words
    edges/level=7/bucket=3.parquet     where worlds lead to (only where a claim asks)

A level here is what one job has found. A world's *order* is the number of its parent and the place
of the choice that leads to it, `parent << 20 | place`: the first such choice of all. Numbers are
given in this sequence, so the orders of all worlds are sorted, and a world's parent is in its
order.

A file is written under another name first, for a task may be done twice; both write the same.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...explore.rows import Words

PLACES = 20  # bits of an order that say which choice of its parent a world comes from


@dataclass(frozen=True)
class Store:
    """The files below a folder."""

    folder: str

    def known(self, level: int, bucket: int) -> Path:
        return Path(self.folder, "known", f"level={level}", f"bucket={bucket}.parquet")

    def worlds(self, level: int, part: int) -> Path:
        return Path(self.folder, "worlds", f"level={level}", f"part={part}.parquet")

    def edges(self, level: int, bucket: int) -> Path:
        return Path(self.folder, "edges", f"level={level}", f"bucket={bucket}.parquet")


def write(path: Path, columns: Mapping[str, NDArray[Any]], words: Sequence[Words] = ()) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    every = {**columns, **{f"w{number}": word for number, word in enumerate(words)}}
    new = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    pq.write_table(pa.table(every), new)
    os.replace(new, path)


def read(path: Path, *names: str, words: int = 0) -> tuple[list[NDArray[Any]], list[Words]]:
    """Some columns, and the first so many words of each row."""
    columns = [*names, *(f"w{number}" for number in range(words))]
    table = pq.read_table(path, columns=columns, partitioning=None)
    arrays = [table[name].to_numpy() for name in columns]
    return arrays[: len(names)], arrays[len(names) :]


def find_parent(order: Words) -> NDArray[np.int64]:
    return (order >> np.uint64(PLACES)).view(np.int64)
