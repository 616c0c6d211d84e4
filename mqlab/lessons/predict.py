"""`Predict` as the labs ask it: by the name of a question, with the answer kept in the cell.

    Predict("07-commit-returned", trace=torn, step=17)

The words are in `mqlab.lessons.questions`. When the learner locks an answer, the browser writes
it after the name, `chosen=1`, and `revealed=True` once the verdict was seen: so the answer is saved
with the notebook, is there again the next day, and goes with what is handed in.
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
        """Show the stored question of this name, or one given in full with its options. Where the
        cell is executed again, an answer that was given is kept."""
        if options:
            super().__init__(question, options, answer, explanations, **how)
            return
        stored = find_question(question)
        # where the browser could not keep an answer in the cell's text, it is written there now
        earlier = _SHOWN.get(stored.name)
        if earlier is not None and not earlier.kept and write_answer(earlier):
            how |= {"chosen": earlier.chosen, "revealed": earlier.revealed}
        how = {"until": stored.until, "shows": stored.shows} | how
        super().__init__(
            stored.text, stored.options, stored.answer, stored.explanations, name=stored.name, **how
        )
        _SHOWN[stored.name] = self


#: the last of each question in this kernel
_SHOWN: dict[str, Predict] = {}


def write_answer(prediction: Predict) -> bool:
    """Put an answer that the browser could not write into the cell that is being run; False where
    there is no such cell."""
    from IPython import get_ipython

    shell = get_ipython()
    if not hasattr(shell, "get_parent"):
        return False
    code = shell.get_parent().get("content", {}).get("code", "")
    call = next((f for f in CALL.finditer(code) if f["name"] == prediction.name), None)
    if call is None or call["chosen"]:
        return False
    kept = f", chosen={prediction.chosen}" + (", revealed=True" if prediction.revealed else "")
    shell.set_next_input(code[: call.end()] + kept + code[call.end() :], replace=True)
    return True
