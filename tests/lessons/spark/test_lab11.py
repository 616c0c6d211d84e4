"""Lab 11's exercises: a wrong rule hears what it did and which sum came out, listed or not."""

from __future__ import annotations

import itertools
import operator
import queue
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from mqlab.kernel import Money, speaking
from mqlab.kernel.trace import Trace
from mqlab.lessons.beside import put_beside
from mqlab.lessons.check import Belief
from mqlab.lessons.spark import kill_bench, two_phase
from mqlab.lessons.spark.decide import (
    BELIEFS,
    DECIDE,
    DECIDED,
    EARLY,
    HALF_HOUR,
    HIDDEN,
    HOUR,
    KILLED,
    MOMENTS,
    NOTHING,
    RULE,
    STEPS,
    amounts_of_batches,
    play_both,
)
from mqlab.lessons.spark.kill_bench import Bench, add_up, set_back
from mqlab.lessons.spark.lab11 import (
    COMMITTED,
    KILL_MOMENTS,
    KILL_SINKS,
    NOTED,
    NUMBERED,
    OUT,
    PLAIN,
    TRANSACTION,
    play_sink,
    trace_of,
)
from mqlab.lessons.spark.two_phase import RESUME
from mqlab.lessons.verdict import Verdict
from mqlab.spark import IncomeError
from tests.project import chinese


def test_batches_of_any_size_write_the_same_income() -> None:
    assert sum(amounts_of_batches(HALF_HOUR)) == sum(amounts_of_batches(HOUR)) == 17_169_190
    assert all(tenths > 0 for tenths in amounts_of_batches(HALF_HOUR)[1:]), (
        "no cancellation hides a double"
    )


@pytest.mark.parametrize("belief", BELIEFS, ids=lambda one: one.name)
def test_each_belief_hears_its_own_sum(belief: Belief) -> None:
    verdict = DECIDE.check(belief.rule)
    message = str(verdict.message)
    assert verdict.misconception == belief.name
    assert str(belief.message) in message and "instead of £17,169.19" in message


def test_their_sums_differ() -> None:
    said = [str(DECIDE.check(one.rule).message) for one in BELIEFS]
    assert [text[text.index("the income is") :].split()[3] for text in said] == [
        "£21,836.51",
        "£11,302.89",
        "£10,533.62",
    ]


WRONG = [one.rule for one in BELIEFS] + [
    lambda p, b: "skip",
    lambda p, b: "stop" if b == p else "write",
    lambda p, b: "skip" if b == p else "write",  # after a lost checkpoint an hour is in twice
]


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_opens_the_run_where_the_money_breaks(rule) -> None:
    opens_where_the_money_breaks(DECIDE.check(rule))


def opens_where_the_money_breaks(verdict: Verdict) -> None:
    trace = verdict.trace()
    assert trace is not None, "no picture opens"
    red = [
        fact.index
        for fact in trace
        if any(one.name == "money" and not one.ok for one in trace.snapshot(fact.index).lights)
    ]
    wrong = [i for i, one in enumerate(trace.snapshots) if one.money and not one.money.right]
    assert wrong == red, "the sums are wrong exactly where the light is red"
    assert red == list(range(verdict.step, len(trace) + 1)), "red from the telling step on"
    assert "▶" in str(verdict)


SUMS = {
    "a new process aborts what it finds open": "£12,501.87",
    "what is pre-committed is as good as committed": "£21,836.51",
    "an abort is always safe where the batch comes again": "£23,804.76",
    "only the next batch comes again": "£28,472.08",
    "sink and checkpoint may never differ": "the job stopped, and the income is £6,635.57",
}


@pytest.mark.parametrize("belief", two_phase.BELIEFS, ids=lambda one: one.name)
def test_each_belief_about_an_open_transaction_hears_its_own_sum(belief: Belief) -> None:
    verdict = RESUME.check(belief.rule)
    message, ended = str(verdict.message), SUMS[belief.name]
    assert verdict.misconception == belief.name
    assert ended in message and str(belief.message) in message
    if "stopped" not in ended:
        opens_where_the_money_breaks(verdict)


