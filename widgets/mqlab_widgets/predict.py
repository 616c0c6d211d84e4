"""`Predict`: a question that must be answered before the run goes on.

The learner chooses, locks the choice, and then runs. While the question is open, the rows
after `step` are hidden; after it, the explanation of the chosen answer stands beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import traitlets

from mqlab.kernel.text import Lang, Text
from mqlab.kernel.trace import Trace

from .lives import deflate
from .payload import refuse
from .player import Player
from .widget import PictureWidget, join_modules, say

KNOWN = ("trace", "step", "title", "lang", "scale", "panels")

WORDS = {
    "lock": Text("Lock my answer", "锁定答案"),
    "run": Text("Run", "运行"),
    "right": Text("Right.", "正确。"),
    "wrong": Text("Not so.", "不对。"),
    "answer": Text("Instead:", "实际上："),
}


class Predict(PictureWidget):
    """`answer` is one of the options, or its index; `explanations` one for each option.

    `chosen` (index, -1 for none), `locked` and `revealed` can be read in the next cell.
    """

    _esm = join_modules("predict.js")

    chosen = traitlets.Int(-1).tag(sync=True)
    locked = traitlets.Bool(False).tag(sync=True)
    revealed = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        question: str | Text,
        options: Sequence[str | Text],
        answer: int | str,
        explanations: Sequence[str | Text] = (),
        *,
        trace: Trace | None = None,
        step: int = 0,
        title: str | None = None,
        lang: Lang = "en",
        scale: float = 1.0,
        panels: Sequence[str] | None = None,
        **unknown: object,
    ) -> None:
        refuse("Predict", unknown, KNOWN)
        self.question = say(question, lang)
        self.options = [say(option, lang) for option in options]
        self.answer = _index(answer, options)
        self.explanations = [say(text, lang) for text in explanations]
        if self.explanations and len(self.explanations) != len(self.options):
            raise ValueError(
                f"{len(self.options)} options need as many explanations, not "
                f"{len(self.explanations)}; say nothing with an empty string"
            )
        self._player: Player | None = None
        payload = b""
        if trace is not None:
            self._player = Player(
                trace, step=step, title=title, lang=lang, scale=scale, panels=panels
            )
            payload = deflate(self._player.payload)
        super().__init__(payload=payload)
        self.ui = {
            "kind": "predict",
            "still": self._name,
            "lang": lang,
            "question": self.question,
            "options": self.options,
            "answer": self.answer,
            "explanations": self.explanations or [""] * len(self.options),
            "words": {name: text.of(lang) for name, text in WORDS.items()},
        }

    @property
    def right(self) -> bool | None:
        """If the locked answer is right; None while the question is open."""
        return self.chosen == self.answer if self.locked else None

    def still_html(self) -> str:
        items = "".join(f"<li>{escape(option)}</li>" for option in self.options)
        picture = self._player.still_html(future=False) if self._player else ""
        return f"<p>{escape(self.question)}</p><ol>{items}</ol>{picture}"

    def narration(self) -> str:
        lines = [self.question, *(f"  {i}. {text}" for i, text in enumerate(self.options, 1))]
        if self._player:
            lines.append(self._player.narration(future=False))
        return "\n".join(lines)


def _index(answer: int | str, options: Sequence[str | Text]) -> int:
    names = [str(option) for option in options]
    if isinstance(answer, str) and answer in names:
        return names.index(answer)
    if isinstance(answer, int) and 0 <= answer < len(names):
        return answer
    raise ValueError(f"answer={answer!r} is none of the options; give one of {names} or its index")
