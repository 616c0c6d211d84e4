"""Inside a broker imports go one way too, from what lies on a disk to what judges a world."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.project.sources import imports, modules, relative
from tests.project.test_floors import FLOORS, STANDARD_ONLY, package_of

# A broker's rooms in steps: one of a step may import from the steps before it, and from the
# files at the broker's top. Rooms of one step do not know each other.
ROOMS = {
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
    "mqlab.kafka": BROKER,
    "mqlab.rocketmq": BROKER,
    "mqlab.pulsar": BROKER | {"unserved"},
    "mqlab.patterns": {"claims", "client", "commit", "model", "picture", "records"},
}


def step_of(broker: str, room: str) -> int:
    return next(i for i, rooms in enumerate(ROOMS[broker]) if room in rooms)


def type_only(path: Path) -> set[int]:
    """The lines that only a type checker sees."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


@pytest.mark.parametrize("broker", ROOMS)
def test_a_broker_has_these_rooms_and_these_files_at_its_top(broker: str) -> None:
    held = {name.split(".")[2] for name in modules() if name.startswith(broker + ".")}
    assert held == TOP[broker] | {room for step in ROOMS[broker] for room in step}


@pytest.mark.parametrize("broker", ROOMS)
def test_rooms_import_from_the_steps_before_them(broker: str) -> None:
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


def test_no_files_import_each_other_in_a_circle() -> None:
    """Where students read: what is imported while the program runs can be read in an order."""
    known = {n: p for n, p in modules().items() if FLOORS[package_of(n)] <= STANDARD_ONLY}
    left = {}
    for name, path in known.items():
        unseen = type_only(path)
        asked = {there for line, there in imports(name, path) if line not in unseen}
        left[name] = (asked & known.keys()) - {name}
    while free := [name for name, asked in left.items() if not asked & left.keys()]:
        for name in free:
            del left[name]
    while unused := left.keys() - {there for asked in left.values() for there in asked}:
        for name in unused:
            del left[name]
    assert not left, {name: sorted(asked & left.keys()) for name, asked in left.items()}
