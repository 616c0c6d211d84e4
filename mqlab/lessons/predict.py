"""`Predict` as the labs ask it: by the name of a question, with the answer kept in the cell.

    Predict("07-commit-returned", trace=torn, step=17)

The words stand in `mqlab.lessons.questions`. When the learner locks an answer, the browser writes
it behind the name, `chosen=1`, and `revealed=True` once the verdict was seen: so the answer is
saved with the notebook, is there again the next day, and goes with what is handed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import mqlab_widgets

from ..kafka.evidence import IDS
from ..real.kafka.broker import RealKafka
from ..real.kafka.client import PROFILES, Lab, Target
from ..real.kafka.programs import PROGRAMS
from ..real.program import Program
from ..recordings.recording import Recording, normalise
from ..serve.kafka import serve
from ..serve.process import RunningBroker
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
        stored = find_question(question)
        before = _SHOWN.get(stored.name)
        if before is not None and not before.kept and write_answer(before):
            how |= {"chosen": before.chosen, "revealed": before.revealed}
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


# ---- Kafka's recorded programs, run again now: against this project's own server, or a real broker
#
# It stands apart because it needs kio and sockets, which a browser's Python has not; what has been
# recorded can be read there all the same (`laid`).

#: how many programs have been run at an address
_RUNS: Counter[str] = Counter()


def find_programs(names: Sequence[str]) -> list[Program]:
    """Raises KeyError for a name that no program has."""
    known = {program.name: program for program in PROGRAMS}
    return [known[name] for name in names]


def ask_engine(programs: Sequence[Program], engine: RunningBroker | None) -> list[Recording]:
    """`engine`: a server that runs already; without one a new one is started."""
    if engine is not None:
        return _ask(programs, Target("mqlab", engine.address))
    with serve(auto_create=False) as own:
        return _ask(programs, Target("mqlab", own.address))


def ask_real(programs: Sequence[Program], version: str) -> list[Recording]:
    """Raises RealBrokerError where a real broker cannot be started."""
    with RealKafka(version) as kafka:
        return _ask(programs, Target(f"kafka-{version}", kafka.address))


def _ask(programs: Sequence[Program], target: Target) -> list[Recording]:
    return [_run(program, program.profiles[0], target) for program in programs]


def _run(program: Program, profile: str, target: Target) -> Recording:
    """The names on the wire are the program's own, so that a picture shows them; a run behind it
    at the same broker has a prefix."""
    _RUNS[target.address] += 1
    count = _RUNS[target.address]
    lab = Lab(target, PROFILES[profile], f"run{count}." if count > 1 else "")
    try:
        program.run(lab)
    finally:
        lab.close()
    seen = normalise(lab.notes, IDS)
    return Recording(program.name, program.reference, target.broker, profile, {}, seen)
