"""Tokens: a run as a piece of text that reopens exactly that run.

A token holds the system line, the choices and a digest of the engine that made it: the
source of floors 0 to 2 as far as the system uses them, and of every function that a
learner put into the system. Another digest is refused: the same choices could then mean
another run. Committed files hold `.scn`, never tokens.
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

NO_TOKEN = "this is not a token: paste the whole text that was copied"


def encode(system: System, choices: tuple[str, ...]) -> str:
    """The token of a run: URL-safe text."""
    body = json.dumps([system.line(), list(choices), digest(system)], ensure_ascii=False)
    return base64.urlsafe_b64encode(zlib.compress(body.encode(), 9)).decode().rstrip("=")


def open_token(token: str) -> tuple[str, tuple[str, ...], str]:
    """(system line, choices, digest); ValueError where the text is no token."""
    try:
        packed = base64.urlsafe_b64decode(token.strip() + "=" * (-len(token.strip()) % 4))
        unpack = zlib.decompressobj()
        found = json.loads(unpack.decompress(packed, 1_000_000))
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise ValueError(NO_TOKEN) from error
    match found:
        case [str(line), [*choices], str(made)] if all(isinstance(c, str) for c in choices):
            return line, tuple(choices), made
    raise ValueError(NO_TOKEN)


def check(system: System, made: str) -> None:
    """ValueError where the token was made by another engine or another function."""
    if made != digest(system):
        raise ValueError(
            "this token was made by another version of the engine (or of the function in "
            f"it): its digest is {made}, this one is {digest(system)}; open it with the "
            "version that made it, or do the run again"
        )


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
    return "\n".join(p.read_text("utf-8") for p in sorted(folder.rglob("*.py")))


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into a prompt, or not written in Python
        return getattr(function, "__qualname__", repr(type(function)))
