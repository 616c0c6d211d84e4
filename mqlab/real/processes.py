"""What real brokers' processes have in common: a folder, ports, a start, an end, a log."""

from __future__ import annotations

import atexit
import ctypes
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Self

from ..kernel.text import tr
from .program import RealBrokerError

GRACE_S = 40.0


def end_with_parent() -> None:
    """In the new process: get SIGTERM when the one that started it dies in whatever way. Linux
    knows how (PR_SET_PDEATHSIG); elsewhere an orderly end must do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


#: No system gives these to a program that asks for any port (Linux begins at 32768, macOS and
#: Windows at 49152), so none is lost before the broker, seconds later, listens at it.
PORTS = range(20_000, 32_768)


def free_ports(count: int) -> list[int]:
    """Ports that are free now; all are held at once so that they differ."""
    with ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            with suppress(OSError):  # it is taken
                port = random.choice(PORTS)
                held.enter_context(socket.create_server(("127.0.0.1", port)))
                ports.append(port)
        return ports


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
                said = " / ".join(process.tail_log() for process in processes)
                raise RealBrokerError(
                    "{} {} was not ready after {:.0f} s: {}",
                    self.product, self.version, patience_s, said,
                )  # fmt: skip
            time.sleep(0.05)


def _close(broker: weakref.ref[RealBroker]) -> None:
    alive = broker()
    if alive is not None:
        alive.close()


class LoggedProcess:
    """One process of a real broker, which says what it has to say into a file. It ends with the
    process that started it, and on SIGTERM."""

    def __init__(self, name: str, log: Path) -> None:
        """`name`: of what runs, for a reader of its complaints."""
        self.name, self.log = name, log
        self._process: subprocess.Popen[str] | None = None
        self._output: IO[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(
        self, command: Sequence[str], env: dict[str, str] | None = None, talks: bool = False
    ) -> None:
        """Start the command as a process of its own, which ends with this one; its output goes to
        `log`. `env`: its environment, where it is not this process's own. `talks`: `write_line`
        writes to its standard input, and `lines` is its standard output, which is not in `log`
        then."""
        self._output = open(self.log, "ab")  # noqa: SIM115 (as long as the process)
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE if talks else self._output,
            stderr=self._output,
            stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
            text=True,
            env=env,
            start_new_session=True,  # Ctrl-C is for us; the broker is ended in an orderly way
            preexec_fn=end_with_parent,
        )

    def write_line(self, line: str) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    @property
    def lines(self) -> Iterable[str]:
        assert self._process is not None and self._process.stdout is not None
        return self._process.stdout

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
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None
        if self._output is not None:
            self._output.close()
            self._output = None

    def check_alive(self) -> None:
        """Raises RealBrokerError where it ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise RealBrokerError("{} ended at once: {}", self.name, self.tail_log())

    def tail_log(self) -> str:
        """The last lines of its log that are about something wrong."""
        text = self.log.read_text("utf-8", errors="replace")
        wrong = [line for line in text.splitlines() if re.search(r"ERROR|FATAL|Exception", line)]
        return " / ".join(wrong[-3:]) or text[-300:].strip() or str(tr("its log is empty"))


class OneProcessBroker(RealBroker):
    """A real broker that is one process, which `start` starts with the data there is."""

    def __init__(self, version: str) -> None:
        super().__init__(version)
        self._process = LoggedProcess(f"{self.product} {version}", self.folder / "said.log")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.running

    def tail_log(self) -> str:
        """The last lines of its log that are about something wrong."""
        return self._process.tail_log()

    def end(self) -> None:
        self.kill()

    def kill(self) -> None:
        """kill -9."""
        self._process.signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM, and wait. RocketMQ 5.x takes up to 17 s."""
        self._process.signal(signal.SIGTERM)
        self._process.wait()
