"""Accounting: it fetches an order, counts it in its books, and says how far it has come.

Two things must become durable for each order: the amount in the books, and the position, so that
accounting knows after a crash where to go on. As long as these are **two writes** there is a moment
between them, and a process that is killed in this moment has done one without the other:

    commit, then count    the order is passed over and never counted: at most once
    count, then commit    it is fetched and counted a second time: at least once

No order of two writes helps. What helps is **one write**: amount and position in one entry of the
books (`one_write`). After a crash accounting asks its own books where to go on, and not the queue.
A database does this with one transaction over two tables (for a Kafka consumer: "storing offsets
outside Kafka", `KafkaConsumer`); Kafka's transactions do it with income and offsets in one
transaction (lab 08).

For a lesson the pieces of this may be put into any order (`order.consume=` in a system line):

    count     write the amount into the books
    commit    tell the queue the position, and wait until it has written it
    note      write the position beside the books, as a write of its own
    both      write amount and position in one write
    begin     open a transaction of the database in which the books are
    end       commit this transaction: what `count` and `note` have written since `begin` becomes
              durable in one write

A transaction without its end writes nothing, and a crash forgets it. An accounting with a
position of
its own (`note` or `both`) starts from that one; any other starts from the queue's.

Left out: several orders at a time, and a consumer group that moves the work to another process.
"""

from __future__ import annotations

from ...kernel import (
    Append,
    Call,
    ConnectionLost,
    Disk,
    Effect,
    Effects,
    Event,
    Put,
    Quiet,
    Response,
    Return,
    Send,
    build_success,
    frozen,
    replace,
)
from .config import BEFORE, DeliveryConfig
from .messages import (
    FROM_COMMITTED,
    QUEUE,
    Booking,
    Commit,
    CommitResponse,
    Fetch,
    FetchResponse,
    Seek,
)

BOOKS = "books"
NOTES = "notes"
STEP = "consume"
PIECES = ("count", "commit", "note", "both", "begin", "end")
OWN = ("note", "both")
COUNT, SKIP = "count", "skip"


def choose_pieces(config: DeliveryConfig) -> tuple[str, ...]:
    """What accounting does with each order, in this order."""
    for step, pieces in config.order:
        if step == STEP:
            return pieces
    if "one_write" in config.on:
        return ("both",)
    return ("commit", "count") if config.commit == BEFORE else ("count", "commit")


def keeps_own_position(config: DeliveryConfig) -> bool:
    """Whether accounting knows by itself how far it has come."""
    return any(piece in OWN for piece in choose_pieces(config))


def own_position(disk: Disk) -> int:
    """How far the queue was read, by what accounting itself has written down."""
    booked = [entry.position or 0 for entry in disk.log(BOOKS).read(0)]
    noted: int = disk.table(NOTES).get(QUEUE, 0)
    return max([noted, *booked])


@frozen
class Accounting(Quiet):
    """`offset`: what it asks for next. `position`: how far its books say that the queue was read.
    `held`: the order at hand, with the pieces `todo`, and whether it is to be `counted`.
    `begun`: the
    pieces written in the open transaction of its database; None where none is open.
    `seeks`: how many there were, which tells the answers after one from those before it."""

    config: DeliveryConfig
    offset: int = FROM_COMMITTED
    position: int = 0
    held: FetchResponse | None = None
    todo: tuple[str, ...] = ()
    counted: bool = False
    begun: tuple[str, ...] | None = None
    seeks: int = 0

    @staticmethod
    def recover(config: DeliveryConfig, disk: Disk, at_ms: int) -> tuple[Accounting, Effects]:
        position = own_position(disk)
        start = position if keeps_own_position(config) else FROM_COMMITTED
        return Accounting(config, start, position), (Send(QUEUE, Fetch(start)),)

    def step(self, event: Event, disk: Disk) -> tuple[Accounting, Effects]:
        match event:
            case Response(corr=corr) if corr != self.seeks:
                return self, ()  # asked for before the seek
            case Response(body=FetchResponse() as given):
                todo, counted = choose_pieces(self.config), self.decide(given, disk) == COUNT
                return replace(self, held=given, todo=todo, counted=counted)._proceed(disk)
            case Response(body=CommitResponse()):
                return self._proceed(disk)
            case ConnectionLost():
                return self, (self._ask(),)
            case Call(body=Seek(offset) as call):
                moved = replace(self._let_go(offset), seeks=self.seeks + 1)
                return moved, (moved._ask(), Return(build_success(call)))
        return self, ()

    def _ask(self) -> Effect:
        """What it waits for: that its commit is written, or the next order."""
        body = Fetch(self.offset) if self.held is None else Commit(self.held.offset + 1)
        return Send(QUEUE, body, self.seeks)

    def _proceed(self, disk: Disk) -> tuple[Accounting, Effects]:
        """The pieces that are left, up to the next one that has to wait."""
        assert self.held is not None
        now, after, end = self, self.held.offset + 1, disk.log(BOOKS).end
        effects: list[Effect] = []
        for done, piece in enumerate(self.todo, 1):
            if piece == "commit":
                waiting = replace(now, todo=self.todo[done:])
                return waiting, (*effects, waiting._ask())
            now, written = now._collect(piece)
            made = now._write(written, end)
            effects += made
            end += sum(isinstance(effect, Append) for effect in made)
            if set(written) & set(OWN):
                now = replace(now, position=max(now.position, after))
        going_on = now._let_go(after)
        return going_on, (*effects, going_on._ask())

    def _collect(self, piece: str) -> tuple[Accounting, tuple[str, ...]]:
        """What is written together now: a piece alone, or at its end a whole transaction."""
        if piece == "begin":
            return replace(self, begun=()), ()
        if piece == "end":
            return replace(self, begun=None), self.begun or ()
        if self.begun is None:
            return self, (piece,)
        return replace(self, begun=(*self.begun, piece)), ()

    def _write(self, pieces: tuple[str, ...], end: int) -> list[Effect]:
        """One write of these pieces, the next entry of the books being number `end`."""
        assert self.held is not None
        after = self.held.offset + 1
        if self.counted and ("count" in pieces or "both" in pieces):
            position = after if set(pieces) & set(OWN) else None
            return [Append(BOOKS, Booking(self.held.order, end, position), notify=False)]
        return [Put(NOTES, QUEUE, after)] if "note" in pieces else []

    def _let_go(self, offset: int) -> Accounting:
        """With nothing in its hands, and this offset next."""
        return replace(self, offset=offset, held=None, todo=(), counted=False, begun=None)

    def decide(self, given: FetchResponse, disk: Disk) -> str:
        """Whether an order is counted. What lies below its own position has been."""
        return COUNT if given.offset >= self.position else SKIP
