"""`Ordering`: pieces to be put into order, a verdict, and the trace that refutes a wrong one.

The exercise is anything that has a `question`, `pieces` (with `key` and `text`) and
`judge(order)`; `mqlab.lessons.Parsons` is one. The judge works in Python, for seconds
perhaps; meanwhile the list can be read but not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Protocol

import traitlets

from mqlab.kernel.text import Lang, Text, Words, tr
from mqlab.kernel.trace import Trace

from .encoding import pack
from .payload import Look, build, refuse
from .player import Player
from .style import page_css
from .widget import SET_BY_READER, PictureWidget, join_modules

KNOWN = ("title", "lang", "scale", "panels", "level")

WORDS = {
    "pool": tr("Pieces"),
    "list": tr("Your order"),
    "empty": tr("Nothing yet: add a piece."),
    "all": tr("All pieces are in use."),
    "add": tr("add at the end"),
    "up": tr("move up"),
    "down": tr("move down"),
    "out": tr("take out"),
    "keys": tr("Arrow keys move a piece, Delete takes it out."),
    "judge": tr("Judge this order"),
    "busy": tr("Trying every schedule …"),
    "right": tr("Right:"),
    "wrong": tr("Not yet:"),
    "shown": tr("The shortest example that shows it:"),
    "placed": tr("{piece}: place {n} of {of}"),
    "removed": tr("{piece}: taken out"),
    "unkept": tr("Run this cell again to keep your order in the notebook."),
    "changed": tr("The order has changed since."),
}
END = tr(".")
ASK = Words("in an order: {keys}")


class Judged(Protocol):
    """A verdict; `mqlab.lessons.Verdict` is one."""

    @property
    def ok(self) -> bool: ...
    @property
    def message(self) -> Text: ...
    def trace(self) -> Trace | None: ...


class Piece(Protocol):
    @property
    def key(self) -> str: ...
    @property
    def text(self) -> Text: ...


class Exercise(Protocol):
    @property
    def question(self) -> Text: ...
    @property
    def pieces(self) -> Sequence[Piece]: ...
    def judge(self, order: Sequence[str]) -> Judged: ...


class Ordering(PictureWidget):
    """`order` holds the keys as they are in the list, at first those given; `verdict` what
    came of the last judging, None before. `judge()` from Python and the button do the same.
    `cell`: the call that shows the list carries the order (`Parsons.arrange`); `kept`: the
    text of that call is what is in the list."""

    _esm = join_modules("ordering.js")
    _css = page_css("ordering.css")
    order = traitlets.List(traitlets.Unicode()).tag(**SET_BY_READER)
    kept = traitlets.Bool(True).tag(**SET_BY_READER)

    def __init__(
        self,
        exercise: Exercise,
        order: Sequence[str] = (),
        *,
        cell: bool = False,
        title: str | None = None,
        lang: Lang | None = None,
        scale: float = 1.0,
        panels: Sequence[str] | None = None,
        level: str = "everything",
        **unknown: object,
    ) -> None:
        """Show an exercise with its pieces in the given `order` (their keys), and wait for moves of
        the browser. `cell`: the browser also writes the order into the cell's call, by which it is
        saved with the notebook. `title` to `level`: as for a player; TypeError for `unknown`
        arguments."""
        refuse("Ordering", unknown, KNOWN)
        self._look = Look.of(title, lang, scale, panels, level)
        self.exercise = exercise
        self.verdict: Judged | None = None
        self._cell = cell
        super().__init__(order=list(order))
        self._show()
        self.on_msg(self._asked)

    def judge(self, order: Sequence[str] | None = None) -> Judged:
        """Judge what is in the list, or put another order there and judge that."""
        if order is not None:
            self.order = list(order)
        self.verdict = self.exercise.judge(self.order)
        self._show()
        return self.verdict

    def player(self) -> Player | None:
        """The trace that refutes the last order; None where there is none."""
        trace = self.verdict.trace() if self.verdict is not None else None
        return None if trace is None else Player.of(trace, self._look)

    def still_html(self) -> str:
        lang = self._look.lang
        items = "".join(
            f"<li><code>{escape(piece.key)}</code> {escape(piece.text.of(lang))}</li>"
            for piece in self.exercise.pieces
        )
        return f"<p>{escape(self.exercise.question.of(lang))}</p><ul>{items}</ul>"

    def narration(self) -> str:
        lang = self._look.lang
        width = max(len(piece.key) for piece in self.exercise.pieces)
        lines = [self.exercise.question.of(lang)]
        lines += [
            f"  {piece.key:<{width}}  {piece.text.of(lang)}" for piece in self.exercise.pieces
        ]
        if self.verdict is not None:
            judgement = WORDS["right" if self.verdict.ok else "wrong"].of(lang)
            lines.append(ASK(keys=", ".join(self.order)).of(lang))
            lines.append(f"{judgement} {self.verdict.message.of(lang)}")
        return "\n".join(lines)

    def _asked(self, _widget: object, message: dict[str, Any], _buffers: object) -> None:
        """A move, or a click on the button. What cannot be judged is said there: no cell can
        fail."""
        match message:
            case {"type": "set", "traits": dict(traits)}:
                self.take(traits)
            case {"type": "judge", "order": [*order]}:
                try:
                    self.judge([str(key) for key in order])
                except ValueError as error:
                    self._show(str(error))

    def _show(self, error: str = "") -> None:
        """Send the browser, by assigning `payload` and `ui`, the exercise as it is now: pieces,
        verdict, and the trace that refutes the order, if there is one. `error`: why the order could
        not be judged."""
        lang, verdict, player = self._look.lang, self.verdict, self.player()
        with self.hold_sync():
            if player is not None:
                trace = player.trace
                self.payload = pack(build(trace, len(trace), self._look))
            else:
                self.payload = b""
            self.ui = {
                "kind": "ordering",
                "cell": self._cell,
                "still": self._name,  # of the still in the output, whose place the picture takes
                "lang": lang,
                "scale": self._look.scale,
                "question": self.exercise.question.of(lang),
                "pieces": [
                    {"key": piece.key, "text": piece.text.of(lang)}
                    for piece in self.exercise.pieces
                ],
                # None before the first verdict; else the browser says when the order has changed.
                "judged": list(self.order) if verdict is not None else None,
                "ok": verdict is not None and verdict.ok,
                "message": verdict.message.of(lang) + END.of(lang) if verdict is not None else "",
                "error": error,
                "words": {name: text.of(lang) for name, text in WORDS.items()},
            }
