"""Stories in other languages: a program run as it is (`… ADDRESS PREFIX …`), whose lines become
observations; or one that stands beside, and goes on line by line as it is told. Java's are source
files (`java -cp … Story.java`)."""

from __future__ import annotations

import queue
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from .processes import end_with_parent
from .program import RealBrokerError

PATIENCE_S = 150
HISTORY_S = 600
JAVA_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx192m")


def play(lab: Any, command: Sequence[str], *arguments: str) -> None:
    """Run a story; every line it prints (who, call, result) is noted.

    Raises RealBrokerError where it comes to no end, or to a bad one.
    """
    name = Path(command[-1]).name
    whole = [*command, lab.target.address, lab.prefix, *arguments]
    try:
        done = subprocess.run(
            whole, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RealBrokerError(f"{name} {' '.join(arguments)} did not end") from error
    for line in done.stdout.splitlines():
        parts = line.split("\t")
        if len(parts) == 3:
            lab.note(parts[0], "broker", parts[1], parts[2])
    if done.returncode != 0:
        raise RealBrokerError(f"{name}: {done.stderr.strip()[-600:]}")


def write_history(command: Sequence[str], *arguments: str) -> None:
    """Run a program that writes a history until it is over. Raises RealBrokerError where it comes
    to no end, or to a bad one; what it has written by then stands in its file."""
    try:
        done = subprocess.run(
            [*command, *arguments],
            capture_output=True, text=True, timeout=HISTORY_S, check=False,
            preexec_fn=end_with_parent,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise RealBrokerError(f"the cluster answered no more within {HISTORY_S} s") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if re.search(r"Exception|:", line)]
        why = next((line for line in lines if "Exception" in line), lines[-1] if lines else "")
        raise RealBrokerError(f"the Java client ended early: {why.strip()[:300]}")


class Beside:
    """A process that goes on beside this one: it is told lines, and tells lines."""

    def __init__(self, name: str, command: Sequence[str], complaints: bool = False) -> None:
        """`name`: for a reader of its complaints, which are among its lines where asked for."""
        self.name = name
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if complaints else subprocess.DEVNULL,
            text=True,
            preexec_fn=end_with_parent,
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()

    def _read(self, pipe: IO[str]) -> None:
        for line in pipe:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def close(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()
        self._reader.join()  # what it has printed last is still on its way
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def write_line(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        """The next line. Raises RealBrokerError where nothing more is told."""
        for line in self.hear_rest():
            return line
        raise RealBrokerError(f"{self.name} came to no end")

    def hear_rest(self) -> Iterator[str]:
        """Line by line, until it ends or is silent for long."""
        with suppress(queue.Empty):
            while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
                yield line
