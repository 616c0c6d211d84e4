"""The command `mqlab`: one module a command, found by looking into this package.

A command is a module here with `HELP: str`, `add_arguments(parser)` and `run(args) -> int`.
Only the module that is asked for is imported, so `mqlab --help` stays quick and a missing
extra (Spark, kio) matters only to those who use it. A `run` with a second parameter,
`address_of`, is handed a function that opens a broker and gives its address: the top layer starts
servers so that the layers below need not know each other.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from inspect import signature  # a command of its name would take the module's place
from pathlib import Path
from types import FrameType, ModuleType

from mqlab import __version__

from ..kernel.text import WordedError, say_cause, speak, speaking, spoken
from .errors import UserError
from .language import find_language, tell, translate_argparse, translate_help

AddressOf = Callable[..., AbstractContextManager[str]]


def commands() -> dict[str, str]:
    """Name and help line of each command there is; read from the sources, not imported."""
    help_lines = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if found := re.search(r'(?m)^HELP = "(.+)"$', path.read_text(encoding="utf-8")):
            help_lines[path.stem] = found[1]
    return help_lines


def build_parser(chosen: str | None) -> tuple[argparse.ArgumentParser, ModuleType | None]:
    """argparse's parser of all commands, and the module of the command `chosen`, the only one that
    is imported and has its own arguments there; None where there is no command of that name, or
    `chosen` is None."""
    translate_argparse()
    parser = argparse.ArgumentParser(
        prog="mqlab", description="Step through, break and check message-queue transactions."
    )
    parser.add_argument("--version", action="version", version=f"mqlab {__version__}")
    subcommands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    module = None
    for name, help_line in commands().items():
        command = subcommands.add_parser(name, help=help_line, description=help_line)
        if name == chosen:
            module = importlib.import_module(f"mqlab.cli.{name}")
            module.add_arguments(command)
    translate_help(parser)
    return parser, module


def address_of_server(given: str | None) -> AddressOf:
    """`given` if the user named a broker, else our own server for as long as it is needed."""

    @contextmanager
    def address_of(bootstrap_server: str | None = None) -> Iterator[str]:
        address = bootstrap_server or given
        if address:
            yield address
            return
        from mqlab.serve.kafka import serve

        with serve() as broker:
            yield broker.address

    return address_of


def _run(module: ModuleType, args: argparse.Namespace) -> int:
    extra = {}
    if "address_of" in signature(module.run).parameters:
        extra["address_of"] = address_of_server(getattr(args, "bootstrap_server", None))
    return int(module.run(args, **extra) or 0)


def end_in_order() -> None:
    """SIGTERM and SIGHUP end this process as Ctrl-C does, with KeyboardInterrupt: the processes
    that a command has started end with it, and its temporary folders go. What was ignored (nohup)
    stays so, and a second signal does not disturb the tidying. A forked process ends at once, by
    the signal itself."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    own_pid = os.getpid()

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() != own_pid:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        for later in numbers:
            signal.signal(later, signal.SIG_IGN)
        raise KeyboardInterrupt(number)

    for number in numbers:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 done, 1 a check said no, 2 the user must change something, 3 (`income` only)
    done, but some lines of the file are no orders, 128 + the number of the signal that stopped
    it."""
    if argv is None:  # this process is the command's own
        end_in_order()
    with speaking(find_language()):
        return _main(list(sys.argv[1:] if argv is None else argv))


def need_values(words: Sequence[str]) -> None:
    """Raise UserError where a word is empty, as `"$FILE"` is of a variable without a value: most
    options would silently take what they take when they are not given."""
    before = ""
    for word in words:
        if not word or (word.startswith("--") and word.endswith("=")):
            raise UserError("{} is empty: give it a value, or leave it out", word or before or "“”")
        before = word


def _main(words: list[str]) -> int:
    """Parse the command line `words`, run its command, and print what a user can fix as one line
    instead of a traceback. Returns the exit code that `main` describes."""
    # The command's name is the first word that is no option: before it there are only flags.
    chosen = next((word for word in words if not word.startswith("-")), None)
    try:
        parser, module = build_parser(chosen)
        args = parser.parse_args(words)
        # An unknown command, `--help` and `--version` have ended in `parse_args`.
        assert module is not None, "argparse lets no unknown command through"
        need_values(words)
        speak(getattr(args, "lang", None) or spoken())
        return _run(module, args)
    except WordedError as error:
        print(f"mqlab: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("mqlab", "mqlab_widgets")):
            raise  # a mistake of ours, and no package that the user could install
        from ..places import TO_INSTALL

        tell("mqlab: `mqlab {}` needs the package {}: {}", chosen, error.name, TO_INSTALL,
             file=sys.stderr)  # fmt: skip
        return 2
    except BrokenPipeError:  # `mqlab … | head`: the reader has seen enough
        # Python flushes stdout at its end, and would fail there once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.filename is None:
            raise  # a mistake of ours: no file that the user named
        tell("mqlab: cannot use {}: {}", error.filename, say_cause(error), file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        with suppress(OSError):  # after SIGHUP there may be no terminal
            tell("mqlab: stopped", file=sys.stderr, flush=True)
        # `end_in_order` raises it with the signal's number; Python, at Ctrl-C, with nothing.
        return 128 + (error.args or (signal.SIGINT,))[0]
