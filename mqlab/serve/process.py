"""A broker for a notebook, a test or a job: `with serve() as broker:`.

It is a process of its own, so that a busy notebook does not slow it and it can really be
killed. It ends with the `with`, with the interpreter, or when the process that started it
dies in whatever way: the server reads a pipe whose other end only that one holds.
"""

from __future__ import annotations

import atexit
import os
import re
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import IO

from ..kernel.text import WordedError, tr

#: the line of a server that is ready, in any language: its address, the trace's and the gate's
READY = re.compile(r"(\S+:\d+)\W.*?(http://\S+)/trace(?:\W.*?(http://\S+))?")
PATIENCE_S = 60.0  # a journal of a million records is read in a few seconds
GRACE_S = 5.0


class BrokerError(WordedError):
    """The broker did not start; the message holds what it said."""


class RunningBroker:
    """A broker process, `mqlab serve NAME`. `address` is what a client connects to
    ("127.0.0.1:41234"), `trace_url` what `Follow` takes ("http://127.0.0.1:41235"),
    `gate_url` where requests can be held (`serve/gate_client.py`), `pid` its process, `errors` what
    its processes that have ended wrote on standard error."""

    def __init__(self, name: str, arguments: list[str], data_dir: Path | None) -> None:
        self.name = name
        self.address = ""
        self.trace_url = ""
        self.gate_url = ""
        self.errors = ""
        self.data_dir = data_dir
        self._arguments = arguments
        self._process: subprocess.Popen[str] | None = None
        self._stderr: IO[bytes] | None = None
        self._start(port="0", trace_port="0")
        atexit.register(_end, weakref.ref(self))

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """End the process in an orderly way (SIGTERM), and wait for it."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._release_process()

    def kill(self) -> None:
        """kill -9: no goodbye, nothing written any more."""
        if self._process is not None:
            self._process.kill()
            self._release_process()

    def restart(self) -> None:
        """Start it again where it was: same port, same data folder. Without a data folder it
        comes back empty. Where another program has taken the trace's port meanwhile, that is
        another one; clients need the first port only."""
        self.stop()
        try:
            self._start(_port(self.address), _port(self.trace_url))
        except BrokerError as error:
            if "--trace-port" not in str(error):  # which the message names in each language
                raise
            self._start(_port(self.address), "0")

    def fire(self, role: str, timer: str) -> bool:
        """Let a timer of a role come now instead of when it is due, and wait for all that follows;
        False where it is not set. For tests that must not depend on time. Raises BrokerError where
        the broker has ended."""
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            raise BrokerError("a broker that does not run has no timers")
        self._process.stdin.write(f"fire {role} {timer}\n")
        self._process.stdin.flush()
        reply = self._process.stdout.readline().strip()
        if not reply:
            raise BrokerError("the broker has ended")
        return reply == "fired"

    def __enter__(self) -> RunningBroker:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = self.address if self.running else "stopped"
        return f"<broker {state}>"

    def _start(self, port: str, trace_port: str) -> None:
        """Start `mqlab serve` as a process and read the addresses of broker, trace and gate from
        the first line that it prints. Raises BrokerError with its standard error where that line
        does not come within PATIENCE_S."""
        command = [sys.executable, "-m", "mqlab", "serve", self.name, "--until-input-ends"]
        command += ["--gate", "--port", port, "--trace-port", trace_port]
        command += self._arguments
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            env=_environment(),
            start_new_session=True,  # Ctrl-C in the notebook is not for the broker
        )
        assert self._process.stdout is not None
        # readline has no timeout: killing the process ends it
        alarm = threading.Timer(PATIENCE_S, self._process.kill)
        alarm.start()
        line = self._process.stdout.readline()
        alarm.cancel()
        ready = READY.search(line)
        if ready is None:
            known = len(self.errors)
            self._release_process()
            words = self.errors[known:].strip()
            raise BrokerError("the broker did not start: {}", words or tr("it said nothing"))
        self.address, self.trace_url, self.gate_url = ready.groups("")  # "": it has no gate

    def _release_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if self._stderr is not None:
            self._stderr.seek(0)
            self.errors += self._stderr.read().decode(errors="replace")
            self._stderr.close()
            self._stderr = None


def start_broker(
    name: str,
    arguments: list[str],
    *,
    data_dir: str | Path | None = None,
    fsync: bool = False,
    pace_ms: int = 0,
) -> RunningBroker:
    """Start `mqlab serve NAME` on a free port of this machine and return the running process.
    `arguments` are the options that only this broker has; with `data_dir` a restart keeps the data,
    with `fsync` a power cut does too; `pace_ms`: how long a message between two roles takes. Raises
    BrokerError when it does not start."""
    if data_dir is not None and not str(data_dir).strip():
        raise BrokerError("an empty name is not a folder: name one, or leave out data_dir")
    folder = Path(data_dir).absolute() if data_dir is not None else None
    options = list(arguments)
    options += ["--data-dir", str(folder)] if folder is not None else []
    options += ["--fsync"] if fsync else []
    options += ["--pace", str(pace_ms)] if pace_ms else []
    return RunningBroker(name, options, folder)


def _environment() -> dict[str, str]:
    """The broker imports mqlab from where it was imported here."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in paths if p)}


def _port(address: str) -> str:
    return address.rpartition(":")[2]


def _end(broker: weakref.ref[RunningBroker]) -> None:
    alive = broker()
    if alive is not None:
        alive.stop()
