"""What is drawn (`Seen`), and a lesson's: a world, read once: what is in each queue, and whose.

Pictures and claims look at nothing else of the broker. Reading a world is dear and many ask about
the same one, so the last View is kept. A server keeps notes of its last steps
(`mqlab/serve/rocketmq/trace/model.py`), so it says how much is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from ...kernel import Map, World, frozen, replace
from ...kernel.claims import keep_last_world
from ..application import REFUSED, TABLE
from ..broker import Broker
from ..broker.timer import GROUP as DELAYED
from ..check import parse_op
from ..config import (
    DISCARD_TOPIC,
    DLQ_PREFIX,
    HALF_TOPIC,
    OP_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    RocketMQConfig,
)
from ..log import (
    COMMIT_LOG,
    DISCARD_QUEUE,
    HALF_KEY,
    HALF_QUEUE,
    OP_KEY,
    OP_QUEUE,
    Offsets,
    Stored,
    offset_key,
    read_offsets,
)
from ..messages import PGROUP, TRAN_MSG, UNIQ_KEY, Message, name_queue, split_queue
from ..states import HalfState, TransactionType

# A RocketMQ cluster as a picture needs it: the names, in the order in which they are drawn


@frozen
class Cluster:
    """`producers`: (node, producer group); `consumers`: (node, consumer group). The queues that
    consumers may read are the config's `topics`, as "orders-0". `slave`: there is one."""

    config: RocketMQConfig
    producers: tuple[tuple[str, str], ...]
    consumers: tuple[tuple[str, str], ...] = ()
    slave: bool = False

    @property
    def consumer_groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(group for _, group in self.consumers))


# ---- Which transaction is which, and the state of each: read off the records ---------
#
# The broker does not know. It keeps no table of transactions; what became of one follows from what
# is in the half topic, the op topic, the topic of messages set aside and the topic that consumers
# read. All copies of a message carry one `UNIQ_KEY`: it names the transaction. An op record names
# no key, only places in the half topic, so the place leads to the half and the half to its key.
#
# Transactions are numbered in the order in which they are written to the commit log, which is one
# log for all topics. A message that is still in flight gets the next number.

#: topics of what a consumer has sent back: that is no more the transaction's business
SENT_BACK = (RETRY_PREFIX, DLQ_PREFIX, SCHEDULE_TOPIC)


@frozen
class Txn:
    """A transaction: `name` "T1" …, the key of all its records, the order that it is about, the
    producer group that can be asked, and who sent it. `halves`: the places of its half message and
    of each copy, oldest first; `ended`: those that an op record names. `delivered`: how often its
    message was written to its real topic; `again`: of these, how often from a copy that was made
    after it had been delivered. `parked`: how often it was given up; `times`: how often it was
    asked about. `path`: the states it went through."""

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
    whose half message is at which place of the half topic; `late`: the commit log offsets of copies
    that were made after their message had been delivered."""

    txns: dict[str, Txn] = field(default_factory=dict)
    places: dict[int, str] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)

    def note(self, stored: Stored) -> None:
        """Take the next record of the commit log into account: a half message begins a transaction,
        an op message, a committed or a discarded message changes its state. Records of other
        messages are ignored."""
        message = stored.message
        if message.topic == OP_TOPIC:
            self._note_ends(parse_op(stored))
            return
        # SENT_BACK: copies of messages that a consumer could not process
        if not is_transactional(message) or message.topic.startswith(SENT_BACK):
            return
        key = message.get(UNIQ_KEY) or ""
        txn = self.txns.get(key) or self._begin(message)
        if message.topic == HALF_TOPIC:
            changed = self._note_half(txn, stored)
        elif message.topic == DISCARD_TOPIC:
            changed = replace(txn.enter(HalfState.DISCARDED), parked=txn.parked + 1)
        elif message.transaction_type == TransactionType.COMMIT_TYPE:
            # late: the copies of half messages that were made after the message had been delivered
            repeated_ends = txn.again + (message.prepared_offset in self.late)
            changed = txn.enter(HalfState.COMMITTED)
            changed = replace(changed, delivered=txn.delivered + 1, again=repeated_ends)
        else:  # without a half topic: undecided, and in the topic that consumers read
            changed = txn.enter(HalfState.HALF)
        self.txns[key] = changed

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
        """An op record for a half message whose message was not written since: a rollback. A
        message that was written before is a commit whose op record comes late."""
        return txn if txn.delivered else txn.enter(HalfState.ROLLED_BACK)

    def name_next(self) -> str:
        return f"T{len(self.txns) + 1}"

    def find(self, key: str | None) -> Txn | None:
        return self.txns.get(key or "")

    def find_of(self, message: Message) -> Txn | None:
        return self.find(message.get(UNIQ_KEY)) if is_transactional(message) else None

    def at_place(self, place: int) -> Txn | None:
        """Whose half message or copy is at this place of the half topic."""
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
    """Of a message where consumers read: whether it is there without a commit."""
    return is_transactional(message) and message.transaction_type != TransactionType.COMMIT_TYPE


def read_book(records: Iterable[Stored]) -> Book:
    book = Book()
    for stored in records:
        book.note(stored)
    return book


DrawnQueue = tuple[str, str, Collection[str]]
"""A queue, what it is called, and the consumer groups that read on there."""


@frozen
class Limits:
    """How much is drawn. `rows`: the first ones of a table; None: all. `cut` makes a name short
    that a stranger chose, and shows what is unseen in it; `label` what has a cell's room."""

    rows: int | None = None
    cut: Callable[[str], str] = str
    label: Callable[[str], str] = str


