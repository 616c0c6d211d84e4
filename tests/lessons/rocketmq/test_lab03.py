"""Lab 03's other exercises, and what its cells print."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import permutations
from pathlib import Path

import pytest

from mqlab.explore import Budget, explore
from mqlab.lessons.rocketmq.asking import ANSWERS, OrderDeskSystem, answer
from mqlab.lessons.rocketmq.exercises.ending import ENDING
from mqlab.lessons.rocketmq.exercises.telling import BELIEFS, STATES, TELLING
from mqlab.lessons.rocketmq.lab03 import (
    compare_properties,
    keep_orders,
    list_calls,
    list_commit_log,
    read_recording,
    tabulate_deaths,
    tabulate_statuses,
)
from mqlab.lessons.rocketmq.systems import SERVICES
from mqlab.registry import scenario, system
from mqlab.rocketmq.states import SendStatus
from tests.project.sources import ROOT

#: "" for the right orders
JUDGED = {
    ("compare", "message", "op"): "",
    ("compare", "op", "message"): "row with message",
    ("op", "message"): "row with message",
    ("message", "op"): "message with row",
    ("message", "compare", "op"): "message with row",
    ("message", "op", "compare"): "message with row",
    ("op", "compare", "message"): "row with message",
    ("op", "message", "compare"): "row with message",
    ("compare", "message"): "passed over",
    ("message", "compare"): "passed over",
    ("message",): "passed over",
    ("compare", "op"): "commits",
    ("op", "compare"): "commits",
    ("op",): "commits",
    ("compare",): "commits",
}


def test_what_the_lab_says_of_5_5_without_a_second_node_was_recorded() -> None:
    answer = read_recording("rocketmq-5.5.0/5.5", "slave-timeout", "SendMessage").split()[-2]
    text = (ROOT / "labs" / "source" / "03-half-message.py").read_text("utf-8")
    assert answer == "FLUSH_SLAVE_TIMEOUT" and f"then answers\n# `{answer}`" in text


# ---- what the broker does at the end -----------------------------------------------------


@pytest.mark.parametrize("order", JUDGED, ids="-".join)
def test_each_order_of_the_pieces(order: tuple[str, ...]) -> None:
    verdict = ENDING.check(list(order))
    assert verdict.misconception == JUDGED[order] and verdict.ok is (not JUDGED[order])
    assert (
        verdict.message
        == (ENDING.right if verdict.ok else ENDING.messages)[order if verdict.ok else JUDGED[order]]
    )


def test_no_order_is_left_out() -> None:
    pieces = ("compare", "message", "op")
    assert set(JUDGED) == {o for n in (1, 2, 3) for o in permutations(pieces, n)}


def test_what_belongs_into_no_order_says_why() -> None:
    strange = [piece for piece in ENDING.pieces if piece.belief is not None]
    assert {piece.key for piece in strange} == {"delete", "state", "answer", "consumed"}
    for piece in strange:
        verdict = ENDING.check([piece.key, "compare", "message", "op"])
        assert (verdict.misconception, verdict.message) == (piece.misconception, piece.belief)


# ---- what a customer is told ---------------------------------------------------------------


def test_beliefs_can_be_told_apart() -> None:
    ways = [
        tuple(rule(*sample) for sample in STATES) for rule in (answer, *(b.rule for b in BELIEFS))
    ]
    assert len(set(ways)) == len(ways)
    assert set(ways[0]) == set(ANSWERS)


def test_both_words_asked_for_is_the_same_belief_as_one() -> None:
    both = ("SEND_OK", "COMMIT_MESSAGE")
    verdict = TELLING.check(lambda *said: "placed" if said == both else "not placed")
    assert verdict.misconception == "an exception means that nothing was written"


def test_the_articles_last_line_is_refuted_by_a_refused_order() -> None:
    verdict = TELLING.check(lambda status, state: "placed" if status == "SEND_OK" else "not placed")
    assert "C580597: ok SEND_OK ROLLBACK_MESSAGE" in str(verdict)


def test_the_desk_shows_what_customers_were_told() -> None:
    run = scenario("""
# One is refused
system order_desk
run app: send-in-transaction orders-0 580538, send-in-transaction orders-0 C580597
""")
    told = run.snapshot(-1).tables[0]
    assert told.rows == (("580538", "placed"), ("C580597", "not placed"))


def test_with_everything_on_no_desk_tells_what_is_not_so() -> None:
    made = system("order_desk timeout_ms=0 persist_ms=0 'app=send-in-transaction orders-0 580538'")
    assert isinstance(made, OrderDeskSystem)
    verdict = explore(made, Budget(kills=1, timers=1, killable=("app",)))
    assert verdict.ok and verdict.complete, verdict


# ---- what the cells print --------------------------------------------------------------------

BOTH = """
system order_service service=refusing
run app: send-in-transaction orders-0 580538, send-in-transaction orders-0 C580597
at 3000
fire broker op batch
"""


def rows_of(printed: str) -> list[list[str]]:
    return [line.split() for line in printed.splitlines()[2:]]


def test_a_commit_is_a_second_message_and_one_op_record_ends_both() -> None:
    assert rows_of(list_commit_log(BOTH)) == [
        ["0", "HALF_TOPIC", "0", "580538"],
        ["1", "orders", "0", "580538"],
        ["2", "HALF_TOPIC", "1", "C580597"],
        ["3", "OP_HALF_TOPIC", "0", "0,1,"],
    ]


def test_one_message_three_times() -> None:
    found = {row[0]: row[-3:] for row in rows_of(compare_properties(BOTH))}
    assert found["topic"] == ["orders", "HALF_TOPIC", "orders"]
    assert found["REAL_TOPIC"] == ["–", "orders", "–"]
    assert found["TRAN_MSG"] == ["true"] * 3
    bits = next(line for line in compare_properties(BOTH).splitlines() if "sysFlag" in line)
    assert bits.split()[-6:] == ["4", "PREPARED", "0", "NOT", "8", "COMMIT"]


def test_only_send_ok_lets_the_local_transaction_run() -> None:
    told = {row[0]: row[1:] for row in rows_of(tabulate_statuses())}
    assert told.pop("SEND_OK") == ["yes", "COMMIT_MESSAGE"]
    assert set(told) == {*SendStatus} - {"SEND_OK"}
    assert all(rest == ["no", "ROLLBACK_MESSAGE"] for rest in told.values())


def test_the_row_decides_whoever_dies() -> None:
    """Before the row nothing comes; from the row on the message does."""
    lines = rows_of(tabulate_deaths(SERVICES["right"]))
    assert [line[-1] for line in lines] == ["–"] * 3 + ["580538"] * 3


def test_real_orders_in_a_real_file(tmp_path: Path) -> None:
    run = keep_orders(tmp_path / "orders.db")
    with closing(sqlite3.connect(tmp_path / "orders.db")) as database:
        kept = [key for (key,) in database.execute("SELECT key FROM orders ORDER BY key")]
    assert kept == ["580538", "580539", "580540", "580541"]
    assert "C580597  ok SEND_OK ROLLBACK_MESSAGE" in list_calls(run, "app")
