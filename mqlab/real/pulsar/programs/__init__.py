"""One client program for each scenario of the reference that a live broker can replay.

A program is a plain function over a `Lab`: it asks, and the lab notes what came back. It knows
neither whether a real Pulsar or this project's server answers, nor what the answer should be:
that is what the recordings are for.

A broker's coordinator counts its transactions, and holds back watermarks for the oldest that is
alive, for all of its topics: so programs take their turn, and leave no transaction behind.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from ...program import ALONE, CONTROL, SLOW, Program
from ..admin import Admin
from ..client import Lab
from ..notebook import PROFILES

Run = Callable[[Lab, Admin], None]

_FOUND: dict[str, Program] = {}


def program(
    name: str,
    reference: str,
    *,
    needs: tuple[str, ...] = (),
    settings: dict[str, str] | None = None,
) -> Callable[[Run], Run]:
    """Register a program. `needs`: besides its turn; `settings`: of a broker of its own."""

    def register(run: Run) -> Run:
        if name in _FOUND:
            raise ValueError(f"two programs are called {name}")
        given = tuple((settings or {}).items())
        own = CONTROL in needs or given
        all_needs = tuple(dict.fromkeys([*needs, CONTROL if own else ALONE]))

        def opened(lab: Lab) -> None:
            run(lab, Admin(lab))

        _FOUND[name] = Program(name, reference, opened, tuple(PROFILES), all_needs, "", given)
        return run

    return register


@cache
def programs() -> dict[str, Program]:
    """Every program, by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_FOUND.items()))


__all__ = ["ALONE", "CONTROL", "SLOW", "Admin", "Lab", "Program", "program", "programs"]
