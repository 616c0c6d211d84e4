"""The order service over a frozen table and over an SQLite file: the same schedules, the same
rows, no matter who dies in between."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from mqlab.explore import Budget, explore
from mqlab.kernel import Run
from mqlab.kernel.moves import list_choices
from mqlab.lessons.rocketmq.systems import SERVICES, OrderServiceSystem
from mqlab.registry import system
from mqlab.rocketmq.application import TABLE, OrderFile

LINE = "order_service producers=app:g,twin:g early=on timeout_ms=0 persist_ms=0 check_max=3"
PROGRAMS = "'app=send-in-transaction orders-0 A; send-in-transaction orders-0 B'"
FAULTS = ("kill app", "restart app", "break app db", "kill broker", "restart broker")


def service(name: str) -> OrderServiceSystem:
    found = system(f"{LINE} service={name} {PROGRAMS}")
    assert isinstance(found, OrderServiceSystem)
    return found


def frozen_rows(run: Run) -> dict[str, str]:
    return dict(run.world.disk("db").table(TABLE).items())


def walk(seed: int, name: str) -> list[str]:
    """A schedule at random, with a fault in one of six steps."""
    random, run = Random(seed), Run(service(name))
    for _ in range(60):
        possible = list(map(str, list_choices(run.system, run.world)))
        if not possible or random.random() < 1 / 6:
            possible = [fault for fault in FAULTS if is_possible(run, fault)]
        if possible:
            run.do(possible[int(random.random() * len(possible))])
    return run.choices


def is_possible(run: Run, fault: str) -> bool:
    what, node, *server = fault.split()
    up = run.world.nodes[node].up
    if server:
        return up and (node, server[0]) in run.world.nodes[node].conns
    return up if what == "kill" else not up


def run_both(schedule: list[str], name: str, path: Path) -> tuple[Run, Run]:
    """The schedule on both; rows, and what every process was told, are the same at each step."""
    table = Run(service(name))
    file = Run(replace(service(name), file=str(path)))
    for choice in schedule:
        table.do(choice)
        file.do(choice)
        assert OrderFile(path).read_rows() == frozen_rows(table) == frozen_rows(file)
    assert table.trace.narrate() == file.trace.narrate()
    return table, file


@pytest.mark.spread("mqlab/kernel", "mqlab/rocketmq", "mqlab/lessons/rocketmq")
@pytest.mark.parametrize("name", SERVICES)
def test_the_same_schedules_leave_the_same_rows(name: str, tmp_path: Path) -> None:
    seen = set()
    for seed in range(12):
        table, _ = run_both(walk(seed, name), name, tmp_path / f"{seed}.db")
        seen.add(tuple(frozen_rows(table)))
    assert len(seen) > 1, "some runs die before a row is written and some after"


def test_every_point_at_which_the_process_can_die(tmp_path: Path) -> None:
    """The plain run, with the process killed before each of its choices."""
    plain = Run(service("right"))
    settle(plain)
    left = set()
    for at in range(len(plain.choices)):
        path = tmp_path / f"{at}.db"
        run_both([*plain.choices[:at], "kill app"], "right", path)
        left.add(tuple(OrderFile(path).read_rows()))
    assert left == {(), ("A",), ("A", "B")}


def test_the_file_outlives_the_process_and_answers_for_it(tmp_path: Path) -> None:
    path = tmp_path / "orders.db"
    run = Run(replace(service("right"), file=str(path)))
    while not frozen_rows(run):
        possible = (str(c) for c in list_choices(run.system, run.world) if c.kind != "fire")
        run.do(next(possible))
    run.do("kill app")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT key, value FROM orders").fetchall() == [("A", "paid")]
    settle(run)
    run.do("fire broker check")
    settle(run)
    said = [fact.line() for fact in run.trace]
    assert "db ⇒ twin  paid" in said
    assert "broker ▮ disk  message A (1) @0 in orders-0" in said


def settle(run: Run) -> None:
    """Everything but timers."""
    while choices := [str(c) for c in list_choices(run.system, run.world) if c.kind != "fire"]:
        run.do(choices[0])


@pytest.mark.parametrize(
    ("name", "budget", "broken"),
    [
        ("right", Budget(timers=2), ""),
        ("hasty", Budget(kills=1, timers=2, killable=("app",)), "row with message"),
        ("memory", Budget(kills=1, timers=1, killable=("app",)), "row with message"),
        ("catching", Budget(breaks=1), "row with message"),
    ],
)
def test_what_is_wrong_with_a_service_is_found(name: str, budget: Budget, broken: str) -> None:
    """Of one order: the check that takes no row for a rollback, or asks its own memory; the
    exception that is taken for one."""
    line = f"{LINE} service={name} 'app=send-in-transaction orders-0 A'"
    verdict = explore(system(line), budget)
    assert verdict.complete
    assert set(verdict.counterexamples) == ({broken} if broken else set()), verdict


def test_an_unknown_service_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no service 'odd'; there are: right, refusing, hasty"):
        service("odd")
