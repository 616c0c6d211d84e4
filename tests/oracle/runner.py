"""Running programs, several at a time: each has names of its own, so they do not meet.

A program waits more than it works (for a marker, for a timeout), so they run in threads.
One that must be alone has its turn when the others are done; one that stops brokers gets a
broker, or a cluster, of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from mqlab.kernel.text import say_unknown
from mqlab.real.program import Program
from mqlab.recordings.recording import Recording, normalise

from .hosts import Host
from .oracle import Oracle
from .program import ALONE, OWN, Target

AT_ONCE = 10
Wanted = tuple[Program, str]  # and the profile
Came = tuple[Program, str, Recording | Exception]


def run(oracle: Oracle, program: Program, profile: str, target: Target) -> Recording:
    """Run one program; raises what it raised."""
    # The same names in every run: what is hashed falls on the same partition.
    lab = oracle.open_lab(target, profile, f"{profile}.{program.name}.")
    try:
        program.run(lab)
    finally:
        lab.close()
    clients = {name: lab.clients[name] or version(name) for name in sorted(lab.clients)}
    seen = normalise(lab.notes, oracle.ids)
    return Recording(program.name, program.reference, target.broker, profile, clients, seen)


def select_programs(
    oracle: Oracle,
    names: Iterable[str] = (),
    levels: Iterable[int] = (),
    without: Iterable[str] = (),
) -> list[Wanted]:
    """The programs named (all of them where none is) at these levels (all where none is), but
    none that needs something of `without`. Raises ValueError for a name that is none."""
    every, level_of = oracle.programs(), oracle.level_of
    unknown = sorted(set(names) - every.keys())
    if unknown:
        raise ValueError(say_unknown("program", unknown[0], list(every)))
    all_levels = {level_of(profile) for program in every.values() for profile in program.profiles}
    return [
        (program, profile)
        for level in tuple(levels) or sorted(all_levels, reverse=True)
        for program in every.values()
        for profile in program.profiles
        if level_of(profile) == level
        and (not names or program.name in names)
        and not set(without) & set(program.needs)
    ]


def run_all(oracle: Oracle, every: Iterable[Wanted], host: Host) -> Iterator[Came]:
    """Each with what came of it: per level those that share a broker, then, one after the
    other, those that need it for themselves, then those with one of their own."""
    able = [(program, profile) for program, profile in every if not host.cannot(program)]
    own = [pair for pair in able if OWN & set(pair[0].needs)]
    for level in sorted({oracle.level_of(profile) for _, profile in able}, reverse=True):
        here = [p for p in able if p not in own and oracle.level_of(p[1]) == level]
        if here:
            with host.share_broker(here[0][1]) as target:
                yield from _together(oracle, here, target)
    if host.at_once == 1:  # in this thread: a real broker ends with the thread that started it
        for program, profile in own:
            yield program, profile, _alone(oracle, program, profile, host)
        return
    with ThreadPoolExecutor(host.at_once) as pool:
        results = pool.map(lambda pair: _alone(oracle, pair[0], pair[1], host), own)
        for (program, profile), result in zip(own, results, strict=True):
            yield program, profile, result


def _together(oracle: Oracle, every: list[Wanted], target: Target) -> Iterator[Came]:
    alone = [pair for pair in every if ALONE in pair[0].needs]
    others = [pair for pair in every if pair not in alone]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = pool.map(lambda pair: _tried(oracle, pair[0], pair[1], target), others)
        for (program, profile), result in zip(others, results, strict=True):
            yield program, profile, result
    for program, profile in alone:
        yield program, profile, _tried(oracle, program, profile, target)


def _alone(oracle: Oracle, program: Program, profile: str, host: Host) -> Recording | Exception:
    try:
        with host.own(program, profile) as target:
            return run(oracle, program, profile, target)
    except Exception as error:
        return error


def _tried(oracle: Oracle, program: Program, profile: str, target: Target) -> Recording | Exception:
    try:
        return run(oracle, program, profile, target)
    except Exception as error:  # one program's failure is a finding, not the end of the run
        return error
