"""Mutants of a learner's file: each is the file with one small fault, as a programmer makes them.

`mutate(source)` knows no file in particular. It changes one place of the text: an operator, a
condition, a lost line, an argument, a field, the effects of a step, what a container is asked for.
The same text gives the same list, in the order of its lines, and no mutant twice.

`mutants.txt` has those that no trial refutes: of which right file, what was done, and why nobody
can tell, or what is missed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

KNOWN = [
    row.split(" | ") for row in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
]
#: (name and part of the file, what was done): it does what the right file does; no trial finds it
EQUAL, MISSED = (
    {(file, says) for file, verdict, says, _ in KNOWN if verdict == kind}
    for kind in ("equal", "missed")
)
#: an operator, and the one that it is confused with
OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
#: a field, a state, an error or a function, and the one that it is taken for
ALIKE = {
    "pid": "epoch", "epoch": "pid", "half_offset": "op_offset", "op_offset": "half_offset",
    "EMPTY": "COMPLETE_ABORT", "ONGOING": "EMPTY",
    "PREPARE_COMMIT": "PREPARE_ABORT", "PREPARE_ABORT": "PREPARE_COMMIT",
    "COMPLETE_COMMIT": "COMPLETE_ABORT", "COMPLETE_ABORT": "COMPLETE_COMMIT",
    "NONE": "CONCURRENT_TRANSACTIONS", "CONCURRENT_TRANSACTIONS": "PRODUCER_FENCED",
    "PRODUCER_FENCED": "CONCURRENT_TRANSACTIONS", "INVALID_TXN_STATE": "NONE",
    "INVALID_PRODUCER_ID_MAPPING": "NONE", "TRANSACTION_ABORTABLE": "NONE",
    "max": "min", "min": "max", "any": "all", "all": "any",
}  # fmt: skip
#: what holds no code that runs in a step
STILL = (ast.Import, ast.ImportFrom, ast.arg)
Change = tuple[Any, ast.AST | str]  # a node of the file, and what is put in its place


def mutate(source: str, lines: frozenset[int] | None = None) -> list[tuple[str, str]]:
    """Every mutant of a file: what was done to it, with the line, and its text. `lines`: only
    those of these lines of the text."""
    tree = ast.parse(source)
    found = [
        (node.lineno, *_put(source, node, new))
        for place, scope in _walk(tree, tree)
        for node, new in _change(place, scope)
        if lines is None or node.lineno in lines
    ]
    mutants = {text: says for _, says, text in sorted(found, key=lambda one: one[0])}
    if lines is None:
        mutants |= {text: says for says, text in _share(source, tree)}
    return [(says, text) for text, says in mutants.items() if text != source]


def _put(source: str, node: Any, new: ast.AST | str) -> tuple[str, str]:
    """What is done, in words, and the text with it."""
    text = new if isinstance(new, str) else f"({ast.unparse(new)})"
    rows = source.encode().splitlines(keepends=True)
    starts = [sum(map(len, rows[: at - 1])) for at in (node.lineno, node.end_lineno)]
    start, end = starts[0] + node.col_offset, starts[1] + node.end_col_offset
    whole = source.encode()
    old = whole[start:end].decode()
    says = f"line {node.lineno}: `{_shorten(old)}` → `{_shorten(text)}`"
    return says, (whole[:start] + text.encode() + whole[end:]).decode()


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:40]} ... {text[-16:]}"


def _walk(node: ast.AST, scope: ast.AST) -> Iterator[tuple[Any, ast.AST]]:
    """Every node, and the function around it; no annotation, decorator or import, and no row that
    is there to be taken apart: the values of a `return`, the right side of `a, b =`."""
    if isinstance(node, ast.FunctionDef):
        scope = node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "pattern"):
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST) and not isinstance(one, STILL):
                apart = isinstance(node, ast.Return | ast.Assign) and isinstance(one, ast.Tuple)
                if not apart:
                    yield one, scope
                yield from _walk(one, scope)


@cache
def _read(scope: ast.AST) -> dict[str, list[str]]:
    """What is read of each name there, as `ask.pid`."""
    called = {node.func for node in ast.walk(scope) if isinstance(node, ast.Call)}
    fields: dict[str, set[str]] = {}
    for node in ast.walk(scope):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if node not in called:
                fields.setdefault(name, set()).add(attr)
    return {name: sorted(found) for name, found in sorted(fields.items())}


def _is_read(scope: ast.AST, name: str, attr: str) -> bool:
    return attr in _read(scope).get(name, ())


def _with(node: Any, **fields: Any) -> Any:
    new = copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _without(row: list[Any], at: int) -> list[Any]:
    return [*row[:at], *row[at + 1 :]]


def _cut(rows: ast.expr) -> ast.AST:
    """The first element alone."""
    return ast.parse(f"tuple({ast.unparse(rows)})[:1]", mode="eval").body


def _change(node: Any, scope: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.expr):
        yield from ((node, new) for new in _change_expression(node, scope))
    match node:
        case ast.If(test=test):
            yield from ((test, "True"), (test, "False"))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Break() | ast.Continue():
            yield node, "pass"
        case ast.For(iter=rows):
            yield rows, _cut(rows)
        case ast.match_case(pattern=pattern):
            yield pattern, "'nothing comes here'"
        case ast.Return(value=ast.Tuple(elts=values)):
            for at, value in enumerate(values):
                if at or isinstance(value, ast.Name):
                    yield value, "()" if at else "self"


def _change_expression(node: Any, scope: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in OTHER:
            yield _with(node, ops=[OTHER[type(op)]()])
        case ast.BoolOp(op=op, values=values):
            yield _with(node, op=OTHER[type(op)]())
            for at in range(len(values)):
                left = _without(values, at)
                yield left[0] if len(left) == 1 else _with(node, values=left)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OTHER:
            yield from (_with(node, op=OTHER[type(op)]()), left, right)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if _is_read(scope, name, attr):
            if attr in ALIKE:
                yield _with(node, attr=ALIKE[attr])
            for other, row in _read(scope).items():
                if attr in row and other != name:
                    yield _with(node, value=ast.Name(other))
        case ast.Call(func=ast.Name(id=name), args=[_]) if name in ALIKE:
            yield _with(node, func=ast.Name(ALIKE[name]))
        case ast.Call(func=ast.Attribute(attr="set", value=old)):
            empty = ast.Call(ast.Name("Map"), [], [])
            yield from (old, _with(node, func=ast.Attribute(empty, "set")))
        case ast.Call(func=ast.Attribute(attr="remove", value=old)):
            yield old
        case ast.Tuple(elts=row, ctx=ast.Load()) | ast.List(elts=row, ctx=ast.Load()):
            for at in range(len(row)):
                yield _with(node, elts=_without(row, at))
            for at, (one, two) in enumerate(pairwise(row)):
                yield _with(node, elts=[*row[:at], two, one, *row[at + 2 :]])
        case ast.Set(elts=row) if len(row) > 1:
            for at in range(len(row)):
                yield _with(node, elts=_without(row, at))
        case ast.GeneratorExp(generators=loops) | ast.ListComp(generators=loops):
            for at, loop in enumerate(loops):
                new = [_with(loop, ifs=_without(loop.ifs, one)) for one in range(len(loop.ifs))]
                for one in (*new, _with(loop, iter=_cut(loop.iter))):
                    yield _with(node, generators=[*loops[:at], one, *loops[at + 1 :]])
    if isinstance(node, ast.Call):
        for at in range(len(node.keywords)):
            yield _with(node, keywords=_without(node.keywords, at))


def _share(source: str, tree: ast.AST) -> Iterator[tuple[str, str]]:
    """One place in a container for all: each `get`, `set` and `remove` of it has the same key."""
    asked: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(
                    attr="get" | "set" | "remove",
                    value=ast.Attribute(attr=name) | ast.Name(id=name),
                ),
                args=[key, *_],
            ):
                asked.setdefault(name, []).append(key)
    for name, keys in asked.items():
        text = source
        for key in sorted(keys, key=lambda one: (one.lineno, one.col_offset), reverse=True):
            _, text = _put(text, key, '""')
        yield f"one key of `{name}` for all", text
