"""`Playground`: a system under the learner's hand, with a picture after each choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mqlab.kernel.play import Option
from mqlab.kernel.text import Lang, Text, Words
from mqlab.kernel.trace import Trace

from .lives import deflate
from .payload import Look, build, refuse, tail
from .player import Player
from .widget import PictureWidget, join_modules

KNOWN = ("title", "lang", "scale", "panels")
FAULTS = ("break", "kill", "power")
STOPPABLE = ("deliver", "call", "local", "timer", "restart")

WORDS = {
    "undo": Text("undo", "撤销"),
    "reset": Text("start again", "重新开始"),
    "copy": Text("copy token", "复制令牌"),
    "copied": Text(
        "copied; it opens again with `mqlab open TOKEN`, or open_run(token) in a cell",
        "已复制；重新打开：`mqlab open TOKEN`，或在单元格中用 open_run(token)",
    ),
    "paste": Text("paste a token", "粘贴令牌"),
    "open": Text("open", "打开"),
    "stop": Text("kill during it …", "执行中杀死 …"),
}
AFTER = Words("after {k} of {n} effects", "完成 {k}/{n} 个效果后")


class Playable(Protocol):
    """What a playground moves; `mqlab.kernel.Play` is one."""

    @property
    def trace(self) -> Trace: ...
    @property
    def token(self) -> str: ...
    def options(self) -> tuple[Option, ...]: ...
    def do(self, choice: str) -> None: ...
    def open_token(self, token: str) -> Text: ...
    def undo(self) -> None: ...
    def reset(self) -> None: ...


class Playground(PictureWidget):
    """The picture of `play`'s run and, below it, everything that may happen now.

    Moving it from Python (`playground.do(choice)`) and with the mouse is the same.
    """

    _esm = join_modules("playground.js")

    def __init__(
        self,
        play: Playable,
        *,
        title: str | None = None,
        lang: Lang = "en",
        scale: float = 1.0,
        panels: Sequence[str] | None = None,
        **unknown: object,
    ) -> None:
        refuse("Playground", unknown, KNOWN)
        self._look = Look.of(title, lang, scale, panels)
        self.play = play
        super().__init__()
        self._show()
        self.on_msg(self._asked)

    def do(self, choice: str) -> None:
        """Raises ValueError, from the play, for a choice that is not possible now."""
        self.play.do(choice)
        self._show()

    def open_token(self, token: str) -> None:
        """Go to the run of a token of this system; what another version of the engine does
        otherwise is said beside the buttons. Raises ValueError, from the play, for any other."""
        self._show(said=self.play.open_token(token).of(self._look.lang))

    def undo(self) -> None:
        self.play.undo()
        self._show()

    def reset(self) -> None:
        self.play.reset()
        self._show()

    @property
    def token(self) -> str:
        return self.play.token

    def player(self) -> Player:
        """The run so far as a player that needs no kernel."""
        look = self._look
        return Player(
            self.play.trace,
            title=look.title,
            lang=look.lang,
            scale=look.scale,
            panels=look.panels,
        )

    def still_html(self) -> str:
        return self.player().still_html()

    def narration(self) -> str:
        return self.player().narration()

    def _asked(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        """A click. What is not possible is said beside the buttons: there is no cell to fail."""
        try:
            match message:
                case {"type": "do", "choice": str(choice)}:
                    self.do(choice)
                case {"type": "open", "token": str(token)}:
                    self.open_token(token)
                case {"type": "undo"}:
                    self.undo()
                case {"type": "reset"}:
                    self.reset()
        except ValueError as error:
            self._show(str(error))

    def _show(self, error: str = "", said: str = "") -> None:
        trace = tail(self.play.trace)
        with self.hold_sync():
            self.payload = deflate(build(trace, len(trace), self._look))
            self.ui = {
                "kind": "play",
                "still": self._name,
                "nodes": self._nodes(trace),
                "token": self.play.token,
                "moved": len(trace) > 0,
                "error": error,
                "said": said,
                "words": {name: text.of(self._look.lang) for name, text in WORDS.items()},
            }

    def _nodes(self, trace: Trace) -> list[dict[str, Any]]:
        """Options by node, in the order of the lanes."""
        titles = {lane.name: lane.title.of(self._look.lang) for lane in trace.snapshot(-1).lanes}
        groups: dict[str, dict[str, Any]] = {
            name: {"title": title, "steps": [], "faults": []} for name, title in titles.items()
        }
        for option in self.play.options():
            group = groups.setdefault(
                option.node, {"title": option.node, "steps": [], "faults": []}
            )
            group["faults" if option.kind in FAULTS else "steps"].append(self._option(option))
        return [group for group in groups.values() if group["steps"] or group["faults"]]

    def _option(self, option: Option) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "choice": option.choice,
            "label": option.label.of(self._look.lang),
            "kind": option.kind,
        }
        if option.kind in STOPPABLE and option.effects:
            entry["stops"] = [
                {
                    "choice": f"{option.choice} kill={k}",
                    "label": AFTER(k=k, n=option.effects).of(self._look.lang),
                }
                for k in range(option.effects + 1)
            ]
        return entry
