"""Lab 15: what a passage claims is found by its run, and each row of the list is met or named."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mqlab.kernel import speaking
from mqlab.lessons import lab15
from mqlab.lessons.course.notebooks import labs_in
from mqlab.lessons.lab15 import (
    PASSAGES,
    Passage,
    Sentence,
    find_met,
    list_rows,
    open_marks,
    tabulate_others,
)
from mqlab.lessons.misconceptions import MISCONCEPTIONS
from mqlab.registry import run_scenario
from tests.project.chinese import compare
from tests.project.sources import ROOT

#: what the engine refutes; the sentences themselves never say so
REFUTED = {
    "half": "status mark-first end-harmless asks-on",
    "control": "gap-is-loss epoch-at-init client-writes moves-hw uncommitted-buffers"
    " broker-filters drives-consumers",
    "pending": "aborted-gone together client-keeps pending-locks never-blocks once-whatever",
}
SENTENCES = [(p, one) for p in PASSAGES.values() for one in p.sentences]
each = pytest.mark.parametrize(
    ("passage", "one"), SENTENCES, ids=[f"{p.name}-{one.name}" for p, one in SENTENCES]
)
HALF = PASSAGES["half"]
VERDICTS = {"wrong", "imprecise", "out of date"}


@each
def test_a_sentence_stands_or_falls_by_its_run(passage: Passage, one: Sentence) -> None:
    trace = one.experiment.play().trace
    refuted = one.name in REFUTED[passage.name].split()
    assert one.experiment.stands(trace) is not refuted
    assert not trace.facts[one.experiment.step(trace) - 1].fold, "the telling step is folded away"
    listed = list_rows()
    assert all((row in listed) is refuted for row in one.rows) and one.rows
    assert not one.belief or (refuted and one.belief in MISCONCEPTIONS)
    assert one.says.zh and one.tells.zh


@pytest.mark.parametrize("passage", PASSAGES.values(), ids=PASSAGES)
def test_the_right_marks_get_the_points_and_any_other_does_not(passage: Passage) -> None:
    right = REFUTED[passage.name].split()
    assert passage.check(", ".join(right), graded=True).ok
    assert passage.check("\n".join(reversed(right))).ok
    assert 3 <= len(right) < len(passage.sentences)
    everything = " ".join(one.name for one in passage.sentences)
    assert not passage.check(everything).ok
    assert not passage.check("").ok


@pytest.mark.spread("mqlab/kernel", "mqlab/lessons/article")
@each
def test_each_mark_that_is_wrong_or_missing_opens_its_run(passage: Passage, one: Sentence) -> None:
    right = REFUTED[passage.name].split()
    marks = [name for name in right if name != one.name] or right
    marks += [] if one.name in right else [one.name]
    verdict = passage.check(",".join(marks))
    assert not verdict.ok and one.tells.en in verdict.message.en
    assert verdict.step == one.experiment.step(one.experiment.play().trace)
    missing = one.name in right
    behind = one.behind.en if missing else "what an article says is wrong"
    assert verdict.misconception == behind
    with speaking("zh"):
        assert one.tells.zh in verdict.sentence and behind not in verdict.sentence
        assert not missing or one.behind.zh in verdict.sentence


def test_what_a_sentence_says_is_of_its_own() -> None:
    assert len({one.tells.en for _, one in SENTENCES}) == len(SENTENCES)
    assert len({one.behind.en for _, one in SENTENCES}) >= 20


@pytest.mark.parametrize(
    ("marks", "says"),
    [
        ("", "nothing is written yet"),
        (["status"], "nothing is written yet"),
        ("statis", "no sentence is called statis; there are: half-first, status"),
        ("status", "the engine refutes 3 more of them; this example refutes one"),
    ],
)
def test_marks_that_say_too_little(marks: object, says: str) -> None:
    assert says in HALF.check(marks).message.en


def test_a_sentence_that_stands_in_another_run_is_no_longer_refuted() -> None:
    """The verdict is the run's: with an end that arrives in time nothing is delivered twice."""
    calm = "system rocketmq claims=delivered_once\nrun app: send-in-transaction orders-0 A"
    healed = replace(HALF.find("end-harmless").experiment, run=calm)
    assert healed.stands(run_scenario(calm).trace)
    changed = [
        replace(one, experiment=replace(healed, at="SEND_OK @0")) if one.name == "end-harmless"
        else one for one in HALF.sentences
    ]  # fmt: skip
    passage = replace(HALF, sentences=tuple(changed))
    assert passage.check("status, mark-first, asks-on").ok
    assert not passage.check(REFUTED["half"]).ok


