"""The command `mqlab real NAME` of every broker, and what it says where something is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from mqlab.brokers import list_brokers
from mqlab.cli import main
from mqlab.real.jars import find_java


@dataclass(frozen=True)
class Said:
    """`product`: as a reader calls it; `versions`: that are pinned; `scenario`: one there is."""

    product: str
    versions: str
    scenario: str


EXPECTED = {
    "kafka": Said("Kafka", "4.3.1 or 4.2.1", "basic-commit"),
    "pulsar": Said("Pulsar", "4.2.4", "commit-frozen"),
    "rocketmq": Said("RocketMQ", "5.5.0 or 4.9.7", "check-commits"),
}


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    find_java.cache_clear()
    yield
    find_java.cache_clear()


def test_each_broker_is_expected_here() -> None:
    assert set(EXPECTED) == set(list_brokers("real"))


@pytest.mark.parametrize("name", EXPECTED)
def test_without_java_one_line_says_what_to_install(name, monkeypatch, capsys) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["real", name, "start"]) == 2
    said = capsys.readouterr().err
    assert f"a real {EXPECTED[name].product} needs Java 17 or later: install" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("name", EXPECTED)
def test_a_version_that_is_not_pinned_does_not_start(name, capsys) -> None:
    assert main(["real", name, "start", "--version", "0.1"]) == 2
    said = capsys.readouterr().err.partition("choose one of ")[2]
    assert set(EXPECTED[name].versions.split(" or ")) <= set(said.strip().split(", "))


@pytest.mark.parametrize("name", EXPECTED)
def test_an_unknown_program_is_refused_with_those_there_are_or_the_nearest(name, capsys) -> None:
    assert main(["real", name, "record", "no-such-story"]) == 2
    assert "no program 'no-such-story'; there are: a" in capsys.readouterr().err
    assert main(["real", name, "record", f"{EXPECTED[name].scenario}x"]) == 2
    assert f"did you mean {EXPECTED[name].scenario}?" in capsys.readouterr().err


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("words", ["--real no-such-story", "no-such-story --real"])
def test_a_program_may_come_before_an_option_or_after_it(name, words, capsys) -> None:
    assert main(["real", name, "compare", *words.split()]) == 2
    assert "no program 'no-such-story'" in capsys.readouterr().err


@pytest.mark.parametrize("name", EXPECTED)
def test_a_task_must_be_named(name, capsys) -> None:
    for words in ([], ["--real"], ["judge", "--real"]):
        with pytest.raises(SystemExit):
            main(["real", name, *words])
        assert "task" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["pulsar", "rocketmq"])
@pytest.mark.parametrize("task", ["record", "compare"])
def test_a_version_that_is_not_recorded_is_not_asked(name, task, capsys) -> None:
    assert main(["real", name, task, "--version", "0.1", "--real"]) == 2
    assert f"choose {EXPECTED[name].versions}" in capsys.readouterr().err


def test_an_unknown_broker_is_told_which_there_are(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["real", "rabbit", "compare"])
    said = capsys.readouterr().err
    assert "invalid choice: 'rabbit'" in said
    assert all(f"'{name}'" in said for name in EXPECTED)
