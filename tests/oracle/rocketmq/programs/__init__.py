"""One client program for each scenario of the reference that a single client can replay.

A program is a plain function over a `Lab`: it asks, and the lab notes what came back. It knows
neither whether a real RocketMQ or this project's server answers, nor what the answer should be:
that is what the recordings are for.

All of RocketMQ's transactions go through two topics that a broker has once, so each program has a
broker of its own, and counts offsets from 0.
"""

from __future__ import annotations

from ...program import CLUSTER as CLUSTER
from ...program import CONTROL as CONTROL
from ...program import JAVA as JAVA
from ...program import LIBRARY as LIBRARY
from ...program import SLOW as SLOW
from ...program import Programs
from ..client import PROFILES

#: rounds with settings of their own: several transactionTimeOuts, another transactionCheckMax
ROUNDS = "rounds"
#: a name server beside the broker; a Java client has one anyway
NAMES = "names"
#: settings of a broker that delivers at a time
TIMERS = {"timerWheelEnable": "true"}

#: each has a broker of its own
PROGRAMS = Programs(__name__, tuple(PROFILES), (CONTROL,))
program, programs = PROGRAMS.register, PROGRAMS.load
