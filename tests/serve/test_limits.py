"""Room for connections, and a log that a storm of lines does not fill."""

from __future__ import annotations

import logging
import resource
from typing import Any

import pytest

from mqlab.serve import disk, home


def test_room_is_asked_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4_096))
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: asked.append(wanted))
    assert home.most_connections() == 4_096 - home.BACKLOG - home.SPARE
    assert asked == [(4_096, 4_096)]


def test_a_storm_of_lines_is_cut_short_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    calm, now = disk.Calm(), [100.0]
    monkeypatch.setattr(disk.time, "monotonic", lambda: now[0])

    def through(level: int = logging.INFO) -> str:
        record = logging.LogRecord("x", level, "", 0, "line", (), None)
        return record.msg if calm.filter(record) else ""

    assert [through() for _ in range(60)].count("line") == disk.LINES
    assert through(logging.DEBUG) == "line", "--verbose says everything"
    now[0] += disk.WINDOW_S + 1
    assert through() == "(10 lines were left out) line"
