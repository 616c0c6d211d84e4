"""The learner chooses: what may happen now, doing it, taking it back, trying another future.

A play is nothing but a system and a list of choices, so a token holds it whole. Every list that
it was at stays, as a tree of futures.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import inspect
import json
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from .choice import parse
from .maps import frozen
from .moves import list_choices
from .offers import (
    Done,
    Gap,
    Option,
    find_flights,
    find_sent,
    list_gaps,
    list_options,
    record_choice,
)
from .run import Run
from .system import Property, System
from .text import NOTHING, BadValue, Text, Words, tr
from .trace import Trace
from .world import Wire

# ---- Tokens: an execution as a piece of text that reopens it -------------------------
#
# A token holds the system line, the choices, a digest of the engine that made it (the source
# of layers 0 to 2 as far as the system uses them, and of every function that a learner put into
# the system), and how the execution ended: how many facts it had and a digest of its narration. The
# same engine gives exactly that execution. Another one replays the choices, and its narration is
# compared with what the token says. Committed files hold `.scn`, never tokens.

NO_TOKEN = tr("this is not a token: paste the whole text that was copied")

CHANGED = Words(
    "This token was made by another version of the engine, or with a function that it does not "
    "hold. All its {n} choices are possible here; {end}."
)
AS_BEFORE = tr("the narration is what it was then")
OTHERWISE = Words("but the narration is another: {then} facts then, {now} here")
ELSEWHERE = tr(
    "this token begins from records that `mqlab inspect` has read, and does not hold them: read "
    "them again with --by-hand, and paste it there"
)
UNSAID = tr("if it tells the same as then, so old a token does not say")


@frozen
class Token:
    """What a token holds. `made`: the digest of the engine. `facts`: how many the execution had;
    `narration`: the digest of what was narrated; -1 and nothing in tokens of before. `disks`: the
    digest of what the nodes began with, nothing where that was nothing."""

    line: str
    choices: tuple[str, ...]
    made: str
    facts: int = -1
    narration: str = ""
    disks: str = ""

    def note(self, system: System, trace: Trace) -> Text:
        """What is to be said of the execution that its choices gave here; nothing where the engine
        that made it is this one."""
        if self.made == digest(system):
            return NOTHING
        end: Text = UNSAID
        if self.narration:
            same = self.narration == trace.hash_lines()
            end = AS_BEFORE if same else OTHERWISE(then=self.facts, now=len(trace))
        return CHANGED(n=len(self.choices), end=end)


def encode(system: System, trace: Trace) -> str:
    """The token of an execution of this system: URL-safe text."""
    held = [system.line(), list(trace.choices), digest(system), len(trace), trace.hash_lines()]
    body = json.dumps([*held, *filter(None, [_hash_disks(system)])], ensure_ascii=False)
    return base64.urlsafe_b64encode(zlib.compress(body.encode(), 9)).decode().rstrip("=")


def decode(token: str) -> Token:
    """Read a token, the text that an execution is copied as: base64 of a zlib-compressed JSON list.
    Raises ValueError where the text is no token, or one that would unpack to more than a
    megabyte."""
    try:
        packed = base64.urlsafe_b64decode(token.strip() + "=" * (-len(token.strip()) % 4))
        unpack = zlib.decompressobj()
        # at most a megabyte: the JSON of a longer text is cut off, so it cannot be read
        content = json.loads(unpack.decompress(packed, 1_000_000))
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise BadValue(NO_TOKEN) from error
    match content:
        case [str(line), [*choices], str(made), *end] if all(isinstance(c, str) for c in choices):
            match end:
                case []:  # a token of an earlier version: without how it ended
                    return Token(line, tuple(choices), made)
                # the third, if any, is `disks`: a digest of what the nodes began with
                case [int(facts), str(narration)] | [int(facts), str(narration), str(_)]:
                    return Token(line, tuple(choices), made, facts, narration, *end[2:])
    raise BadValue(NO_TOKEN)


def digest(system: System) -> str:
    """Twelve hex digits for the code that decides what the choices mean."""
    # A system may build on another package's: a lesson's on a broker's. All of them decide.
    mine = [c for c in type(system).__mro__ if issubclass(c, System)]
    parts = [_sources(folder) for folder in sorted({_package(c) for c in mine})]
    parts += [_source(function) for function in system.functions()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _hash_disks(system: System) -> str:
    """Twelve hex digits for what nodes find on their disks at first; nothing for nothing."""
    text = repr(system.disks) if system.disks else ""
    return text and hashlib.sha256(text.encode()).hexdigest()[:12]


def _package(system: type[System]) -> Path:
    """The folder of the broker (or of the lessons) that a system belongs to, however deep."""
    package = ".".join(system.__module__.split(".")[:2])
    return Path(inspect.getfile(sys.modules[package])).parent


@cache
def _sources(folder: Path) -> str:
    """A digest of a package's source: read once, because a playground shows its token at each
    click."""
    text = "\n".join(p.read_text("utf-8") for p in sorted(folder.rglob("*.py")))
    return hashlib.sha256(text.encode()).hexdigest()


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into a prompt, or not written in Python
        return getattr(function, "__qualname__", repr(type(function)))


Choices = tuple[str, ...]


@dataclass(frozen=True)
class _State:
    """An execution that one was at, and what is known of its choices."""

    run: Run
    done: tuple[Done, ...] = ()
    flights: Mapping[tuple[Wire, int], int] = field(default_factory=dict)

    @cached_property
    def trace(self) -> Trace:
        """One object, so that what is drawn of it is kept with it."""
        return self.run.trace

    def after(self, choice: str) -> _State:
        """One choice later; this state stays as it is."""
        run = self.run.fork()
        moved = run.do(choice)
        done = (*self.done, record_choice(run, moved))
        return _State(run, done, {**self.flights, **find_flights(run, moved)})


class Play:
    """A system under the learner's hand. It begins after the `choices` that it was given.

    Holding a message back needs no choice: what is not delivered waits. Raises ValueError,
    with what to do, for a choice that is not possible now.
    """

    def __init__(self, system: System, choices: Sequence[str] = (), title: Text = Text("")) -> None:
        self.system = system
        self.title = title
        self.claims: tuple[Property, ...] = ()
        self._begin(choices)

    def _begin(self, choices: Sequence[str]) -> None:
        state = _State(Run(self.system, self.title, self.claims))
        for choice in choices:
            state = state.after(choice)
        if choices and self.claims:
            state.run.judge_again()
        self.start = tuple(state.run.choices)
        self._states = {self.start: state}
        self._now = state

    @property
    def trace(self) -> Trace:
        return self._now.trace

    @property
    def choices(self) -> Choices:
        """All that were made, with those it began after."""
        return tuple(self._now.run.choices)

    @property
    def visited(self) -> tuple[Choices, ...]:
        """Every list of choices that it was at, in the order in which they were first made."""
        return tuple(self._states)

    def find_trace(self, choices: Choices) -> Trace:
        """The execution of a list of choices that it was at."""
        return self._states[choices].trace

    @property
    def token(self) -> str:
        """The execution so far as text that reopens it."""
        return encode(self.system, self._now.trace)

    def watch(self, claim: Property) -> None:
        """From now on this claim is the first light of the picture. It is judged from where the
        play begins: what has broken it before is not the learner's."""
        self.claims = (claim,)
        choices, start = self.choices, self.start
        self._begin(start)
        self.go_to(choices)

    def open_token(self, token: str) -> Text:
        """Go to the execution that a token of this very system holds. What is different here, where
        another engine made it, or nothing. Raises ValueError for any other text, and for a
        execution that is not possible here."""
        held = decode(token)
        if held.disks and held.disks != _hash_disks(self.system):
            raise BadValue(ELSEWHERE)
        if held.line != self.system.line():
            raise BadValue(
                "this token belongs to another system, {}: open it with `mqlab open "
                "TOKEN`, or with open_run(token) in a cell",
                held.line,
            )
        return self.replay(held)

    def replay(self, token: Token) -> Text:
        """Go to the execution of a token that belongs to this system. Returns a note where another
        engine made the token (empty otherwise); BadValue where a choice is not possible here. A
        token that does not begin with this play's fixed choices is played from the very beginning,
        and the play then has no fixed choices."""
        if token.choices[: len(self.start)] != self.start:
            elsewhere = Play(self.system, (), self.title)
            elsewhere.claims = self.claims
            elsewhere._begin(())  # again, now judged by these claims
            difference = elsewhere.replay(token)
            self.start, self._now = (), elsewhere._now
            # by the choices so far: every position that was visited, so that going back is quick
            self._states = {**elsewhere._states, **self._states}
            return difference
        try:
            self._go_to(token.choices)
        except _Impossible as error:
            raise BadValue(
                "this token was made by another version of the engine, or with a "
                "function that it does not contain: choice {} of {} is not possible "
                "here: {}",
                error.number,
                len(token.choices),
                error,
            ) from error
        return token.note(self.system, self.trace)

    def do(self, choice: str) -> None:
        state = self._now.after(choice)
        self._now = self._states.setdefault(tuple(state.run.choices), state)

    def branch(self, keep: int, choice: str) -> None:
        """Another future: after the first `keep` choices comes this one."""
        self._go_to((*self.choices[:keep], choice))

    def go_to(self, choices: Sequence[str]) -> None:
        """Go to the execution of these choices. Raises ValueError where that is not possible."""
        self._go_to(tuple(choices))

    def go_on(self, held: Sequence[str] = (), most: int = 200) -> None:
        """Make every choice that needs no fault and no timer: what a node has still
        to do, then messages in the sequence in which they were sent, then calls; but not what is
        `held`. At most so many choices."""
        for _ in range(most):
            state, world = self._now, self._now.run.world
            ready = [c for c in list_choices(self.system, world) if c.kind in _CALM]
            waits = [c for c in ready if str(c) not in held]
            if not waits:
                return
            self.do(
                str(min(waits, key=lambda c: (_CALM[c.kind], find_sent(world, c, state.flights))))
            )

    def _go_to(self, choices: Choices) -> None:
        """Make the execution of these choices the current one. It continues from the longest known
        beginning of them, so only the rest is executed. Raises a ValueError, and the play stays as
        it was, where a choice is not possible or one of the first, fixed choices differs."""
        wanted = tuple(str(parse(choice)) for choice in choices)
        if wanted[: len(self.start)] != self.start:
            raise BadValue("the first choices of this play cannot be changed")
        # the longest beginning with a state; the play's own start is one, so there is always one
        known = next(n for n in range(len(wanted), -1, -1) if wanted[:n] in self._states)
        state, new_states = self._states[wanted[:known]], {}
        for number, choice in enumerate(wanted[known:], known + 1):
            try:
                state = state.after(choice)
            except ValueError as error:
                raise _Impossible(str(error), number) from error
            new_states[wanted[:number]] = state
        self._states |= new_states
        self._now = state

    def undo(self) -> None:
        """Take the last choice back; nothing happens at the beginning."""
        if len(self.choices) > len(self.start):
            self._go_to(self.choices[:-1])

    def reset(self) -> None:
        """Back to where it began; every future that was tried stays."""
        self._go_to(self.start)

    def options(self) -> tuple[Option, ...]:
        """Everything that may happen now: steps first, then faults."""
        return list_options(self.system, self._now.run.world, self._now.flights)

    def gaps(self) -> tuple[Gap, ...]:
        """Where in this execution a node might have died."""
        return tuple(list_gaps(self.system, self._now.done, len(self.start)))


_CALM = {"local": 0, "request": 1, "response": 1, "call": 2}


class _Impossible(ValueError):
    """A choice of a list, by its number, that is not possible."""

    def __init__(self, why: str, number: int) -> None:
        super().__init__(why)
        self.number = number
