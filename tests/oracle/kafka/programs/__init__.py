"""One client program for each scenario of the reference that a single client can replay.

A program is a plain function over a `Lab`: it asks, and the lab notes what came back. It
knows neither whether a real Kafka or this project's server answers, nor what the answer
should be: that is what the recordings are for.
"""

from __future__ import annotations

from collections.abc import Callable

from mqlab.real.kafka.client import PROFILES
from mqlab.real.kafka.client import Lab as Lab
from mqlab.real.kafka.programs import PROGRAMS as LAB_14
from mqlab.real.program import Program as Program

from ...program import ALONE as ALONE
from ...program import CLUSTER as CLUSTER
from ...program import CONTROL as CONTROL
from ...program import FAULT as FAULT
from ...program import JAVA as JAVA
from ...program import LIBRARY as LIBRARY
from ...program import SLOW as SLOW
from ...program import Programs

Run = Callable[[Lab], None]

PROGRAMS = Programs(__name__)
for one in LAB_14:
    PROGRAMS.add(one)
programs = PROGRAMS.load


def program(
    name: str,
    reference: str,
    *,
    profiles: tuple[str, ...] = tuple(PROFILES),
    needs: tuple[str, ...] = (),
    version: str = "",
    settings: dict[str, str] | None = None,
) -> Callable[[Run], Run]:
    """Register a program. `profiles`: where it makes sense; `version`: the only Kafka it is
    recorded on, "" for any; `settings`: of brokers of its own."""
    given = tuple((settings or {}).items())
    return PROGRAMS.register(
        lambda run: Program(name, reference, run, profiles, needs, version, given)
    )
