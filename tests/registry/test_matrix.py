"""The matrix: every cell has its proofs, the proofs are real ones, and a false one is refused."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqlab.cli import main
from mqlab.explore import Budget, explore
from mqlab.kernel import Text, Words, speaking, translate
from mqlab.places import RECORDINGS, SCENARIOS
from mqlab.registry import SYSTEMS, system
from mqlab.registry.cases.anomalies import MATRIX
from mqlab.registry.cases.prices import ORDER
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
from mqlab.registry.tables import CELLS, columns, in_words
from mqlab.scenario import load
from tests.project.catalogue import read_catalogue
from tests.project.chinese import CJK, list_numbers

MATRIX_CELLS = [(way, anomaly, MATRIX[way][anomaly]) for way in WAYS for anomaly in ANOMALIES]


def test_every_way_has_a_cell_for_every_anomaly():
    assert set(MATRIX) == set(WAYS)
    assert all(set(cells) == set(ANOMALIES) for cells in MATRIX.values())


@pytest.mark.parametrize(("way", "anomaly", "cell"), MATRIX_CELLS)
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
        (ONLY_WITHOUT, (Told("kafka/torn-read"),), ""),
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


ONLY_WITHS = [(way, name, cell) for way, name, cell in MATRIX_CELLS if cell.verdict == ONLY_WITH]


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
    with pytest.raises(SystemExit):
        main(["matrix", "kafak"])
    assert "no way 'kafak'; did you mean kafka?" in capsys.readouterr().err


def test_what_a_case_lacks_is_said_in_chinese() -> None:
    with speaking("zh"):
        assert in_words("without unanimous") == "没有 unanimous"
        assert in_words("with all safeguards: partition") == "保护措施全开：partition"


# ---- Tables in Chinese: their heads are known, numbers and code are the same in both languages

ROOT = Path(__file__).parents[2]
#: heads that are names, in every language
NAMES = {
    "Kafka, client", "body", "broker", "commit", "commit log @", "find-hanging", "hashCode", "hw",
    "leader", "lso", "open_since", "queue @", "transactional.id",
}  # fmt: skip


def list_heads(source: str) -> Iterator[str]:
    """The heads that a program gives to `columns` and `table` as literals."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(ast.Name("columns"), [ast.List([ast.Tuple(names), *_])]):
                yield from (one.value for one in names if isinstance(one, ast.Constant))
            case ast.Call(ast.Name("table"), [ast.Constant(str(head)), *_]):
                yield from map(str.strip, head.split("|"))


def test_each_head_has_its_chinese() -> None:
    heads = {
        head
        for folder in ("mqlab/lessons", "mqlab/registry", "labs/source")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for head in list_heads(path.read_text("utf-8"))
        if re.search("[a-z]{2}", head)
    }
    assert len(heads) > 80
    assert sorted(head for head in heads - NAMES if not translate(head, "cell")) == []


def test_both_languages_say_the_same_numbers() -> None:
    cells = [one for one in read_catalogue("mqlab") if one.context == "cell"]
    assert len(cells) > 300
    for cell in cells:
        assert re.search(f"[{CJK}]", cell.string), cell.id
        assert set(list_numbers(cell.id)) >= set(list_numbers(cell.string)), cell.id


@pytest.mark.parametrize("cell", CELLS, ids=[cell.en for cell in CELLS])
def test_a_cell_that_is_made_of_others_is_told(cell: Words) -> None:
    some = [str(n) for n in range(cell.en.count("{}"))]
    with speaking("zh"):
        assert in_words(cell.en.format(*some)) == translate(cell.en).format(*some)


def test_a_table_is_told_in_the_language_that_is_spoken() -> None:
    rows = [("what happens", "in choices"), ("580539 lost", "7"), ("7 choices", "7")]
    with speaking("zh"):
        assert columns(rows).splitlines() == [
            "发生了什么   步数",
            "-----------  ----",
            "580539 丢失  7",
            "7 步         7",
        ]
    assert columns(rows).splitlines()[2] == "580539 lost   7"


# ---- Stories that labs, the page *Choose* or the lecture play are captioned by hand, part by part
#
# Counterexamples are left out: a search writes them (`tests/registry/renew.py`), choice by choice.

MOST_WORDS = 10
TEXTS = (".py", ".toml", ".md")


def find_stories() -> list[str]:
    """By name, without `.scn`: those of the ways, and those that a text names."""
    folders = [ROOT / "labs" / name for name in ("source", "choose", "lecture")]
    folders.append(ROOT / "mqlab/lessons")
    texts = [path for folder in folders for path in sorted(folder.rglob("*.*")) if path.is_file()]
    words = "\n".join(path.read_text("utf-8") for path in texts if path.suffix in TEXTS)
    every = (path.relative_to(SCENARIOS).with_suffix("") for path in SCENARIOS.rglob("*.scn"))
    named = {name.as_posix() for name in every if "counterexamples" not in name.parts}
    shown = {name for name in named if re.search(rf"{re.escape(name)}(?![\w-])", words)}
    return sorted(shown | {way.story for way in ORDER.values()})


@pytest.mark.parametrize("name", find_stories())
def test_each_part_has_a_caption_of_few_words(name):
    captions = load(SCENARIOS / f"{name}.scn", SYSTEMS).captions
    assert captions
    for caption in captions:
        assert caption.written, f"by its commands only: {caption.text.en}"
        assert all(len(line.split()) <= MOST_WORDS for line in caption.text.en.splitlines())


@pytest.mark.parametrize(
    "words",
    [["--prices", "--check"], ["--kills", "sender", "kafka"], ["--kills", "sender", "--prices"]],
)
def test_what_would_be_left_out_in_silence_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["matrix", *words]) == 2
    assert "--kills and --prices are t" in capsys.readouterr().err
