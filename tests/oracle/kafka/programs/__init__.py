"""One client program for each scenario of the reference that a single client can replay.

A program is a plain function over a `Lab`: it asks, and the lab notes what came back. It
knows neither whether a real Kafka or this project's server answers, nor what the answer
should be: that is what the recordings are for.
"""

from __future__ import annotations

from mqlab.real.kafka.client import PROFILES
from mqlab.real.kafka.programs import PROGRAMS as LAB_14

from ...program import ALONE as ALONE
from ...program import CLUSTER as CLUSTER
from ...program import CONTROL as CONTROL
from ...program import FAULT as FAULT
from ...program import JAVA as JAVA
from ...program import LIBRARY as LIBRARY
from ...program import SLOW as SLOW
from ...program import Programs

#: profiles of what is not about transactions, and of a client that speaks what its cluster allows
TV2, BOTH_LEVELS = ("tv2",), ("tv2", "tv0")

PROGRAMS = Programs(__name__, tuple(PROFILES))
for one in LAB_14:
    PROGRAMS.add(one)
program, programs = PROGRAMS.register, PROGRAMS.load
