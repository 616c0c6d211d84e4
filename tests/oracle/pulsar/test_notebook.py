"""How what a broker answers is noted: positions over all ledgers, ids from a scenario's first."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from mqlab.cli import real_pulsar
from mqlab.pulsar.evidence import VERSIONS
from mqlab.real.program import RealBrokerError
from mqlab.real.pulsar.jars import JARS
from mqlab.recordings.costs import OTHERS
from tests.oracle.pulsar.admin import Admin
from tests.oracle.pulsar.client import Lab
from tests.oracle.pulsar.cost import JOURNAL, SET_UP, SNAPSHOT, make_namer, place_of
from tests.oracle.pulsar.driver import Thrown
from tests.oracle.pulsar.notebook import PROFILES, Target

STATS = {
    "lastConfirmedEntry": "19:1",
    "ledgers": [
        {"ledgerId": 7, "entries": 3},
        {"ledgerId": 12, "entries": 0},
        {"ledgerId": 19, "entries": 0},
    ],
    "cursors": {
        "billing": {
            "markDeletePosition": "7:0",
            "individuallyDeletedMessages": "[(7:1..7:2],(7:2..19:1]]",
        }
    },
}


class Scripted:
    """A driver that was told what to answer to lines that begin so."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def perform(self, line: str) -> Any:
        self.asked.append(line)
        for start, answer in self.answers.items():
            if start in line.replace("-", "_").replace("/", "_"):
                if isinstance(answer, Thrown):
                    raise answer
                return answer.pop(0) if isinstance(answer, list) else answer
        return "ok"

    def pause(self, seconds: float) -> None:
        """It does nothing by itself, so no time is needed."""


