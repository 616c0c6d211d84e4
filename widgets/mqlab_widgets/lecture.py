"""A run for a lecture: a page that fills the screen, hides what is to come, and is divided into
scenes with captions.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqlab.kernel.text import Text

from .player import Player, Theme, document, mounted

BEGIN = Text(
    "Press the right arrow to begin. Page Down plays a scene, Page Up goes back; f: full screen; "
    "b or a full stop: black.",
    "按右箭头键开始。Page Down 播放一幕，Page Up 返回；f：全屏；b 或句点：黑屏。",
)
BLACK = Text("The screen is black; any key shows the picture.", "黑屏中；按任意键显示画面。")


@dataclass(frozen=True, slots=True)
class Lecture:
    """What stands beside the run: the story before its first step, and its scenes, each with
    the position at which it ends and its caption."""

    story: str = ""
    scenes: tuple[tuple[int, str], ...] = ()

    def page(self, player: Player, theme: Theme = "") -> str:
        """One self-contained page. Its letters are as large as the window allows, times the
        player's scale."""
        lang = player.look.lang
        meta = player.payload["meta"]
        words = {**meta["words"], "begin": BEGIN.of(lang), "black": BLACK.of(lang)}
        lecture = {"story": self.story, "scenes": [list(scene) for scene in self.scenes]}
        meta = {**meta, "words": words, "lecture": lecture}
        still = player.still_html(future=False)
        files = ("present.js", "present.css")
        body = mounted(still, {**player.payload, "meta": meta}, "h1", "present", files)
        return document(player.title or player.trace.system, lang, body, theme)
