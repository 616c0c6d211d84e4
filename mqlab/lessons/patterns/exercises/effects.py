"""The other exercise of lab 02: the coordinator's effects in order, killed after each of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....kernel import Text, Words, tr
from ...check import Hinted
from ...exercises import read_beliefs, read_hints
from ...verdict import NOT_WRITTEN, Verdict
from ..two_files import CHANGES, TWO_PHASES, TwoFiles

#: in alphabetical order, which tells no order
KNOWN = ", ".join(sorted(TWO_PHASES))
NO_LIST = Words("write a list of effects; there are: {known}")(known=KNOWN)
HALF_PROMISED, UNDECIDED, UNPREPARED, WAITS = read_beliefs("02 effects").items()
TWICE = tr("“{at}” is there twice")
RIGHT = tr("killed after each effect and restarted: the two files always agree")
HINTS = read_hints("02 effects")


@dataclass(frozen=True)
class Effects(Hinted):
    """Judged by doing: each prefix of the list on two files, then the recovery."""

    hints: tuple[Text, ...]

    def check(self, effects: Any, graded: bool = False) -> Verdict:
        if not isinstance(effects, Sequence) or isinstance(effects, str):
            return Verdict(False, NO_LIST)
        if not effects:
            return Verdict(False, NOT_WRITTEN)
        for effect in effects:
            if effect not in TWO_PHASES:
                return Verdict(False, NO_LIST)
            if list(effects).count(effect) > 1:
                return Verdict(False, _fill(TWICE, effect))
        for name, message in find_faults(effects):
            return Verdict(False, message, name)
        return Verdict(True, RIGHT)


def find_faults(effects: Sequence[str]) -> Iterator[tuple[str, Text]]:
    """Every belief that these effects refute."""
    with run(effects, len(effects)) as files:
        if any(files.is_waiting(name) for name in CHANGES):
            yield WAITS
        elif not all(files.is_done(name) for name in CHANGES):
            yield UNPREPARED
    for count, at in enumerate(effects, 1):
        with run(effects, count) as files:
            files.recover()
            alike = len({files.is_done(name) for name in CHANGES}) == 1
        if not alike:
            name, message = HALF_PROMISED if "decide" in effects[:count] else UNDECIDED
            yield name, _fill(message, at)


@contextmanager
def run(effects: Sequence[str], count: int) -> Iterator[TwoFiles]:
    """The files after so many effects, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mqlab-") as folder:
        files = TwoFiles(Path(folder))
        for effect in effects[:count]:
            files.do(effect)
        yield files


def _fill(text: Text, at: str) -> Text:
    return Text(text.en.format(at=at), text.zh.format(at=at))


EFFECTS = Effects(HINTS)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"effects": (EFFECTS, "value")}
