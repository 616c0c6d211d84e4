"""Tokens: a run as a piece of text that reopens that run.

A token holds the system line, the choices, a digest of the engine that made it (the source
of floors 0 to 2 as far as the system uses them, and of every function that a learner put into
the system), and how the run ended: how many facts it had and a digest of its narration. The
same engine gives exactly that run. Another one replays the choices, and what it tells is
compared with what the token says. Committed files hold `.scn`, never tokens.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import inspect
import json
import sys
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from .system import System
from .text import NOTHING, Text, Words, tr
from .trace import Trace
from .values import frozen

NO_TOKEN = "this is not a token: paste the whole text that was copied"

CHANGED = Words(
    "This token was made by another version of the engine, or with a function that it does not "
    "hold. All its {n} choices are possible here; {end}."
)
AS_BEFORE = tr("the narration is what it was then")
OTHERWISE = Words("but the narration is another: {then} facts then, {now} here")
UNSAID = tr("if it tells the same as then, so old a token does not say")


@frozen
class Token:
    """What a token holds. `made`: the digest of the engine. `facts`: how many the run had;
    `narration`: the digest of what was told; -1 and nothing in tokens of before."""

    line: str
    choices: tuple[str, ...]
    made: str
    facts: int = -1
    narration: str = ""

    def note(self, system: System, trace: Trace) -> Text:
        """What is to be said of the run that its choices gave here; nothing where the engine
        that made it is this one."""
        if self.made == digest(system):
            return NOTHING
        end: Text = UNSAID
        if self.narration:
            same = self.narration == _hash(trace)
            end = AS_BEFORE if same else OTHERWISE(then=self.facts, now=len(trace))
        return CHANGED(n=len(self.choices), end=end)


def encode(system: System, trace: Trace) -> str:
    """The token of a run of this system: URL-safe text."""
    held = [system.line(), list(trace.choices), digest(system), len(trace), _hash(trace)]
    body = json.dumps(held, ensure_ascii=False)
    return base64.urlsafe_b64encode(zlib.compress(body.encode(), 9)).decode().rstrip("=")


def decode(token: str) -> Token:
    """What a token holds; ValueError where the text is none."""
    try:
        packed = base64.urlsafe_b64decode(token.strip() + "=" * (-len(token.strip()) % 4))
        unpack = zlib.decompressobj()
        content = json.loads(unpack.decompress(packed, 1_000_000))
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise ValueError(NO_TOKEN) from error
    match content:
        case [str(line), [*choices], str(made), *end] if all(isinstance(c, str) for c in choices):
            match end:
                case []:
                    return Token(line, tuple(choices), made)
                case [int(facts), str(narration)]:
                    return Token(line, tuple(choices), made, facts, narration)
    raise ValueError(NO_TOKEN)


def _hash(trace: Trace) -> str:
    lines = "\n".join(fact.line() for fact in trace.facts)
    return hashlib.sha256(lines.encode()).hexdigest()[:8]


def digest(system: System) -> str:
    """Twelve hex digits for the code that decides what the choices mean."""
    # A system may build on another package's: a lesson's on a broker's. All of them decide.
    mine = [c for c in type(system).__mro__ if issubclass(c, System)]
    parts = [_sources(folder) for folder in sorted({_package(c) for c in mine})]
    parts += [_source(function) for function in system.functions()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _package(system: type[System]) -> Path:
    """The folder of the broker (or of the lessons) that a system belongs to, however deep."""
    package = ".".join(system.__module__.split(".")[:2])
    return Path(inspect.getfile(sys.modules[package])).parent


@cache
def _sources(folder: Path) -> str:
    """A digest of a package's source: read once, because a playground tells its token at each
    click."""
    text = "\n".join(p.read_text("utf-8") for p in sorted(folder.rglob("*.py")))
    return hashlib.sha256(text.encode()).hexdigest()


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into a prompt, or not written in Python
        return getattr(function, "__qualname__", repr(type(function)))