def test_verdicts_say_the_same_in_chinese() -> None:
    orders = [list(order) for order in itertools.permutations(p.key for p in STEPS.pieces)]
    verdicts = [
        *(DECIDE.check(one.rule) for one in BELIEFS),
        *(RESUME.check(one.rule) for one in two_phase.BELIEFS),
        *(STEPS.check(order) for order in orders),
        DECIDE.check(lambda p, b: "stop"), RESUME.check(two_phase.right_answer),
        DECIDE.check(lambda p, b: 7), RESUME.check(lambda p, c: "x"),
    ]  # fmt: skip
    for verdict in verdicts:
        assert not list(chinese.compare(verdict.message.en, verdict.message.zh))
        with speaking("zh"):
            assert ("背后的想法：" in verdict.sentence) is bool(verdict.misconception)
    for sink, killed in itertools.product(KILL_SINKS, KILL_MOMENTS):
        title = trace_of(sink, killed).title
        assert not list(chinese.compare(title.en, title.zh))


def test_the_right_rule_passes_and_no_single_comparison_does() -> None:
    """Two of the four obvious comparisons passed while nothing asked for the third answer."""
    assert RESUME.check(two_phase.right_answer, graded=True).ok
    ways = [operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt]
    for compare, shift in itertools.product(ways, (-1, 0, 1)):
        for yes, no in itertools.permutations(two_phase.ANSWERS, 2):
            # bound here, as a closure of the loop would see its last values
            def guess(p: int, c: int, by=compare, s=shift, yes=yes, no=no) -> str:
                return yes if by(p, c + s) else no

            assert not RESUME.check(guess).ok, (compare, shift, yes, no)


@pytest.mark.parametrize("sink", KILL_SINKS)
@pytest.mark.parametrize("killed", KILL_MOMENTS)
def test_the_short_way_plays_what_the_kill_table_says(sink: str, killed: str) -> None:
    """The light of the picture against `WRONG`, to which the real kills are held."""
    from mqlab.spark.crashes import WRONG
    from mqlab.spark.kills import Point

    point = {OUT: Point.OUT, COMMITTED: Point.COMMITTED, NOTED: Point.NEXT}[killed]
    real = {PLAIN: "at-least-once", TRANSACTION: "transactions", NUMBERED: "exactly-once"}[sink]
    trace = trace_of(sink, killed)
    money = trace.snapshot(-1).money
    assert money is not None and money.right == (point not in WRONG[real])
    once = amounts_of_batches(HALF_HOUR)[KILLED]
    assert money.extra == (0 if money.right else 100 * round(once / 1000))
    assert trace.facts[play_sink(sink, killed).step - 1].kind == "kill"


@pytest.mark.parametrize("death", two_phase.DEATHS, ids=[d.title.en for d in two_phase.DEATHS])
def test_a_transaction_ended_rightly_leaves_the_money_right(death) -> None:
    answer = death.right
    if answer == "stop":
        wrong = {death.play(one).tenths for one in ("commit", "abort")}
        assert sum(amounts_of_batches(HALF_HOUR)) not in wrong, "no other answer is right"
        assert death.play(answer).stopped
        return
    assert death.play(answer).tenths == sum(amounts_of_batches(HALF_HOUR))
    run = death.run(answer)
    assert all(one.ok for one in run.trace.snapshot(-1).lights if one.name == "money")


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (lambda p, c: "abort" if p <= c else "commit", "resume(3, 2) gave"),
        (lambda p, c: "write", 'the answers are "commit", "abort", "stop"'),
        (lambda p, c: two_phase.right_answer(p, c) if p != 9 else "abort", "resume(9, 9) gave"),
        (lambda p, c: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_other_wrong_answers_to_an_open_transaction(rule, says: str) -> None:
    verdict = RESUME.check(rule, graded=True)
    assert not verdict.ok and not verdict.misconception and says in str(verdict.message)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (lambda p, b: "skip", 'decide(-1, 0) gave "skip", not "write"; the income is £0.00'),
        (lambda p, b: "stop", "the job stopped, and the income is £0.00"),
        (
            lambda p, b: "stop" if b == p else "write",
            'decide(3, 3) gave "stop", not "skip"; the job stopped, and the income is £11,302.89',
        ),
        (lambda p, b: "yes", 'the answers are "write", "skip", "stop"'),
        (
            lambda p, b: "skip" if b == p else "write" if b == p + 1 or p == 4 else "stop",
            'decide(4, 6) gave "write", not "stop"',
        ),
    ],
)
def test_an_unlisted_wrong_rule_hears_what_it_did(rule, says: str) -> None:
    verdict = DECIDE.check(rule)
    assert not verdict.ok and not verdict.misconception
    assert says in str(verdict.message)


