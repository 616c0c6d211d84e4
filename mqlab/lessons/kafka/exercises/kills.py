"""Exercises in which one line is written: when the coordinator is killed.

    kill = "kill coordinator when=WriteTxnMarkers#1 after=1"

The line is put into a story, the story is run, and what comes of it is the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ....kernel import Run, Text
from ....scenario.language import ScenarioError
from ...registry import run_scenario
from ...verdict import Verdict

BLANKS = Text(
    "the line still has its blanks: put the name of a message in the place of the first … and a "
    "number in the place of the second, as in `kill coordinator when=⇒InitProducerId#1 after=0`",
    "这一行还留着空格：第一个 … 换成消息的名字，第二个换成数字，例如 "
    "`kill coordinator when=⇒InitProducerId#1 after=0`",
)
ONE_LINE = Text(
    'write one line: kill = "kill coordinator when=MESSAGE#n after=K"',
    '只写一行：kill = "kill coordinator when=消息#n after=K"',
)


@dataclass(frozen=True)
class KillExercise:
    """`story`: a scenario with `{kill}` where the line goes. `outcome`: which of `messages` a
    run shows; "right" is the one that was wanted, the others are named by their belief.
    `tells`: words of the step at which the right run shows it."""

    story: str
    outcome: Callable[[Run], str]
    messages: Mapping[str, Text]
    tells: str = "killed"

    def check(self, kill: object, graded: bool = False) -> Verdict:
        """Judge a line that kills the coordinator."""
        if isinstance(kill, str) and "…" in kill:
            return Verdict(False, BLANKS)
        if not isinstance(kill, str) or not _is_kill(kill):
            return Verdict(False, ONE_LINE)
        try:
            run = run_scenario(self.story.format(kill=kill))
        except ScenarioError as error:
            if "it is running" in str(error):  # nobody was killed, so there is none to restart
                return Verdict(False, self.messages[ALIVE], ALIVE)
            return Verdict(False, Text(re.sub(r"^line \d+: ", "", str(error))))
        name = self.outcome(run)
        if name == ALIVE:
            return Verdict(False, self.messages[name], name)
        right, schedule = name == "right", tuple(map(str, run.choices))
        belief, words = ("", self.tells) if right else (name, "killed")
        return Verdict(right, self.messages[name], belief, schedule, run.system, words=words)


#: the belief that both exercises know
ALIVE = "the coordinator sends every message of a commit"


def _is_kill(line: str) -> bool:
    return line.split()[:2] == ["kill", "coordinator"] and len(line.splitlines()) == 1
