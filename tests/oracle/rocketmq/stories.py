"""Stories that the Java client tells: a process beside the program, which goes on when the program
says so, since a check comes only with a round.

    with Story(lab, "throws") as app:
        app.note_until("sent")
        lab.round()
        app.note_next(1)
"""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mqlab.real.rocketmq.jars import JARS
from mqlab.real.stories import JAVA_FLAGS
from mqlab.rocketmq.remoting import decode_command

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
    default `Listener.java`; `name_server`: which it asks, by default the lab's."""

    def __init__(
        self, lab: Lab, task: str, command: Sequence[str] = (), name_server: str = ""
    ) -> None:
        self._lab = lab
        command = command or launch(lab)
        given = (name_server or lab.target.name_server, lab.prefix, task)
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


# ---- a way on which answers are lost -------------------------------------------------------------

Change = Callable[[bytes], bytes]


@contextmanager
def lose_answers(lab: Lab) -> Iterator[str]:
    """The address of a name server whose clients hear nothing of their sends: the connection breaks
    when the answer comes, which says that the message is stored."""
    broker, names = lab.target.address, lab.target.name_server
    with (
        _relay(broker, lambda frame: b"" if _says_stored(frame) else frame) as near,
        _relay(names, lambda frame: frame.replace(broker.encode(), near.encode())) as near_names,
    ):
        yield near_names


def _says_stored(frame: bytes) -> bool:
    said = decode_command(frame)
    return said.is_response and "msgId" in said.fields


@contextmanager
def _relay(far: str, change: Change) -> Iterator[str]:
    """An address where `far` answers, as `change` leaves each frame; it breaks where nothing is
    left."""
    host, _, port = far.rpartition(":")

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection((host, int(port))) as there:
                back = threading.Thread(target=_carry, args=(there, self.request, change))
                back.start()
                _carry(self.request, there, bytes)
                back.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _carry(source: socket.socket, sink: socket.socket, change: Change) -> None:
    with suppress(OSError), source.makefile("rb") as frames:
        while size := frames.read(4):
            frame = change(frames.read(int.from_bytes(size)))
            if not frame:
                break
            sink.sendall(len(frame).to_bytes(4) + frame)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
