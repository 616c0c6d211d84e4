"""One process of a real broker: its log, its end."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from mqlab.real import processes
from mqlab.real.processes import LoggedProcess
from mqlab.real.program import RealBrokerError

WAITS = [sys.executable, "-c", "print('here', flush=True); import time; time.sleep(600)"]
FAILS = [sys.executable, "-c", "print('fine'); raise SystemExit('ERROR no such port')"]
ECHO = [sys.executable, "-uc", "import sys\nfor line in sys.stdin: print('heard', line, end='')"]


def test_a_process_runs_until_it_is_told_to_end(tmp_path: Path) -> None:
    process = LoggedProcess("Rope", tmp_path / "said.log")
    assert not process.running
    process.start(WAITS)
    process.check_alive()
    assert process.running
    process.signal(signal.SIGKILL)
    process.wait()
    assert not process.running
    process.wait()
    process.signal(signal.SIGTERM)  # to nobody


def test_one_that_ends_by_itself_says_why(tmp_path: Path) -> None:
    process = LoggedProcess("Rope 1.2", tmp_path / "said.log")
    process.start(FAILS)
    with pytest.raises(RealBrokerError, match=r"Rope 1\.2 ended at once: ERROR no such port"):
        while process.running:
            pass
        process.check_alive()
    process.wait()


def test_a_second_start_writes_on_in_the_same_log(tmp_path: Path) -> None:
    process = LoggedProcess("Rope", tmp_path / "said.log")
    for _ in range(2):
        process.start(FAILS)
        process.wait()
    assert (tmp_path / "said.log").read_text("utf-8").count("no such port") == 2


def test_one_that_talks_answers_lines_and_still_has_a_log(tmp_path: Path) -> None:
    process = LoggedProcess("Rope", tmp_path / "said.log")
    complains = [*ECHO[:2], f"import sys; print('hemp', file=sys.stderr)\n{ECHO[2]}"]
    process.start(complains, env={**os.environ, "ROPE": "1"}, talks=True)
    for word in ("one", "two"):
        process.write_line(word)
        assert next(iter(process.lines)) == f"heard {word}\n"
    process.signal(signal.SIGTERM)
    process.wait()
    assert process.tail_log() == "hemp"


def test_a_port_is_free_and_none_that_a_system_gives_away(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(20_000 <= port < 32_768 for port in processes.free_ports(3))
    here = sorted(processes.free_ports(3))
    monkeypatch.setattr(processes, "PORTS", here)
    with socket.create_server(("127.0.0.1", here[1])):
        assert sorted(processes.free_ports(2)) == [here[0], here[2]]
    assert sorted(processes.free_ports(3)) == here
