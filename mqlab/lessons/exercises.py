"""What the exercises say: hints, and a sentence for each wrong belief. They are in
`exercises.toml`, which says how it is written."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from ..kernel import Text, tr


@cache
def read_texts() -> dict[str, dict[str, str]]:
    """What the file has: the exercise, as "06 admit" → `hints` and `beliefs`."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def read_hints(exercise: str) -> tuple[Text, ...]:
    """The hints of an exercise, in their order."""
    return tuple(map(_join, read_texts()[exercise]["hints"].split("\n\n")))


def read_beliefs(exercise: str) -> dict[str, Text]:
    """Each wrong belief of an exercise → what is said to its holder, in the file's order."""
    parts = re.split(r"^(?=\S)", read_texts()[exercise].get("beliefs", ""), flags=re.MULTILINE)
    return {belief: _join(said) for belief, said in (part.split(":\n", 1) for part in parts[1:])}


def _join(lines: str) -> Text:
    return tr(" ".join(lines.split()))
