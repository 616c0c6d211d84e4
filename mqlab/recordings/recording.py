"""Recordings: what a broker let a program see, one observation a line; normalisation.

    datasets/recordings/kafka-4.3.1/tv2/basic-commit.json

Three combinations of a broker's transaction.version and a client's protocol are real, and
each has its folder: `tv0`, `tv2`, and `tv2-legacy` (librdkafka and older Java clients
against a cluster of today).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..kernel import worded
from ..places import RECORDINGS

CHECKSUMS = "SHA256SUMS"


@worded("{who} → {to}  {asked}  ⇒ {answered}")
class Observation:
    """`who` asked `to` something, and what came back, in the wording of the engine's own
    messages. A log dump has `who` "log": one observation a batch."""

    who: str
    to: str
    asked: str
    answered: str


@dataclass(frozen=True, slots=True)
class Recording:
    """`broker`: "kafka-4.3.1" or "mqlab"; `profile`: "tv0", "tv2", "tv2-legacy";
    `clients`: name and version of what spoke."""

    scenario: str
    reference: str
    broker: str
    profile: str
    clients: dict[str, str] = field(default_factory=dict)
    observations: tuple[Observation, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.profile}/{self.scenario}"

    def lines(self) -> list[str]:
        return [str(o) for o in self.observations]

    def text(self) -> str:
        """The file: a head, then one observation a line."""
        head = {
            "scenario": self.scenario,
            "reference": self.reference,
            "broker": self.broker,
            "profile": self.profile,
            "clients": self.clients,
        }
        rows = [
            json.dumps([o.who, o.to, o.asked, o.answered], ensure_ascii=False)
            for o in self.observations
        ]
        inside = json.dumps(head, ensure_ascii=False, indent=1)[:-2]
        return inside + ',\n "observations": [\n  ' + ",\n  ".join(rows) + "\n ]\n}\n"


def difference(recorded: Recording, seen: Recording) -> str:
    """A unified diff of the two; empty where they are equal."""
    return "\n".join(
        difflib.unified_diff(
            recorded.lines(), seen.lines(), recorded.broker, seen.broker, lineterm="", n=2
        )
    )


def save(recording: Recording, folder: Path = RECORDINGS) -> Path:
    path = folder / recording.broker / recording.profile / f"{recording.scenario}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(recording.text(), "utf-8")
    return path


def load(path: Path) -> Recording:
    """Raises ValueError where the file is no recording."""
    try:
        data = json.loads(path.read_text("utf-8"))
        rows = tuple(Observation(*row) for row in data.pop("observations"))
        return Recording(**data, observations=rows)
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no recording: record it again") from error


def load_recordings(broker: str, folder: Path = RECORDINGS) -> dict[str, Recording]:
    """Every recording of a broker ("kafka-4.3.1"), by "profile/scenario"."""
    recordings = [load(path) for path in sorted((folder / broker).rglob("*.json"))]
    return {recording.name: recording for recording in recordings}


def write_checksums(folder: Path = RECORDINGS) -> None:
    """SHA256SUMS, as `sha256sum -c` reads it."""
    paths = sorted(folder.rglob("*.json"))
    rows = [f"{digest_of(path)}  {path.relative_to(folder).as_posix()}\n" for path in paths]
    (folder / CHECKSUMS).write_text("".join(rows), "utf-8")


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ---- Normalisation of ids and times: what two executions may differ in and still be equal -
#
# What is recorded is compared line by line, so everything that depends on the moment or on
# what else a cluster has done is taken out here, or is not noted by the programs. The whole
# list is the broker's, and is on its page of differences.

SET = re.compile(r"\{([^{}]*)\}")
LETTERS = "PQRSTUVWXYZ"


def normalise(observations: Iterable[Observation], ids: re.Pattern[str]) -> tuple[Observation, ...]:
    """Observations with what may differ between two executions taken out, so that they can be
    compared.

    What `ids` finds in group 1 (producer ids, which are never the same twice) becomes P, Q, R … by
    first appearance, in questions and answers; -1, "no producer id", stays. The members of a set
    `{…}` are sorted.
    """
    aliases: dict[str, str] = {"-1": "-1"}

    def name_id(match: re.Match[str]) -> str:
        place = len(aliases) - 1  # -1 has no letter
        name = LETTERS[place] if place < len(LETTERS) else f"P{place}"
        # what the match has before and after group 1 stays
        prefix = match[0][: match.start(1) - match.start()]
        return prefix + aliases.setdefault(match[1], name) + match[0][len(prefix) + len(match[1]) :]

    def sort_set(match: re.Match[str]) -> str:
        return "{" + ", ".join(sorted(match[1].split(", "))) + "}"

    def clean(text: str) -> str:
        return SET.sub(sort_set, ids.sub(name_id, text))

    return tuple(replace(o, asked=clean(o.asked), answered=clean(o.answered)) for o in observations)
