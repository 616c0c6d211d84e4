"""One sentence why for what is no message and no record: stops, starts, timers, calls that return,
changes in memory. A broker fills in its sentences (`Reasons`); which of them fits is found here, by
what a fact is and is about. Its words are for people: nothing here reads them.

A sentence often says what a safeguard does. While that is switched off it would be untrue, so a
broker also keeps for each safeguard which of its sentences rest on it and what is true then
(`Unguarded`); `say_unguarded` puts the one in the place of the other.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from .maps import frozen
from .role import FAILED, UNKNOWN, ConnectionLost, Outcome
from .text import NOTHING, Made, Text, Words
from .trace import Fact, FactKind

K = TypeVar("K")


def read_sentences(module: str) -> dict[str, Any]:
    """Read the tables of the `why.toml` beside a module's file. Each text is a template."""
    text = Path(module).with_name("why.toml").read_text("utf-8")
    return {name: _make_words(table) for name, table in tomllib.loads(text).items()}


def _make_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _make_words(one) for name, one in value.items()}
    return Words(value) if isinstance(value, str) else value


POWER_CUT = Words(
    "A power cut takes more than memory: what was written but not flushed is gone as well."
)
UNKNOWN_OUTCOME = Words("It may have happened or not; a careful application assumes neither.")
DROPPED = Words(
    "It has arrived, and the process has no memory or no thread for it; its sender gets no answer."
)
LATE = Words(
    "It was sent before the connection broke and arrives only now; nothing in it says how old it "
    "is."
)

REFUSED = Words("Nothing listens at its address: what was sent has reached nobody.")

#: how a timer's name begins → the sentence; the first that fits counts
Timers = Mapping[str, Words]
#: the template of a change, or that and the state which it reports → the sentence
Changes = Mapping[Words | tuple[Words, str], Words]


@frozen
class Reasons(Generic[K]):
    """`stopped`, `recovered`: by what the node is. `alone`: kinds of facts that mean the same
    whatever they are about. `timers`: by a timer's name; `changes`: by the template of a change in
    memory. `explain_success`, `explain_failure`: of a call's outcome."""

    stopped: Mapping[K, Words]
    recovered: Mapping[K, Words]
    timers: Timers
    changes: Changes
    alone: Mapping[FactKind, Words]
    explain_success: Callable[[Outcome], Text]
    explain_failure: Callable[[Outcome], Text]

    def explain(self, fact: Fact, kind: K) -> Text:
        """The sentence why for a fact that no message or record of the system explains: a crash, a
        recovery, a timer, a change in memory, a call's result, a dropped message, a refused
        connection. `kind` is that of the fact's node, such as "coordinator". Empty where no
        sentence is known; KeyError for a crash or recovery of a kind without one."""
        match fact.kind:
            case FactKind.KILL:
                return self.stopped[kind]()
            case FactKind.RECOVERY:
                return self.recovered[kind]()
            case FactKind.TIMER:
                return find_by_name(self.timers, str(fact.body))
            case FactKind.CHANGE if isinstance(fact.body, Made):
                return self._explain_change(fact.body)
            case FactKind.RETURN if isinstance(fact.body, Outcome):
                return self._explain_outcome(fact.body)
            case FactKind.DROP:
                return DROPPED()
            # only a connection that was refused has its event as body; one that broke has none
            case FactKind.BREAK if isinstance(fact.body, ConnectionLost):
                return REFUSED()
        return self.alone[fact.kind]() if fact.kind in self.alone else NOTHING

    def _explain_outcome(self, outcome: Outcome) -> Text:
        if outcome.status == UNKNOWN:
            return UNKNOWN_OUTCOME()
        if outcome.status == FAILED:
            return self.explain_failure(outcome)
        return self.explain_success(outcome)

    def _explain_change(self, made: Made) -> Text:
        state = made.values.get("state")
        why = self.changes.get(made.words)
        if why is None and isinstance(state, str):
            why = self.changes.get((made.words, state))
        return NOTHING if why is None else why()


def find_by_name(timers: Timers, name: str) -> Text:
    return next((why() for head, why in timers.items() if name.startswith(head)), NOTHING)


# ---- while a safeguard is off ----------------------------------------------------------

#: safeguard → a sentence that rests on it → what is true while it is off
Unguarded = Mapping[str, Mapping[Words, Words]]


def find_unguarded(
    tables: Mapping[str, Mapping[str, Words]], sentences: Mapping[str, Any]
) -> Unguarded:
    """By safeguard, what is true in the place of a sentence, where the table has the sentence's
    name. KeyError for a name that is not among these `sentences`."""
    return {
        safeguard: {sentences[name]: without for name, without in rows.items()}
        for safeguard, rows in tables.items()
    }


IS_OFF = Words("{name} is off: {without}")


def say_unguarded(why: Text, off: Collection[str], unguarded: Unguarded) -> Text:
    """The sentence, or what is true in its place while these safeguards are off, each with what
    is off: several may matter to one step."""
    sentences = [
        IS_OFF(name=name, without=without())
        for name in off
        for usual, without in unguarded.get(name, {}).items()
        if usual.has_made(why)
    ]
    if not sentences:
        return why
    return Text(" ".join(text.en for text in sentences), "".join(text.zh for text in sentences))
