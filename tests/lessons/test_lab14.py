"""Lab 14: two tables beside each other, rows that excuse no more than they must, a rule that finds
the two losses among the recordings of real Kafkas."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from mqlab.kernel import LANGUAGES, speaking
from mqlab.lessons.course.notebooks import Lab, translated_copy
from mqlab.lessons.lab14 import (
    EXCUSES,
    NEWER,
    OLDER,
    REASONS,
    RIGHT,
    list_ignored,
    list_questions,
    list_told,
    play_lost,
)
from mqlab.lessons.laid import Laid, ask_both, read_laid
from mqlab.lessons.lost import BELIEFS, LOST, LOST_IN, list_moments, look
from mqlab.lessons.verdict import find_belief
from mqlab.places import LABS, RECORDINGS
from mqlab.real.kafka.differences import IGNORED
from mqlab.recordings.recording import Observation, load
from mqlab.scenario import parse_script
from tests.project.chinese import compare

LEADERLESS = "kafka-4.3.1/tv2/leaderless-marker"
ROWS = "\n".join(f"{asked}: {reason}" for asked, reason in RIGHT.items())


def find_loss(commit, state, hw, lso, open_since):
    return commit == "ok" and state == "CompleteCommit" and open_since >= 0


# ---- side by side -------------------------------------------------------------------------


def test_one_program_at_both_brokers_and_where_they_differ():
    for laid in ask_both("segments", "claimed-in-compressed"):
        differ = {row.question for row in laid.rows if row.mark}
        known = {asked for asked, row in list_questions().items() if row is not None}
        assert differ and differ == known & {row.question for row in laid.rows}


def test_two_releases_of_a_client_differ_in_epochs_and_in_one_name():
    name = "client-kafka-clients"
    names = f"kafka-4.3.1/tv2-legacy/{name}-2.3.1", f"kafka-4.3.1/tv2/{name}-4.4.0"
    laid = read_laid(*names, only=True)
    assert laid.sentence == f"{name}-2.3.1: 45 lines, 10 of them differ"
    assert f"{name}-4.4.0" in laid.cells[0] and len(laid.cells) == 1 + 10
    differ = [row for row in laid.rows if row.mark]
    assert all("epoch=" in row.left or "Exception" in row.left for row in differ)


def test_a_line_that_only_one_was_asked_stands_alone():
    whole = load(RECORDINGS / f"{LEADERLESS}.json")
    shorter = replace(whole, broker="mqlab", observations=whole.observations[:-1])
    last = Laid(whole, shorter).rows[-1]
    assert (last.mark, last.right) == ("≠", "") and last.left.startswith("pid=P")
    assert len(Laid(whole, shorter).rows) == len(whole.observations)


def test_what_a_broker_answers_is_escaped():
    hostile = Observation("app", "broker", "<script>alert(1)</script>", "<b>")
    one = replace(load(RECORDINGS / f"{LEADERLESS}.json"), observations=(hostile,))
    html = Laid(one)._repr_mimebundle_()["text/html"]
    assert "<script>" not in html and "&lt;script&gt;" in html


def test_a_table_and_what_is_left_out_of_it_are_told_in_chinese():
    laid = read_laid(LEADERLESS)
    with speaking("zh"):
        count = len(laid.rows)
        assert laid.sentence == f"leaderless-marker：{count} 行" and laid.cells[0][1] == "询问"
        two = replace(laid, right=replace(laid.left, broker="mqlab"))
        assert two.sentence == f"leaderless-marker：{count} 行，其中 0 行不同"
        assert list_told().startswith("录制 ")
        told = list_ignored().splitlines()
    for (what, why), chinese in zip(IGNORED, told, strict=True):
        assert list(compare(f"{what}: {why}", chinese)) == []
    assert [parse_script(text.replace("---\n", "")).title.zh for text in (OLDER, NEWER)] == [
        "4.9 立即写入 op 记录",
        "5.5 把 op 记录留在内存里",
    ]


# ---- three differences --------------------------------------------------------------------


def test_three_rows_excuse_what_differs_and_each_has_a_reason():
    assert EXCUSES.check(ROWS, graded=True).ok
    rows = {row.asked for row in list_questions().values() if row is not None}
    assert rows == RIGHT.keys() and set(RIGHT.values()) < REASONS.keys()


@pytest.mark.parametrize("asked", RIGHT)
@pytest.mark.parametrize("reason", REASONS)
def test_a_wrong_reason_hears_its_own_sentence(asked, reason):
    if reason == RIGHT[asked]:
        return
    verdict = EXCUSES.check(f"{asked}: {reason}")
    assert not verdict.ok and REASONS[reason].wrong.en in verdict.message.en
    assert REASONS[reason].wrong.zh in verdict.message.zh
    assert verdict.misconception == REASONS[reason].belief


def test_a_reason_tells_nobody_what_it_is_not_about():
    assert len({one.wrong for one in REASONS.values()}) == len(REASONS)


@pytest.mark.parametrize("pattern", ["*", "Fetch*", "Fetch @0*", "Produce*", "*read_committed"])
def test_a_row_that_takes_an_equal_line_earns_nothing(pattern):
    verdict = EXCUSES.check(f"{ROWS}\n{pattern}: one-log")
    assert (
        "where both answers are equal" in verdict.message.en
        or "is not one-log" in verdict.message.en
    )
    assert not verdict.ok


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("", "nothing is written yet"),
        (None, "nothing is written yet"),
        ("Fetch @0 read_committed", "has no reason"),
        ("Fetch @9: one-log", "none of the questions"),
        ("Fetch @0 read_committed: weather", "there is no reason “weather”"),
        ("Fetch @0 read_committed: one-log", "nothing is said yet about “Produce a record of 1"),
    ],
)
def test_an_answer_that_says_too_little(answer, says):
    verdict = EXCUSES.check(answer)
    assert not verdict.ok and says in verdict.message.en
    assert not list(compare(verdict.message.en, verdict.message.zh))


# ---- the loss -----------------------------------------------------------------------------


@pytest.mark.parametrize("graded", [False, True])
def test_the_rule_accuses_in_the_recordings_of_the_loss_and_in_no_other(graded):
    assert LOST.check(find_loss, graded=graded).ok
    accused = {one.name.rpartition("/")[2] for one in list_moments(graded) if one.lost}
    assert accused == set(LOST_IN if graded else LOST_IN[:1])
    assert len(list_moments(True)) > 250


def test_a_loss_that_is_missed_is_named_with_what_the_rule_was_told():
    verdict = LOST.check(lambda *given: False)
    assert f"{LEADERLESS}: lost('ok', 'CompleteCommit', 1, 0, 0) misses" in verdict.message.en


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (lambda *given: None, "nothing is written yet"),
        (lambda *given: 1, "True or False is asked for"),
        (lambda commit, state, hw, lso, open_since: {}[commit], "raised KeyError"),
        (lambda commit, state, hw, lso, open_since: hw == 1 and lso == 0, "accuses a broker"),
        (lambda commit, state, *where: (commit, state[:8], where[-1] >= 0) == ("ok", "Complete", 1),
         "the missing marker is of an abort"),
    ],
)  # fmt: skip
def test_a_rule_that_is_none(rule, says):
    verdict = LOST.check(rule)
    assert not verdict.ok and says in verdict.message.en


def test_a_known_case_by_heart_is_not_enough():
    """What is right for the loss in the lab, and for nothing else."""

    def by_heart(*given):
        return given == ("ok", "CompleteCommit", 1, 0, 0)

    assert LOST.check(by_heart).ok and not LOST.check(by_heart, graded=True).ok


def test_what_the_rule_is_told_is_read_off_the_recording():
    (moment,) = look(load(RECORDINGS / f"{LEADERLESS}.json"))
    assert moment.given == ("ok", "CompleteCommit", 1, 0, 0) and moment.lost


def test_each_belief_of_the_lab_has_a_name_in_chinese():
    wrong = {"a wide excuse is the safer one", *(one.belief for one in REASONS.values())}
    with speaking("zh"):
        assert all(map(find_belief, [*wrong, *(one.name for one in BELIEFS)]))
        said = EXCUSES.check("Fetch*: one-log").sentence
        assert said.endswith("（背后的想法：豁免写得宽些更保险。）")


# ---- the report ---------------------------------------------------------------------------


def test_the_program_for_upstream_needs_nothing_of_ours():
    script = LABS / "reports" / "kafka-lost-marker" / "lost_marker.py"
    assert "mqlab" not in script.read_text("utf-8")
    told = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert told.returncode == 2 and "libs" in told.stderr


def test_the_page_says_what_the_program_says():
    folder = LABS / "reports" / "kafka-lost-marker"
    page, script = ((folder / name).read_text("utf-8") for name in ("REPORT.md", "lost_marker.py"))
    for words in ("LOST: the commit was acknowledged, and nobody can read it", "as it should be"):
        assert words in page and words in script


def test_the_table_of_reasons_in_the_lab_is_the_exercise_s():
    lab = Lab(LABS / "source" / "14-the-real-thing.py")
    for lang in LANGUAGES:
        said = "\n".join(cell.source for cell in translated_copy(lab, lang).cells)
        for name, reason in REASONS.items():
            assert f"| `{name}` | {reason.says.of(lang)} |" in said


def test_the_run_of_the_hook_ends_as_the_recording_does():
    trace = play_lost().trace
    assert any("commit: ok" in fact.line() for fact in trace)
    committed, uncommitted = trace.snapshot(len(trace)).readers
    assert not committed.got and [one.label for one in uncommitted.got] == ["paid"]
