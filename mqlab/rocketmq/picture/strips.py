"""Queues as strips of cells: the half topic, the op topic, what consumers read, what is parked.

    half topic      a cell for each half and each copy of it; hatched while its transaction is open
    op topic        a diamond for each op record, with the places in the half topic that it names
    a real queue    what consumers may read: committed messages, and ordinary ones
    discard topic   halves that were given up
    retry, DLQ      what consumers could not process

Two flags move in a round of the check: the place from which it reads halves, and the place from
which it reads op records. On a real queue each consumer group has its flag.
"""

from __future__ import annotations

from ...kernel import Cell, Frontier, Log
from ..check.ops import parse_op
from ..config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from ..log import Stored
from ..log.offsets import offset_key
from ..log.store import DISCARD_QUEUE, HALF_QUEUE, OP_QUEUE
from ..messages import Message, split_queue
from ..states import HalfState
from .transactions import Book, Txn
from .view import View, list_group_queues

CHECK_CURSOR, OP_CURSOR = "check cursor", "op cursor"


def draw_strips(seen: View) -> tuple[Log, ...]:
    """What is empty in most lessons, the topics of what was given up or sent back, shows when it
    holds something."""
    cluster, book = seen.cluster, seen.book
    logs = [
        draw_halves(seen.read(HALF_QUEUE), book, seen.half_offset),
        draw_ops(seen.read(OP_QUEUE), book, seen.op_offset),
    ]
    for queue in cluster.config.topics:
        logs.append(draw_queue(queue, seen.read(queue), book, _place(seen, queue)))
    if parked := seen.read(DISCARD_QUEUE):
        logs.append(draw_queue(DISCARD_TOPIC, parked, book))
    for group in cluster.consumer_groups:
        retry, dead = list_group_queues(group)
        for queue, places in ((retry, _place(seen, retry, group)), (dead, ())):
            if held := seen.read(queue):  # one queue, called by its topic
                logs.append(draw_queue(split_queue(queue)[0], held, book, places))
    return tuple(logs)


def _place(seen: View, queue: str, *groups: str) -> tuple[Frontier, ...]:
    """Where each consumer group, or only this one, reads on."""
    return tuple(
        Frontier(group, seen.offsets.get(offset_key(group, queue), 0))
        for group in groups or seen.cluster.consumer_groups
    )


def draw_halves(halves: list[Stored], book: Book, at: int) -> Log:
    cells = tuple(draw_half(half, book.at_place(half.queue_offset)) for half in halves)
    return Log(HALF_TOPIC, cells, (Frontier(CHECK_CURSOR, at),))


def draw_half(half: Stored, txn: Txn | None) -> Cell:
    """A half or a copy of one. Struck through: it came to nothing."""
    state = txn.state if txn is not None else HalfState.HALF
    return Cell(
        offset=half.queue_offset,
        label=label_copy(half.message),
        kind="copy" if half.message.check_times else "data",
        txn=txn.name if txn is not None else "",
        readable=state is HalfState.COMMITTED,
        aborted=state in (HalfState.ROLLED_BACK, HalfState.DISCARDED),
    )


def label_copy(message: Message) -> str:
    """Its order, and which copy it is: "A" the half itself, "A (2)" as the second check put it."""
    times = message.check_times
    return f"{message.words} ({times})" if times else message.words


def draw_ops(ops: list[Stored], book: Book, at: int) -> Log:
    """A record that ends several halves has the colour of the first."""
    cells = []
    for op in ops:
        places = parse_op(op)
        txn = book.at_place(places[0]) if places else None
        label = ",".join(map(str, places))
        name = txn.name if txn is not None else ""
        cells.append(Cell(op.queue_offset, label, "control", name))
    return Log(OP_TOPIC, tuple(cells), (Frontier(OP_CURSOR, at),), ends=HALF_TOPIC)


def draw_queue(
    name: str, messages: list[Stored], book: Book, frontiers: tuple[Frontier, ...] = ()
) -> Log:
    """A queue that somebody reads; whatever lies in it can be read."""
    cells = tuple(
        Cell(stored.queue_offset, stored.message.words, txn=book.name(stored.message))
        for stored in messages
    )
    return Log(name, cells, frontiers)
