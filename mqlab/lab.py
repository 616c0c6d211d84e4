"""The entry point for notebooks: what a lab needs comes from here, and from the lab's own module.

    from mqlab.lab import Budget, Player, Predict, check, explore, scenario, system

Executions
    scenario(text)      the trace of a scenario, written as in a `.scn` file
    system(line)        a system to search or to play with, from its system line
    continue_scenario(text)   an execution that begins where a scenario ends, for a Playground
    open_run(token)     the execution in a token (a Playground's button copies
                        one): `Playground(open_run("…"))` plays on, `Player(open_run("…").trace)`
                        shows it
    Play                an execution that is moved choice by choice

Pictures
    Player, Playground, Explorer, Follow, Trials: see `mqlab_widgets`
    vary(play, off=…, kill=…)  a picture below menus of ipywidgets that say what varies in its
                        story; `mqlab.lessons.menus` makes some
    put_beside(one, other)     two to four scenarios on one slider; the blocks of one and of the
                        others are the same moments
    Predict("07-fetch", …)     asks a question of `mqlab.lessons.questions` before the trace goes on
    Fold                a text that is opened by a click, for what repeats a picture
    columns(rows), table(head, rows)   a table as text; in_words(cell) one cell of it
    speak("zh")         pictures, questions and messages in Chinese; `speak("en")` in English
    say("{n} orders", n=2)   a label in the language that is spoken, if the labs' catalogue has it
    glossary(word)      the words of the course
    met("07")           what people get wrong that this lab refutes, folded

Searches
    explore, Budget     every schedule within a budget of faults; the shortest counterexample
    search(case)        the shortest execution in which a case's property breaks; a lab's own
                        module has its cases
    with_everything_on(case)   the same with the safeguard: nothing is found

Exercises
    check(exercise, answer)    judges what a learner wrote
    Exercise, Parsons, Piece, Verdict   what a teacher writes an exercise with

A broker of yours
    inspect_broker("kafka", "localhost:9092")   what is stuck in it, and why; it only reads

Real time
    income(…)           order → income on Spark; IncomeError

Everything is loaded when it is first asked for, so a notebook starts quickly, and one that uses
neither Spark nor widgets runs where they are missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: the names, by the module each comes from
_MODULES = {
    "mqlab.kernel": ("Play", "say", "speak"),
    "mqlab.explore": ("Budget", "explore"),
    "mqlab.registry": ("continue_scenario", "open_run", "scenario", "system"),
    "mqlab.lessons.check": ("Exercise", "check"),
    "mqlab.lessons.parsons": ("Parsons", "Piece"),
    "mqlab.lessons.verdict": ("Verdict",),
    "mqlab.registry.searches": ("search", "with_everything_on"),
    "mqlab.registry.tables": ("columns", "in_words", "table"),
    "mqlab.lessons.atlas.pictures": ("Fold",),
    "mqlab.lessons.beside": ("put_beside",),
    "mqlab.lessons.atlas.glossary": ("glossary",),
    "mqlab.lessons.misconceptions": ("met",),
    "mqlab.spark": ("IncomeError", "income"),
    "mqlab.inspect": ("inspect_broker",),
    "mqlab.lessons.predict": ("Predict",),
    "mqlab_widgets": ("Explorer", "Follow", "Player", "Playground", "Trials", "vary"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"mqlab.lab has no {name!r}; it has {', '.join(__all__)}")
    found = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
