"""A search on Spark: the same worlds with the same numbers as in memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")
if not shutil.which("java"):
    pytest.skip("Spark needs Java", allow_module_level=True)

from mqlab.brokers import list_brokers
from mqlab.cli import main
from mqlab.explore import Budget, Search
from mqlab.explore.swarm import swarm
from mqlab.kernel import Property, Text
from mqlab.kernel.system import System
from mqlab.kernel.world import World
from mqlab.patterns.two_phase.oracle import TwoPhaseSet
from mqlab.registry import system
from mqlab.registry.searches import searches_of
from mqlab.spark.search import on_spark
from mqlab.spark.search.walks import swarm_on_spark
from tests.kernel.toy import make_toy

RISKY = make_toy("keep a", off=("once",))
ONE = make_toy("keep a")
FAULTS = Budget(breaks=2, kills=1, retries=2, killable=("mirror",))
MASTER = "local[2]"


def is_calm(world: World) -> bool:
    return not any(n for node in world.nodes.values() for _, n in node.conns.items())


CALM = (Property("calm", Text("calm"), is_calm, "can_always"),)


def searched(system: System, budget: Budget, claims: Any = None, **more: Any) -> Search:
    search = Search(system, budget, claims, **more)
    while search.advance(0):
        pass
    return search


@pytest.mark.parametrize(
    ("system", "budget", "claims", "many"),
    [
        (TwoPhaseSet(managers=4), Budget(), None, 1_000),
        (ONE, Budget(breaks=1, kills=1, retries=1), None, 500),
        (RISKY, Budget(breaks=1, retries=1), CALM, 35),
    ],
    ids=["four", "one", "calm"],
)
def test_it_finds_the_same_worlds(
    spark: Any, system: System, budget: Budget, claims: Any, many: int, tmp_path: Path
) -> None:
    plain = searched(system, budget, claims, many=None)
    further = on_spark(MASTER, tmp_path / "worlds", 1)
    spread = searched(system, budget, claims, many=many, further=further)
    assert spread.by_arrays and spread.complete and spread.verdict() == plain.verdict()
    assert (spread.levels, spread.starts, spread.found) == (plain.levels, plain.starts, plain.found)
    places = range(0, plain.states, max(1, plain.states // 40))
    assert [spread.step_to(n) for n in places] == [plain.step_to(n) for n in places]
    worlds = zip(spread.worlds(), plain.worlds(), strict=True)
    assert all(spread.fields.unpack(a) == plain.fields.unpack(b) for a, b in worlds)


def find_small(broker: str, most: int) -> Iterator[Search]:
    """What is searched of a broker, each once, as far as it has no more than so many states."""
    found = searches_of(broker)
    plain = [*found.systems, *found.quick, *found.models.values()]
    lines = [(one.line, one.budget) for one in plain]
    lines += [(case.system, case.budget) for case in found.cases]
    for line, budget in dict.fromkeys(lines):
        search = searched(system(line), replace(budget, states=most), many=None)
        if search.complete:
            yield search


@pytest.mark.spread("mqlab/spark", "mqlab/explore")
@pytest.mark.parametrize("broker", list_brokers("searches"))
def test_it_finds_what_is_found_of_each_broker(spark: Any, broker: str, tmp_path: Path) -> None:
    """The last levels of four small systems are left to Spark."""
    several = list(islice(find_small(broker, 700), 4))
    assert len(several) == 4
    for number, plain in enumerate(several):
        further = on_spark(MASTER, tmp_path / str(number), 1)
        many = plain.starts[-4] + 1
        spread = searched(plain.system, plain.budget, many=many, further=further)
        assert spread.by_arrays and spread.verdict() == plain.verdict()
        assert (spread.levels, spread.found) == (plain.levels, plain.found)


def test_the_bound_on_states_is_looked_at_between_levels(spark: Any, tmp_path: Path) -> None:
    further = on_spark(MASTER, tmp_path / "worlds", 1)
    some = searched(TwoPhaseSet(managers=4), Budget(states=1_100), many=1_000, further=further)
    assert not some.complete and some.states >= 1_100 and "1,100 states" in some.ended


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "else").touch()
    with pytest.raises(FileExistsError, match="begins in a new folder"):
        on_spark(MASTER, tmp_path)


@pytest.mark.parametrize("tasks", [1, 7])
def test_walks_depend_on_their_seeds_alone(spark: Any, tasks: int) -> None:
    make = partial(make_toy, "keep a", "keep b", off=("once",))
    told = swarm(make(), FAULTS, range(60))
    assert told.counterexamples
    assert swarm_on_spark(make, FAULTS, range(60), MASTER, tasks) == told


def test_it_is_asked_for_on_the_command_line(spark: Any, capsys: Any) -> None:
    assert main(["explore", "two_phase_set", "managers=3", "--spark", MASTER]) == 0
    assert "complete within 288 states, 3,528 transitions" in capsys.readouterr().out
    lso = ["explore", "kafka", "--off", "lso", "--swarm", "20"]
    assert main(lso) == main([*lso, "--spark", MASTER])

    said = capsys.readouterr().out
    assert said[: len(said) // 2] == said[len(said) // 2 :] and "tried 20 random schedules" in said
