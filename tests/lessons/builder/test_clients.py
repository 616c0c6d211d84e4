"""After the search: a coordinator that released clients use while it is killed."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka", reason="needs confluent-kafka: run `make setup`")

from mqlab.check.checker import Report
from mqlab.check.kafka import story
from mqlab.cli import main
from mqlab.lessons.builder import clients
from mqlab.lessons.builder.clients import ask_clients
from mqlab.lessons.builder.right import read_right
from mqlab.lessons.lab13 import check_mine
from tests.lessons.builder.wrong import FILES, LABS

OWED = "owed = Map((e.txn_id, e.partitions) for e in entries.values() if e.state in COMPLETE)"
PID = "1 + max(pids, default=-1)"
#: which of the two ids suffers depends on who is served first
SHARED = "none of its messages is there|an old epoch"
pytestmark = pytest.mark.spread("mqlab/lessons/builder", "mqlab/serve", "tests/lessons/builder")


@pytest.mark.parametrize("sitting", [3, 4, 5])
def test_a_right_one_passes(sitting: int, rights: Path):
    verdict = ask_clients(rights / f"sitting-{sitting}.py", sitting)
    assert verdict.ok and "all 5 transactions" in verdict.message.en, verdict


@pytest.mark.parametrize(
    ("sitting", "right", "wrong", "says"),
    [
        (5, PID, "0", SHARED),  # one pid for all ids
        (4, PID, "0", SHARED),
        (5, OWED, "owed = Map()", "CONCURRENT_TRANSACTIONS"),  # a start owes no marker
        # it breaks in the server that is killed next
        (5, "if one != partition)", "if one != partition or 1 // self.epoch < 0)", "code broke"),
    ],
)
def test_a_wrong_one_is_refuted(tmp_path: Path, sitting: int, right: str, wrong: str, says: str):
    source = read_right(FILES, sitting)
    assert right in source
    mine = tmp_path / "coordinator.py"
    mine.write_text(source.replace(right, wrong), "utf-8")
    verdict = ask_clients(mine, sitting)
    assert not verdict.ok and re.search(says, verdict.message.en), verdict


def test_who_cannot_be_asked_says_so_and_the_check_goes_on(
    rights: Path, monkeypatch: pytest.MonkeyPatch
):
    right = rights / "sitting-5.py"

    def wait(*_: object) -> None:
        raise story.Unanswered("orders: init_transactions: timed out")

    monkeypatch.setattr(story, "tell", wait)
    verdict = ask_clients(right, 5)
    assert verdict.ok and "gave no result: orders: init_transactions" in verdict.message.en
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    verdict = ask_clients(right, 5)
    assert verdict.ok and "confluent-kafka is missing" in verdict.message.en


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Clients that find every coordinator wrong; whether each was asked with older ones."""
    found: list[bool] = []

    def refuse(path: Path, older: bool) -> Report:
        found.append(older)
        raise story.Refused("they lost it")

    monkeypatch.setattr(clients, "judge", refuse)
    return found


def test_the_command_asks_them_from_sitting_3_on(
    asked: list[bool], rights: Path, tmp_path: Path, capsys
):
    assert main(["build", "check", str(rights / "sitting-2.py"), "--sitting", "2"]) == 0
    assert main(["build", "check", str(rights / "sitting-3.py"), "--sitting", "3"]) == 1
    rounds = tmp_path / "check_round.py"
    rounds.write_text(read_right(LABS / "check_round", 2), "utf-8")
    assert main(["build", "check", str(rounds), "--sitting", "2"]) == 0
    assert asked == [False] and "they lost it" in capsys.readouterr().out


def test_the_cell_of_the_lab_asks_them_too(asked: list[bool], rights: Path, tmp_path: Path):
    mine = tmp_path / "coordinator.py"
    shutil.copy(rights / "sitting-3.py", mine)
    assert check_mine(2, str(mine)).ok and check_mine(3, str(mine), clients=False).ok
    assert not asked
    verdict = check_mine(3, str(mine))
    assert not verdict.ok and "they lost it" in verdict.message.en and asked == [False]
    mine.write_text("x = 1", "utf-8")
    assert not check_mine(3, str(mine)).ok and len(asked) == 1


def test_the_cell_says_so_where_they_cannot_be_asked(rights: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    monkeypatch.setattr(clients, "serve", None)  # no server is started for nobody
    verdict = check_mine(3, str(rights / "sitting-3.py"))
    said = verdict.message.en
    assert verdict.ok and "nothing breaks" in said and "confluent-kafka is missing" in said
