"""The finished levels of a search in a folder.

Each level is one file, a handful of arrays as they are in memory: it is written once, read as
a memory map, and never changed. `levels.json` says what is where in each, with its SHA-256,
and is replaced as a whole when a level is complete on disk. So whatever ends the search, Ctrl-C,
a full disk or `kill -9`, the levels that it lists are whole, and what else is there belongs to
no level. Opening a folder reads everything once; what is damaged is refused.

What was worked out in Python is not written down but worked out again: the `log` of a
level names, in their order, the neighbourhoods whose handlers were run. The same engine gives
their values the same numbers, and no other engine may go on (a digest says which it was).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernel.system import System
from ..kernel.text import Words
from .budget import Budget
from .described import LIST, Damaged, describe, read_list, write_list

BLOCK = 1 << 24
ASIDE = ".aside"  # what is no level yet


class Shelf:
    """A folder of levels. FileExistsError where something else is in it."""

    def __init__(self, folder: Path, system: System, budget: Budget) -> None:
        """Open a folder with the levels of a search, or prepare an empty one. Raises Damaged where
        the levels are of another search (system, bounds, version of the engine) or a file of theirs
        has changed, FileExistsError where the folder contains something else."""
        self.folder = folder
        self.levels: list[dict[str, Any]] = []
        self._spaces = 0  # how many arrays of `space` there were, which gives the next its name
        self._head = describe(system, budget)
        if (folder / LIST).exists():
            stored_head, self.levels = read_list(folder)
            if stored_head != self._head:
                raise Damaged(
                    "{}: this search began with another version of the engine, another "
                    "system or other bounds; name an empty folder",
                    folder,
                )
            self._check()
        elif folder.exists() and any(folder.iterdir()):
            raise FileExistsError(
                Words("{} is not empty and holds no search: name an empty folder")(folder)
            )
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, parts: Mapping[str, NDArray[Any] | bytes], facts: Mapping[str, Any]) -> None:
        """Store the next level on disk: first its file, then the list that names it, so a crash in
        between leaves the list as it was. `parts`: arrays or texts, by name; `facts`: what the list
        says of the level besides, such as its count of worlds."""
        number, parts_listed, offset, digest = len(self.levels), {}, 0, hashlib.sha256()
        with self._path(number).open("wb") as file:
            for name, content in parts.items():
                dtype = "" if isinstance(content, bytes) else content.dtype.str
                size = len(content) if isinstance(content, bytes) else content.nbytes
                parts_listed[name] = {"kind": dtype, "at": offset, "bytes": size}
                # zeros up to a multiple of 8, so that each part begins with a whole word
                pieces: tuple[Any, bytes] = (content, bytes(-size % 8))
                for piece in pieces:
                    file.write(piece)
                    digest.update(piece)
                offset += size + -size % 8
            file.flush()
            os.fsync(file.fileno())
        level = {**facts, "parts": parts_listed, "sha256": digest.hexdigest()}
        # `_head`: which search it is, by system and budget
        write_list(self.folder, self._head, [*self.levels, level])
        self.levels.append(level)

    def array(self, level: int, name: str) -> NDArray[Any]:
        """A part of a level as an array that is read from the disk where it is looked at."""
        entry = self.levels[level]["parts"][name]
        kind = np.dtype(entry["kind"])
        size = entry["bytes"] // kind.itemsize
        if not size:
            return np.zeros(0, kind)
        return np.memmap(self._path(level), kind, "r", entry["at"], (size,))

    def space(self, shape: Any, kind: Any) -> NDArray[Any]:
        """An array of zeros on the disk, until the next `sweep`. OSError where it is full."""
        self._spaces += 1
        path, size = self.folder / f"{self._spaces}{ASIDE}", int(np.prod(shape))
        if not size:
            return np.zeros(shape, kind)
        with path.open("wb") as file:
            if hasattr(os, "posix_fallocate"):  # not on macOS and Windows
                os.posix_fallocate(file.fileno(), 0, size * np.dtype(kind).itemsize)
        return np.memmap(path, kind, "r+", 0, shape)

    def write(self, values: NDArray[Any]) -> NDArray[Any]:
        """The same array on the disk, until the next `sweep`."""
        out = self.space(values.shape, values.dtype)
        out[:] = values
        return out

    def sweep(self) -> None:
        """What was put aside is not needed any more."""
        for path in self.folder.glob(f"*{ASIDE}"):
            with suppress(PermissionError):  # Windows, while an array is still in use
                path.unlink()

    def text(self, level: int, name: str) -> str:
        entry = self.levels[level]["parts"][name]
        with self._path(level).open("rb") as file:
            file.seek(entry["at"])
            return file.read(entry["bytes"]).decode("ascii")

    def _path(self, level: int) -> Path:
        return self.folder / f"{level:04}.level"

    def _check(self) -> None:
        for number, level in enumerate(self.levels):
            path = self._path(number)
            if not path.exists() or _sum(path) != level["sha256"]:
                raise Damaged("{} is damaged: begin the search again in an empty folder", path)


def _sum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
