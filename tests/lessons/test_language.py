"""English and Chinese beside each other: what is spoken, and what each kind of text makes of it."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from mqlab import lessons
from mqlab.cli import lab_server, main
from mqlab.kernel import Text, pick, speak, speaking, spoken, translate
from mqlab.kernel.text import Said, count_columns, say
from mqlab.lab import Player, Predict, scenario
from mqlab.lessons.check import Belief
from mqlab.lessons.choice import ANY_FAILURE, Situation
from mqlab.lessons.course import beliefs, notebooks
from mqlab.lessons.course.answering import read_page
from mqlab.lessons.course.notebooks import labs_in, read, read_language, text_of
from mqlab.lessons.course.package import lay_out
from mqlab.lessons.kafka.exercises.kills import KillExercise
from mqlab.lessons.lab14 import WIDE, Reason
from mqlab.lessons.parsons import Piece
from mqlab.lessons.questions import read_questions
from mqlab.lessons.rocketmq.exercises.answering import AnsweringExercise
from mqlab.lessons.spark.decide import Steps
from mqlab.lessons.verdict import Verdict, find_belief
from mqlab.places import LABS
from mqlab.registry.tables import in_words
from tests.lessons.course.sample_lab import SAMPLE

RUN = """
# A rollback
system kafka partitions=1 readers=reader
run app: init, begin, send orders-0 a, commit
run reader: poll orders-0
"""
QUESTION = """
[one]
asks = '''
ordered
+ recording
    It is.
- b
    It is not.
'''
"""
Open = Callable[..., Path]


def test_a_text_is_what_is_spoken_and_another_language_is_refused() -> None:
    text = Text("a reader", "读者")
    with speaking("zh"):
        assert (str(text), text.of(), text.of("en"), spoken()) == ("读者", "读者", "a reader", "zh")
        assert str(Text("LSO")) == "LSO"
    assert (str(text), spoken()) == ("a reader", "en")
    with pytest.raises(ValueError, match="nothing here speaks 'fr'"):
        speak("fr")


def test_a_picture_and_a_question_are_in_the_language_that_is_spoken() -> None:
    run = scenario(RUN)
    with speaking("zh"):
        player = Player(run)
        asked = Predict("What?", options=["a", "b"], answer=1, trace=run, step=2)
        assert (player.look.lang, player.title) == ("zh", "一次回滚")
        assert asked.ui["lang"] == "zh"
    assert (Player(run).look.lang, Player(run).title) == ("en", "A rollback")
    assert run.narrate() == scenario(RUN).narrate(), "what a program compares is English"


def test_what_the_catalogue_lacks_is_asked_in_english() -> None:
    (asked,) = read_questions("07", QUESTION, "zh").values()
    assert (asked.text, asked.options, asked.explanations) == (
        "已订购",
        ("录制", "b"),
        ("It is.", "It is not."),
    )
    (asked,) = read_questions("07", QUESTION).values()
    assert (asked.text, asked.options) == ("ordered", ("recording", "b"))


def test_a_table_says_one_language_at_all_depths() -> None:
    told = {"a": "ordered", "id": "ordered", "b": [{"c": "recording", "d": 3}, "x"]}
    chinese = {"a": "已订购", "id": "ordered", "b": [{"c": "录制", "d": 3}, "x"]}
    assert pick(told, ("a", "b", "c"), "zh") == chinese
    assert pick(told, ("a", "b", "c"), "en") == told


def test_a_verdict_names_the_belief_in_both_languages_and_a_class_counts_it() -> None:
    message = Text("it is counted twice", "它被计算了两次")
    verdict = Verdict(False, message, "a retry is a new batch")
    assert str(verdict) == (
        "not yet: it is counted twice. (The belief behind it: a retry is a new batch.)"
    )
    with speaking("zh"):
        assert str(verdict) == "还不对：它被计算了两次。（背后的想法：重试发来的是一个新批次。）"
        assert beliefs._belief(str(verdict)) == "重试发来的是一个新批次"
        unnamed = Verdict(False, message, "a belief that nobody has translated")
        assert str(unnamed) == "还不对：它被计算了两次。"


def test_each_belief_that_a_verdict_can_name_is_named_in_chinese() -> None:
    named: set[str] = set()
    for module in pkgutil.walk_packages(lessons.__path__, f"{lessons.__name__}."):
        told = vars(importlib.import_module(module.name))
        seen: dict[int, Any] = {}
        for name, value in told.items():
            if name == "BELIEFS" and isinstance(value, Mapping):
                named |= value.keys()
            if not name.startswith("__"):
                named |= set(_list_beliefs(value, seen))
    named |= {ANY_FAILURE, WIDE}
    assert len(named) > 150
    alone = [one for one in sorted(named) if not translate(one, "belief")]
    assert alone == [], "beliefs without Chinese (context “belief” in mqlab.po)"


def _list_beliefs(value: Any, seen: dict[int, Any]) -> Iterator[str]:
    """The beliefs in an exercise's data, each place looked at once."""
    if isinstance(value, str | Text | type) or id(value) in seen:
        return
    seen[id(value)] = value  # kept, so that nobody else gets its number
    match value:
        case Belief():
            yield value.name
        case Piece(belief=Text()):
            yield value.misconception or value.key
        case Reason():
            yield value.belief
        case Situation():
            yield from (belief for belief, _, _ in value.wrong.values())
        case KillExercise() | AnsweringExercise() | Steps():
            yield from (name for name in value.messages if name != "right")
        case (str() as name, *_, Text()):
            yield name
    within: Any = ()
    if isinstance(value, Mapping):
        within = value.values()
    elif isinstance(value, tuple | list | set | frozenset):
        within = value
    elif is_dataclass(value):
        within = [getattr(value, one.name, None) for one in fields(value)]
    for one in within:
        yield from _list_beliefs(one, seen)


