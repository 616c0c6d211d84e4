"""What the live picture knows: read off the steps as they go by, in bounded memory.

A lesson's world keeps every log, so its picture is read off the world. A server cannot look back,
so it takes notes: the last messages of the half topic, of the op topic and of a few queues, those
that were written to last, and the latest transactions. Of a message's body only a few characters
are kept. What they mean is worked out by `mqlab/rocketmq/picture`, as in a lesson.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

from ....kernel import Got, replace
from ....rocketmq.check.ops import parse_op
from ....rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from ....rocketmq.log import Stored
from ....rocketmq.messages import KEYS, UNIQ_KEY, Message
from ....rocketmq.picture.transactions import SENT_BACK, Book, is_undecided
from ...trace.parts import LABEL, LEAST, Strip, label, read_text

QUEUES = 6  # queues kept besides those of transactions
TXNS = 64  # transactions kept
READERS = 4  # consumers whose messages are kept
#: topics of the broker's own, and of what a consumer has sent back
NOT_READ = (HALF_TOPIC, OP_TOPIC, DISCARD_TOPIC, *SENT_BACK)


@dataclass
class Notes(Book):
    """The latest transactions. `begun`: how many there ever were, from which they have names."""

    begun: int = 0

    def note(self, stored: Stored) -> None:
        known = len(self.txns)
        super().note(stored)
        self.begun += len(self.txns) > known
        for key in list(islice(self.txns, max(0, len(self.txns) - TXNS))):
            for place in self.txns.pop(key).halves:
                self.places.pop(place, None)
        if len(self.late) > TXNS:
            self.late.clear()

    def name_next(self) -> str:
        return f"T{self.begun + 1}"


class Model:
    """`strips`: by queue, that which was written to last at the end; `readers`: by connection,
    what a consumer has got. `changes` counts records of transactions and answers to readers.
    `undecided`: whether a message without a commit was ever written where consumers read."""

    def __init__(self) -> None:
        self.strips: dict[str, Strip[Stored]] = {}
        self.readers: dict[str, deque[Got]] = {}
        self.book = Notes()
        self.changes = 0
        self.undecided = False

    def note_message(self, stored: Stored) -> None:
        """A record of the commit log, as `simplify` has left it."""
        self.changes += 1
        self.book.note(stored)
        message, queue = stored.message, stored.message.queue
        if not message.topic.startswith(NOT_READ):
            self.undecided = self.undecided or is_undecided(message)
        strip = self.strips.pop(queue) if queue in self.strips else Strip()
        self.strips[queue] = strip
        strip.add(stored)
        others = [name for name, one in self.strips.items() if one.cells[-1].kind == "message"]
        for name in others[:-QUEUES]:
            del self.strips[name]

    def note_given(self, conn: str, messages: tuple[Stored, ...]) -> None:
        self.changes += 1
        got = self.readers.pop(conn) if conn in self.readers else deque[Got](maxlen=LEAST)
        self.readers[conn] = got
        for stored in messages:
            message = stored.message
            got.append(Got(message.queue, message.words, self.book.name(message)))
        for gone in list(islice(self.readers, max(0, len(self.readers) - READERS))):
            del self.readers[gone]

    def forget_reader(self, conn: str) -> None:
        self.changes += self.readers.pop(conn, None) is not None


# ---- a message in a few characters -----------------------------------------------------------


def simplify(stored: Stored) -> Stored:
    return replace(stored, message=simplify_message(stored.message))


def simplify_message(message: Message) -> Message:
    """With a body that can be drawn: its text where that is short, else its key."""
    if message.topic == OP_TOPIC:
        return message
    text = read_text(message.body)
    key = message.get(KEYS) or message.get(UNIQ_KEY) or "message"
    return replace(message, body=text if text and len(text) <= LABEL else label(key))


def label_op(stored: Stored) -> str:
    """The halves that an op record ends, as many as there is room for."""
    return label(",".join(map(str, parse_op(stored))))
