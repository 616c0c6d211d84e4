"""Inside a broker imports go one way too, from what lies on a disk to what judges a world."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.project.sources import imports, modules, relative

# A broker's packages in steps: one of a step may import from the steps before it, and from the
# files at the broker's top. Packages of one step do not know each other.
PACKAGES = {
    "mqlab.kafka": (
        ("log",),
        ("coordinator", "group", "leader"),
        ("clients", "replication"),
        ("picture",),
        ("claims",),
        ("system",),
    ),
    "mqlab.rocketmq": (
        ("remoting",),
        ("log",),
        ("group",),
        ("check",),
        ("application", "broker"),
        ("consumer", "producer"),
        ("picture",),
        ("claims",),
        ("system",),
    ),
    "mqlab.pulsar": (
        ("ledger",),
        ("buffer", "coordinator", "pending_ack"),
        ("subscription",),
        ("topic",),
        ("client",),
        ("picture",),
        ("claims",),
        ("system",),
    ),
    "mqlab.patterns": (
        (
            "barriers",
            "delivery",
            "message_transaction",
            "micro_batches",
            "outbox",
            "saga",
            "tcc",
            "three_phase",
            "two_phase",
        ),
    ),
}
BROKER = {"config", "errors", "evidence", "messages", "states"}
TOP = {
    "mqlab.kafka": BROKER | {"unserved"},
    "mqlab.rocketmq": BROKER,
    "mqlab.pulsar": BROKER | {"unserved"},
    "mqlab.patterns": {"claims", "client", "commit", "model", "picture", "records"},
}
#: where a class stands whose methods are in the files beside it, and that is not its folder's own
SPLIT = ("mqlab.serve.pulsar.front.hosting", "mqlab.serve.server")


def step_of(broker: str, package: str) -> int:
    return next(i for i, packages in enumerate(PACKAGES[broker]) if package in packages)


def type_only(path: Path) -> set[int]:
    """The lines that only a type checker sees."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


@pytest.mark.parametrize("broker", PACKAGES)
def test_a_broker_has_these_packages_and_these_files_at_its_top(broker: str) -> None:
    held = {name.split(".")[2] for name in modules() if name.startswith(broker + ".")}
    assert held == TOP[broker] | {package for step in PACKAGES[broker] for package in step}


@pytest.mark.parametrize("broker", PACKAGES)
def test_packages_import_from_the_steps_before_them(broker: str) -> None:
    wrong = []
    for name, path in modules().items():
        here = name.removeprefix(broker + ".").partition(".")[0]
        if not name.startswith(broker + ".") or here in TOP[broker]:
            continue
        for line, imported in imports(name, path):
            there = imported.removeprefix(broker + ".").partition(".")[0]
            if not imported.startswith(broker + ".") or there in TOP[broker] | {here}:
                continue
            if step_of(broker, there) >= step_of(broker, here):
                wrong.append(f"{relative(path)}:{line}: {here} imports {there}")
    assert not wrong, "\n".join(wrong)


@cache
def list_imports() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Module → ours that it imports while the program runs, and those for its types alone."""
    run: dict[str, set[str]] = {}
    typed: dict[str, set[str]] = {}
    for name, path in modules().items():
        unseen = type_only(path)
        asked = {pair for pair in imports(name, path) if pair[1] in modules()}
        run[name] = {there for line, there in asked if line not in unseen} - {name}
        typed[name] = {there for line, there in asked if line in unseen} - {name, *run[name]}
    return run, typed


def find_circle(asked: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, the first of them once more at the end."""
    try:
        TopologicalSorter({name: sorted(asked[name]) for name in sorted(asked)}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def is_split(name: str, typed: str) -> bool:
    """Whether a class stands in the second file, and methods of it in the first."""
    folder = name.rpartition(".")[0]
    return typed == folder or (typed in SPLIT and typed.startswith(folder + "."))


def test_no_files_import_each_other_in_a_circle() -> None:
    """What is imported while the program runs can be read in an order."""
    run, _ = list_imports()
    assert find_circle(run) == []


def test_a_circle_of_types_is_one_class_in_several_files() -> None:
    run, typed = list_imports()
    asked = {
        name: run[name] | {there for there in typed[name] if not is_split(name, there)}
        for name in run
    }
    assert find_circle(asked) == []


def test_each_class_in_several_files_is_one() -> None:
    run, typed = list_imports()
    for there in SPLIT:
        parts = {name for name in run[there] if there in typed[name] and is_split(name, there)}
        assert parts, f"remove from SPLIT: {there}"


def test_the_rule_of_circles_itself() -> None:
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) in (["b", "c", "b"], ["c", "b", "c"])
    assert is_split("mqlab.kafka.group.commits", "mqlab.kafka.group")
    assert not is_split("mqlab.kernel.options", "mqlab.kernel.system")
