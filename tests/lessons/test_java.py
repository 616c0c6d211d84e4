"""A lab's cell with a released Java client, where no such client can run."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from mqlab.kernel import speaking
from mqlab.lessons.laid import Laid
from mqlab.lessons.pulsar.lab10 import redeliver_to_java
from mqlab.lessons.rocketmq.lab03 import send_from_java
from mqlab.lessons.rocketmq.lab04 import die_in_java
from mqlab.places import LABS
from mqlab.real import jars, suite
from mqlab.real.program import RealBrokerError

CELLS = [send_from_java, die_in_java, redeliver_to_java]


@pytest.mark.parametrize("cell", CELLS)
def test_without_java_the_recording_stands_alone_and_says_why(
    cell: Callable[[], Laid], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jars, "find_java", lambda: None)
    told = cell()
    assert told.right is None and told.rows
    assert "needs Java 17" in capsys.readouterr().out
    with speaking("zh"):
        cell()
    assert capsys.readouterr().out.startswith("这里没有执行 Java 客户端")


@pytest.mark.parametrize("cell", CELLS)
def test_without_a_clone_the_recording_stands_alone_and_says_why(
    cell: Callable[..., Laid], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jars.Jars, "find_missing", lambda _: "")
    monkeypatch.setattr(suite, "FOLDER", LABS / "nowhere")
    told = cell(fetch=True)
    assert told.right is None and told.rows
    assert "clone the project, run `make setup` there" in capsys.readouterr().out
    with speaking("zh"):
        cell(fetch=True)
    assert "请用 git clone" in capsys.readouterr().out


@pytest.mark.parametrize("cell", CELLS)
def test_nothing_is_fetched_unless_asked(
    cell: Callable[[], Laid], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jars.Jars, "find_missing", lambda _: "")
    monkeypatch.setattr(jars.Jars, "is_here", lambda *_: False)
    assert cell().right is None
    assert "fetch=True lets Maven fetch" in capsys.readouterr().out


def test_a_browser_is_told_that_it_has_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "emscripten")
    assert send_from_java().right is None
    assert "a browser has no Java" in capsys.readouterr().out


def test_where_maven_reaches_nothing_the_recording_stands_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> str:
        raise RealBrokerError("Maven could not fetch it")

    monkeypatch.setattr(jars.Jars, "find_missing", lambda _: "")
    monkeypatch.setattr(jars.Jars, "class_path", refuse)
    assert die_in_java(fetch=True).right is None
    assert "No Java client ran here: Maven could not fetch it." in capsys.readouterr().out
