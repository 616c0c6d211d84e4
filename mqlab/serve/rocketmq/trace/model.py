"""What the live picture knows: the ends of the queues, read off the steps as they go by.

A lesson's world keeps every log. A server cannot look back, so it takes notes, in bounded memory:
the last messages of the half topic, of the op topic and of a few queues, those that were written
to last.
"""

from __future__ import annotations

from collections import deque

from ....rocketmq.check.ops import parse_op
from ....rocketmq.log import Stored

MOST, LEAST = 40, 24  # cells kept of a queue: beyond the one, it is cut to the other
QUEUES = 6  # queues kept besides those of transactions
LABEL = 12  # characters of a label
READABLE = 8 * LABEL  # bytes of a body that are looked at


class Strip:
    """The end of a queue. `changes` counts, so that a picture knows it is old."""

    def __init__(self) -> None:
        self.cells: deque[Stored] = deque()
        self.changes = 0

    def add(self, stored: Stored) -> None:
        self.changes += 1
        self.cells.append(stored)
        if len(self.cells) > MOST:
            # Several at once, so that a picture's cells do not all move at every append.
            while len(self.cells) > LEAST:
                self.cells.popleft()


class Model:
    """`strips`: by queue, that which was written to last at the end."""

    def __init__(self) -> None:
        self.strips: dict[str, Strip] = {}

    def note_message(self, stored: Stored) -> None:
        queue = stored.message.queue
        strip = self.strips.pop(queue) if queue in self.strips else Strip()
        self.strips[queue] = strip
        strip.add(stored)
        others = [name for name, one in self.strips.items() if one.cells[-1].kind == "message"]
        for name in others[:-QUEUES]:
            del self.strips[name]


def label(stored: Stored) -> str:
    """What a cell says: the body where it is a short text, else the key; of an op record the
    halves that it ends."""
    if stored.kind == "op":
        return ",".join(map(str, parse_op(stored)))
    times = f" ({stored.message.check_times})" if stored.message.check_times else ""
    said = _text(stored.message.body)
    return (said if said and len(said) <= LABEL else _short(stored.message.words)) + times


def _text(body: str | bytes) -> str:
    try:
        text = body if isinstance(body, str) else body[:READABLE].decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""


def _short(text: str) -> str:
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"
