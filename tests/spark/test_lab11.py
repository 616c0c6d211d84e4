"""What lab 11 computes in plain Python is what the Spark job does when it is killed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqlab.lessons import lab11
from mqlab.spark import Point

pytestmark = pytest.mark.needs("java")
RULES = {name: rule for name, rule, _ in lab11.BELIEFS}
PLAYED = list(zip(lab11.STORIES, RULES.values(), strict=True))  # each story refutes one belief


@pytest.fixture(scope="module")
def bench(broker_address: str) -> Iterator[lab11.Bench]:
    found = lab11.Bench(broker_address)
    yield found
    found.stop()


@pytest.mark.parametrize(("story", "rule"), PLAYED, ids=[story.title for story in lab11.STORIES])
def test_a_wrong_rule_makes_the_sum_that_the_model_says(
    bench: lab11.Bench, story: lab11.Story, rule: lab11.Rule
) -> None:
    cell = bench._live(story, rule, lambda line: None)
    model = story.play(rule)
    assert cell.tenths == model.tenths != sum(lab11.written(lab11.HALF_HOUR))
    assert bool(cell.stopped) == model.stopped
    assert model.asked[-len(cell.asked) :] == list(cell.asked)


def test_the_right_rule_counts_once_or_stops(bench: lab11.Bench) -> None:
    said: list[str] = []
    bench.try_rule(lab11.right_answer, said.append)
    assert f"income {bench.expected}, should be {bench.expected}" in said[1]
    assert "decide(3, 3) = skip" in said[2]
    assert "stopped the job" in said[4] and "decide(3, 0) = stop" in said[5]
    assert "stopped the job" in said[7] and "decide(-1, 3) = stop" in said[8]


def test_sparks_own_sink_doubles_what_at_least_once_doubles(bench: lab11.Bench) -> None:
    from mqlab.spark import IncomeError, connector
    from mqlab.spark.sinks import OWN

    if not connector.jars():  # it could not be fetched: whoever asks for it is told why
        with pytest.raises(IncomeError, match=r"[Mm]aven"):
            bench.kill(OWN, Point.OUT, say=lambda line: None)
        return
    ours = bench.kill("at-least-once", Point.OUT, say=lambda line: None)
    own = bench.kill(OWN, Point.OUT, say=lambda line: None)
    assert own.tenths == ours.tenths > sum(lab11.written(lab11.HALF_HOUR))


def test_a_kill_by_choice_doubles_visibly(bench: lab11.Bench) -> None:
    """The hook: an income that is a quarter too high, as no large cancellation hides it."""
    income, error = bench.trial("at-least-once", Point.COMMITTED, say=lambda line: None)
    assert error == "+27.2 %" and income == "£21,836.51"