def test_a_rule_that_is_not_written_or_raises_starts_no_spark() -> None:
    def stub(progress: int, batch: int) -> str:
        raise NotImplementedError

    said: list[str] = []
    bench = Bench("127.0.0.1:1")
    bench.try_resume(stub, said.append)
    assert "nothing is written yet" in said.pop()
    bench.try_rule(stub, said.append)
    bench.try_rule(lambda progress, batch: "write" if 1 // 0 else "skip", said.append)
    assert "nothing is written yet" in said[0]
    assert "raised ZeroDivisionError" in said[1]
    bench.stop()


def test_a_checkpoint_is_set_back_by_what_it_has_of_later_batches(tmp_path: Path) -> None:
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()
        for name in ("0", "1", "10", ".0.crc", ".1.crc", "metadata"):
            (tmp_path / folder / name).touch()
    set_back(tmp_path, 0)
    for folder in ("offsets", "commits"):
        left = {path.name for path in (tmp_path / folder).iterdir()}
        assert left == {"0", ".0.crc", "metadata"}


def test_one_order_of_the_steps_is_right_and_each_wrong_one_hears_why() -> None:
    keys = [piece.key for piece in STEPS.pieces]
    verdicts = {order: STEPS.judge(order) for order in itertools.permutations(keys)}
    right = [order for order, verdict in verdicts.items() if verdict.ok]
    assert right == [("fence", "read", "decide", "write", "commit")]
    assert {v.misconception for v in verdicts.values() if not v.ok} == set(STEPS.messages)
    assert not STEPS.check(right[0][:-1]).ok


@dataclass(frozen=True)
class Row:
    """What is asked of a row of topic Income, without the packages that read it."""

    minute: str
    tenths: int


def rows_of(*tenths: int, times: int = 1) -> list[Row]:
    return [Row(f"12:{i:02}", much) for i, much in enumerate(tenths)] * times


def test_money_is_counted_twice_at_once_and_missing_only_in_the_end() -> None:
    half, whole, twice = rows_of(4000), rows_of(4000, 6000), rows_of(4000, 6000, times=2)

    def sums(rows: list[Row], over: bool = False) -> tuple[int, int, int, int]:
        money = add_up(rows, 10_000, over)
        return money.due, money.seen, money.missing, money.extra

    assert sums([]) == (1000, 0, 0, 0)
    assert sums(half) == (1000, 400, 0, 0)
    assert sums(half, over=True) == (1000, 400, 600, 0)
    assert sums(whole, over=True) == (1000, 1000, 0, 0)
    assert sums([*whole, *half]) == (1000, 1400, 0, 400)
    assert sums(twice, over=True) == (1000, 2000, 0, 1000)
    assert sums([*half, *half], over=True) == (1000, 800, 600, 400)


def test_the_money_is_shown_while_a_job_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not there yet is asked for again, and nothing is shown when all is over."""
    monkeypatch.setattr(kill_bench, "EVERY_S", 0.001)
    shown: queue.Queue[Money] = queue.Queue()
    answers: list[list[Row] | Exception] = [
        IncomeError("no topic yet"), sqlite3.OperationalError("no table yet"), rows_of(4000),
    ]  # fmt: skip

    def read() -> list[Row]:
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(found, Exception):
            raise found
        return found

    with kill_bench.watch_money(read, 10_000, shown.put):
        assert shown.get(timeout=600).seen == 400
        answers.append(rows_of(4000, 6000))
        while shown.get(timeout=600).seen != 1000:
            pass
    many = shown.qsize()
    assert not any(thread.name == "money" for thread in threading.enumerate())
    assert shown.qsize() == many


def test_a_failing_trial_ends_its_watch() -> None:
    with pytest.raises(IncomeError, match="the job"):
        with kill_bench.watch_money(lambda: [], 1, lambda money: None):
            raise IncomeError("the job")
    assert not any(thread.name == "money" for thread in threading.enumerate())


# ---- Lab 11's two jobs on one clock: what each has written when its process dies, and after

ONCE = ["a1", "a2"]
TWICE = ["a1", "a1", "a2"]


def read(trace: Trace, step: int = -1) -> list[str]:
    return [got.label for got in trace.snapshot(step).readers[0].got]


def find_red(trace: Trace) -> set[str]:
    return {light.name for snapshot in trace.snapshots for light in snapshot.lights if not light.ok}


@pytest.mark.parametrize("killed", MOMENTS)
def test_both_are_right_whenever_they_are_killed(killed: str) -> None:
    pair = play_both(killed)
    for player in pair.players:
        assert read(player.trace) == ONCE and not find_red(player.trace)
        coming = (fact for fact in player.trace.facts[player.step :] if not fact.fold)
        assert next(coming).kind == "kill", "the picture opens just before the kill"


def test_after_the_decision_one_has_yet_to_show_it_and_the_other_to_note_it() -> None:
    pair = play_both(DECIDED)
    flink, spark = pair.players
    assert (read(flink.trace, flink.step), read(spark.trace, spark.step)) == ([], ["a1"])
    before, after = (
        {log.name: len(log.cells) for log in spark.trace.snapshot(at).logs}
        for at in (spark.step, pair.moments[-3][1])
    )
    assert (before["offsets"], before["commits"]) == (1, 0)
    assert (after["offsets"], after["commits"]) == (1, 1)


@pytest.mark.parametrize(
    ("killed", "flink", "spark"),
    [(NOTHING, ONCE, ONCE), (HIDDEN, TWICE, ONCE), (DECIDED, ONCE, TWICE)],
)
def test_without_its_rule_each_doubles_at_its_own_moment(
    killed: str, flink: list[str], spark: list[str]
) -> None:
    pair = play_both(killed, EARLY)
    assert [read(player.trace) for player in pair.players] == [flink, spark]
    assert ("written once" in find_red(pair.players[0].trace)) is (flink == TWICE)
    assert ("written once" in find_red(pair.players[1].trace)) is (spark == TWICE)


def test_the_order_behind_the_barrier_is_on_its_way_while_the_checkpoint_is_taken() -> None:
    """What a checkpoint cannot know: it is in the sink's memory, and is computed again."""
    facts = play_both(DECIDED, RULE).players[0].trace.facts
    taken = next(i for i, fact in enumerate(facts) if "completed cp1 {s1: 1" in fact.line())
    sent = [
        i for i, fact in enumerate(facts) if (fact.node, str(fact.text)) == ("sum", "record a2")
    ]
    assert len(sent) == 2 and sent[0] < taken < sent[1]


def test_stories_of_different_lengths_are_refused() -> None:
    story = "system micro_batches\nat 0\n---\n"
    with pytest.raises(ValueError, match="1 beside 2 blocks: a block of one is a block of"):
        put_beside(story, story + "\nfire driver trigger\n---\n")
