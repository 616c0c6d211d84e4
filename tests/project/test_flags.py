"""`x & ~FLAG` keeps all other bits only where FLAG is a number.

The complement of an `IntFlag` holds the bits that have a name in its class and no others, so that
a bit of another release would be lost (Python 3.11). So `~` stands before numbers only: `int(…)`, a
literal that is shifted, or names of the module that are plain integers.
"""

from __future__ import annotations

import ast
import importlib
from enum import IntFlag

import pytest

from tests.project.sources import modules


def find_inversions(tree: ast.AST) -> list[ast.expr]:
    """What each `~` of a source stands before."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.UnaryOp)]
    return [node.operand for node in found if isinstance(node.op, ast.Invert)]


def is_number(operand: ast.expr, names: dict[str, object]) -> bool:
    """Whether it is an integer whatever happens. `names`: those of its module."""
    match operand:
        case ast.Constant(value=int()) | ast.Call(func=ast.Name(id="int")):
            return True
        case ast.Name(id=name):
            return type(names.get(name)) is int
        case ast.BinOp(left=left, op=ast.LShift()):
            return is_number(left, names)
        case ast.BinOp(left=left, right=right):
            return is_number(left, names) and is_number(right, names)
    return False


def read_inversions() -> list[tuple[str, ast.expr]]:
    found = []
    for name, path in modules().items():
        text = path.read_text("utf-8")
        if "~" in text:
            found += [(name, operand) for operand in find_inversions(ast.parse(text))]
    return found


@pytest.mark.parametrize(
    ("name", "operand"),
    read_inversions(),
    ids=lambda v: v if isinstance(v, str) else ast.unparse(v),
)
def test_a_complement_is_of_a_number(name: str, operand: ast.expr) -> None:
    names = vars(importlib.import_module(name))
    assert is_number(operand, names), f"{name}: ~{ast.unparse(operand)} may drop bits: say ~int(…)"


class Colour(IntFlag):
    RED = 1
    BLUE = 4


@pytest.mark.parametrize("text", ["~Colour.RED", "~(Colour.RED | Colour.BLUE)", "~RED", "~other"])
def test_the_complement_of_a_flag_is_found(text: str) -> None:
    (operand,) = find_inversions(ast.parse(text))
    assert not is_number(operand, {"Colour": Colour, "RED": Colour.RED})


def test_the_complement_of_a_flag_drops_bits_that_have_no_name() -> None:
    """Why the rule is there; where this fails, Python has changed and the rule may go."""
    assert 0x301 & ~Colour.RED == 0
    assert 0x301 & ~int(Colour.RED) == 0x300


def test_the_rule_has_something_to_look_at() -> None:
    assert "mqlab.rocketmq.remoting.records" in {name for name, _ in read_inversions()}
