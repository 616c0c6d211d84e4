"""What real brokers' processes have in common: a folder, ports, a start, an end, a log."""

from __future__ import annotations

import atexit
import ctypes
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Self

from .program import RealBrokerError

GRACE_S = 40.0


def end_with_parent() -> None:
    """In the new process: be told (SIGTERM) when the one that started it dies in whatever
    way. Linux knows how (PR_SET_PDEATHSIG); elsewhere an orderly end must do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def free_ports(count: int) -> list[int]:
    """Ports that are free now; all are held at once so that they differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def tail_log(path: Path) -> str:
    """The last lines of a log that are about something wrong."""
    text = path.read_text("utf-8", errors="replace")
    wrong = [line for line in text.splitlines() if re.search(r"ERROR|FATAL|Exception", line)]
    return " / ".join(wrong[-3:]) or text[-300:].strip() or "it said nothing"


class RealBroker:
    """A real broker for as long as a `with` lasts, or until this program ends: its processes, and a
    temporary `folder` with all that they keep."""

    product = ""

    def __init__(self, version: str) -> None:
        self.version = version
        self._home = tempfile.TemporaryDirectory(prefix=f"mqlab-{self.product.lower()}-")
        self.folder = Path(self._home.name)
        atexit.register(_close, weakref.ref(self))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End it and remove the data."""
        self.end()
        self._home.cleanup()

    def end(self) -> None:
        """End its processes, in whatever state they are."""
        raise NotImplementedError

    def wait_until(
        self, is_ready: Callable[[], bool], processes: Sequence[LoggedProcess], patience_s: float
    ) -> None:
        """Raises RealBrokerError where it is not ready after so long, or one of these processes
        has ended."""
        deadline = time.monotonic() + patience_s
        while not is_ready():
            for process in processes:
                process.check_alive()
            if time.monotonic() > deadline:
                raise RealBrokerError(
                    f"{self.product} {self.version} was not ready after {patience_s:.0f} s: "
                    + processes[0].tail_log()
                )
            time.sleep(0.05)


def _close(broker: weakref.ref[RealBroker]) -> None:
    alive = broker()
    if alive is not None:
        alive.close()


class LoggedProcess:
    """One process of a real broker, which says what it has to say into a file. It ends with
    the one who started it, and when it is told to."""

    def __init__(self, name: str, log: Path) -> None:
        """`name`: of what runs, for a reader of its complaints."""
        self.name, self.log = name, log
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, command: Sequence[str]) -> None:
        self._output = open(self.log, "ab")  # noqa: SIM115 (as long as the process)
        self._process = subprocess.Popen(
            command,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us; the broker is told in an orderly way
            preexec_fn=end_with_parent,
        )

    def signal(self, number: signal.Signals) -> None:
        if self.running:
            assert self._process is not None
            self._process.send_signal(number)

    def wait(self) -> None:
        """Until it has ended; after a while of patience it is killed."""
        if self._process is not None:
            try:
                self._process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._output is not None:
            self._output.close()
            self._output = None

    def check_alive(self) -> None:
        """Raises RealBrokerError where it ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise RealBrokerError(f"{self.name} ended at once: {self.tail_log()}")

    def tail_log(self) -> str:
        """The last lines of its log that are about something wrong."""
        return tail_log(self.log)
