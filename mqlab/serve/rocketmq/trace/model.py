"""What the live picture knows: read off the steps as they go by, in bounded memory.

A lesson's world keeps every log, so its picture is read off the world. A server cannot look back,
so it takes notes: the last messages of the half topic, of the op topic and of a few queues, those
that were written to last, and the latest transactions. Of a message's body only a few characters
are kept. They are `Seen` to `mqlab/rocketmq/picture`, which draws them and says what they mean, as
in a lesson.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ....kernel import Got, Lane, Map, Reader, frozen, replace
from ....kernel.trace import plain_of
from ....rocketmq.broker import Broker
from ....rocketmq.broker.timer import read_progress
from ....rocketmq.claims import CLEAN_READ, NO_HALF_MESSAGE_LOST, SERVED
from ....rocketmq.claims import is_forgotten as is_lost
from ....rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from ....rocketmq.log import DISCARD_QUEUE, HALF_QUEUE, OP_QUEUE, Offsets, Stored
from ....rocketmq.messages import KEYS, UNIQ_KEY, Message
from ....rocketmq.picture import words
from ....rocketmq.picture.snapshot import draw_seen
from ....rocketmq.picture.view import SENT_BACK, Book, Limits, Seen, is_undecided
from ...trace.teller import LABEL, LEAST, Lanes, Lights, LogTail, Parts, Same, cut, label, read_text

BROKER = 1  # the kind of its lane, the one after the clients
QUEUES = 6  # queues kept besides those of transactions
TXNS = 64  # transactions kept
READERS = 4  # consumers whose messages are kept
#: topics of the broker's own, and of what a consumer has sent back
NOT_READ = (HALF_TOPIC, OP_TOPIC, DISCARD_TOPIC, *SENT_BACK)
#: one queue each, called by its topic
CALLED = {HALF_QUEUE: HALF_TOPIC, OP_QUEUE: OP_TOPIC, DISCARD_QUEUE: DISCARD_TOPIC}


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


@frozen
class Progress:
    """What the broker says of the check: see `mqlab.rocketmq.claims`."""

    half_offset: int = 0
    ops: tuple[int, ...] = ()


class Model(Seen):
    """`tails`: by queue, that which was written to last at the end; `readers`: by connection,
    what a consumer has got; `broker`: the engine's role after the step that was taken last;
    `lanes`: who is drawn. `changes` counts records of transactions and answers to readers."""

    limits = Limits(rows=10, cut=cut, label=label)

    def __init__(self) -> None:
        self.lanes = Lanes((1,), lambda name: BROKER, self._head_lane)
        self.tails: dict[str, LogTail[Stored]] = {}
        self.readers: dict[str, deque[Got]] = {}
        self.broker: Broker | None = None
        self.book: Notes = Notes()
        self.changes = 0
        self.lights = Lights(SERVED)
        self._part = Parts(self._version).draw
        self._last = Progress()

    def note_message(self, stored: Stored) -> None:
        """A record of the commit log, as `simplify` has left it."""
        self.changes += 1
        self.book.note(stored)
        message, queue = stored.message, stored.message.queue
        if not message.topic.startswith(NOT_READ):
            self.lights.judge(CLEAN_READ, not is_undecided(message))
        tail = self.tails.pop(queue) if queue in self.tails else LogTail()
        self.tails[queue] = tail
        tail.add(stored)
        others = [name for name, one in self.tails.items() if one.cells[-1].kind == "message"]
        for name in others[:-QUEUES]:
            del self.tails[name]

    def note_step(self, broker: Broker) -> None:
        """A step is over. In the midst of a check round the check's place may be past a half
        message whose copy is not written yet. It can be lost only where the check goes on, or where
        ends that waited to be recorded wait no more: at other steps there is nothing to look at.
        Transactions that have left the notes are judged no more."""
        old, new = self._last, Progress(read_progress(broker.offsets)[0], broker.ops)
        self._last = new
        if new.half_offset != old.half_offset or len(new.ops) < len(old.ops):
            lost = any(is_lost(new, txn) for txn in self.book.txns.values())
            self.lights.judge(NO_HALF_MESSAGE_LOST, not lost)

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

    # -- what is drawn ---------------------------------------------------------------------------

    def draw(self) -> Any:
        """The Snapshot as it is now, as plain JSON values. A lesson's lights compare rows with
        messages, and its readers are what consumers have applied. A server sees neither: its lights
        are the claims about the broker alone, its readers what connections were sent."""
        most = self.broker.config.check_max if self.broker is not None else 0
        draws = self.lanes.draw, self._draw_readers, self.lights.draw
        return plain_of(draw_seen(self, *draws, most, self._part))

    def _head_lane(self, kind: int, name: str) -> Lane:
        return Lane(name, words.BROKER(), words.MASTER())

    def _draw_readers(self) -> tuple[Reader, ...]:
        find = self.lanes.find
        return tuple(Reader(find(conn), tuple(got)) for conn, got in self.readers.items())

    def _version(self, what: str, of: str) -> Hashable:
        """Of a part of the Snapshot. A transaction's end changes cells that are there already."""
        match what:
            case "lanes":
                return self.lanes.changes
            case "log":
                changes = self.changes if of == HALF_QUEUE else self.tails[of].changes
                return changes, self.half_offset, self.op_offset
            case "group":
                return Same(self.broker and self.broker.producers)
            case "lights":
                return len(self.lights.red)
        return self.changes, self.ops

    @property
    def offsets(self) -> Offsets:  # type: ignore[override]
        return self.broker.offsets if self.broker is not None else Map()

    def list_queues(self) -> list[tuple[str, str, tuple[str, ...]]]:  # type: ignore[override]
        """The half topic first, then the op topic, then the others by name. Where groups read on
        is not drawn: there may be many."""
        names = sorted(self.tails, key=lambda n: (n != HALF_QUEUE, n != OP_QUEUE, n))
        return [(n, CALLED.get(n) or cut(n), ()) for n in names]

    def read(self, queue: str) -> list[Stored]:
        return list(self.tails[queue].cells)


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
