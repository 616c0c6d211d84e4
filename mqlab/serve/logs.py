"""What the server says of its clients: one line for each refusal and each abrupt end.

A client that is refused has done nothing wrong that its own log would explain: a fenced producer,
a topic that is not there, bytes that are no request. What is a refusal, the protocol says
(`Frames.refusals`). The same refusal is said once a connection, and a storm of lines is cut
short, so that nobody can fill a disk by being refused.
"""

from __future__ import annotations

import logging
import time

from ..kernel import escape_unseen, shorten

log = logging.getLogger("mqlab.serve")

FORMAT = "%(asctime)s %(levelname)s %(message)s"
LINES, WINDOW_S = 50, 10.0  # at most this number of lines per window of seconds
NAME = 60  # characters of a client's name that are said


class Calm(logging.Filter):
    """Lets `LINES` lines through in `WINDOW_S` seconds, then says how many it left out. Of what
    `--verbose` asks for nothing is left out."""

    def __init__(self) -> None:
        super().__init__()
        self._since = 0.0
        self._passed = self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno <= logging.DEBUG:
            return True
        now = time.monotonic()
        if now - self._since > WINDOW_S:
            if self._left_out:
                record.msg = f"({self._left_out} lines were left out) {record.msg}"
            self._since, self._passed, self._left_out = now, 0, 0
        self._passed += 1
        if self._passed <= LINES:
            return True
        self._left_out += 1
        return False


def set_up(verbose: bool) -> None:
    """Lines go to standard error; `verbose`: each request too."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(FORMAT))
    handler.addFilter(Calm())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    log.setLevel(logging.DEBUG if verbose else logging.INFO)


def name_of(client: str) -> str:
    """A client's own name, which may be anything, in one short line."""
    return escape_unseen(shorten(client, NAME)) or "a client without a name"
