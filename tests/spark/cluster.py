"""A standalone Spark cluster on loopback, out of the PySpark that is installed: a master and some
workers, each a process of its own, as on machines of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyspark

from mqlab.real.processes import free_ports

HOME = Path(pyspark.__file__).parent
CLASS = HOME / "bin" / "spark-class"
FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PATIENCE_S = 180.0
T = TypeVar("T")
LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %m%n
"""


@dataclass
class Cluster:
    """`address`: the --master of a job."""

    address: str
    workers: list[subprocess.Popen[bytes]]

    def kill_executor(self, worker: int) -> None:
        """kill -9 of the JVM that works for the job; its worker starts another."""
        os.kill(self.executor(worker), signal.SIGKILL)

    def executor(self, worker: int) -> int:
        """Its process id. Raises TimeoutError where there is none in time."""
        found = _wait(lambda: _children(self.workers[worker].pid), f"executor of worker {worker}")
        return found[0]

    def kill_worker(self, worker: int) -> None:
        """kill -9 of a worker with its executors: what is left when a machine is gone."""
        victims = [*_children(self.workers[worker].pid), self.workers[worker].pid]
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        self.workers[worker].wait()


@contextmanager
def run_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Raises TimeoutError where it does not start."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        (folder / "conf").mkdir()
        (folder / "conf" / "log4j2.properties").write_text(LOG4J)
        (port,) = free_ports(1)
        address = f"spark://127.0.0.1:{port}"
        host = ["--host", "127.0.0.1", "--webui-port", "0"]
        started.append(_start(folder, "master", "master.Master", *host, "--port", str(port)))
        _wait(lambda: "I have been elected leader" in _said(folder, "master"), "master")
        for number in range(workers):
            work = ["--cores", "1", "--memory", "1g", "-d", str(folder / f"work-{number}")]
            name = f"worker-{number}"
            started.append(_start(folder, name, "worker.Worker", *host, *work, address))
        for number in range(workers):
            name = f"worker-{number}"
            _wait(lambda n=name: "Successfully registered with master" in _said(folder, n), name)
        yield Cluster(address, started[1:])
    finally:
        for process in reversed(started):
            for pid in [*_children(process.pid), process.pid]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            process.wait()


def _start(folder: Path, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
    env = os.environ | {
        "SPARK_HOME": str(HOME),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": FLAGS,
        "SPARK_DAEMON_MEMORY": "256m",
    }
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(CLASS), f"org.apache.spark.deploy.{main}", *arguments],
            cwd=folder, env=env, stdout=log, stderr=log,
        )  # fmt: skip


def _said(folder: Path, name: str) -> str:
    return (folder / f"{name}.log").read_text(errors="replace")


def _children(pid: int) -> list[int]:
    """The process ids of its executors, if it has any. A bare Debian has no `ps`."""
    lists = [_read(path) for path in Path(f"/proc/{pid}/task").glob("*/children")]
    found = (int(child) for child in b" ".join(lists).split())
    return sorted(child for child in found if b"CoarseGrained" in _read(f"/proc/{child}/cmdline"))


def _read(path: Path | str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:  # the thread or the process has just ended
        return b""


def _wait(ask: Callable[[], T], what: str) -> T:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := ask()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {what} after {PATIENCE_S:.0f} s")
        time.sleep(0.1)
    return found
