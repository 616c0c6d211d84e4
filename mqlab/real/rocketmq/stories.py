"""Stories that the Java client tells: a process beside the program, which goes on when the program
says so, since a check comes only with a round.

    with Story(lab, "throws") as app:
        app.tell_until("sent")
        lab.round()
        app.tell(1)
"""

from __future__ import annotations

import queue
import subprocess
import threading
from pathlib import Path
from typing import IO

from ..processes import end_with_parent
from ..program import RealBrokerError
from ..stories import JAVA_FLAGS
from .client import SETTLE_S, Lab
from .jars import JARS

SOURCE = Path(__file__).parent / "java" / "Listener.java"
CLIENT_STORIES = SOURCE.with_name("ClientStories.java")
PATIENCE_S = 150.0


class Story:
    """Lines "who, call, result" become observations of the lab."""

    def __init__(self, lab: Lab, task: str, source: Path = SOURCE) -> None:
        version = lab.target.version
        lab.clients["rocketmq-client"] = version
        self._lab, self._task = lab, f"{source.name} {task}"
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            ["java", *JAVA_FLAGS, "-Drocketmq.client.logUseSlf4j=true",
             "-cp", JARS.class_path(version), str(source),
             lab.target.name_server, lab.prefix, task],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            preexec_fn=end_with_parent,
        )  # fmt: skip
        assert self._process.stdout is not None
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def _read(self, pipe: IO[str]) -> None:
        for line in pipe:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def __enter__(self) -> Story:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def tell_until(self, word: str) -> None:
        """Note what is told until a line that is this word."""
        while (line := self._next()) != word:
            self._note(line)

    def tell(self, count: int) -> None:
        """Note the next `count` observations; then the broker has time to hear what follows."""
        while count:
            count -= self._note(self._next())
        threading.Event().wait(SETTLE_S)

    def _next(self) -> str:
        """Raises RealBrokerError where nothing more is told."""
        try:
            line = self._lines.get(timeout=PATIENCE_S)
        except queue.Empty:
            line = None
        if line is None:
            raise RealBrokerError(f"{self._task} came to no end")
        return line

    def _note(self, line: str) -> bool:
        """Whether it was an observation; all else is the client's own log."""
        parts = line.split("\t")
        if len(parts) != 3:
            return False
        self._lab.note(parts[0], "broker", parts[1], parts[2])
        return True
