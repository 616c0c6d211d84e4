"""The command `mqlab real kafka`, beyond what every broker's has."""

from __future__ import annotations

from mqlab.cli import main
from tests.oracle.kafka.oracle import KAFKA
from tests.oracle.runner import select_programs


def test_comparing_one_scenario_says_so_in_a_line_each_and_a_sum(capsys) -> None:
    assert main(["real", "kafka", "compare", "duplicate-window"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "scenarios 3, equal 3, listed differences 0, unexpected 0"
    assert lines[0] == "equal      tv2/duplicate-window"


def test_programs_are_chosen_by_level_and_by_need() -> None:
    assert {profile for _, profile in select_programs(KAFKA, levels=(0,))} == {"tv0"}
    assert not any(
        "java" in program.needs for program, _ in select_programs(KAFKA, without=("java",))
    )
