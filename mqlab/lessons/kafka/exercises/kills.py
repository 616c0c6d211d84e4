"""Exercises in which one line is written: when a process is killed.

    kill = "kill coordinator when=WriteTxnMarkers#1 after=1"

The line is put into a story, the story is run, and what comes of it is the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from ....kernel import Run, Text, Words
from ....kernel.moves import StillRunning
from ....registry import run_scenario
from ....scenario.language import ScenarioError
from ...steps import Tells, is_kill
from ...stories import LINE
from ...verdict import Verdict

#: the belief that the exercises of labs 06 and 07 know
ALIVE = "the coordinator sends every message of a commit"


BLANKS = Words(
    "the line still has its blanks: put the name of a message in the place of the first … and a "
    "number in the place of the second, as in `{sample}`"
)
ONE_LINE = Words('write one line: kill = "kill {victim} when=MESSAGE#n after=K"')


@dataclass(frozen=True)
class KillExercise:
    """`story`: a scenario with `{kill}` where the line goes. `outcome`: which of `messages` an
    execution shows; "right" is the one that was wanted, the others are named by their belief. A
    right one opens at the first step that `tells`, a wrong one at the kill. `victim`: the process
    that the line kills; `alive`: the belief of a line that kills no process; `sample`: a message of
    the victim, for the form of the line; `timers`: whose timers run out at the end, one after the
    other, where one is set."""

    story: str
    outcome: Callable[[Run], str]
    messages: Mapping[str, Text]
    tells: Tells = is_kill
    victim: str = "coordinator"
    alive: str = ALIVE
    sample: str = "⇒InitProducerId#1"
    timers: tuple[str, ...] = ()

    def check(self, kill: object, graded: bool = False) -> Verdict:
        """Judge a scenario's line that kills the victim, by the name that `outcome` gives the
        execution with this line: "right", or the belief behind a wrong moment. `graded` changes
        nothing: there is one story."""
        if isinstance(kill, str) and "…" in kill:  # the blanks of the exercise are still there
            return Verdict(False, self._blanks())
        if not isinstance(kill, str) or not self._is_kill(kill):
            return Verdict(False, self._one_line())
        try:
            run = self._play(kill)
        except ScenarioError as error:
            if isinstance(error.__cause__, StillRunning):  # the victim was not killed
                return Verdict(False, self.messages[self.alive], self.alive)
            # without the number of the line, which is one of the whole scenario
            return Verdict(False, Text(LINE.sub("", str(error))))
        name = self.outcome(run)
        if name == self.alive:
            return Verdict(False, self.messages[name], name)
        right, schedule = name == "right", tuple(map(str, run.choices))
        # `tells`: finds the step at which the execution is opened for the learner
        belief, tells = ("", self.tells) if right else (name, is_kill)
        return Verdict(right, self.messages[name], belief, schedule, run.system, tells=tells)

    def _play(self, kill: str) -> Run:
        story = self.story.format(kill=kill)
        run = run_scenario(story)
        for node in self.timers:
            more = f"{story}\nfire {node}"
            with suppress(ScenarioError):  # nothing waits there
                run, story = run_scenario(more), more
        return run

    def _is_kill(self, line: str) -> bool:
        return line.split()[:2] == ["kill", self.victim] and len(line.splitlines()) == 1

    def _blanks(self) -> Text:
        sample = f"kill {self.victim} when={self.sample} after=0"
        return BLANKS(sample=sample)

    def _one_line(self) -> Text:
        return ONE_LINE(victim=self.victim)
