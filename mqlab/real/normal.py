"""The one function that says what two runs may differ in without being different.

What is recorded is compared line by line, so everything that depends on the moment or on
what else a cluster has done is taken out here and nowhere else. The list below is the whole
of it; it stands on the page of differences too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from .recording import Observation

#: what is not compared, and why
LIST = (
    ("producer ids", "become P, Q, R … in the order in which a program meets them: a broker "
     "hands out blocks of 1,000, and a restart begins a new one"),
    ("timestamps", "are left out, except where a program set them itself"),
    ("names", "of topics, groups, transactional ids and members are the program's own; on the "
     "wire each run gives them a prefix, so that programs do not meet"),
    ("the number of CONCURRENT_TRANSACTIONS", "a question is asked again until its answer is "
     "another, and only that one is noted; where the first answer itself is the point, the "
     "program notes it"),
    ("PrepareAbort or CompleteAbort", "right after the first InitProducerId of a fence: both are "
     "right, the markers may have been faster than the question; the program waits for the second"),
    ("the order of partitions", "in the lists a broker gives back: they are sorted"),
    ("the time until a timeout abort", "is not noted: the sweep comes when it comes"),
    ("error messages in words", "only the error's name is noted"),
)  # fmt: skip

PID = re.compile(r"\bpid=(-?\d+)")
SET = re.compile(r"\{([^{}]*)\}")
LETTERS = "PQRSTUVWXYZ"


def normalised(observations: Iterable[Observation]) -> tuple[Observation, ...]:
    """Observations as they are compared; see LIST."""
    aliases: dict[str, str] = {"-1": "-1"}

    def alias(found: re.Match[str]) -> str:
        number = len(aliases) - 1
        name = LETTERS[number] if number < len(LETTERS) else f"P{number}"
        return f"pid={aliases.setdefault(found[1], name)}"

    def ordered(found: re.Match[str]) -> str:
        return "{" + ", ".join(sorted(found[1].split(", "))) + "}"

    def plain(text: str) -> str:
        return SET.sub(ordered, PID.sub(alias, text))

    return tuple(replace(o, asked=plain(o.asked), answered=plain(o.answered)) for o in observations)
