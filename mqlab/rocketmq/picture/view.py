"""What is drawn (`Seen`), and a lesson's: a world, read once: what lies in each queue, and whose.

Pictures and claims look at nothing else of the broker. Reading a world is dear and many ask about
the same one, so the last View is kept. A server keeps notes of its last steps
(`mqlab/serve/rocketmq/trace/model.py`), so it says how much is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ...kernel import Map, World, frozen
from ...kernel.claims import keep_last_world
from ..application.database import REFUSED, TABLE
from ..broker import Broker
from ..broker.delay import GROUP as DELAYED
from ..config import (
    DISCARD_TOPIC,
    DLQ_PREFIX,
    HALF_TOPIC,
    OP_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
)  # fmt: skip
from ..log import COMMIT_LOG, Stored
from ..log.offsets import HALF_KEY, OP_KEY, Offsets, offset_key, read_offsets
from ..log.store import DISCARD_QUEUE, HALF_QUEUE, OP_QUEUE
from ..messages import name_queue, split_queue
from .cluster import Cluster
from .transactions import Book, read_book

Strip = tuple[str, str, Collection[str]]
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

    def list_strips(self) -> list[Strip]:
        """The queues that are drawn."""
        raise NotImplementedError

    def read(self, queue: str) -> list[Stored]:
        """What lies in it."""
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

    def list_strips(self) -> list[Strip]:
        """What is empty in most lessons, the topics of what was given up or sent back, shows when
        it holds something."""
        groups = self.cluster.consumer_groups
        strips: list[Strip] = [(HALF_QUEUE, HALF_TOPIC, ()), (OP_QUEUE, OP_TOPIC, ())]
        strips += [(queue, queue, groups) for queue in self.cluster.config.topics]
        seldom: list[Strip] = [(DISCARD_QUEUE, DISCARD_TOPIC, ())]
        for group in groups:
            retry, dead = list_group_queues(group)
            # One queue each, called by its topic.
            seldom += [(retry, split_queue(retry)[0], (group,)), (dead, split_queue(dead)[0], ())]
        return strips + [strip for strip in seldom if self.read(strip[0])]

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
    """A world, read once."""
    config = cluster.config
    broker: Broker | None = world.role(config.broker)
    disk = world.disk(config.broker)
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
    """What lies in the queues of the delay levels and has not been written on."""
    return [
        stored
        for queue, held in queues.items()
        if split_queue(queue)[0] == SCHEDULE_TOPIC
        for stored in held[offsets.get(offset_key(DELAYED, queue), 0) :]
    ]


def list_group_queues(group: str) -> tuple[str, str]:
    """What a group's consumers have sent back, and what was given up: one queue each."""
    return name_queue(f"{RETRY_PREFIX}{group}", 0), name_queue(f"{DLQ_PREFIX}{group}", 0)
