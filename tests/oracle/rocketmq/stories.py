"""Stories that the Java client tells: a process beside the program, which goes on when the program
says so, since a check comes only with a round.

    with Story(lab, "throws") as app:
        app.note_until("sent")
        lab.round()
        app.note_next(1)
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from mqlab.real.rocketmq.jars import JARS
from mqlab.real.stories import JAVA_FLAGS

from ..beside import Beside
from .client import SETTLE_S, Lab

SOURCE = Path(__file__).parent / "java" / "Listener.java"
CLIENT_STORIES = SOURCE.with_name("ClientStories.java")
FIELDS = SOURCE.with_name("Fields.java")


def launch(lab: Lab, source: Path = SOURCE) -> list[str]:
    """The command that runs a source beside the Java client of the broker's release."""
    lab.clients["rocketmq-client"] = version = lab.target.version
    flags = [*JAVA_FLAGS, "-Drocketmq.client.logUseSlf4j=true"]
    return ["java", *flags, "-cp", JARS.class_path(version), str(source)]


class Story:
    """Lines "who, call, result" become observations of the lab. `command`: what tells it, by
    default `Listener.java`."""

    def __init__(self, lab: Lab, task: str, command: Sequence[str] = ()) -> None:
        self._lab = lab
        command = command or launch(lab)
        given = (lab.target.name_server, lab.prefix, task)
        self._app = Beside(f"{Path(command[-1]).name} {task}", [*command, *given])

    def __enter__(self) -> Story:
        return self

    def __exit__(self, *error: object) -> None:
        self._app.close()

    def note_until(self, word: str) -> None:
        """Note what is told until a line that is this word."""
        while (line := self._app.hear()) != word:
            self._note(line)

    def note_next(self, count: int) -> None:
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
