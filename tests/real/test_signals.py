"""A command that is told to end takes with it what it has started and the folders it has made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

#: a process that stands for the broker's: it says nothing and never ends by itself
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` ignores it
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