def said(status: int, body: object = "", **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    text = body if isinstance(body, str) else json.dumps(body)
    return {"status": status, "headers": named, "body": text}


def opened(**answers: Any) -> Lab:
    driver = Scripted(**answers)
    target = Target("pulsar-4.2.4", driver, driver)  # type: ignore[arg-type]
    return Lab(target, PROFILES["4.2"], "4.2.commit.")


def lines(lab: Lab) -> list[str]:
    return [str(o) for o in lab.notes]


def test_a_position_is_counted_over_all_ledgers() -> None:
    lab = opened(internalStats=said(200, STATS))
    places = {wire: lab.place("orders-0", wire) for wire in ("7:0", "7:-1", "19:0", "19:1:2")}
    assert places == {"7:0": "0", "7:-1": "-1", "19:0": "3", "19:1:2": "4:2"}
    assert lab.place("orders-0", "-1:-1") == "-1"
    assert list(lab.entries("orders-0")) == [
        (0, "7/0"), (1, "7/1"), (2, "7/2"), (3, "19/0"), (4, "19/1"),
    ]  # fmt: skip


def test_a_cursor_is_told_in_positions() -> None:
    lab = opened(internalStats=said(200, STATS))
    Admin(lab).cursor("orders-0", "billing")
    assert lines(lab) == ["operator → orders-0/billing  cursor  ⇒ mark-delete 0, acked 2 3–4"]


def test_transactions_are_counted_from_the_first() -> None:
    lab = opened(begin=["(0,41)", "(0,42)"], send="7:1", internalStats=said(200, STATS))
    lab.begin("app")
    txn = lab.begin("app")
    lab.send("app", "orders-0", "a", txn)
    lab.commit(txn)
    assert lines(lab) == [
        "app → broker  NewTxn timeout=600000  ⇒ ok (0,0)",
        "app → broker  NewTxn timeout=600000  ⇒ ok (0,1)",
        "app → orders-0  Send a in (0,1)  ⇒ ok @1",
        "app → broker  EndTxn commit (0,1)  ⇒ ok",
    ]
    assert "producer app>orders-0 app persistent://public/default/4-2-commit-orders-0" in (
        lab.target.driver.asked  # type: ignore[attr-defined]
    )


def test_what_the_client_throws_is_the_answer() -> None:
    lab = opened(begin="(0,3)", commit=Thrown("TransactionNotFoundException"))
    lab.commit(lab.begin("app"))
    assert lines(lab)[-1].endswith("EndTxn commit (0,0)  ⇒ TransactionNotFoundException")


def test_the_log_shows_markers_and_what_was_aborted() -> None:
    rows = [
        said(200, "a", txnid_most_bits="0", txnid_least_bits="9", txn_aborted="true"),
        said(200, "", txnid_most_bits="0", txnid_least_bits="9", marker_type="22"),
        said(200, "b", txn_uncommitted="true"),
        said(200, "x", num_batch_message="3", txn_aborted="false"),
        said(200, "c"),
    ]
    lab = opened(internalStats=said(200, STATS), ledger=rows, begin="(0,9)")
    lab.begin("app")
    Admin(lab).log("orders-0")
    assert [o.answered for o in lab.notes[1:]] == [
        "a in (0,0) @0 aborted",
        "abort marker of (0,0) @1",
        "b @2 uncommitted",
        "batch of 3 @3",
        "c @4",
    ]


def test_what_does_not_come_is_noted_too() -> None:
    lab = opened(receive=[[{"text": "a", "id": "7:0", "again": 1}], []],
                 internalStats=said(200, STATS))  # fmt: skip
    worker = lab.subscribe("worker", "orders-0", "billing")
    lab.receive(worker, 2)
    lab.silent(worker)
    assert lines(lab)[1:] == [
        "orders-0 → worker  Message a @0 redelivered 1  ⇒ ",
        "worker → orders-0/billing  receive  ⇒ nothing",
        "worker → orders-0/billing  receive  ⇒ nothing",
    ]


def test_a_program_that_leaves_a_transaction_behind_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab = opened(begin="(0,3)", transactionMetadata=said(200, {"status": "OPEN"}))
    lab.begin("app")
    monkeypatch.setattr(lab, "wait_until", lambda ask: ask())
    with pytest.raises(RealBrokerError, match="leaves an open transaction"):
        lab.close()


def test_a_line_is_settled_when_it_no_longer_changes() -> None:
    values = iter([1, 1, 2, 3, 3, 3, 3])
    assert opened().settle(lambda: next(values)) == 3


# ---- The command `mqlab real pulsar`, beyond what every broker's has -----------------


def test_a_version_has_its_release_line() -> None:
    assert set(VERSIONS) == set(PROFILES)
    assert all(version.startswith(profile) for profile, version in VERSIONS.items())
    assert set(VERSIONS.values()) <= set(JARS.versions)
    assert VERSIONS["4.2"] == real_pulsar.VERSION


# ---- How Pulsar's commands are read --------------------------------------------------

CONNECT, SEND, RECEIPT, MESSAGE, PING, CONNECT_TC, END = 2, 6, 7, 9, 18, 62, 56


def command(kind):
    return struct.pack(">i", 3) + bytes([0x08, kind, 0]) + b"payload"


def test_a_send_of_a_client_that_has_no_coordinator_is_a_snapshot():
    app, broker = make_namer(), make_namer()
    kinds = (CONNECT, CONNECT_TC, SEND, RECEIPT, PING, END)
    assert [app(command(kind), True) for kind in kinds] == [
        SET_UP,
        "TcClientConnect",
        "SendMessage",
        "SendMessage",
        "",
        "EndTxn",
    ]
    assert {broker(command(kind), True) for kind in (SEND, RECEIPT, MESSAGE)} == {SNAPSHOT}


def test_what_a_reader_of_orders_says_does_not_count():
    name = make_namer()
    subscribe = command(4) + b"persistent://public/default/cost1-orders0"
    assert [name(frame, True) for frame in (command(CONNECT), subscribe)] == [SET_UP, ""]
    assert [name(command(kind), False) for kind in (MESSAGE, RECEIPT)] == ["", ""]
    assert make_namer()(command(4) + b"__transaction_buffer_snapshot", True) == SET_UP


def test_what_is_no_command_is_refused():
    with pytest.raises(ValueError, match="begins with its type"):
        make_namer()(b"\0\0\0\1\x10\x01", True)


def test_the_journal_is_flushed_apart_from_the_other_files():
    assert place_of("/x/bookkeeper/current/1a2.txn") == JOURNAL
    assert place_of("/x/metadata/1.log") == OTHERS