class Seen:
    """What a picture draws, as far as all have it in common. `book`: transactions; `offsets`: how
    far each group has come, as the broker knows it."""

    __slots__ = ()
    limits = Limits()
    broker: Broker | None
    book: Book
    offsets: Offsets

    @property
    def half_offset(self) -> int:
        """Where the next round of the check begins."""
        at: int = self.offsets.get(HALF_KEY, 0)
        return at

    @property
    def op_offset(self) -> int:
        at: int = self.offsets.get(OP_KEY, 0)
        return at

    @property
    def ops(self) -> tuple[int, ...]:
        return self.broker.ops if self.broker is not None else ()

    def list_queues(self) -> list[DrawnQueue]:
        """The queues that are drawn."""
        raise NotImplementedError

    def read(self, queue: str) -> list[Stored]:
        """What is in it."""
        raise NotImplementedError


@frozen
class View(Seen):
    """`book`: every transaction; `queues`: what each queue holds, or will once an entry that a stop
    has cut off is written; `offsets`: while the broker is down, as it will know them. `rows`: the
    database of the producers. `delayed`: what waits for its time."""

    cluster: Cluster
    world: World
    broker: Broker | None
    book: Book
    queues: dict[str, list[Stored]]
    offsets: Offsets
    rows: Map[str, str]
    delayed: list[Stored]

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders that have a row; a row that says that there will be none is no order."""
        return tuple(order for order, value in self.rows.items() if value != REFUSED)

    def list_queues(self) -> list[DrawnQueue]:
        """What is empty in most lessons, the topics of what was given up or sent back, shows when
        it holds something."""
        groups = self.cluster.consumer_groups
        queues: list[DrawnQueue] = [(HALF_QUEUE, HALF_TOPIC, ()), (OP_QUEUE, OP_TOPIC, ())]
        queues += [(queue, queue, groups) for queue in self.cluster.config.topics]
        seldom: list[DrawnQueue] = [(DISCARD_QUEUE, DISCARD_TOPIC, ())]
        for group in groups:
            retry, dead = list_group_queues(group)
            # One queue each, called by its topic.
            seldom += [(retry, split_queue(retry)[0], (group,)), (dead, split_queue(dead)[0], ())]
        return queues + [queue for queue in seldom if self.read(queue[0])]

    def list_passed(self, group: str) -> list[Stored]:
        """What a consumer group has got and reported as dealt with."""
        retry, _ = list_group_queues(group)
        return [
            stored
            for queue in (*self.cluster.config.topics, retry)
            for stored in self.read(queue)[: self.offsets.get(offset_key(group, queue), 0)]
        ]

    def read(self, queue: str) -> list[Stored]:
        return self.queues.get(queue, [])


@keep_last_world
def read_world(cluster: Cluster, world: World) -> View:
    """Read the state of a cluster out of a world, for pictures and claims: the messages of each
    queue, the transactions they belong to, consumer offsets, and the rows of the database."""
    config = cluster.config
    broker: Broker | None = world.role(config.broker)
    disk = world.disk(config.broker)
    # while the broker is down: those that it has written last
    offsets = broker.offsets if broker is not None else read_offsets(disk)
    records = list(disk.log(COMMIT_LOG).read(0))
    queues: dict[str, list[Stored]] = {}
    for stored in records:
        queues.setdefault(stored.message.queue, []).append(stored)
    return View(
        cluster=cluster,
        world=world,
        broker=broker,
        book=read_book(records),
        queues=queues,
        offsets=offsets,
        delayed=_list_delayed(queues, offsets),
        rows=world.disk(config.database).table(TABLE),
    )


def _list_delayed(queues: dict[str, list[Stored]], offsets: Offsets) -> list[Stored]:
    """What is in the queues of the delay levels and has not been written on."""
    return [
        stored
        for queue, held in queues.items()
        if split_queue(queue)[0] == SCHEDULE_TOPIC
        for stored in held[offsets.get(offset_key(DELAYED, queue), 0) :]
    ]


def list_group_queues(group: str) -> tuple[str, str]:
    """What a group's consumers have sent back, and what was given up: one queue each."""
    return name_queue(f"{RETRY_PREFIX}{group}", 0), name_queue(f"{DLQ_PREFIX}{group}", 0)
