"""`mqlab serve NAME`: which brokers there are, and what cannot be asked of any."""

from __future__ import annotations

import inspect
import logging
import os
import resource
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from mqlab.brokers import list_brokers
from mqlab.cli import main
from mqlab.kernel import LANGUAGES, Caller, Request, speaking
from mqlab.serve import adapter, disk
from mqlab.serve.adapter import Adapter, BadFrame, Peer, count_nothing
from mqlab.serve.kafka.frames import KafkaFrames
from mqlab.serve.process import READY
from mqlab.serve.pulsar.frames import PulsarFrames
from mqlab.serve.rocketmq.frames import RocketMQFrames
from mqlab.serve.trace import live
from mqlab.serve.trace.live import Recorder


def test_an_unknown_broker_is_told_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["serve", "pigeons"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "invalid choice: 'pigeons'" in said and all(
        f"'{name}'" in said for name in list_brokers("serve")
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--fsync"], "--fsync needs a folder"),
        (["--port", "70000"], "70000 is not a port"),
        (["--trace-port", "-1"], "-1 is not a port"),
        (["--pace", "-5"], "expected milliseconds, 0 or more"),
        (["--salvage-to", "new"], "needs the damaged folder too"),
        (["--off", "gravity"], "no safeguard 'gravity'; there are: epoch_fencing"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "kafka", *words]) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Kafka", "RocketMQ", "Pulsar"])
def test_a_notebook_sees_what_a_broker_may_be_given(name: str) -> None:
    home = f"mqlab.serve.{name.lower()}"
    given = inspect.signature(import_module(home).serve).parameters
    for one in fields(getattr(import_module(f"{home}.options"), f"{name}Options")):
        assert given[one.name].default == one.default, one.name


@pytest.mark.parametrize("name", sorted(list_brokers("serve")))
def test_a_brokers_room_makes_the_home_of_its_name(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    served: list[Adapter] = []
    monkeypatch.setattr("mqlab.serve.server.main", lambda adapter, options: served.append(adapter))
    assert main(["serve", name, "--port", "0"]) == 0
    (adapter,) = served
    assert adapter.name == name
    assert adapter.system.split()[0] == name, "the system line begins with it"


# ---- Room for connections, and a log that a storm of lines does not fill -------------


def test_room_is_asked_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4_096))
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: asked.append(wanted))
    assert adapter.max_connections() == 4_096 - adapter.BACKLOG - adapter.SPARE
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


# ---- What the recorder of steps keeps is bounded -------------------------------------


def test_the_ring_is_bounded_by_steps_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "BYTES", 1_000)
    gone: list[Any] = []
    ring = Recorder(gone.append, count_nothing)
    for i in range(30):
        ring.record_step(i, "r", None, Request(Caller("c"), i), (), 100)
    assert (len(ring.steps), ring.bytes, len(gone)) == (10, 1_000, 20)
    ring.record_step(30, "r", None, Request(Caller("c"), 30), (), 5_000)
    assert (len(ring.steps), ring.bytes) == (0, 0), "one that is too large alone is not kept"
    ring.record_step(31, "r", None, Request(Caller("c"), 31), (), 1)
    assert ring.take()[0] == 31 and ring.bytes == 0


@pytest.mark.parametrize(("lang", "says"), [("en_US", "ready at"), ("zh_CN", "已就绪")])
def test_a_server_whose_input_is_at_its_end_stops_in_an_orderly_way(lang: str, says: str) -> None:
    """epoll watches neither /dev/null nor a file. The line of addresses is read in any language."""
    command = [
        sys.executable, "-m", "mqlab", "serve", "kafka", "--port", "0", "--until-input-ends",
        "--gate",
    ]  # fmt: skip
    env = {**os.environ, "LC_ALL": f"{lang}.UTF-8", "PYTHONUTF8": "1"}
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", env=env
    )
    assert (done.returncode, done.stderr) == (0, "") and says in done.stdout
    address, trace, gate = READY.search(done.stdout).groups()
    assert address.startswith("127.0.0.1:") and trace.count(":") == 2
    assert gate.startswith(f"{trace}/gate?key=") and not gate[-1].isspace()


@pytest.mark.parametrize("frames", [KafkaFrames, RocketMQFrames, PulsarFrames])
def test_what_a_log_says_of_a_broken_frame_is_in_both_languages(frames: Any) -> None:
    with pytest.raises(BadFrame) as refused:
        frames(Peer()).cut(bytearray(b"\0\0\0\2"))
    said = refused.value.args[0]
    assert (said.en, said.zh) == ("a frame of 2 bytes", "帧长为 2 字节")


def test_a_line_of_the_log_is_in_the_language_that_is_spoken() -> None:
    said = ("c1", "its request was refused")
    record = logging.LogRecord("", logging.INFO, "", 0, "%s: closing, %s", said, None)
    lines = []
    for lang in LANGUAGES:
        with speaking(lang):
            lines.append(disk.InWords("%(message)s").format(record))
    assert lines == ["c1: closing, its request was refused", "c1：关闭连接，它的请求被拒绝了"]
