"""A run for a lecture: a page that fills the screen, hides what is to come, and is divided into
scenes with captions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from mqlab.kernel.text import Lang, Text
from mqlab.kernel.trace import Trace

from .player import Player, Theme, document, mounted

TELLING = "✗▮"  # what stops, what is durable

BEGIN = Text(
    "Press the right arrow to begin. Page Down plays a scene, Page Up goes back; f: full screen; "
    "b or a full stop: black.",
    "按右箭头键开始。Page Down 播放一幕，Page Up 返回；f：全屏；b 或句点：黑屏。",
)
BLACK = Text("The screen is black; any key shows the picture.", "黑屏中；按任意键显示画面。")


MOST_STEPS = 12
"""Steps of a scene: a longer part of a story is more than one."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a story as its author has divided it: where it ends, and its caption, or none."""

    end: int
    caption: str = ""


def divide(trace: Trace, parts: Sequence[Part], lang: Lang = "en") -> tuple[tuple[int, str], ...]:
    """The scenes of a run. A part without a caption is told by the reason of its telling step; a
    long part is cut behind what is durable or stops, each piece told in the same way."""
    scenes: list[tuple[int, str]] = []
    start = 0
    for part in parts:
        cuts = _cut(trace, start, part.end)
        for i, (first, last) in enumerate(pairwise([start, *cuts])):
            before = scenes[-1][1] if scenes else ""
            caption = part.caption if not i else ""
            scenes.append((last, caption or _tell(trace, first, last, lang, before)))
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


def _tell(trace: Trace, start: int, end: int, lang: Lang, before: str) -> str:
    """The reason of the step that a scene is about: what stops, else what is written last, else
    the last step that has one; without any, the last line itself. Never what the scene `before`
    has said."""
    facts = [fact for fact in trace.facts[start:end] if not fact.fold] or [trace.facts[end - 1]]
    for glyph in (*TELLING, ""):
        for fact in reversed(facts):
            why = fact.why.of(lang)
            if why and why != before and fact.glyph.startswith(glyph):
                return why
    return facts[-1].line(lang)


@dataclass(frozen=True, slots=True)
class Lecture:
    """What stands beside the run: the story before its first step, and its scenes, each with
    the position at which it ends and its caption. `following`: the page behind the last scene."""

    story: str = ""
    scenes: tuple[tuple[int, str], ...] = ()
    following: str = ""

    def page(self, player: Player, theme: Theme = "") -> str:
        """One self-contained page. Its letters are as large as the window allows, times the
        player's scale."""
        lang = player.look.lang
        meta = player.payload["meta"]
        words = {**meta["words"], "begin": BEGIN.of(lang), "black": BLACK.of(lang)}
        scenes = [list(scene) for scene in self.scenes]
        lecture = {"story": self.story, "scenes": scenes, "following": self.following}
        meta = {**meta, "words": words, "lecture": lecture}
        still = player.still_html(future=False)
        files = ("present.js", "present.css")
        body = mounted(still, {**player.payload, "meta": meta}, "h1", "present", files)
        return document(player.title or player.trace.system, lang, body, theme)
