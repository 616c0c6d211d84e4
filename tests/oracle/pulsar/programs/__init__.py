"""One client program for each scenario of the reference that a live broker can replay.

A program is a plain function over a `Lab`: it asks, and the lab notes what came back. It knows
neither whether a real Pulsar or this project's server answers, nor what the answer should be:
that is what the recordings are for.

A broker's coordinator counts its transactions, and holds back watermarks for the oldest that is
alive, for all of its topics: so programs take their turn, and leave no transaction behind.
"""

from __future__ import annotations

from collections.abc import Callable

from mqlab.real.program import Program

from ...program import ALONE, CONTROL, SLOW, Programs
from ..admin import Admin
from ..client import Lab
from ..notebook import PROFILES

Run = Callable[[Lab, Admin], None]

PROGRAMS = Programs(__name__)
programs = PROGRAMS.load


def program(
    name: str,
    reference: str,
    *,
    needs: tuple[str, ...] = (),
    settings: dict[str, str] | None = None,
) -> Callable[[Run], Run]:
    """Register a program. `needs`: besides its turn; `settings`: of a broker of its own."""
    given = tuple((settings or {}).items())
    own = CONTROL in needs or given
    all_needs = tuple(dict.fromkeys([*needs, CONTROL if own else ALONE]))

    def make(run: Run) -> Program:
        def opened(lab: Lab) -> None:
            run(lab, Admin(lab))

        return Program(name, reference, opened, tuple(PROFILES), all_needs, "", given)

    return PROGRAMS.register(make)


__all__ = ["ALONE", "CONTROL", "SLOW", "Admin", "Lab", "Program", "program", "programs"]