def test_a_strangers_notebook_may_say_anything_of_its_language() -> None:
    for made in ({"lang": "zh"}, {"lang": ["zh"]}, {"lang": "fr"}, "zh", None):
        notebook = nbformat.v4.new_notebook(metadata={"mqlab": made})
        assert read_language(notebook) == ("zh" if made == {"lang": "zh"} else "en")


# --- copies ----------------------------------------------------------------------------


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """`mqlab labs open` of a lab in two languages; the folder of the copies."""
    labs, copies = tmp_path / "labs", tmp_path / "my-labs"
    (labs / "source").mkdir(parents=True)
    (labs / "source" / "07-second.py").write_text(SAMPLE, "utf-8")
    for lab in labs_in(labs):
        notebooks.build(lab, print, student_only=True, force=False)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(lab_server.os, "execve", lambda *_: None)

    def open_labs(*options: str) -> Path:
        words = ["labs", "--folder", str(labs), "--copies", str(copies), "open", "--no-browser"]
        assert main([*words, *options]) == 0
        return copies / "07-second.ipynb"

    return open_labs


def test_copies_have_the_language_asked_for_and_keep_it(opened: Open) -> None:
    copy = opened("--lang", "zh")
    texts = [cell.source for cell in read(copy).cells if cell.cell_type == "markdown"]
    assert "## 现在你知道了什么" in texts and texts[0].startswith("# Markers"), "not translated"
    opened()
    assert read_language(read(copy)) == "zh", "nobody asked for another"
    opened("--lang", "en")
    assert read_language(read(copy)) == "en"


def test_a_teacher_who_reads_chinese_finds_the_labs_in_it_beside_the_english(opened: Open) -> None:
    labs = opened("--teacher", "--lang", "zh").parents[1] / "labs"
    assert read_language(read(labs / "zh" / "07-second.ipynb")) == "zh"
    assert read_language(read(labs / "07-second.ipynb")) == "en"


def test_a_copy_is_made_again_when_its_chinese_has_changed(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened("--lang", "zh").read_bytes()
    assert opened("--lang", "zh").read_bytes() == first
    monkeypatch.setattr(notebooks, "translate_text", lambda text, domain: "改了")
    assert read(opened("--lang", "zh")).cells[0].source == "改了"


def test_a_folder_without_sources_has_its_own_language_only(opened: Open) -> None:
    """A zip for students holds the notebooks that their course has released."""
    copy = opened()
    labs = copy.parents[1] / "labs"
    shutil.rmtree(labs / "source")
    copy.unlink()
    opened("--lang", "zh")
    assert copy.read_bytes() == (labs / copy.name).read_bytes()


def test_a_source_that_makes_no_notebook_is_named(
    opened: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened()
    labs, mine = tmp_path / "labs", tmp_path / "mine"
    source = labs / "source" / "07-second.py"
    source.write_text(source.read_text("utf-8").replace("### END SOLUTION", ""), "utf-8")
    lay_out(labs, mine, print, "zh")
    assert "07-second: nbgrader's ClearSolutions" in capsys.readouterr().out
    assert list(mine.iterdir()) == []


def test_work_in_a_copy_is_kept_when_another_language_is_asked_for(
    opened: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = opened()
    notebook = read(copy)
    notebook.cells[0].source += "\nmine"
    copy.write_text(text_of(notebook), "utf-8")
    opened("--lang", "zh")
    assert "mine" in read(copy).cells[0].source
    assert "或者是另一种语言的" in capsys.readouterr().out


def test_the_system_says_the_language_of_the_first_copies(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert read_language(read(opened())) == "zh"


def test_the_kernel_of_a_copy_in_chinese_speaks_it(opened: Open) -> None:
    first, *others = [c.source for c in read(opened("--lang", "zh")).cells if c.cell_type == "code"]
    assert first.splitlines()[-1].startswith('speak("zh")')
    assert others and not any("speak(" in one for one in others)


@pytest.mark.parametrize("number", ["00", "01", "02"])
def test_each_belief_that_a_wrong_answer_is_told_has_a_name_in_chinese(number: str) -> None:
    (lab,) = labs_in(LABS, [number])
    wrong = {one.belief for one in read_page(lab).wrong}
    with speaking("zh"):
        told = {belief: find_belief(belief) for belief in wrong}
    assert told and all(told.values()), [belief for belief in told if not told[belief]]


@pytest.mark.parametrize("how", ["18", "<18", ">18", "^18"])
def test_a_label_is_padded_by_the_columns_of_a_terminal(how: str) -> None:
    """As cells write it: `f"{label:<18}"`; English as a plain text is."""
    with speaking("zh"):
        labels = say("two copies"), in_words("reader"), in_words("refused: x")
        for label in (*labels, "读者", "a（b）"):
            padded = format(Said(label), how)
            assert count_columns(padded) == 18 and padded.strip() == label
        assert all(isinstance(label, Said) for label in labels)
    assert format(say("two copies"), how) == format("two copies", how)
    assert (f"{Said('读者'):2}", f"{Said('读者')!r}") == ("读者", "'读者'")
