"""A program in another language that stands beside this one, and goes on line by line as it is
told."""

from __future__ import annotations

import queue
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO

from mqlab.real.processes import end_with_parent
from mqlab.real.program import RealBrokerError
from mqlab.real.stories import PATIENCE_S


class Beside:
    """A process that goes on beside this one: it is told lines, and tells lines."""

    def __init__(
        self, name: str, command: Sequence[str], complaints: bool = False, folder: str | None = None
    ) -> None:
        """`name`: for a reader of its complaints, which are among its lines where asked for;
        `folder`: where it runs, if not here."""
        self.name = name
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if complaints else subprocess.DEVNULL,
            text=True,
            cwd=folder,
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
