"""What lab 11 computes in plain Python is what the Spark job does when it is killed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqlab.lessons.spark import decide, two_phase
from mqlab.lessons.spark.kill_bench import GONE, KEPT, Bench, bestsellers, copies
from mqlab.spark import Point

pytestmark = pytest.mark.needs("java")
RULES = {name: rule for name, rule, _ in decide.BELIEFS}
ENDED = list(
    zip(
        two_phase.BELIEFS[:2],
        (Point.NEXT, Point.COMMITTED),
        (two_phase.DEATHS[1], two_phase.DEATHS[0]),
        strict=True,
    )
)
PLAYED = list(zip(decide.STORIES, RULES.values(), strict=True))  # each story refutes one belief


@pytest.fixture(scope="module")
def bench(broker_address: str) -> Iterator[Bench]:
    found = Bench(broker_address)
    yield found
    found.stop()


@pytest.mark.parametrize(("story", "rule"), PLAYED, ids=[story.title for story in decide.STORIES])
def test_a_wrong_rule_makes_the_sum_that_the_model_says(
    bench: Bench, story: decide.Story, rule: decide.Rule
) -> None:
    cell = bench._live(story, rule, lambda line: None)
    model = story.play(rule)
    assert cell.tenths == model.tenths != sum(decide.amounts_of_batches(decide.HALF_HOUR))
    assert bool(cell.stopped) == model.stopped
    assert model.asked[-len(cell.asked) :] == list(cell.asked)


def test_the_right_rule_counts_once_or_stops(bench: Bench) -> None:
    said: list[str] = []
    bench.try_rule(decide.right_answer, said.append)
    assert f"income {bench.expected}, should be {bench.expected}" in said[1]
    assert "decide(3, 3) = skip" in said[2]
    assert "stopped the job" in said[4] and "decide(3, 0) = stop" in said[5]
    assert "stopped the job" in said[7] and "decide(-1, 3) = stop" in said[8]


def test_a_transaction_that_outlives_its_process_is_ended_by_the_checkpoint(bench: Bench) -> None:
    """Before the checkpoint the batch is written again; after it only the commit is repeated."""
    said: list[str] = []
    bench.try_resume(two_phase.right_answer, said.append)
    assert said[1::4] == [
        "  asked after the kill: resume(3, 2) = abort",
        "  asked after the kill: resume(3, 3) = commit",
        "  asked after the kill: resume(3, 0) = stop",
    ]
    assert "stopped the job" in said[10]
    assert "its rows were written again" in said[2]
    assert "its transaction was committed, and no row was written again" in said[6]
    assert said[3] == said[7] == f"  income {bench.expected}, should be {bench.expected}"


@pytest.mark.parametrize(
    ("belief", "point", "death"),
    ENDED,
    ids=[name for name, *_ in two_phase.BELIEFS[:2]],
)
def test_ended_otherwise_it_makes_the_sum_that_the_model_says(
    bench: Bench, belief: tuple, point: Point, death: two_phase.Death
) -> None:
    rule = belief[1]
    cell = bench.kill("two-phase", point, rule, say=lambda line: None)
    answer = rule(decide.KILLED, death.checkpoint)
    assert cell.asked == ((decide.KILLED, death.checkpoint, answer),)
    assert (
        cell.tenths == death.play(answer).tenths != sum(decide.amounts_of_batches(decide.HALF_HOUR))
    )


def test_exactly_once_needs_no_kafka_as_sink_but_a_source_that_is_kept(bench: Bench) -> None:
    def ends(source: str, sink: str, point: Point) -> tuple[str, str]:
        return bench.try_ends(source, sink, point, say=lambda line: None)

    committed = Point.COMMITTED
    assert ends(KEPT, "a database", committed) == ("£21,836.51", "+27.2 %")
    assert ends(KEPT, "a database with the progress", committed) == (bench.expected, "ok")
    assert ends(KEPT, "a database that overwrites", committed) == (bench.expected, "ok")
    income, error = ends(GONE, "exactly-once", Point.OUT)
    assert income == "£6,635.57" and error == "-61.4 %, and the job cannot go on"


def test_a_double_shows_in_each_minute_and_not_in_a_ranking(bench: Bench) -> None:
    right = bench.kill("exactly-once", Point.COMMITTED, say=lambda line: None)
    wrong = bench.kill("at-least-once", Point.COMMITTED, say=lambda line: None)
    assert set(copies(right.rows).values()) == {1} and set(copies(wrong.rows).values()) == {1, 2}
    assert bestsellers(right.rows) == bestsellers(wrong.rows)


def test_sparks_own_sink_doubles_what_at_least_once_doubles(bench: Bench) -> None:
    from mqlab.spark import IncomeError, connector
    from mqlab.spark.sink_choice import OWN

    if not connector.jars():  # it could not be fetched: whoever asks for it is told why
        with pytest.raises(IncomeError, match=r"[Mm]aven"):
            bench.kill(OWN, Point.OUT, say=lambda line: None)
        return
    ours = bench.kill("at-least-once", Point.OUT, say=lambda line: None)
    own = bench.kill(OWN, Point.OUT, say=lambda line: None)
    assert own.tenths == ours.tenths > sum(decide.amounts_of_batches(decide.HALF_HOUR))


def test_a_kill_by_choice_doubles_visibly(bench: Bench) -> None:
    """The hook: an income that is a quarter too high, as no large cancellation hides it."""
    income, error = bench.trial("at-least-once", Point.COMMITTED, say=lambda line: None)
    assert error == "+27.2 %" and income == "£21,836.51"
