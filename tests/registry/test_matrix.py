"""The matrix: every cell has its proofs, the proofs are real ones, and a false one is refused."""

from __future__ import annotations

import re

import pytest

from mqlab.cli import main
from mqlab.explore import Budget, explore
from mqlab.kernel import Text
from mqlab.places import RECORDINGS
from mqlab.registry import SYSTEMS, system
from mqlab.registry.cases.anomalies import MATRIX
from mqlab.registry.matrix import (
    ANOMALIES,
    IMPOSSIBLE,
    NO_SUCH_THING,
    NOT_COVERED,
    ONLY_IF_ASKED,
    ONLY_WITH,
    ONLY_WITHOUT,
    POSSIBLE,
    WAYS,
    Cell,
    Excluded,
    Found,
    Holds,
    Told,
    Unproved,
    prove,
)
from mqlab.registry.searches import searches_of
from mqlab.scenario import load

CELLS = [(way, anomaly, MATRIX[way][anomaly]) for way in WAYS for anomaly in ANOMALIES]


def test_every_way_has_a_cell_for_every_anomaly():
    assert set(MATRIX) == set(WAYS)
    assert all(set(cells) == set(ANOMALIES) for cells in MATRIX.values())


@pytest.mark.parametrize(("way", "anomaly", "cell"), CELLS)
def test_what_a_cell_names_is_there(way, anomaly, cell):
    for proof in (*cell.proofs, *cell.beyond):
        match proof:
            case Found():
                assert bool(proof.case.off) == (cell.verdict == ONLY_WITHOUT) or (
                    cell.verdict in (ONLY_IF_ASKED, NOT_COVERED)
                )
            case Excluded():
                assert cell.verdict == ONLY_WITH
            case Holds():
                systems = {one.name for one in searches_of(proof.broker).systems}
                assert {*proof.systems} <= systems
            case Told():
                assert proof.path.is_file()
    if cell.recorded:
        assert (RECORDINGS / f"{cell.recorded}.json").is_file()
    for text in (cell.label, cell.condition, cell.covers, cell.words):
        assert " " not in text.en or text.of("zh") != text.en, "in both languages"


@pytest.mark.parametrize(
    ("verdict", "proofs", "words"),
    [
        (POSSIBLE, (), ""),
        (POSSIBLE, (Holds("kafka", "once", ()),), ""),
        (ONLY_WITHOUT, (), "somebody said so"),
        (ONLY_WITH, (Found("kafka", "late-marker"),), ""),
        (NOT_COVERED, (), ""),
        (IMPOSSIBLE, (), "somebody said so"),
        (IMPOSSIBLE, (Told("kafka/torn-read"),), ""),
        (ONLY_IF_ASKED, (Told("kafka/torn-read"),), ""),
        (NO_SUCH_THING, (), ""),
    ],
)
def test_a_cell_that_nothing_proves_cannot_be_made(verdict, proofs, words):
    with pytest.raises(ValueError, match="nothing proves"):
        Cell(verdict, proofs, words=Text(words))


def test_what_a_cell_covers_has_a_run_beyond():
    with pytest.raises(ValueError, match="nothing proves"):
        Cell(POSSIBLE, (Told("kafka/torn-read"),), covers=Text("one partition", "一个分区"))


ONLY_WITHS = [(way, name, cell) for way, name, cell in CELLS if cell.verdict == ONLY_WITH]


def test_what_needs_an_option_is_said_with_it():
    assert [(way, name, cell.label.en) for way, name, cell in ONLY_WITHS] == [
        ("kafka", "aborted read", "only with a legacy client"),
        ("rocketmq", "lost write", "only with ASYNC_FLUSH"),
        ("pulsar", "duplicate", "only with deduplication off"),
    ]


@pytest.mark.parametrize(("way", "name", "cell"), ONLY_WITHS)
def test_with_the_option_it_is_found_and_without_it_the_search_ends(way, name, cell):
    found, excluded = cell.proofs
    assert "choices: mqlab open " in found.prove()
    assert re.fullmatch(r"[\d,]+ states, exhausted", excluded.prove())
    key, _, value = excluded.option.partition("=")
    assert getattr(system(excluded.line), key) == type(getattr(system(excluded.line), key))(value)
    assert getattr(system(found.case.line), key) != getattr(system(excluded.line), key)


def test_an_option_that_excludes_nothing_proves_nothing():
    with pytest.raises(Unproved, match="stored once"):
        Excluded("pulsar", "send-again", "dedup=0").prove()


def test_beyond_one_session_kafka_stores_twice():
    """With everything on: a leader that dies owing two answers, an application that starts over."""
    cell = MATRIX["kafka"]["duplicate"]
    assert "retries within one session" in cell.label.en
    for story in cell.beyond:
        run = load(story.path, SYSTEMS).run
        assert run.system.off == ()
        (log,) = run.trace.snapshot(len(run.trace)).logs
        labels = [one.label for one in log.cells]
        assert len(labels) > len(set(labels)), story
    payments = explore(
        system("payments 'order-service=send payments-0 580538; send payments-0 580539; flush'"),
        Budget(kills=1, killable=("payments-0",), timers=1),
    )
    assert "money" in payments.counterexamples


def test_what_is_not_covered_is_said_not_to_be_safe():
    """A row beside a Kafka or Pulsar transaction is a dual write, and a run shows one alone."""
    for way in ("kafka", "pulsar"):
        for name in ("row without message", "message without row"):
            cell = MATRIX[way][name]
            assert cell.verdict == NOT_COVERED and "dual write" in cell.words.en
            assert "choices: mqlab open " in cell.proofs[0].prove()


def test_the_proofs_of_the_outbox_hold():
    said = []
    outbox = {
        way: {
            name: cell if way == "outbox" else Cell(NO_SUCH_THING, words=Text("not asked"))
            for name, cell in cells.items()
        }
        for way, cells in MATRIX.items()
    }
    assert prove(outbox, said.append) == []
    assert any("151,786 states, exhausted" in line for line in said)
    assert any("mqlab open " in line for line in said)


@pytest.mark.parametrize(
    "proof",
    [
        Holds("patterns", "once", ("outbox",)),
        Holds("patterns", "no message without row", ("delivery",)),
    ],
)
def test_a_claim_that_is_not_made_proves_nothing(proof):
    with pytest.raises(Unproved, match="does not claim"):
        proof.prove()


def test_a_story_that_tells_something_else_proves_nothing(tmp_path, monkeypatch):
    told = Told("kafka/torn-read")
    text = told.path.read_text()
    (tmp_path / "kafka").mkdir()
    changed = text.replace(", commit", ", abort", 1)
    (tmp_path / "kafka" / "torn-read.scn").write_text(changed)
    monkeypatch.setattr("mqlab.registry.matrix.SCENARIOS", tmp_path)
    with pytest.raises(Unproved):
        told.prove()


def test_the_command_prints_the_table_and_the_reasons(capsys):
    assert main(["matrix"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(ANOMALIES) and lines[0].split() == ["anomaly", *WAYS]
    assert main(["matrix", "kafka", "--lang", "zh"]) == 0
    out = capsys.readouterr().out
    assert "不可能" in out and "mqlab explore kafka --claim torn-read" in out
    assert "mqlab explore pulsar" not in out
