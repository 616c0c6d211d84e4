"""Wrong files of learners: what is changed in a right one, and what its author hears.

Each is a belief of learners or a fault that a real system had, at the part where it can first be
refuted. A text beside this module has them for each folder of `labs` that has right files:

    a belief, in a few words
    part 1: the trial that refutes it
    a piece of the message
    - what is replaced in the right file of that part: a piece of it, of one line or several
    + what is in its place; then perhaps another such pair
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mqlab.kernel import Text
from mqlab.lessons.builder.right import read_right

#: three words of English in a row: in Chinese a sentence that nobody has translated
ENGLISH = re.compile(r"[a-z]+(?: [a-z]+){2}")
LABS = Path(__file__).parents[4] / "labs"
FILES = LABS / "coordinator"


@dataclass(frozen=True)
class Wrong:
    belief: str
    sitting: int
    trial: str
    says: str
    changes: tuple[tuple[str, str], ...]
    folder: str

    def source(self) -> str:
        text = read_right(LABS / self.folder, self.sitting)
        for old, new in self.changes:
            assert text.count(old) == 1, (self.belief, old)
            text = text.replace(old, new)
        return text


def read_wrong(folder: str) -> tuple[Wrong, ...]:
    found = []
    for row in Path(__file__).with_name(f"{folder}.txt").read_text("utf-8").split("\n\n"):
        belief, trial, says, *lines = row.splitlines()
        sitting, _, trial = trial.removeprefix("part ").partition(": ")
        sides = [
            "\n".join(line[2:] for line in side.splitlines())
            for side in re.findall(r"(?m)(?:^-.*\n?)+|(?:^\+.*\n?)+", "\n".join(lines))
        ]
        changes = tuple(zip(sides[::2], sides[1::2], strict=True))
        found.append(Wrong(belief, int(sitting), trial, says, changes, folder))
    return tuple(found)


WRONG, ROUNDS, ACKS = map(read_wrong, ("coordinator", "check_round", "pending_acks"))


def assert_chinese(said: Text) -> None:
    """A message in Chinese has no sentence of English, outside of the code that it quotes."""
    assert said.zh and not ENGLISH.search(re.sub("`[^`]*`", "…", said.zh)), said.zh
