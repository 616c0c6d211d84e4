"""One client program for each scenario of the reference that a live broker can replay.

A program is a plain function over a `Lab`: it asks, and the lab notes what came back. It knows
neither whether a real Pulsar or this project's server answers, nor what the answer should be:
that is what the recordings are for.

A broker's coordinator counts its transactions, and holds back watermarks for the oldest that is
alive, for all of its topics: so programs take their turn, and leave no transaction behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ...program import ALONE, CONTROL, SLOW, Programs
from ..admin import Admin
from ..client import Lab
from ..notebook import PROFILES

Run = Callable[[Lab, Admin], None]

#: settings of a broker that keeps the numbers of what it has stored
DEDUPLICATES = {"brokerDeduplicationEnabled": "true"}

PROGRAMS = Programs(__name__, tuple(PROFILES))
programs = PROGRAMS.load


def program(
    reference: str,
    *,
    name: str = "",
    needs: tuple[str, ...] = (),
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Run], Run]:
    """Register a program. `needs`: besides its turn; `settings`: of a broker of its own."""
    own = CONTROL in needs or settings
    all_needs = tuple(dict.fromkeys([*needs, CONTROL if own else ALONE]))

    def keep(run: Run) -> Run:
        called = name or run.__name__.replace("_", "-")
        register = PROGRAMS.register(reference, name=called, needs=all_needs, settings=settings)
        register(lambda lab: run(lab, Admin(lab)))
        return run

    return keep


__all__ = ["ALONE", "CONTROL", "DEDUPLICATES", "SLOW", "Admin", "Lab", "program", "programs"]
