"""The matrix: every cell has its proofs, the proofs are real ones, and a false one is refused."""

from __future__ import annotations

import pytest

from mqlab.cli import main
from mqlab.kernel import Text
from mqlab.places import RECORDINGS
from mqlab.registry.cases.anomalies import MATRIX
from mqlab.registry.matrix import (
    ANOMALIES,
    IMPOSSIBLE,
    NO_SUCH_THING,
    ONLY_IF_ASKED,
    ONLY_WITHOUT,
    POSSIBLE,
    WAYS,
    Cell,
    Found,
    Holds,
    Told,
    Unproved,
    prove,
)
from mqlab.registry.searches import searches_of

CELLS = [(way, anomaly, MATRIX[way][anomaly]) for way in WAYS for anomaly in ANOMALIES]


def test_every_way_has_a_cell_for_every_anomaly():
    assert set(MATRIX) == set(WAYS)
    assert all(set(cells) == set(ANOMALIES) for cells in MATRIX.values())


@pytest.mark.parametrize(("way", "anomaly", "cell"), CELLS)
def test_what_a_cell_names_is_there(way, anomaly, cell):
    for proof in cell.proofs:
        match proof:
            case Found():
                assert bool(proof.case.off) == (cell.verdict == ONLY_WITHOUT) or (
                    cell.verdict == ONLY_IF_ASKED
                )
            case Holds():
                systems = {one.name for one in searches_of(proof.broker).systems}
                assert {*proof.systems} <= systems
            case Told():
                assert proof.path.is_file()
    if cell.recorded:
        assert (RECORDINGS / f"{cell.recorded}.json").is_file()
    for text in (cell.label, cell.condition, cell.words):
        assert not text.en or text.of("zh") != text.en, "in both languages"


@pytest.mark.parametrize(
    ("verdict", "proofs", "words"),
    [
        (POSSIBLE, (), ""),
        (POSSIBLE, (Holds("kafka", "once", ()),), ""),
        (ONLY_WITHOUT, (), "somebody said so"),
        (IMPOSSIBLE, (), "somebody said so"),
        (IMPOSSIBLE, (Told("kafka/torn-read"),), ""),
        (ONLY_IF_ASKED, (Told("kafka/torn-read"),), ""),
        (NO_SUCH_THING, (), ""),
    ],
)
def test_a_cell_that_nothing_proves_cannot_be_made(verdict, proofs, words):
    with pytest.raises(ValueError, match="nothing proves"):
        Cell(verdict, proofs, words=Text(words))


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
