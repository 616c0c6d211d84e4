"""A stop in the middle of a step, in words: what of the step had been done, and what not.

The words for an effect come from its system (`System.name_effect`); effects of one name are
counted together: `killed: 1 of 2 markers had left`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from .maps import frozen
from .role import Append, Effect, Flush, Put, Reply, Return, Send, Truncate
from .text import Text, Words, phrase_word, say_both

KILLED = Words("killed")
POWER_CUT = Words("power cut")
STOPPED = Words("{how}: {told}")
ARRIVING = Words("its answer to {clients} still arrives")


@frozen
class Named:
    """What a system calls an effect: one of them, and several."""

    one: Text
    many: Text


@frozen
class _Verbs:
    """How it is said that an effect, or some of several, had been done or not."""

    done: Words
    undone: Words
    some: Words


LEFT = _Verbs(
    Words("{one} had left"), Words("{one} had not left"), Words("{done} of {all} {many} had left")
)
WRITTEN = _Verbs(
    Words("{one} was written"),
    Words("{one} was not written"),
    Words("{done} of {all} {many} were written"),
)
RETURNED = _Verbs(
    Words("{one} had returned"),
    Words("{one} had not returned"),
    Words("{done} of {all} {many} had returned"),
)

MESSAGES = Words("messages {name}")
RECORDS = Words("records of {name}")
CALLS = Words("calls of {name}")

#: where a Chinese word meets a name in Latin letters
BORDER = re.compile("(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u4e00-\u9fff])")

Naming = Callable[[Effect], Named | None]


def describe_stop(
    power: bool, effects: tuple[Effect, ...], done: int, name: Naming, answers: tuple[str, ...] = ()
) -> Text:
    """How a node stopped, what of its step had been done (see `describe_progress`), and which
    clients its answers still reach."""
    how = (POWER_CUT if power else KILLED)()
    progress = describe_progress(effects, done, name)
    parts = [progress] if progress.en else []
    if answers:
        parts.append(ARRIVING(clients=join_names(answers)))
    told = Text("; ".join(part.en for part in parts), "；".join(part.of("zh") for part in parts))
    return STOPPED(how=how, told=told) if parts else how


def join_names(names: tuple[str, ...]) -> Text:
    """Names in a sentence."""
    return Text(" and ".join(names), "、".join(names))


def describe_progress(effects: tuple[Effect, ...], done: int, name: Naming) -> Text:
    """`effects`: of the whole step; `done`: how many of them had been done. Timers and what a
    system has no name for are left out; nothing where that is all."""
    counted: dict[tuple[_Verbs, Text], list[tuple[Named, bool]]] = {}
    for i, effect in enumerate(effects):
        verbs, named = find_verbs(effect), name(effect)
        if verbs is not None and named is not None:
            counted.setdefault((verbs, named.many), []).append((named, i < done))
    parts = [_tell(verbs, mine) for (verbs, _), mine in counted.items()]
    chinese = BORDER.sub(" ", "，".join(t.of("zh") for t in parts))
    return Text(", ".join(t.en for t in parts), chinese)


def find_verbs(effect: Effect) -> _Verbs | None:
    match effect:
        case Send() | Reply():
            return LEFT
        case Append() | Put() | Truncate() | Flush():
            return WRITTEN
        case Return():
            return RETURNED
    return None


def _tell(verbs: _Verbs, mine: list[tuple[Named, bool]]) -> Text:
    if len(mine) == 1:
        [(named, done)] = mine
        return (verbs.done if done else verbs.undone)(one=named.one)
    return verbs.some(done=sum(done for _, done in mine), all=len(mine), many=mine[0][0].many)


def name_plainly(effect: Effect) -> Named | None:
    """What an effect is called where a system says no more: by the type of its message, the
    first word of its record or call. Roles' own checkpoints have no name."""
    match effect:
        case Send(body=body) | Reply(body=body):
            word, many = type(body).__name__, MESSAGES
        case Append(entry=entry):
            word, many = str(entry).partition(" ")[0], RECORDS
        case Put(table=word) if not word.startswith("."):
            many = RECORDS
        case Return(value=value):
            call = Text(re.split("[: ]", str(value), maxsplit=1)[0])
            return Named(call, CALLS(name=call))
        case _:
            return None
    named = say_both(partial(phrase_word, word))
    return Named(named, many(name=named))