def test_each_row_is_in_a_passage_or_named_with_a_lab() -> None:
    rows, labs = list_rows(), {lab.name[:2] for lab in labs_in(ROOT / "labs")}
    assert {verdict for _, verdict, _, _ in rows.values()} == VERDICTS
    assert len(rows) == 57 and all(lab in labs for *_, lab in rows.values())
    here, others = find_met(), tabulate_others()
    with speaking("zh"):
        chinese = list_rows()
    for number, (letters, verdict, says, lab) in rows.items():
        assert not list(compare(says, chinese[number][2]))
        assert chinese[number] == (letters, verdict, chinese[number][2], lab)
        assert (number in here) is (f"\n{number} " not in others), number


@pytest.fixture(autouse=True)
def nothing_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab15, "_LOCKED", {})


class Shell:
    """A kernel that runs this cell."""

    def __init__(self, code: str) -> None:
        self.code = code

    def get_parent(self) -> dict[str, dict[str, str]]:
        return {"content": {"code": self.code}}

    def set_next_input(self, code: str, replace: bool) -> None:
        assert replace
        self.code = code


def test_the_first_marks_are_locked_and_no_other_verdict_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell("open_marks(HALF, half_marks)")
    monkeypatch.setattr(lab15, "get_ipython", lambda: shell)
    every = ", ".join(one.name for one in HALF.sentences)
    open_marks(HALF, every)
    assert capsys.readouterr().out.startswith("all are marked, which says nothing")
    open_marks(HALF, "half-first")
    assert "This is right</b>" in capsys.readouterr().out
    assert shell.code == 'open_marks(HALF, half_marks, locked="half-first")'
    for marks, kept in (("status", {}), ("status", {"locked": "half-first"})):
        open_marks(HALF, marks, **kept)
        out = capsys.readouterr().out
        assert "these marks are locked, and only they are opened: half-first." in out
        assert "This is refuted" not in out and "This is right</b>" in out
    monkeypatch.setattr(lab15, "_LOCKED", {})  # another kernel, and the cell that was kept
    open_marks(HALF, "status", locked="half-first")
    assert "This is refuted" not in capsys.readouterr().out


def test_marks_open_in_a_menu(capsys: pytest.CaptureFixture[str]) -> None:
    open_marks(HALF, "")
    assert capsys.readouterr().out == "Nothing is marked yet.\n"
    open_marks(HALF, "status, half-first")
    out = capsys.readouterr().out
    assert "This is refuted</b>: the call returns SEND_OK" in out and "Dropdown" in out
    open_marks(HALF, "statis")
    assert capsys.readouterr().out.startswith("no sentence is called statis; there are: half-first")


def test_passages_marks_and_rows_speak_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    with speaking("zh"):
        open_marks(HALF, "")
        open_marks(HALF, "status")
        out = capsys.readouterr().out
        assert "还没有圈出任何句子。" in out and "<b>这句不成立</b>：调用同时返回" in out
        assert "asks-on       只要回答是“未知”" in str(HALF)
        row = r"\n4 +A +一张还画着 ZooKeeper 的 Kafka 架构图 +过时 +06"
        assert re.search(row, tabulate_others())
        assert "没有哪句话叫 statis；这里有：half-first" in HALF.check("statis").sentence
        assert "引擎推翻的还有 3 句" in HALF.check("status").sentence
        with pytest.raises(ValueError, match="没有哪句话叫 statis"):
            HALF.find("statis")


def test_a_passage_is_told_with_title_place_and_year() -> None:
    told = str(HALF)
    assert told.splitlines()[0] == (
        "RocketMQ与Kafka中如何实现事务？ · 《消息队列高手课》25, 极客时间, 李玥 · 2019"
    )
    assert "asks-on       As long as the answer is “unknown”" in told
