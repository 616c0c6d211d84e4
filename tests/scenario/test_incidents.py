"""Incidents: each names a public report, shows what it says, and asks what its run answers."""

from __future__ import annotations

import re
from functools import cache

import pytest

from mqlab.cli import incidents, main
from mqlab.cli.incidents import Incident
from mqlab.places import LABS, SCENARIOS
from mqlab.registry import SYSTEMS
from mqlab.scenario import Golden, load
from mqlab.scenario.language import HEAD

ALL = list(incidents.list_incidents())
REPORT = re.compile(r"[A-Z]+-\d+|[\w.-]+/[\w.-]+#\d+")


def squeeze(text: str) -> str:
    return " ".join(text.split())


@cache
def story(name: str) -> Golden:
    return load(SCENARIOS / f"{name}.scn", SYSTEMS)


@pytest.mark.parametrize("one", ALL, ids=[one.name for one in ALL])
def test_an_incident_is_told_whole(one: Incident) -> None:
    head = one.script.head
    assert set(head) - {"helped", "recorded"} == {
        "symptom", "report", "versions", "fixed", "mechanism", "answers", "shown",
    }  # fmt: skip
    assert all(REPORT.fullmatch(report) for report in head["report"].split(", "))
    assert len({a.en for a in one.answers}) == 3 and all(
        a.zh or a.en.isdigit() for a in one.answers
    )
    assert (
        one.script.question.zh
        and one.said("mechanism").zh
        and bool(one.script.story.en) == bool(one.script.story.zh)
    )
    if not one.typed:  # tests/spark types the others
        facts = {squeeze(line) for line in story(one.name).run.narrate().splitlines()}
        assert squeeze(head["shown"]) in facts
    assert one.recordings or "recorded" not in head


HELPED = [a for a in ALL if "helped" in a.script.head and not a.typed]


@pytest.mark.parametrize("one", HELPED, ids=lambda a: a.name)
def test_what_would_have_helped_is_another_run_of_the_same_system(one: Incident) -> None:
    wrong, shown = story(one.name), one.script.head["shown"]
    helped = story(f"{one.name.rpartition('/')[0]}/{one.script.head['helped']}")
    assert helped.script.system.split()[0] == one.system
    said = [[str(f.body) for f in one.run.facts if f.kind == "return"] for one in (wrong, helped)]
    seen = [squeeze(one.run.narrate()).count(squeeze(shown)) for one in (wrong, helped)]
    assert said[0][-1:] != said[1][-1:] or seen[0] > seen[1]
    assert helped.done.idle == () and "still waits" not in helped.done.waits.en


def test_each_file_of_the_folder_is_an_incident_or_what_helps_in_one() -> None:
    named = {one.script.head.get("helped") for one in ALL}
    told = {one.name.rpartition("/")[2] for one in ALL}
    files = [p for p in (SCENARIOS / "incidents").iterdir() if p.suffix in (".scn", ".run")]
    assert {path.stem for path in files} <= named | told


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["commit", "half", "gone"], "deleted-in-mid-transaction"),
        (["KAFKA-20357"], "fenced-without-a-second-instance"),
        (["lag", "minus"], "lag-minus-three"),
        (["rocketmq", "clock"], "a-clock-one-hour-ahead"),
        (["librdkafka", "1.6.1"], "half-a-transaction"),
        (["生产者组", "照抄"], "the-stranger-in-the-group"),
        (["spark", "batch", "twice"], "the-batch-is-there-twice"),
    ],
)
def test_they_are_found_by_symptom_report_broker_version_and_mechanism(
    words: list[str], found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["incidents", *words, "--lang", "en"]) == 0
    said = capsys.readouterr().out
    assert f"mqlab run incidents/{found} --explain" in said and "Before you run it: " in said
    assert said.count("see it:") == 1


def test_all_are_listed_and_none_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["incidents", "--lang", "zh"]) == 0
    assert capsys.readouterr().out.count("mqlab run ") >= len(ALL)
    assert main(["incidents", "no", "such", "rabbit"]) == 2
    assert "no incident contains all of: no such rabbit" in capsys.readouterr().err


def test_a_lab_points_to_one_incident_each_time() -> None:
    pointed = [
        word
        for path in sorted((LABS / "source").glob("*.py"))
        for word in re.findall(r"`mqlab incidents ([^`]+)`", path.read_text("utf-8"))
    ]
    assert len(pointed) >= 12
    assert all(sum(word in one.words for one in ALL) == 1 for word in pointed)


def test_the_lines_of_the_head_are_no_part_of_the_story() -> None:
    one = next(one for one in ALL if one.name.endswith("lag-minus-three"))
    assert not any(HEAD.fullmatch(f"# {line}") for line in one.script.comments)
    assert "report" not in one.script.story.en
