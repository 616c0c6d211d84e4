"""What released brokers (4.9.7, 5.5.0) leave behind after the same stories, queue by queue.

Of each row: what lies in the half topic, with the number of checks of each copy; the bodies of op
records; what was delivered; what was parked; the two offsets of the check service; how many
questions went out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from mqlab.kernel import FactKind, Run
from mqlab.rocketmq.broker.timer import read_progress
from mqlab.rocketmq.messages import CheckTransactionState
from mqlab.scenario import load
from tests.rocketmq.driven import SYSTEMS, drive, queue
from tests.rocketmq.queues import DISCARD, HALF, OP, in_queue

FOLDER = Path(__file__).parents[2] / "datasets" / "scenarios" / "rocketmq"


@dataclass(frozen=True)
class Left:
    """What a story leaves behind."""

    halves: list[str]
    ops: list[str]
    delivered: list[str]
    parked: list[str]
    progress: tuple[int, int]
    checks: int


def read_left(run: Run) -> Left:
    asked = [
        fact
        for fact in run.facts
        if fact.kind is FactKind.SEND and isinstance(fact.body, CheckTransactionState)
    ]
    ops = [stored.message.body for stored in in_queue(run.world.disk("broker"), OP)]
    progress = read_progress(run.world.role("broker").offsets)
    return Left(
        queue(run, HALF), ops, queue(run, "orders-0"), queue(run, DISCARD), progress, len(asked)
    )


ROWS = {
    "commit": Left(["o1"], ["0,"], ["o1"], [], (1, 1), 0),
    "rollback": Left(["o1"], ["0,"], [], [], (1, 1), 0),
    "check-commits": Left(["o1", "o1 (1)"], ["1,"], ["o1 (1)"], [], (2, 1), 1),
    "check-rolls-back": Left(["o1", "o1 (1)"], ["1,"], [], [], (2, 1), 1),
    "never-resolved": Left(["o1", "o1 (1)", "o1 (2)", "o1 (3)"], [], [], ["o1 (3)"], (4, 0), 3),
    "local-transaction-throws": Left(["o1", "o1 (1)"], ["1,"], [], [], (2, 1), 1),
    "slave-not-available": Left(["o1"], ["0"], [], [], (1, 1), 0),
    "late-commit-delivers-twice": Left(
        ["o1", "o1 (1)"], ["1,0,"], ["hello", "o1 (1)", "o1"], [], (2, 1), 1
    ),
    "rollback-then-commit": Left(["o1"], ["0", "0"], ["o1"], [], (1, 2), 0),
    "committed-twice": Left(["o1"], ["0,0,"], ["o1", "o1"], [], (1, 1), 0),
    "wrong-ends": Left(["o1"], [], [], [], (0, 0), 0),
    "delay-level-ignored": Left(["o1"], ["0"], ["o1"], [], (0, 0), 0),
    "delay-level-refused": Left([], [], [], [], (0, 0), 0),
    "checker-null-then-throws": Left(
        ["o1", "o1 (1)", "o1 (2)", "o1 (3)"], ["3,"], ["o1 (3)"], [], (4, 1), 3
    ),
    "around-a-pending-half": Left(
        ["pending", "o1", "o2", "pending (1)"], ["1,2,"], ["o1", "o2"], [], (3, 1), 1
    ),
    "immunity-commit-in-time": Left(["o1"], ["0,"], ["o1"], [], (1, 1), 0),
    "immunity-commit-too-late": Left(
        ["o1", "o1 (1)", "o1 (2)", "o1 (3)"], ["0,"], ["o1", "o1 (3)"], [], (3, 1), 1
    ),
    "immunity-spends-the-checks": Left(
        ["o1", "o1 (1)", "o1 (2)", "o1 (3)"], [], [], ["o1 (3)"], (4, 0), 0
    ),
    "immunity-shorter": Left(["quick", "plain", "quick (1)"], [], [], [], (1, 0), 1),
    "nobody-to-ask": Left(["o1", "o1 (1)", "o1 (2)"], [], [], ["o1 (2)"], (3, 0), 0),
    "broker-killed-after-offsets": Left(["o1", "o1 (1)", "o1 (2)"], [], ["o1 (2)"], [], (2, 0), 2),
    "broker-killed-before-offsets": Left(
        ["o1", "o1 (1)", "o1 (1)", "o1 (2)"], [], ["o1 (1)", "o1 (2)"], [], (2, 0), 3
    ),
    "op-lost-by-a-kill": Left(["o1", "o1 (1)"], [], ["o1", "o1 (1)"], [], (1, 0), 1),
    "op-kept-by-4.9": Left(["o1"], ["0"], ["o1"], [], (1, 1), 0),
    "op-batch-too-slow": Left(["o1", "o1 (1)"], [], ["o1", "o1 (1)"], [], (1, 0), 1),
    "commit-after-discard": Left(["o1", "o1 (1)"], [], ["o1"], ["o1 (1)"], (2, 0), 1),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_story_leaves_what_the_real_broker_leaves(name: str) -> None:
    assert read_left(load(FOLDER / f"{name}.scn", SYSTEMS).run) == ROWS[name]


def execute(order, db, memory):
    return ("COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW", "UNKNOW", "UNKNOW")[int(order) % 5]


def check(order_id, db, memory):
    return ("", "", "COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW")[int(order_id) % 5]


@pytest.mark.parametrize("release", ["4.9", "5.5"])
def test_ten_messages_in_five_ways(release: str) -> None:
    """TransactionalMsgIT#testMessageVisibility: message i commits, rolls back, commits when it is
    asked, rolls back when it is asked, or never says anything, by i modulo 5."""
    sends = ", ".join(f"send-in-transaction orders-0 {n}" for n in range(10))
    lines = [f"system rocketmq release={release} check_max=3 check_interval_ms=7000"]
    lines += ["", f"run app: {sends}", "at 3000"]
    lines += ["fire broker op batch"] * (release == "5.5")
    for n in range(1, 5):
        lines += [f"at {7_000 * n}", "fire broker check"]
        lines += ["fire broker op batch"] * (release == "5.5" and n == 1)
    left = read_left(drive("\n".join(lines), execute=execute, check=check))
    assert left.checks == 10
    assert left.delivered == ["0", "5", "2 (1)", "7 (1)"]
    named = [n for body in left.ops for n in body.strip(",").split(",")]
    assert named[:4] == ["0", "1", "5", "6"]
    copies = [left.halves[int(n)] for n in named[4:]]
    assert copies == ["2 (1)", "3 (1)", "7 (1)", "8 (1)"]
    assert len(left.halves) == 20 and left.progress[0] == 20
    assert left.parked == ["4 (3)", "9 (3)"]
