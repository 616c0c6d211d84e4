"""Which transaction is which, and how each stands: read off the records, for pictures and claims.

The broker does not know. It keeps no table of transactions; what became of one follows from what
lies in the half topic, the op topic, the topic of parked messages and the topic that consumers
read. All copies of a message carry one `UNIQ_KEY`: it names the transaction. An op record names
no key, only places in the half topic, so the place leads to the half and the half to its key.

Transactions are numbered in the order in which they come to lie in the commit log, which is one
log for all topics. A message that is still under way gets the next number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...kernel import frozen, replace
from ..check.ops import parse_op
from ..config import DISCARD_TOPIC, DLQ_PREFIX, HALF_TOPIC, OP_TOPIC, RETRY_PREFIX, SCHEDULE_TOPIC
from ..log import Stored
from ..messages import PGROUP, TRAN_MSG, UNIQ_KEY, Message
from ..states import HalfState, TransactionType

#: topics of what a consumer has sent back: that is no more the transaction's business
SENT_BACK = (RETRY_PREFIX, DLQ_PREFIX, SCHEDULE_TOPIC)


@frozen
class Txn:
    """A transaction: `name` "T1" …, the key of all its records, the order that it is about, the
    producer group that can be asked, and who sent it. `halves`: the places of its half and of each
    copy, oldest first; `ended`: those that an op record names. `delivered`: how often its message
    was written to its real topic; `again`: of these, how often from a copy that was made after it
    had been delivered. `parked`: how often it was given up; `times`: how often it was asked about.
    `path`: the states it went through."""

    name: str
    key: str
    order: str
    group: str = ""
    sender: str = ""
    halves: tuple[int, ...] = ()
    ended: tuple[int, ...] = ()
    delivered: int = 0
    again: int = 0
    parked: int = 0
    times: int = 0
    path: tuple[HalfState, ...] = ()

    @property
    def state(self) -> HalfState:
        return self.path[-1]

    @property
    def rolled_back(self) -> bool:
        """Whether an end without a message was recorded at some time."""
        return HalfState.ROLLED_BACK in self.path

    def enter(self, state: HalfState) -> Txn:
        again = self.path and self.state is state
        return self if again else replace(self, path=(*self.path, state))


@dataclass
class Book:
    """The transactions of a commit log. `txns`: by key, in the order of their names; `places`:
    whose half lies at which place of the half topic; `late`: the commit log offsets of copies
    that were made after their message had been delivered."""

    txns: dict[str, Txn] = field(default_factory=dict)
    places: dict[int, str] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)

    def note(self, stored: Stored) -> None:
        """Take the next record of the commit log into account."""
        message = stored.message
        if message.topic == OP_TOPIC:
            self._note_ends(parse_op(stored))
            return
        if not is_transactional(message) or message.topic.startswith(SENT_BACK):
            return
        key = message.get(UNIQ_KEY) or ""
        txn = self.txns.get(key) or self._begin(message)
        if message.topic == HALF_TOPIC:
            new = self._note_half(txn, stored)
        elif message.topic == DISCARD_TOPIC:
            new = replace(txn.enter(HalfState.DISCARDED), parked=txn.parked + 1)
        elif message.transaction_type == TransactionType.COMMIT_TYPE:
            again = txn.again + (message.prepared_offset in self.late)
            new = txn.enter(HalfState.COMMITTED)
            new = replace(new, delivered=txn.delivered + 1, again=again)
        else:  # without a half topic: undecided, and in the topic that consumers read
            new = txn.enter(HalfState.HALF)
        self.txns[key] = new

    def _begin(self, message: Message) -> Txn:
        key, group = message.get(UNIQ_KEY) or "", message.get(PGROUP) or ""
        return Txn(self.name_next(), key, message.words, group, message.born_host)

    def _note_half(self, txn: Txn, half: Stored) -> Txn:
        self.places[half.queue_offset] = txn.key
        if txn.delivered:
            self.late.add(half.base)
        times = half.message.check_times
        new = txn.enter(HalfState.ASKED if times else HalfState.HALF)
        return replace(new, halves=(*txn.halves, half.queue_offset), times=times)

    def _note_ends(self, places: Iterable[int]) -> None:
        for place in places:
            key = self.places.get(place)
            if key is None:
                continue
            txn = self.txns[key]
            decided = txn.state is HalfState.COMMITTED
            ended = txn if decided or place in txn.ended else self._end(txn)
            self.txns[key] = replace(ended, ended=(*txn.ended, place))

    def _end(self, txn: Txn) -> Txn:
        """An op record for a half whose message was not written since: a rollback. A message that
        was written before is a commit whose op record comes late."""
        return txn if txn.delivered else txn.enter(HalfState.ROLLED_BACK)

    def name_next(self) -> str:
        return f"T{len(self.txns) + 1}"

    def find(self, key: str | None) -> Txn | None:
        return self.txns.get(key or "")

    def find_of(self, message: Message) -> Txn | None:
        return self.find(message.get(UNIQ_KEY)) if is_transactional(message) else None

    def at_place(self, place: int) -> Txn | None:
        """Whose half or copy lies at this place of the half topic."""
        return self.find(self.places.get(place))

    def name(self, message: Message) -> str:
        """The transaction that a message belongs to, on its way or stored; "" for none."""
        if not is_transactional(message):
            return ""
        txn = self.find_of(message)
        return txn.name if txn is not None else self.name_next()

    def name_order(self, order: str) -> str:
        """The latest transaction about this order; "" where there is none."""
        names = [txn.name for txn in self.txns.values() if txn.order == order]
        return names[-1] if names else ""


def is_transactional(message: Message) -> bool:
    return message.get(TRAN_MSG) == "true"


def is_undecided(message: Message) -> bool:
    """Of a message where consumers read: whether it lies there without a commit."""
    return is_transactional(message) and message.transaction_type != TransactionType.COMMIT_TYPE


def read_book(records: Iterable[Stored]) -> Book:
    book = Book()
    for stored in records:
        book.note(stored)
    return book
