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

from collections.abc import Callable, Collection

from ...kernel import Cell, Frontier, Log
from ..check.ops import parse_op
from ..config import HALF_TOPIC, OP_TOPIC
from ..log import Stored
from ..log.offsets import offset_key
from ..log.store import HALF_QUEUE, OP_QUEUE
from ..messages import Message
from ..states import HalfState
from .transactions import Book, Txn
from .view import Seen

CHECK_CURSOR, OP_CURSOR = "check cursor", "op cursor"


def draw_strip(seen: Seen, queue: str, name: str, groups: Collection[str]) -> Log:
    """`groups`: whose flags stand on it. A consumer may subscribe to the half topic: then its queue
    is drawn a second time, as a consumer sees it."""
    held, book = seen.read(queue), seen.book
    if (queue, name) == (HALF_QUEUE, HALF_TOPIC):
        return draw_halves(held, book, seen.half_offset)
    if (queue, name) == (OP_QUEUE, OP_TOPIC):
        return draw_ops(held, book, seen.op_offset, seen.limits.label)
    places = (Frontier(g, seen.offsets.get(offset_key(g, queue), 0)) for g in groups)
    return draw_queue(name, held, book, tuple(places))


def _draw_log(
    name: str, cells: tuple[Cell, ...], frontiers: tuple[Frontier, ...], ends: str = ""
) -> Log:
    """A long queue is drawn from its last cells on; a flag that stands before them is not."""
    start = cells[0].offset if cells else 0
    return Log(name, cells, tuple(f for f in frontiers if f.at >= start), start, ends)


def draw_halves(halves: list[Stored], book: Book, at: int) -> Log:
    cells = tuple(draw_half(half, book.at_place(half.queue_offset)) for half in halves)
    return _draw_log(HALF_TOPIC, cells, (Frontier(CHECK_CURSOR, at),))


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


def draw_ops(ops: list[Stored], book: Book, at: int, label: Callable[[str], str] = str) -> Log:
    """A record that ends several halves has the colour of the first."""
    cells = []
    for op in ops:
        places = parse_op(op)
        txn = book.at_place(places[0]) if places else None
        name = txn.name if txn is not None else ""
        cells.append(Cell(op.queue_offset, label(",".join(map(str, places))), "control", name))
    return _draw_log(OP_TOPIC, tuple(cells), (Frontier(OP_CURSOR, at),), HALF_TOPIC)


def draw_queue(
    name: str, messages: list[Stored], book: Book, frontiers: tuple[Frontier, ...] = ()
) -> Log:
    """A queue that somebody reads; whatever lies in it can be read."""
    cells = tuple(
        Cell(stored.queue_offset, stored.message.words, txn=book.name(stored.message))
        for stored in messages
    )
    return _draw_log(name, cells, frontiers)
