"""The command `mqlab real`, and what it says where something is missing."""

from __future__ import annotations

import pytest

pytest.importorskip("kio", reason="raw requests need kio: run `make setup`")

from mqlab.brokers import list_brokers
from mqlab.cli import main
from mqlab.real.jars import find_java
from mqlab.real.kafka.differences import TABLE, page
from mqlab.real.kafka.oracle import KAFKA
from mqlab.real.runner import select_programs


@pytest.fixture(autouse=True)
def forgetful() -> None:
    find_java.cache_clear()


def test_without_java_one_line_says_what_to_install(monkeypatch, capsys) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["real", "kafka", "start"]) == 2
    said = capsys.readouterr().err
    assert "needs Java 17 or later: install" in said and len(said.splitlines()) == 1
    find_java.cache_clear()


def test_a_version_that_is_not_pinned_is_refused(capsys) -> None:
    assert main(["real", "kafka", "start", "--version", "3.0.0"]) == 2
    assert "take 4.3.1 or 4.2.1" in capsys.readouterr().err


def test_an_unknown_scenario_is_refused_with_those_there_are(capsys) -> None:
    assert main(["real", "kafka", "compare", "no-such-story"]) == 2
    said = capsys.readouterr().err
    assert "no scenario no-such-story" in said and "basic-commit" in said


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


def test_the_page_lists_every_difference_and_what_is_not_compared() -> None:
    text = page()
    assert all(row.reason in text for row in TABLE)
    assert "producer ids" in text and "skip-leaderless-marker" in text


def test_an_unknown_broker_is_told_which_there_are(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["real", "rabbit", "compare"])
    said = capsys.readouterr().err
    assert "invalid choice: 'rabbit'" in said
    assert all(f"'{name}'" in said for name in list_brokers("real"))
