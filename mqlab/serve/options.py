"""Options of a server beyond those of any server: a dataclass for each broker.

A field made by `option` is an option of `mqlab serve NAME`, of `serve()` and of tests at once.
The command line reads these to list the options, so a broker itself is imported only when an
adapter is made.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import field, fields
from typing import Any

from ..kernel.text import WordedError


class ServeError(WordedError):
    """The server cannot start; the message says why and what to do."""


def keep_on(
    safeguards: Iterable[str], off: Iterable[str], of_clients: Iterable[str] = ()
) -> frozenset[str]:
    """The safeguards that stay when these are switched off, to show real clients what each is for.
    `of_clients`: those that act in no server. Raises ServeError for one of these, and for one that
    there is not."""
    known, theirs = tuple(safeguards), tuple(of_clients)
    here = ", ".join(name for name in known if name not in theirs)
    for name in off:
        if name in theirs:
            why = f"safeguard {name!r} acts in the client, and a real client brings its own"
            raise ServeError("{}; the server has: {}", why, here)
        if name not in known:
            raise ServeError("no safeguard {!r}; there are: {}", name, here)
    return frozenset(known) - frozenset(off)


def option(
    default: Any, flag: str, *, bounds: tuple[int, int] | None = None, **argparse_knows: Any
) -> Any:
    """A field: its value where nothing is said, its name on the command line, and its help.
    `bounds`: of a number, the least and the most that a broker can work with."""
    if bounds:
        argparse_knows["type"] = int
    return field(default=default, metadata={"flag": flag, "bounds": bounds, "more": argparse_knows})


def check_numbers(options: Any) -> None:
    """Raises ServeError for a number out of its bounds."""
    for one in fields(options):
        value, bounds = getattr(options, one.name), one.metadata["bounds"]
        if bounds and value is not None and not bounds[0] <= value <= bounds[1]:
            raise ServeError("{} {}: expected {} to {}", one.metadata["flag"], value, *bounds)


def add_options(parser: argparse.ArgumentParser, kind: Any) -> None:
    """The fields of `kind` as arguments, in their order."""
    parser.set_defaults(port=kind.port)
    for one in fields(kind):
        flag, more = one.metadata["flag"], one.metadata["more"]
        parser.add_argument(flag, dest=one.name, default=one.default, **more)


def read_options(args: argparse.Namespace, kind: Any) -> Any:
    """The inverse: what the arguments say."""
    given = {one.name: getattr(args, one.name) for one in fields(kind)}
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()})


def list_arguments(options: Any) -> list[str]:
    """The words of a command line that say the same."""
    words: list[str] = []
    for one in fields(options):
        flag, value = one.metadata["flag"], getattr(options, one.name)
        if value == one.default:
            continue
        if isinstance(value, bool):
            words.append(flag if value else flag.replace("--", "--no-"))
        else:
            words += [flag, *value] if isinstance(value, tuple) else [flag, str(value)]
    return words
