"""Faults put into a system's roles on purpose, so that a search has something to find.

A fault is a class derived from the role that it spoils; `started`, where it has one, changes what
a start from the disk gives, and `after` what a step gives. Or it is a function that is handed a
`MonkeyPatch` and spoils a line of the engine with it. A row of a table of faults is one of these,
the system line and the budget in which it is found, and the name of the claim that it breaks.

    .venv/bin/python -m tests.models.faults pulsar    which of them `mqlab explore pulsar` finds
"""

import sys
from contextlib import contextmanager
from dataclasses import fields
from importlib import import_module

import pytest

from mqlab.explore import Search, explore
from mqlab.kernel.world import NodeSpec
from mqlab.registry import system
from mqlab.registry.searches import searches_of


def make_tests(rows, claims, cases):
    """The three tests of a table of faults: each is found, by the claim that it breaks; without it
    the same search keeps every claim; and each of the claims is broken by a row, or by a case of
    the lessons."""
    names, ids = ("fault", "line", "budget", "broken"), [row[0].__name__ for row in rows]
    systems = sorted({(line, budget) for _, line, budget, _ in rows}, key=repr)

    @pytest.mark.parametrize(names, rows, ids=ids)
    def test_a_deliberate_fault_is_found(fault, line, budget, broken):
        with spoil(system(line), fault) as found:
            verdict = explore(found, budget)
        assert broken in verdict.counterexamples, verdict

    @pytest.mark.parametrize(("line", "budget"), systems)
    def test_without_the_fault_nothing_is_found(line, budget):
        verdict = explore(system(line), budget)
        assert verdict.complete, verdict
        assert not verdict.counterexamples, verdict

    def test_every_claim_is_broken_by_a_fault_or_a_case():
        broken = {name for *_, name in rows} | {case.broken for case in cases}
        assert broken == names_of(claims)

    return (
        test_a_deliberate_fault_is_found,
        test_without_the_fault_nothing_is_found,
        test_every_claim_is_broken_by_a_fault_or_a_case,
    )


@contextmanager
def spoil(plain, fault):
    """The system with the fault in it, as long as one looks."""
    if isinstance(fault, type):
        yield faulty(plain, fault)
        return
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        yield plain


def change_result(patch, where, name, change):
    """What a function gives is changed, which is told what it was given, too."""
    real = getattr(where, name)
    patch.setattr(where, name, lambda *given, **more: change(real(*given, **more), *given))


def find_quickly(fault, systems):
    """The first of these systems in which the fault breaks a claim, with the claim; None where it
    breaks none. A search ends with the first broken claim, or where the faulty engine raises."""
    for searched in systems:
        with spoil(system(searched.line), fault) as found:
            search = Search(found, searched.budget)
            try:
                while search.advance(0.2):
                    if any(search.properties[i].kind == "always" for i in search.found):
                        break
            except (ValueError, LookupError, AssertionError) as error:
                return searched.name, f"raises {type(error).__name__}"
            verdict = search.verdict()
        broken = (*verdict.counterexamples, *verdict.missing)
        if broken:
            return searched.name, broken[0]
    return None


def names_of(claims):
    """The names of claims."""
    return {claim.name for claim in claims}


def changed(value, kind):
    """The same state as another class."""
    return kind(**{f.name: getattr(value, f.name) for f in fields(value)})


def faulty(plain, fault):
    """The system with every role of a kind replaced by a faulty one."""
    (kind,) = fault.__bases__
    if hasattr(fault, "after"):
        fault.step = lambda self, event, disk: self.after(
            *kind.step(self, event, disk), event, disk
        )

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


def main():
    """For each broker that is named: every fault, and where the plain form finds it."""
    for broker in sys.argv[1:]:
        rows = import_module(f"tests.{broker}.claims.test_faults").FAULTS
        seen = 0
        for fault, *_ in rows:
            found = find_quickly(fault, searches_of(broker).quick)
            seen += found is not None
            print(f"{fault.__name__:32} {' | '.join(found) if found else 'NOT FOUND'}", flush=True)
        print(f"{broker}: {seen} of {len(rows)} found by `mqlab explore {broker}`")


if __name__ == "__main__":
    main()
