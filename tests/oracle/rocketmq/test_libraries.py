"""The table of client libraries: what is in it, how it is pinned, what each told a real broker, and
what is said where one cannot be had. `make real` runs all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqlab.cli import main
from mqlab.real.program import RealBrokerError
from mqlab.recordings.recording import load_recordings
from tests.oracle.rocketmq.libraries import CLIENTS, LIBRARIES, SOURCES, SPRING, Library

RECORDED = load_recordings("rocketmq-5.5.0")


def told(one: Library) -> list[tuple[str, str, str]]:
    rows = RECORDED[f"5.5/{one.scenario}"].observations
    return [(o.who, o.asked, o.answered) for o in rows]


@pytest.mark.parametrize("one", LIBRARIES, ids=lambda one: one.scenario)
def test_every_library_told_the_whole_story_to_a_real_broker(one: Library) -> None:
    rows = told(one)
    states = [row[2].split()[1] for row in rows if row[1].startswith("sends ") and " " in row[2]]
    assert states == ["COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW"]
    (asked,) = (row for row in rows if row[1].startswith("asked about"))
    name = asked[1].removeprefix("asked about ")
    assert name in ("UNKNOW", "UNKNOWN") and asked[2].startswith("1 COMMIT")
    assert sum(row[1].startswith("gets ") for row in rows) == one.messages
    assert ("log", "Pull @3", f"half {name} (1) @3") in rows


def test_clients_of_three_generations_and_of_two_languages_see_the_same() -> None:
    first, *others = (one for one in LIBRARIES if one.name != "rocketmq-spring")
    assert [one.version for one in (first, *others)] == ["4.3.2", "4.9.7", "5.5.0", "2.1.2"]
    for one in others:
        assert told(one) == told(first), one.scenario


def test_a_message_of_springs_for_a_time_of_delivery_came() -> None:
    (spring,) = (one for one in LIBRARIES if one.name == "rocketmq-spring")
    assert ("consumer", "gets later", "tag key later") in told(spring)


def test_what_is_fetched_is_pinned() -> None:
    for had, name in ((CLIENTS, "rocketmq-client"), (SPRING, "rocketmq-spring-boot-starter")):
        (version,) = had.versions
        assert f"  {version}/{name}-{version}.jar\n" in had.pins.read_text("utf-8")
    sums = (SOURCES / "rocketmq-client-go" / "go.sum").read_text("utf-8")
    assert "github.com/apache/rocketmq-client-go/v2 v2.1.2 h1:" in sums


def test_a_library_that_cannot_be_had_here_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["real", "rocketmq", "compare", "rocketmq-client-go-2.1.2"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "not here   5.5/rocketmq-client-go-2.1.2: rocketmq-client-go needs go"
    )
    with pytest.raises(RealBrokerError, match=r"client 4\.4\.0 is pinned here"):
        CLIENTS.class_path("4.4.0")
