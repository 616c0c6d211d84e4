"""`Predict` as the labs ask it: by the name of a question, with the answer kept in the cell.

    Predict("07-commit-returned", trace=torn, step=17)

The words stand in `mqlab.lessons.questions`. When the learner locks an answer, the browser writes
it behind the name, `chosen=1`, and `revealed=True` once the verdict was seen: so the answer is
saved with the notebook, is there again the next day, and goes with what is handed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mqlab_widgets

from .questions import CALL, find_question


class Predict(mqlab_widgets.Predict):
    """A question by its name, or in full as `mqlab_widgets.Predict` takes it."""

    def __init__(
        self, question: Any, options: Sequence[Any] = (), answer: Any = None,
        explanations: Sequence[Any] = (), **how: Any,
    ) -> None:  # fmt: skip
        if options:
            super().__init__(question, options, answer, explanations, **how)
            return
        asked = find_question(question)
        before = _SHOWN.get(asked.name)
        if before is not None and not before.kept and write_answer(before):
            how |= {"chosen": before.chosen, "revealed": before.revealed}
        how = {"until": asked.until, "shows": asked.shows} | how
        super().__init__(
            asked.text, asked.options, asked.answer, asked.explanations, name=asked.name, **how
        )
        _SHOWN[asked.name] = self


#: the last of each question in this kernel
_SHOWN: dict[str, Predict] = {}


def write_answer(asked: Predict) -> bool:
    """Put an answer that the browser could not write into the cell that is being run; False where
    there is no such cell."""
    from IPython import get_ipython

    shell = get_ipython()
    if not hasattr(shell, "get_parent"):
        return False
    code = shell.get_parent().get("content", {}).get("code", "")
    found = next((f for f in CALL.finditer(code) if f["name"] == asked.name), None)
    if found is None or found["chosen"]:
        return False
    kept = f", chosen={asked.chosen}" + (", revealed=True" if asked.revealed else "")
    shell.set_next_input(code[: found.end()] + kept + code[found.end() :], replace=True)
    return True
