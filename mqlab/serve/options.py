"""Options of a server: a dataclass of those that any server has, and one for each broker.

A field made by `option` is an option of `mqlab serve NAME`, of `serve()` and of tests at once.
The command line reads these to list the options, so a broker itself is imported only when an
adapter is made.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..kernel.text import WordedError, tr


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


def read_folder(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError(tr("an empty name is not a folder: name one"))
    return Path(text)


@dataclass(frozen=True)
class Options:
    """Those of any server. Port 0 takes any free one. `pace_ms`: see `Driver`. `gate`: say the key
    with which requests can be held (`gate.py`). `data_dir`: where the journal is kept, `fsync`:
    also against a power cut; `salvage_to`: where what precedes its damage is copied, without a
    server; `until_input_ends`: stop when standard input is closed; `verbose`: log each request."""

    host: str = option(
        "127.0.0.1", "--host", help="address to listen on (default: this machine only)"
    )
    port: int = option(
        9092, "--port", type=int, help="port; 0 takes any that is free (default: %(default)s)"
    )
    trace_port: int = option(
        0, "--trace-port", type=int, metavar="PORT", help="port of the live picture (default: any)"
    )
    data_dir: Path | None = option(
        None, "--data-dir", type=read_folder, metavar="DIR",
        help="keep all data in this folder (default: in memory)",
    )  # fmt: skip
    fsync: bool = option(
        False, "--fsync", action="store_true", help="survive power cuts too; this costs speed"
    )
    pace_ms: int = option(
        0, "--pace", type=int, metavar="MS",
        help="how long a message between two roles takes (default: 0)",
    )  # fmt: skip
    salvage_to: Path | None = option(
        None, "--salvage-to", type=read_folder, metavar="NEW",
        help="start no server: copy what precedes the damage in --data-dir to this folder",
    )  # fmt: skip
    gate: bool = option(
        False, "--gate", action="store_true",
        help="let Follow(address, hold=True) hold clients' requests; prints the address and its "
        "key",
    )  # fmt: skip
    verbose: bool = option(
        False, "--verbose", action="store_true", help="print each request of each client"
    )
    until_input_ends: bool = option(
        False, "--until-input-ends", action="store_true", help=argparse.SUPPRESS
    )


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
