"""Laying a run beside a recording: equal, a listed difference, or one nobody expected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from .differences import Listed, find_listed
from .oracle import Oracle
from .program import NotHere, NotOffered
from .recording import Observation, Recording, difference, load_recordings
from .runner import Came

UNRECORDED = "there is no recording yet: run `mqlab real NAME record SCENARIO`"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one scenario. `diff`: what differs and is not listed; `reasons`: of what
    differs and is; `failure`: why there was nothing to compare; `absent`: what this machine
    lacks for it."""

    name: str
    diff: str = ""
    reasons: tuple[str, ...] = ()
    failure: str = ""
    absent: str = ""

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
        return f"{self.verdict:10} {self.name}{lacks}{why}" + (f"\n{more}" if more else "")


def read_recordings(oracle: Oracle, version: str) -> dict[str, Recording]:
    """Of each scenario the recording to compare with, by "profile/name": that of `version`,
    or of the one version the scenario is recorded on."""
    programs = oracle.programs()
    found = load_recordings(f"{oracle.name}-{version}")
    for other in sorted({p.version for p in programs.values()} - {"", version}):
        for name, recording in load_recordings(f"{oracle.name}-{other}").items():
            program = programs.get(recording.scenario)
            if program is not None and program.version == other:
                found.setdefault(name, recording)
    return found


def judge(oracle: Oracle, came: Came, known: dict[str, Recording]) -> Outcome:
    """One run beside the recording of its name."""
    program, profile, seen = came
    name = f"{profile}/{program.name}"
    recorded = known.get(name)
    rows = find_listed(name, oracle.listed)
    if isinstance(seen, NotHere):
        return Outcome(name, absent=str(seen))
    if recorded is None:
        return Outcome(name, failure=UNRECORDED)
    if isinstance(seen, NotOffered):
        asked = Observation("", "", str(seen), "not offered")
        whole = [row.reason for row in rows if row.covers(asked)]
        if whole:
            return Outcome(name, reasons=tuple(whole))
    if isinstance(seen, Exception):
        return Outcome(name, failure=f"{type(seen).__name__}: {seen}")
    if not difference(recorded, seen):
        return Outcome(name)
    acting = [row for row in rows if _acts(row, recorded, seen)]
    diff = difference(_without(recorded, acting), _without(seen, acting))
    return Outcome(name, diff, tuple(row.reason for row in acting))


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
    return (
        f"scenarios {len(verdicts)}, equal {verdicts.count('equal')}, "
        f"listed differences {verdicts.count('listed')}, "
        f"unexpected {verdicts.count('DIFFERENT')}"
        + (f", not recorded yet {n}" if (n := verdicts.count("unrecorded")) else "")
        + (f", not on this machine {n}" if (n := verdicts.count("not here")) else "")
    )
