"""Stories that the Java client tells: a process beside the program, which goes on when the program
says so, since a check comes only with a round.

    with Story(lab, "throws") as app:
        app.tell_until("sent")
        lab.round()
        app.tell(1)
"""

from __future__ import annotations

import threading
from pathlib import Path

from ..stories import JAVA_FLAGS, Beside
from .client import SETTLE_S, Lab
from .jars import JARS

SOURCE = Path(__file__).parent / "java" / "Listener.java"
CLIENT_STORIES = SOURCE.with_name("ClientStories.java")


class Story:
    """Lines "who, call, result" become observations of the lab."""

    def __init__(self, lab: Lab, task: str, source: Path = SOURCE) -> None:
        version = lab.target.version
        lab.clients["rocketmq-client"] = version
        self._lab = lab
        self._app = Beside(
            f"{source.name} {task}",
            ["java", *JAVA_FLAGS, "-Drocketmq.client.logUseSlf4j=true",
             "-cp", JARS.class_path(version), str(source),
             lab.target.name_server, lab.prefix, task],
        )  # fmt: skip

    def __enter__(self) -> Story:
        return self

    def __exit__(self, *error: object) -> None:
        self._app.close()

    def tell_until(self, word: str) -> None:
        """Note what is told until a line that is this word."""
        while (line := self._app.hear()) != word:
            self._note(line)

    def tell(self, count: int) -> None:
        """Note the next `count` observations; then the broker has time to hear what follows."""
        while count:
            count -= self._note(self._app.hear())
        threading.Event().wait(SETTLE_S)

    def _note(self, line: str) -> bool:
        """Whether it was an observation; all else is the client's own log."""
        parts = line.split("\t")
        if len(parts) != 3:
            return False
        self._lab.note(parts[0], "broker", parts[1], parts[2])
        return True
