"""One process of a real broker: its log, its end."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mqlab.cli.errors import UserError
from mqlab.cli.real_kafka import start_broker
from mqlab.lessons.decision import list_ways
from mqlab.places import RECORDINGS
from mqlab.real import processes
from mqlab.real.processes import LoggedProcess, RealBroker
from mqlab.real.program import RealBrokerError
from mqlab.recordings.recording import load

WAITS = [sys.executable, "-c", "print('here', flush=True); import time; time.sleep(600)"]
FAILS = [sys.executable, "-c", "print('fine'); raise SystemExit('ERROR no such port')"]
ECHO = [sys.executable, "-uc", "import sys\nfor line in sys.stdin: print('heard', line, end='')"]


class Node(LoggedProcess):
    """Of a cluster: it has an address."""

    @property
    def address(self) -> str:
        return self.name


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


@pytest.mark.parametrize("order", [(WAITS, FAILS), (FAILS, WAITS)])
def test_the_log_of_the_broker_that_ended_is_printed(
    order: tuple[list[str], ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several brokers; where none ends but they are not ready, the logs of all."""
    nodes = [Node(f"at-{i}", tmp_path / str(i)) for i in range(2)]
    for node, command in zip(nodes, order, strict=True):
        node.start(command)
    cluster = contextlib.nullcontext(SimpleNamespace(nodes=nodes, address="here"))
    monkeypatch.setattr("mqlab.real.kafka.broker.RealKafka", lambda *_: cluster)
    options = argparse.Namespace(version="4.3.1", brokers=2, transaction_version=2)
    with pytest.raises(UserError, match=f"at-{order.index(FAILS)} ended.*: ERROR no such port"):
        start_broker(options)
    for node in nodes:
        node.signal(signal.SIGKILL)
        node.wait()
    with pytest.raises(RealBrokerError, match=r"was not ready.*no such port"):
        RealBroker("1").wait_until(lambda: False, nodes, -1)


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


# ---- What the page *Choose* says one should watch was tried on the real brokers ------
#
# Each command there stands in a recording of a real broker; `mqlab real NAME compare` asks this
# project's server the same and compares every line, with the same tool.

#: the command on the page → recording, what was asked there, what must be in the answer; what
#: `pulsar-admin` asks for stands for it: its own jar is not on Maven
TRIED = {
    command: found
    for row in Path(__file__).with_name("tried.txt").read_text("utf-8").splitlines()
    for command, *found in [row.split(" | ")]
}


def find_commands() -> set[str]:
    """Those in code in what to watch of each way."""
    said = " ".join(one.en for way in list_ways().values() for one in way.lists["watch"])
    return set(re.findall(r"`([^`]+)`", said))


def test_every_command_of_the_page_was_tried():
    assert find_commands() == set(TRIED)


@pytest.mark.parametrize("command", sorted(TRIED))
def test_a_real_broker_shows_it(command):
    name, asked, told = TRIED[command]
    seen = load(RECORDINGS / f"{name}.json").observations
    answers = [one.answered for one in seen if one.asked == asked]
    assert any(told in answer for answer in answers), answers


# ---- A command that is told to end takes with it what it has started and the folders it has made

#: a process that stands for the broker's: it says nothing and never ends by itself
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` ignores it
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
from mqlab.brokers import find_broker, load
from mqlab.cli import main
from mqlab.real.processes import OneProcessBroker

class Rope(OneProcessBroker):
    product, address, name_server, admin = "Rope", "127.0.0.1:1", "127.0.0.1:2", "http://none"

    def __init__(self, version, *others, **more):
        super().__init__(version)
        self._process.start([sys.executable, "-c", "import time; time.sleep(600)"])
        self.nodes = [self]
        print("pid", self.pid, self.folder, flush=True)

name = sys.argv[1]
module = __import__(f"mqlab.real.{name}.broker", fromlist=["broker"])
(real,) = [n for n in vars(module) if n.startswith("Real") and n.lower() == f"real{name}"]
setattr(module, real, Rope)
sys.argv = ["mqlab", "real", name, "start"]
sys.exit(main())
"""


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGHUP")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("name", ["kafka", "pulsar", "rocketmq"])
def test_a_started_broker_ends_with_its_command(
    name: str, number: signal.Signals, tmp_path: Path
) -> None:
    command = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, name],
        env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert command.stdout is not None
    said = command.stdout.readline().split()
    assert said[:1] == ["pid"], command.communicate()
    pid, folder = int(said[1]), Path(said[2])
    assert lives(pid) and folder.is_dir() and folder.is_relative_to(tmp_path)
    command.stdout.readline()  # it is ready
    command.send_signal(number)
    _, complaints = command.communicate(timeout=600)
    assert (command.returncode, complaints) == (128 + number, "mqlab: stopped\n")
    assert not lives(pid) and list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGHUP")
def test_what_is_ignored_stays_so_and_a_fork_ends_as_usual() -> None:
    program = """
import os, signal, sys, time
from mqlab.cli import end_in_order
signal.signal(signal.SIGHUP, signal.SIG_IGN)
end_in_order()
os.kill(os.getpid(), signal.SIGHUP)
heard, says = os.pipe()
child = os.fork()
if not child:
    os.write(says, b"ready")  # Python forgets the signals that come before it has forked
    time.sleep(600)
    os._exit(1)
os.read(heard, 5)
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{-signal.SIGTERM}\n"
