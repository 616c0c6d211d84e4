"""Kafka's recorded programs, run again now: against this project's own server, or a real broker.

It is a module of its own because it needs kio and sockets, which a browser's Python has not; what
has been recorded can be read there all the same (`laid`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..kafka.evidence import IDS
from ..real.kafka.broker import RealKafka
from ..real.kafka.client import PROFILES, Lab, Target
from ..real.kafka.programs import PROGRAMS
from ..real.program import Program
from ..recordings.recording import Recording, normalise
from ..serve.kafka import serve
from ..serve.process import RunningBroker

#: how many programs have been run at an address
_RUNS: Counter[str] = Counter()


def find_programs(names: Sequence[str]) -> list[Program]:
    """Raises KeyError for a name that no program has."""
    known = {program.name: program for program in PROGRAMS}
    return [known[name] for name in names]


def ask_engine(programs: Sequence[Program], engine: RunningBroker | None) -> list[Recording]:
    """`engine`: a server that runs already; without one a new one is started."""
    if engine is not None:
        return _ask(programs, Target("mqlab", engine.address))
    with serve(auto_create=False) as own:
        return _ask(programs, Target("mqlab", own.address))


def ask_real(programs: Sequence[Program], version: str) -> list[Recording]:
    """Raises RealBrokerError where a real broker cannot be started."""
    with RealKafka(version) as kafka:
        return _ask(programs, Target(f"kafka-{version}", kafka.address))


def _ask(programs: Sequence[Program], target: Target) -> list[Recording]:
    return [_run(program, program.profiles[0], target) for program in programs]


def _run(program: Program, profile: str, target: Target) -> Recording:
    """The names on the wire are the program's own, so that a picture shows them; a later execution
    at the same broker has a prefix."""
    _RUNS[target.address] += 1
    count = _RUNS[target.address]
    lab = Lab(target, PROFILES[profile], f"run{count}." if count > 1 else "")
    try:
        program.run(lab)
    finally:
        lab.close()
    seen = normalise(lab.notes, IDS)
    return Recording(program.name, program.reference, target.broker, profile, {}, seen)
