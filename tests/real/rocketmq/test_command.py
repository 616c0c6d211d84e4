"""The command `mqlab real rocketmq`, and what it says where something is missing."""

from __future__ import annotations

import pytest

from mqlab.cli import main, real_rocketmq
from mqlab.real.jars import find_java
from mqlab.real.rocketmq.client import PROFILES
from mqlab.real.rocketmq.differences import IGNORED, OTHERS, TABLE, page
from mqlab.real.rocketmq.hosts import VERSIONS
from mqlab.real.rocketmq.oracle import ROCKETMQ
from mqlab.real.runner import select_programs


@pytest.fixture(autouse=True)
def forgetful():
    find_java.cache_clear()
    yield
    find_java.cache_clear()


def test_without_java_one_line_says_what_to_install(monkeypatch, capsys) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["real", "rocketmq", "start"]) == 2
    said = capsys.readouterr().err
    assert "a real RocketMQ needs Java 17 or later: install" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("task", ["start", "record", "compare"])
def test_a_version_that_is_not_pinned_is_refused(task, capsys) -> None:
    assert main(["real", "rocketmq", task, "--version", "4.4.0", "--real"]) == 2
    assert "take 5.5.0 or 4.9.7" in capsys.readouterr().err


def test_an_unknown_scenario_is_refused_with_those_there_are(capsys) -> None:
    assert main(["real", "rocketmq", "record", "no-such-story"]) == 2
    said = capsys.readouterr().err
    assert "no scenario no-such-story" in said and "check-commits" in said


def test_a_version_has_its_release_line() -> None:
    assert set(VERSIONS) == set(PROFILES)
    for profile, version in VERSIONS.items():
        assert version.startswith(profile)
        level = PROFILES[profile].level
        assert {name for _, name in select_programs(ROCKETMQ, levels=(level,))} == {profile}
    assert VERSIONS["5.5"] == real_rocketmq.VERSION


def test_the_page_lists_every_difference_and_what_is_not_compared() -> None:
    text = page()
    assert text.startswith("# Where this engine differs from a real RocketMQ")
    assert all(row.reason in text for row in TABLE)
    assert all(what in text and why in text for what, why in (*IGNORED, *OTHERS))
