"""Accepted differences from a real broker, each with its reason, and the page that lists them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..recordings.recording import Observation

HEAD = ("scenario", "question", "real", "ours", "reason")


@dataclass(frozen=True, slots=True)
class Listed:
    """`scenario`: pattern of "profile/name"; `asked`: pattern of the question whose answers
    differ ("*": all of the scenario); `real`, `ours`: what each does; `answered`: pattern of
    our answer, so that a row excuses no other one."""

    scenario: str
    asked: str
    real: str
    ours: str
    reason: str
    answered: str = "*"

    def about(self, name: str) -> bool:
        """Whether this row is about the scenario "profile/name"."""
        return fnmatchcase(name, self.scenario)

    def covers(self, observation: Observation) -> bool:
        return fnmatchcase(observation.asked, self.asked)


def find_listed(name: str, table: Iterable[Listed]) -> list[Listed]:
    """The rows about the scenario "profile/name"."""
    return [row for row in table if row.about(name)]


def write_page(
    broker: str,
    source: str,
    table: Iterable[Listed],
    ignored: Iterable[tuple[str, str]],
    others: Iterable[tuple[str, str]],
) -> str:
    """The Markdown page that lists where the engine differs from a real broker, from a `table` of
    such rows. `source`: a sentence on how the page is made; `ignored`: what is not compared, and
    `others`: scenarios that are not compared or not recorded, both as pairs (what, why)."""
    lines = [f"# Where this engine differs from a real {broker}", "", source, ""]
    lines += ["## Differences that remain", ""]
    lines += write_table(HEAD, list_rows(table)) or ["None.", ""]
    lines += ["## What is not compared", ""]
    lines += ["Everything else is compared letter by letter, in these recordings' wording.", ""]
    lines += [f"- **{what}** {why}." for what, why in ignored]
    lines += ["", "## Recorded and not compared, or not recorded", ""]
    lines += write_table(("scenario", "why"), list(others)) or ["None.", ""]
    return "\n".join(lines).rstrip() + "\n"


def list_rows(table: Iterable[Listed]) -> list[tuple[str, ...]]:
    return [(r.scenario, r.asked, r.real, r.ours, r.reason) for r in table]


def write_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The lines of a table, and an empty one; nothing where there are no rows."""
    if not rows:
        return []
    cells = [head, tuple("---" for _ in head), *rows]
    return ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in cells] + [""]
