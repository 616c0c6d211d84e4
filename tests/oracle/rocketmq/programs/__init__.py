"""One client program for each scenario of the reference that a single client can replay.

A program is a plain function over a `Lab`: it asks, and the lab notes what came back. It knows
neither whether a real RocketMQ or this project's server answers, nor what the answer should be:
that is what the recordings are for.

All of RocketMQ's transactions go through two topics that a broker has once, so each program has a
broker of its own, and counts offsets from 0.
"""

from __future__ import annotations

from collections.abc import Callable

from mqlab.real.program import Program as Program

from ...program import CLUSTER as CLUSTER
from ...program import CONTROL as CONTROL
from ...program import JAVA as JAVA
from ...program import LIBRARY as LIBRARY
from ...program import SLOW as SLOW
from ...program import Programs
from ..client import PROFILES
from ..client import Lab as Lab

#: rounds with settings of their own: several transactionTimeOuts, another transactionCheckMax
ROUNDS = "rounds"
#: a name server beside the broker; a Java client has one anyway
NAMES = "names"

Run = Callable[[Lab], None]

PROGRAMS = Programs(__name__)
programs = PROGRAMS.load


def program(
    name: str,
    reference: str,
    *,
    profiles: tuple[str, ...] = tuple(PROFILES),
    needs: tuple[str, ...] = (),
    settings: dict[str, str] | None = None,
) -> Callable[[Run], Run]:
    """Register a program. `profiles`: where it makes sense; `needs`: besides a broker of its own;
    `settings`: of that broker."""
    given = tuple((settings or {}).items())
    return PROGRAMS.register(
        lambda run: Program(name, reference, run, profiles, (CONTROL, *needs), "", given)
    )
