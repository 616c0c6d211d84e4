"""The one function that says what two runs may differ in without being different.

What is recorded is compared line by line, so everything that depends on the moment or on
what else a cluster has done is taken out here, or is not noted by the programs. The whole
list is the broker's, and stands on its page of differences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from .recording import Observation

SET = re.compile(r"\{([^{}]*)\}")
LETTERS = "PQRSTUVWXYZ"


def normalise(observations: Iterable[Observation], ids: re.Pattern[str]) -> tuple[Observation, ...]:
    """Observations as they are compared. `ids` finds numbers that are never the same twice
    (group 1): they become P, Q, R … in the order in which they come, -1 stays. Sets are sorted."""
    aliases: dict[str, str] = {"-1": "-1"}

    def alias(match: re.Match[str]) -> str:
        number = len(aliases) - 1
        name = LETTERS[number] if number < len(LETTERS) else f"P{number}"
        before = match[0][: match.start(1) - match.start()]
        return before + aliases.setdefault(match[1], name) + match[0][len(before) + len(match[1]) :]

    def ordered(match: re.Match[str]) -> str:
        return "{" + ", ".join(sorted(match[1].split(", "))) + "}"

    def plain(text: str) -> str:
        return SET.sub(ordered, ids.sub(alias, text))

    return tuple(replace(o, asked=plain(o.asked), answered=plain(o.answered)) for o in observations)
