"""Faults put into a system's roles on purpose, so that a search has something to find.

A fault is a class derived from the role that it spoils; `started`, where it has one, changes
what a start from the disk gives. A row of a table of faults is such a class, the system line
and the budget in which it is found, and the name of the claim that it breaks.
"""

from dataclasses import fields

import pytest

from mqlab.explore import explore
from mqlab.kernel.system import NodeSpec
from mqlab.lessons.registry import system


def each_fault(rows):
    """A test for each row: `find_fault`."""
    names = ("fault", "line", "budget", "broken")
    return pytest.mark.parametrize(names, rows, ids=[row[0].__name__ for row in rows])


def each_system(rows):
    """A test for each system and budget in these rows, once: `find_nothing`."""
    searched = sorted({(line, budget) for _, line, budget, _ in rows}, key=repr)
    return pytest.mark.parametrize(("line", "budget"), searched)


def find_fault(fault, line, budget, broken):
    """Searches the system with the fault, and asserts that its claim is found broken."""
    verdict = explore(faulty(system(line), fault), budget)
    assert broken in verdict.counterexamples, verdict


def find_nothing(line, budget):
    """Searches the unchanged system to the end, and asserts that it keeps every claim."""
    verdict = explore(system(line), budget)
    assert verdict.complete, verdict
    assert not verdict.counterexamples, verdict


def names_of(claims):
    """The names of claims."""
    return {claim.name for claim in claims}


def broken_by(rows, cases):
    """The names of the claims that a row or a case of the lessons breaks."""
    return {broken for *_, broken in rows} | {case.broken for case in cases}


def changed(value, kind):
    """The same state as another class."""
    return kind(**{f.name: getattr(value, f.name) for f in fields(value)})


def faulty(plain, fault):
    """The system with every role of a kind replaced by a faulty one."""
    (kind,) = fault.__bases__

    class Faulty(type(plain)):
        def nodes(self):
            return tuple(self._mutated(spec) for spec in super().nodes())

        def _mutated(self, spec):
            roles = tuple((name, starting(recover)) for name, recover in spec.roles)
            return NodeSpec(spec.name, roles, spec.program)

    def starting(recover):
        def start(disk, at_ms):
            role, effects = recover(disk, at_ms)
            if type(role) is not kind:
                return role, effects
            role = changed(role, fault)
            return fault.started(role, effects) if hasattr(fault, "started") else (role, effects)

        return start

    return Faulty(**{f.name: getattr(plain, f.name) for f in fields(plain)})
