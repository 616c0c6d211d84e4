"""A trace for a lecture: a page that fills the screen, hides what is to come, and is divided into
scenes with captions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from mqlab.kernel.text import NOTHING, Text, tr
from mqlab.kernel.trace import Trace

from .player import Player, Theme, document, mounted, pack_twin

TELLING = "✗▮"  # what stops, what is durable

BEGIN = tr(
    "Press the right arrow to begin. Page Down plays a scene, Page Up goes back; f: full screen; "
    "b or a full stop: black."
)
BLACK = tr("The screen is black; any key shows the picture.")


MOST_STEPS = 12
"""Steps of a scene: a longer part of a story is more than one."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a story as its author has divided it: where it ends, and its caption, or none."""

    end: int
    caption: Text = NOTHING


def divide(trace: Trace, parts: Sequence[Part]) -> tuple[tuple[int, Text], ...]:
    """The scenes of a trace. A part without a caption gets the reason of its telling step; a long
    part is cut after what is durable or stops, each piece captioned in the same way."""
    scenes: list[tuple[int, Text]] = []
    start = 0
    for part in parts:
        cuts = _cut(trace, start, part.end)
        for i, (first, last) in enumerate(pairwise([start, *cuts])):
            before = scenes[-1][1] if scenes else NOTHING
            caption = NOTHING if i else part.caption
            scenes.append((last, caption if caption.en else _tell(trace, first, last, before)))
        start = part.end
    return tuple(scenes)


def find_telling(trace: Trace) -> int:
    """The step that a slide shows: the first at which something is no longer true, else the last at
    which something stops, else is written; else the end."""
    for at, (before, now) in enumerate(pairwise(trace.snapshots), 1):
        if sum(not light.ok for light in now.lights) > sum(not light.ok for light in before.lights):
            return at
    shown = [at for at in range(1, len(trace) + 1) if not trace.facts[at - 1].fold]
    for glyph in TELLING:
        if places := [at for at in shown if trace.facts[at - 1].glyph == glyph]:
            return places[-1]
    return len(trace)


def _cut(trace: Trace, start: int, end: int) -> list[int]:
    """Where the pieces end: at most `MOST_STEPS` that are shown in each."""
    shown = [at for at in range(start + 1, end + 1) if not trace.facts[at - 1].fold]
    cuts: list[int] = []
    while len(shown) > MOST_STEPS:
        room = shown[MOST_STEPS // 2 - 1 : MOST_STEPS]
        telling = [at for at in room if trace.facts[at - 1].glyph in TELLING]
        cuts.append(telling[-1] if telling else room[-1])
        shown = [at for at in shown if at > cuts[-1]]
    return [*cuts, end]


def _tell(trace: Trace, start: int, end: int, before: Text) -> Text:
    """The reason of the step that a scene is about: what stops, else what is written last, else
    the last step that has one; without any, the last line itself. Never what the scene `before`
    has said."""
    facts = [fact for fact in trace.facts[start:end] if not fact.fold] or [trace.facts[end - 1]]
    for glyph in (*TELLING, ""):
        for fact in reversed(facts):
            if fact.why.en and fact.why != before and fact.glyph.startswith(glyph):
                return fact.why
    return Text(facts[-1].line("en"), facts[-1].line("zh"))


@dataclass(frozen=True, slots=True)
class Lecture:
    """What is beside the trace: the story before its first step, and its scenes, each with
    the position at which it ends and its caption. `following`: the page after the last scene;
    `after`: a caption appears when its scene has been played, and not before."""

    story: Text = NOTHING
    scenes: tuple[tuple[int, Text], ...] = ()
    following: Text = NOTHING
    after: bool = False

    def page(self, player: Player, theme: Theme = "") -> str:
        """One self-contained page. Its letters are as large as the window allows, times the
        player's scale. It has a switch to the other language where the trace is not long."""
        twin = pack_twin(len(player.trace), lambda: self._build(player.twin))
        still, files = player.still_html(future=False), ("present.js", "present.css")
        body = mounted(still + twin, self._build(player), "h1", "present", files)
        return document(player.title or player.trace.system, player.look.lang, body, theme)

    def _build(self, player: Player) -> dict[str, Any]:
        """The player's payload with the lecture, in the player's language."""
        lang, meta = player.look.lang, player.payload["meta"]
        words = {**meta["words"], "begin": BEGIN.of(lang), "black": BLACK.of(lang)}
        scenes = [[end, caption.of(lang)] for end, caption in self.scenes]
        story, following = self.story.of(lang), self.following.of(lang)
        lecture = {"story": story, "scenes": scenes, "following": following, "after": self.after}
        return {**player.payload, "meta": {**meta, "words": words, "lecture": lecture}}
