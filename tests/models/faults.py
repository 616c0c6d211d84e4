"""Faults put into the engine on purpose, so that a search has something to find. Each broker has a
text of them (see `read_faults`).

    .venv/bin/python -m tests.models.faults pulsar    which of them `mqlab explore pulsar` finds
"""

import ast
import inspect
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from mqlab.explore import Budget, Search, explore
from mqlab.registry import system
from mqlab.registry.searches import searches_of

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Fault:
    """Lines of the engine with others in their place, and where that is found: the system line, the
    budget, and the name of the claim that breaks. `changes`: (file, old, new); each old piece is in
    its file once."""

    name: str
    line: str
    budget: Budget
    broken: str
    changes: tuple[tuple[str, str, str], ...]

    @contextmanager
    def put_in(self):
        """Give the functions that the fault changes the code that they would have with it, wherever
        they are called from, as long as one looks."""
        with pytest.MonkeyPatch.context() as patch:
            for file in sorted({file for file, _, _ in self.changes}):
                edited, functions = _read(file)
                changed = set()
                for _, old, new in (change for change in self.changes if change[0] == file):
                    assert edited.count(old) == 1, (self.name, file, old)
                    changed |= _list_lines(file, old)
                    edited = edited.replace(old, new)
                code = compile(edited, file, "exec")
                for name, lines in functions:
                    if not changed.isdisjoint(lines):
                        patch.setattr(_find(file, name), "__code__", _pick(code, name))
            yield


@cache
def _read(file):
    """The text of a file, and (qualified name, lines) of each of its functions."""
    text = (ROOT / file).read_text("utf-8")
    return text, tuple(_functions(ast.parse(text)))


def _list_lines(file, piece):
    """The lines of a file in which a piece of its text is."""
    first = _read(file)[0].partition(piece)[0].count("\n") + 1
    return set(range(first, first + piece.count("\n") + 1))


def _functions(node, above=""):
    """(qualified name, lines) of each function of a module, and of its classes."""
    for inner in node.body:
        if isinstance(inner, ast.ClassDef):
            yield from _functions(inner, f"{above}{inner.name}.")
        elif isinstance(inner, ast.FunctionDef):
            yield above + inner.name, range(inner.lineno, inner.end_lineno + 1)


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


@cache
def read_faults(broker):
    """The faults of `tests/<broker>/claims/faults.txt`. It begins with systems, `NAME = line`,
    which goes on in lines that begin with blanks; `{X}` in it is a name before it, or one of the
    broker's searches. Then, with a blank line before each:

        a fault, in a few words
        what it is, in a sentence
        NAME, or a line | budget, as kills=1 killable=orders-0 | the claim that it breaks
        mqlab/…/file.py
        - what is replaced, of one line or several
        + what is in its place; then perhaps another such pair, or file
    """
    cases = import_module(f"mqlab.registry.cases.{broker}")
    known = vars(cases) | {case.name: case.line for case in cases.SEARCHES.cases}
    table = ROOT / "tests" / broker / "claims/faults.txt"
    head, *blocks = table.read_text("utf-8").strip().split("\n\n")
    for line in head.replace("\n  ", " ").splitlines():
        name, _, told = line.partition(" = ")
        known[name] = told.format_map(known)
    return tuple(_read_fault(block, known) for block in blocks)


def _read_fault(block, known):
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
    assert changes and all(file and new for file, _, new in changes), name
    line = known.get(line) or line.format_map(known)
    changes = tuple(map(tuple, changes))
    return Fault(name.replace(" ", "_"), line, Budget(**budget), broken, changes)


def make_tests(broker):
    """The three tests of a broker's faults: each is found, by the claim that it breaks; without it
    the same search keeps every claim; and each of the claims is broken by a fault, or by a case of
    the lessons."""
    faults, claims = read_faults(broker), import_module(f"mqlab.{broker}.claims")
    systems = sorted({(fault.line, fault.budget) for fault in faults}, key=repr)

    @pytest.mark.parametrize("fault", faults, ids=lambda fault: fault.name)
    def test_a_deliberate_fault_is_found(fault):
        with fault.put_in():
            verdict = explore(system(fault.line), fault.budget)
        assert fault.broken in verdict.counterexamples, verdict

    @pytest.mark.parametrize(("line", "budget"), systems)
    def test_without_the_fault_nothing_is_found(line, budget):
        verdict = explore(system(line), budget)
        assert verdict.complete, verdict
        assert not verdict.counterexamples, verdict

    def test_every_claim_is_broken_by_a_fault_or_a_case():
        broken = {one.broken for one in (*faults, *searches_of(broker).cases)}
        assert broken == names_of((*claims.LIT, *claims.CLAIMS.values()))

    return (
        test_a_deliberate_fault_is_found,
        test_without_the_fault_nothing_is_found,
        test_every_claim_is_broken_by_a_fault_or_a_case,
    )


def find_quickly(fault, systems):
    """The first of these systems in which the fault breaks a claim, with the claim; None where it
    breaks none. A search ends with the first broken claim, or where the faulty engine raises."""
    for searched in systems:
        with fault.put_in():
            search = Search(system(searched.line), searched.budget)
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


def main():
    """For each broker that is named: every fault, and where the plain form finds it."""
    for broker in sys.argv[1:]:
        faults = read_faults(broker)
        seen = 0
        for fault in faults:
            found = find_quickly(fault, searches_of(broker).quick)
            seen += found is not None
            print(f"{fault.name:32} {' | '.join(found) if found else 'NOT FOUND'}", flush=True)
        print(f"{broker}: {seen} of {len(faults)} found by `mqlab explore {broker}`")


if __name__ == "__main__":
    main()
