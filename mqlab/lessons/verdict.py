"""What comes of a check: a sentence, the belief behind a wrong answer, and the trace that shows it.

In a notebook a verdict is shown, not raised: its sentence once, and below it the player on the
trace, open at the step that tells. Only grading raises (`mqlab.lessons.course.points`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

from ..kernel import System, Text, Trace, Words, replay, spoken, tr, translate
from .steps import Tells

NOT_WRITTEN = tr("nothing is written yet: put your own answer in the place of `# YOUR CODE HERE`")
HEADS = {True: tr("right"), False: tr("not yet")}
COLON = tr(": ")
BELIEF = Words(" (The belief behind it: {belief}.)")
EXAMPLE = tr("the shortest example that shows it, at the step that matters:")
A_RUN = tr("an example that shows it, at the step that matters:")
#: facts of a trace that are printed around the telling one
BEFORE, AFTER = 4, 2


@dataclass(frozen=True)
class Verdict:
    """`misconception`: the belief behind a wrong answer in a few words, where one is known.
    `schedule` (with `system`): the shortest execution that refutes the answer, or shows that it is
    right; none where none is needed. `light`: the promise that breaks in it. `tells`: whether a
    step is the telling one, where no light goes red. `shortest`: whether no shorter one would
    do."""

    ok: bool
    message: Text
    misconception: str = ""
    schedule: tuple[str, ...] = ()
    system: System | None = None
    light: str = ""
    tells: Tells | None = None
    shortest: bool = True

    def trace(self) -> Trace | None:
        """The trace; None where there is none."""
        return self._trace

    @cached_property
    def _trace(self) -> Trace | None:
        if self.system is None:
            return None
        title = tr("The example that shows it")
        return replay(self.system, self.schedule, title)

    @property
    def step(self) -> int:
        """The telling step of the trace, from 1: where the promise breaks for good, or the first
        step that `tells`; else the last. 0 without a trace."""
        trace = self.trace()
        if trace is None:
            return 0
        if self.tells is not None:
            return next((fact.index for fact in trace if self.tells(fact)), len(trace))
        number = len(trace)
        while number > 1 and _is_red(trace, number - 1, self.light):
            number -= 1
        return number

    def player(self) -> Any:
        """The player on the trace, open at its telling step; None without a trace."""
        from mqlab_widgets import Player

        trace = self.trace()
        return None if trace is None else Player(trace, step=self.step)

    def __str__(self) -> str:
        lines = [self.sentence]
        trace = self.trace()
        if trace is not None and not self.ok:
            shown = [f for f in trace.facts if not f.fold or f.index == self.step]
            at = next((i for i, fact in enumerate(shown) if fact.index == self.step), 0)
            lines.append(str(EXAMPLE if self.shortest else A_RUN))
            for fact in shown[max(0, at - BEFORE) : at + AFTER + 1]:
                lines.append(f"{'▶' if fact.index == self.step else ' '} {fact.line(spoken())}")
        return "\n".join(lines)

    @property
    def sentence(self) -> str:
        """The verdict, and the belief behind a wrong answer, in words."""
        return f"{HEADS[self.ok]}{COLON}{self._body}"

    @property
    def _body(self) -> str:
        belief = self.stated_belief
        return _ended(str(self.message)) + (str(BELIEF(belief=belief)) if belief else "")

    @property
    def belief(self) -> str:
        """The misconception, where it is one and not just the promise that breaks."""
        return "" if self.misconception == self.light else self.misconception

    @property
    def stated_belief(self) -> str:
        """The belief in the language that is spoken; "" where there is none, or no words for it."""
        return find_belief(self.belief) if self.belief else ""

    def _ipython_display_(self) -> None:
        from IPython.display import display

        show: Any = display  # IPython does not say its type
        head, rest = f"{HEADS[self.ok]}{COLON}", self._body
        colour = "light-dark(#1a7f37,#4cc26b)" if self.ok else "light-dark(#b35900,#f0a04b)"
        words = re.sub("`([^`]+)`", r"<code>\1</code>", escape(rest))
        html = (
            f'<p class="mqlab-verdict" style="margin:.3em 0"><b style="color:{colour}">'
            f"{head[0].upper()}{head[1:]}</b>"
            f"{words}</p>"
        )
        show({"text/plain": self.sentence, "text/html": html}, raw=True)
        if (player := self.player()) is not None:
            show(player)


def _ended(sentence: str) -> str:
    if sentence.endswith((".", "?", "`", "。", "？")):
        return sentence
    return sentence + ("。" if spoken() == "zh" else ".")


def find_belief(english: str) -> str:
    """A belief in the language that is spoken; "" where it has no text in that one."""
    return english if spoken() == "en" else translate(english, "belief")


def _is_red(trace: Trace, position: int, light: str) -> bool:
    return any(one.name == light and not one.ok for one in trace.snapshot(position).lights)
