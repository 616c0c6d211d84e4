"""Laying a run beside a recording: equal, a listed difference, or one nobody expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import zip_longest

from mqlab.kernel.text import Said, Text, Words, tr
from mqlab.real.differences import Listed, find_listed
from mqlab.real.program import NotOffered
from mqlab.recordings.recording import Observation, Recording, difference, load_recordings
from mqlab.registry.tables import in_words

from .oracle import Oracle
from .program import NotHere
from .runner import Came

UNRECORDED = tr("there is no recording yet: run `mqlab real NAME record SCENARIO`")

SUM = Words("scenarios {}, equal {}, listed differences {}, unexpected {}")
REST = {
    "unrecorded": Words(", not recorded yet {}"),
    "not here": Words(", not on this machine {}"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one scenario. `diff`: what differs and is not listed; `reasons`: of what
    differs and is; `failure`: why there was nothing to compare; `absent`: what this machine
    lacks for it; `beside`: every line of the two, side by side."""

    name: str
    diff: str = ""
    reasons: tuple[str, ...] = ()
    failure: str | Text = ""
    absent: str = ""
    beside: str = ""

    @property
    def verdict(self) -> str:
        if self.absent:
            return "not here"
        if self.failure == UNRECORDED:
            return "unrecorded"
        if self.failure or self.diff:
            return "DIFFERENT"
        return "listed" if self.reasons else "equal"

    def text(self) -> str:
        more = self.failure or self.diff
        why = "".join(f"\n    {reason}" for reason in self.reasons)
        lacks = f": {self.absent}" if self.absent else ""
        return f"{Said(in_words(self.verdict)):10} {self.name}{lacks}{why}" + (
            f"\n{more}" if more else ""
        )


def put_beside(recorded: Recording, seen: Recording) -> str:
    """Every line of both in two columns; `≠` stands between two that differ."""
    left, right = recorded.lines(), seen.lines()
    rows: list[tuple[str, str, str]] = [(recorded.broker, " ", seen.broker)]
    for _, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for one, other in zip_longest(left[a:b], right[c:d], fillvalue=""):
            rows.append((one, " " if one == other else "≠", other))
    width = max(len(one) for one, _, _ in rows)
    return "\n".join(f"    {one:<{width}} {mark} {other}".rstrip() for one, mark, other in rows)


def read_recordings(oracle: Oracle, version: str) -> dict[str, Recording]:
    """Of each scenario the recording to compare with, by "profile/name": that of `version`,
    or of the one version the scenario is recorded on."""
    programs = oracle.programs()
    recordings = load_recordings(f"{oracle.name}-{version}")
    for other in sorted({p.version for p in programs.values()} - {"", version}):
        for name, recording in load_recordings(f"{oracle.name}-{other}").items():
            program = programs.get(recording.scenario)
            if program is not None and program.version == other:
                recordings.setdefault(name, recording)
    return recordings


def judge(came: Came, known: dict[str, Recording], listed: Iterable[Listed]) -> Outcome:
    """One run beside the recording of its name. `listed`: where its host may answer otherwise."""
    program, profile, seen = came
    name = f"{profile}/{program.name}"
    recorded = known.get(name)
    rows = find_listed(name, listed)
    if isinstance(seen, NotHere):
        return Outcome(name, absent=str(seen))
    if recorded is None:
        return Outcome(name, failure=UNRECORDED)
    if isinstance(seen, NotOffered):
        question = Observation("", "", str(seen), "not offered")
        whole = [row.reason for row in rows if row.covers(question)]
        if whole:
            return Outcome(name, reasons=tuple(whole))
    if isinstance(seen, Exception):
        return Outcome(name, failure=f"{type(seen).__name__}: {seen}")
    beside = put_beside(recorded, seen)
    if not difference(recorded, seen):
        return Outcome(name, beside=beside)
    acting = [row for row in rows if _acts(row, recorded, seen)]
    diff = difference(_without(recorded, acting), _without(seen, acting))
    return Outcome(name, diff, tuple(row.reason for row in acting), beside=beside)


def _without(recording: Recording, rows: Iterable[Listed]) -> Recording:
    kept = tuple(o for o in recording.observations if not any(r.covers(o) for r in rows))
    return replace(recording, observations=kept)


def _acts(row: Listed, recorded: Recording, seen: Recording) -> bool:
    """Whether the two differ in what this row is about, and ours answers as the row says."""
    there = [o for o in recorded.observations if row.covers(o)]
    here = [o for o in seen.observations if row.covers(o)]
    return there != here and all(fnmatchcase(o.answered, row.answered) for o in here)


def summarise(outcomes: Iterable[Outcome]) -> str:
    """`scenarios 120, equal 110, listed differences 10, unexpected 0`."""
    verdicts = [outcome.verdict for outcome in outcomes]
    counts = [len(verdicts), *map(verdicts.count, ("equal", "listed", "DIFFERENT"))]
    rest = [(words, verdicts.count(name)) for name, words in REST.items()]
    return "".join(map(str, [SUM(*counts), *(words(n) for words, n in rest if n)]))
