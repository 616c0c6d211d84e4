"""Faults put into a system's roles on purpose, so that a search has something to find.

A fault is a class derived from the role that it spoils; `started`, where it has one, changes what
a start from the disk gives, and `after` what a step gives. Or it is an `Edit`: lines of the engine
with others in their place, which a text has for each broker (see `read_edits`). A row of a table of
faults is one of these, the system line and the budget in which it is found, and the name of the
claim that it breaks.

    .venv/bin/python -m tests.models.faults pulsar    which of them `mqlab explore pulsar` finds
"""

import ast
import inspect
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path

import pytest

from mqlab.explore import Budget, Search, explore
from mqlab.kernel.world import NodeSpec
from mqlab.registry import system
from mqlab.registry.searches import searches_of

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Edit:
    """Lines of the engine with others in their place: (file, old, new). Each old piece is in its
    file once."""

    name: str
    changes: tuple[tuple[str, str, str], ...]

    @property
    def __name__(self):
        return self.name

    def apply(self, patch):
        """Give the functions that the edit changes the code that they would have with it, wherever
        they are called from."""
        for file in sorted({file for file, _, _ in self.changes}):
            text = edited = (ROOT / file).read_text("utf-8")
            for _, old, new in (change for change in self.changes if change[0] == file):
                assert edited.count(old) == 1, (self.name, file, old)
                edited = edited.replace(old, new)
            code, before = compile(edited, file, "exec"), dict(_functions(ast.parse(text)))
            for name, node in _functions(ast.parse(edited)):
                if ast.dump(node) != ast.dump(before[name]):
                    patch.setattr(_find(file, name), "__code__", _pick(code, name))


def _functions(node, above=""):
    """(qualified name, syntax tree) of each function of a module, and of its classes."""
    for inner in node.body:
        if isinstance(inner, ast.ClassDef):
            yield from _functions(inner, f"{above}{inner.name}.")
        elif isinstance(inner, ast.FunctionDef):
            yield above + inner.name, inner


def _find(file, name):
    """The function itself, however it is wrapped."""
    found = import_module(file.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    found = getattr(found, "fget", None) or getattr(found, "__func__", found)
    return inspect.unwrap(found)


def _pick(code, name):
    """The code of a function within that of its module."""
    for part in name.split("."):
        (code,) = (c for c in code.co_consts if getattr(c, "co_name", None) == part)
    return code


def read_edits(table, names):
    """The rows of a text of edits. It begins with systems, `NAME = line`, which goes on in lines
    that begin with blanks; `{X}` in it is a name before it or one of `names`. Then, with a blank
    line before each:

        a fault, in a few words
        what it is, in a sentence
        NAME, or a line | budget, as kills=1 killable=orders-0 | the claim that it breaks
        mqlab/…/file.py
        - what is replaced, of one line or several
        + what is in its place; then perhaps another such pair, or file
    """
    head, *blocks = table.read_text("utf-8").strip().split("\n\n")
    known = dict(names)
    for line in head.replace("\n  ", " ").splitlines():
        name, _, told = line.partition(" = ")
        known[name] = told.format_map(known)
    for block in blocks:
        name, _, where, *lines = block.splitlines()
        line, given, broken = (cell.strip() for cell in where.split("|"))
        budget = {}
        for word in given.split():
            key, _, value = word.partition("=")
            budget[key] = int(value) if value.isdecimal() else tuple(filter(None, value.split(",")))
        changes, file = [], ""
        for part in re.findall(r"(?m)^[^-+\s].*$|(?:^-.*\n?)+|(?:^\+.*\n?)+", "\n".join(lines)):
            side = "\n".join(row[2:] for row in part.splitlines())
            if part.startswith("-"):
                changes.append([file, side, ""])
            elif part.startswith("+"):
                changes[-1][2] = side
            else:
                file = part
        assert changes and all(file and new for file, _, new in changes), f"{table}: {name}"
        edit = Edit(name.replace(" ", "_"), tuple(map(tuple, changes)))
        yield edit, known.get(line) or line.format_map(known), Budget(**budget), broken


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
        fault.apply(patch)
        yield plain


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
