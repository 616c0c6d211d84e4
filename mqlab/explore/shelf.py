"""The finished levels of a search in a folder.

Each level is one file, a handful of arrays as they stand in memory: it is written once, read as
a memory map, and never changed. `levels.json` says what stands where in each, with its SHA-256,
and is replaced as a whole when a level is complete on disk. So whatever ends the search, Ctrl-C,
a full disk or `kill -9`, the levels that it lists are whole, and what else lies there belongs to
no level. Opening a folder reads everything once; what is damaged is refused.

What was worked out in Python is not written down but worked out again: the `log` of a
level names, in their order, the neighbourhoods whose handlers were run. The same engine gives
their values the same numbers, and no other engine may go on (a digest says which it was).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernel.system import System
from .budget import Budget
from .described import LIST, Damaged, describe, read_list, write_list

BLOCK = 1 << 24


class Shelf:
    """A folder of levels. FileExistsError where something else is in it."""

    def __init__(self, folder: Path, system: System, budget: Budget) -> None:
        self.folder = folder
        self.levels: list[dict[str, Any]] = []
        self._head = describe(system, budget)
        if (folder / LIST).exists():
            head, self.levels = read_list(folder)
            if head != self._head:
                raise Damaged(
                    f"{folder}: this search was begun by another version of the engine, or with "
                    "another system or other bounds; take an empty folder"
                )
            self._check()
        elif folder.exists() and any(folder.iterdir()):
            raise FileExistsError(f"{folder} is not empty, and no search: take an empty folder")
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, parts: Mapping[str, NDArray[Any] | bytes], facts: Mapping[str, Any]) -> None:
        """The next level: its file first, then the list that knows of it."""
        number, listed, at, whole = len(self.levels), {}, 0, hashlib.sha256()
        with self._path(number).open("wb") as file:
            for name, content in parts.items():
                data = content if isinstance(content, bytes) else content.tobytes()
                kind = "" if isinstance(content, bytes) else content.dtype.str
                listed[name] = {"kind": kind, "at": at, "bytes": len(data)}
                for piece in (data, bytes(-len(data) % 8)):  # each begins with a whole word
                    file.write(piece)
                    whole.update(piece)
                    at += len(piece)
            file.flush()
            os.fsync(file.fileno())
        self.levels.append({**facts, "parts": listed, "sha256": whole.hexdigest()})
        write_list(self.folder, self._head, self.levels)

    def array(self, level: int, name: str) -> NDArray[Any]:
        """A part of a level as an array that is read from the disk where it is looked at."""
        spot = self.levels[level]["parts"][name]
        kind = np.dtype(spot["kind"])
        size = spot["bytes"] // kind.itemsize
        if not size:
            return np.zeros(0, kind)
        return np.memmap(self._path(level), kind, "r", spot["at"], (size,))

    def text(self, level: int, name: str) -> str:
        spot = self.levels[level]["parts"][name]
        with self._path(level).open("rb") as file:
            file.seek(spot["at"])
            return file.read(spot["bytes"]).decode("ascii")

    def _path(self, level: int) -> Path:
        return self.folder / f"{level:04}.level"

    def _check(self) -> None:
        for number, level in enumerate(self.levels):
            path = self._path(number)
            if not path.exists() or _sum(path) != level["sha256"]:
                raise Damaged(f"{path} is damaged: begin the search again in an empty folder")


def _sum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
