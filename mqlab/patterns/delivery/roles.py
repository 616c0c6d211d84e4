"""What shop, queue and accounting say and write down, and what each of them does.

Read them in this order: the shop, the queue, accounting.
"""

from __future__ import annotations

from ...kernel import (
    UNKNOWN,
    Append,
    Appended,
    Call,
    Caller,
    CancelTimer,
    Config,
    ConnectionLost,
    Disk,
    Effect,
    Effects,
    Event,
    Fired,
    Map,
    Outcome,
    Put,
    Quiet,
    Reply,
    Request,
    Response,
    Return,
    Send,
    SetTimer,
    Single,
    Text,
    Words,
    build_success,
    frozen,
    phrase,
    replace,
    worded,
)

# ---- messages -------------------------------------------------------------------------

SHOP, QUEUE, ACCOUNTING = "shop", "queue", "accounting"
FROM_COMMITTED = -1  # "where I said that I had come to"


@worded("{number}")
class Order:
    """`number` is the shop's own and never given twice, so it says of two messages whether they
    are one order. The amount does not: two customers may pay the same."""

    number: str
    pence: int


# ---- the application's calls -------------------------------------------------------------


@worded("send {order.number}:{order.pence}")
class SendOrder:
    """The shop sends an order: `send 580538:31678`, number and pence."""

    order: Order


@worded("seek {offset}")
class Seek:
    """Accounting goes to another place in the queue: `seek 0`."""

    offset: int


# ---- shop and queue ----------------------------------------------------------------------


@worded("Publish {order}")
class Publish:
    order: Order


@worded("ack {number}")
class PublishResponse:
    """The acknowledgement (ack): this order is in the queue."""

    number: str


@worded("still to write: {order}")
class Write:
    """The queue's note to itself, where it acknowledges first: this is still to be written."""

    order: Order


# ---- queue and accounting ----------------------------------------------------------------


@frozen
class Fetch:
    """The order at this offset, as soon as there is one."""

    offset: int = FROM_COMMITTED

    def __str__(self) -> str:
        return "Fetch" if self.offset == FROM_COMMITTED else f"Fetch @{self.offset}"


@frozen
class FetchResponse:
    """`again`: the queue remembers that it has handed out this offset before. It cannot know
    what became of it."""

    offset: int
    order: Order
    again: bool = False

    def __str__(self) -> str:
        said = f"{self.order} @{self.offset}"
        return phrase("{}, again", said) if self.again else said


@worded("Commit {position}")
class Commit:
    """Accounting needs nothing below `position` any more."""

    position: int


@worded("ok {position}")
class CommitResponse:
    position: int


# ---- what is written down ----------------------------------------------------------------


@worded("{order} @{base}")
class Message(Single):
    """An entry of the queue's log `orders`."""

    order: Order
    base: int


@frozen
class Booking(Single):
    """An entry of accounting's log `books`. `position`: how far the queue was read, where that
    is written together with the amount; None where it is not."""

    order: Order
    base: int
    position: int | None = None

    def __str__(self) -> str:
        if self.position is None:
            return str(self.order)
        return phrase("{} (read up to {})", self.order, self.position)


AFTER, BEFORE = "after", "before"


@frozen
class DeliveryConfig(Config):
    """`patience_ms`: how long the shop waits for an acknowledgement. `commit`: whether accounting
    commits its position after or before it has counted an order, where these are two writes.
    `order` may say more: what accounting does with an order, piece by piece (see `Accounting`)."""

    patience_ms: int = 100
    commit: str = AFTER


# ---- the shop -------------------------------------------------------------------------

RETRY = "retry"
GIVEN_UP = Words("nobody will send {numbers} again")


@frozen
class Shop:
    """The shop: it sends an order, and gets an answer that the queue has it. Or it gets none.

    Silence has four causes which look the same from here: the order was lost on its way, the queue
    died, the acknowledgement was lost on its way back, or something takes longer than the shop's
    patience. In the first case the queue does not have the order, in the third it does, and no
    message can let the shop know which: that answer may be lost too. (It is the problem of the two
    generals: Gray, "Notes on Data Base Operating Systems", 1978.)

    So there are two things to do about silence, and both are wrong sometimes:

    - send once and forget (`send_again` off): an order that was lost stays lost, *at most once*;
    - send again until it is acknowledged: an order of which only the acknowledgement was lost is in
      the queue twice, *at least once*.

    Nothing is durable here: the orders are in the shop's own books, and a shop that is started
    again goes through them from the first one. An order's number is the shop's own, so an order
    that is sent again after a restart is still the same order.

    Left out: several orders in flight, giving up after so many attempts, and waiting longer each
    time. In Kafka it is `KafkaProducer` with `retries=0` or the default, in AMQP a publisher with
    or without publisher confirms.

    `waiting`: the order that must be acknowledged before the call returns. `unheard`: without
    `send_again`, the numbers that were sent on this connection and of which nothing was heard yet;
    `given_up`: those of which nothing will be heard, since their connection broke.
    """

    config: DeliveryConfig
    waiting: Order | None = None
    unheard: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()

    @staticmethod
    def recover(config: DeliveryConfig, disk: Disk, at_ms: int) -> tuple[Shop, Effects]:
        return Shop(config), ()

    def step(self, event: Event, disk: Disk) -> tuple[Shop, Effects]:
        """Send an order when the application calls, and again after a timeout or a broken
        connection until it is acknowledged. Without `send_again` it is sent once: if the connection
        breaks first, the order is given up."""
        match event:
            case Call(body=SendOrder(order)) if "send_again" in self.config.on:
                return replace(self, waiting=order), self._publish(order)
            case Call(body=SendOrder(order) as call):
                # the call returns without an acknowledgement: unknown, the order may have arrived
                sent = Return(Outcome(call, UNKNOWN, "sent"))
                unacknowledged = (*self.unheard, order.number)
                return replace(self, unheard=unacknowledged), (Send(QUEUE, Publish(order)), sent)
            case Response(body=PublishResponse(number)):
                return self._acknowledged(number)
            # `waiting`: the order that is not acknowledged yet
            case Fired() | ConnectionLost() if self.waiting is not None:
                return self, self._publish(self.waiting)
            # `unheard`: sent without waiting, and not acknowledged yet
            case ConnectionLost():
                given_up = (*self.given_up, *self.unheard)
                return replace(self, unheard=(), given_up=given_up), ()
        return self, ()  # a timer that ran out as the acknowledgement came

    def _publish(self, order: Order) -> Effects:
        return Send(QUEUE, Publish(order)), SetTimer(RETRY, self.config.patience_ms)

    def _acknowledged(self, number: str) -> tuple[Shop, Effects]:
        if self.waiting is not None and self.waiting.number == number:
            done = Return(build_success(SendOrder(self.waiting)))
            return replace(self, waiting=None), (CancelTimer(RETRY), done)
        # An order that was sent twice is acknowledged twice; the first one was enough.
        return replace(self, unheard=tuple(n for n in self.unheard if n != number)), ()

    def describe_changes(self, old: Shop | None) -> tuple[Text, ...]:
        """What it has given up."""
        new = self.given_up[len(old.given_up) :] if old is not None else ()
        return (GIVEN_UP(numbers=", ".join(new)),) if new else ()


# ---- the queue ------------------------------------------------------------------------

ORDERS = "orders"
POSITIONS = "positions"


def committed_position(disk: Disk) -> int:
    """Where accounting goes on, as far as the queue knows."""
    position: int = disk.table(POSITIONS).get(ACCOUNTING, 0)
    return position


@frozen
class Queue(Quiet):
    """The queue: it writes orders into a log, acknowledges them, and hands them out.

    On its disk are the log `orders` and, in a table, the position that accounting has committed. In
    memory it keeps which numbers are in the log: that is built again from the log after a crash.

    Two lines here decide how often an order arrives:

    - **When it acknowledges.** An acknowledgement says "I have it" and must stay true when the
      process is killed. So the order is appended first; when it is safe (`Appended`) the
      acknowledgement leaves. A queue that acknowledges first (`append_first` off) is faster, and
      whatever it has not written when it dies is lost although the opposite was reported to the
      shop. It will not be sent again.
    - **What it does with an order that it has.** The shop sends an order again when it has heard
      nothing. A queue that looks at the number (`recognise`) acknowledges it once more and appends
      nothing; one that does not look has it twice, at two offsets.

    Handing out is free of any promise. Accounting asks for an offset as often as it wants to: the
    log forgets nothing, and a committed position is only a note of where to go on. So accounting
    may rewind, and is then handed all orders from there a second time, committed or not.

    Left out: several partitions and copies, retention, several consumers. RabbitMQ's queue does
    forget, with each acknowledgement of its consumer; there, rewinding is not possible.

    Messages below `safe` are acknowledged and handed out. `known`: the offset of each number.
    `owed`: who waits for the message at which offset to be safe. `parked`: who waits for an offset
    that is not there yet. `handed`: offsets below it were handed out since the last start.
    `unwritten`: without `append_first`, what was acknowledged and is in memory only.
    """

    config: DeliveryConfig
    safe: int = 0
    known: Map[str, int] = Map()
    owed: tuple[tuple[int, Caller, str], ...] = ()
    parked: tuple[Caller, int] | None = None
    handed: int = 0
    unwritten: tuple[Order, ...] = ()

    @staticmethod
    def recover(config: DeliveryConfig, disk: Disk, at_ms: int) -> tuple[Queue, Effects]:
        log = disk.log(ORDERS)
        known = Map((message.order.number, message.base) for message in log.read(0))
        return Queue(config, log.end, known), ()

    def step(self, event: Event, disk: Disk) -> tuple[Queue, Effects]:
        """Store orders and acknowledge them once they are durable (without `append_first` before
        they are written), answer accounting's fetches, and write down the position that it commits.
        A fetch beyond the durable end of the log waits (`parked`), one at a time."""
        match event:
            case Request(caller=caller, body=Publish(order)):
                return self._store_order(caller, order, disk)
            case Request(body=Write(order)):  # from itself: see `_store_order`
                appended = self._append(order, disk)
                # unwritten: what was acknowledged too early, in sequence; this order is its first
                return replace(appended[0], unwritten=self.unwritten[1:]), appended[1]
            case Appended(end=end):
                return self._acknowledge(end, disk)
            case Request(caller=caller, body=Fetch(offset)):
                wanted_offset = committed_position(disk) if offset == FROM_COMMITTED else offset
                return replace(self, parked=(caller, wanted_offset))._answer_parked(disk)
            case Request(caller=caller, body=Commit(position)):
                # max: a commit that arrives late must not undo a newer one
                stored = Put(POSITIONS, ACCOUNTING, max(position, committed_position(disk)))
                return self, (stored, Reply(caller, CommitResponse(position)))
        return self, ()

    def _store_order(self, caller: Caller, order: Order, disk: Disk) -> tuple[Queue, Effects]:
        """Store an order that the shop sends, unless its number is known; then it is only
        acknowledged again. The acknowledgement waits until the order is durable. With
        `append_first` off it is sent at once, and the order is written in a later step."""
        # `known`: the offset of each number; `safe`: offsets below it are durable; `owed`: the
        # acknowledgements to send, each once its offset is durable
        acknowledgement = PublishResponse(order.number)
        known_offset = self.known.get(order.number) if "recognise" in self.config.on else None
        if known_offset is not None and known_offset < self.safe:
            return self, (Reply(caller, acknowledgement),)
        if known_offset is not None:  # written, and not safe yet
            return replace(self, owed=(*self.owed, (known_offset, caller, order.number))), ()
        if "append_first" not in self.config.on:  # its known offset is -1: not in the log yet
            memory = replace(
                self, known=self.known.set(order.number, -1), unwritten=(*self.unwritten, order)
            )
            return memory, (Reply(caller, acknowledgement), Send(QUEUE, Write(order)))
        end = disk.log(ORDERS).end
        waiting = replace(self, owed=(*self.owed, (end, caller, order.number)))
        return waiting._append(order, disk)

    def _append(self, order: Order, disk: Disk) -> tuple[Queue, Effects]:
        end = disk.log(ORDERS).end
        known = self.known.set(order.number, end)
        return replace(self, known=known), (Append(ORDERS, Message(order, end)),)

    def _acknowledge(self, end: int, disk: Disk) -> tuple[Queue, Effects]:
        """What is below `end` is safe: its senders hear so, and accounting may have it."""
        acks = tuple(Reply(c, PublishResponse(number)) for at, c, number in self.owed if at < end)
        owed = tuple(one for one in self.owed if one[0] >= end)
        handing, out = replace(self, safe=end, owed=owed)._answer_parked(disk)
        return handing, (*acks, *out)

    def _answer_parked(self, disk: Disk) -> tuple[Queue, Effects]:
        """Answer the waiting fetch (`parked`) if its message is there."""
        if self.parked is None or self.parked[1] >= self.safe:
            return self, ()
        caller, offset = self.parked
        (message,) = disk.log(ORDERS).read(offset, offset + 1)
        given = FetchResponse(offset, message.order, again=offset < self.handed)
        handed = max(self.handed, offset + 1)
        return replace(self, parked=None, handed=handed), (Reply(caller, given),)


# ---- accounting -----------------------------------------------------------------------

BOOKS = "books"
NOTES = "notes"
STEP = "consume"
PIECES = ("count", "commit", "note", "both", "begin", "end")
NOTE_PIECES = ("note", "both")
COUNT, SKIP = "count", "skip"


def choose_pieces(config: DeliveryConfig) -> tuple[str, ...]:
    """What accounting does with each order, in this order."""
    for step, pieces in config.order:
        if step == STEP:
            return pieces
    if "one_write" in config.on:
        return ("both",)
    return ("commit", "count") if config.commit == BEFORE else ("count", "commit")


def notes_position(config: DeliveryConfig) -> bool:
    """Whether accounting knows by itself how far it has come."""
    return any(piece in NOTE_PIECES for piece in choose_pieces(config))


def noted_position(disk: Disk) -> int:
    """How far the queue was read, by what accounting itself has written down."""
    booked = [entry.position or 0 for entry in disk.log(BOOKS).read(0)]
    noted: int = disk.table(NOTES).get(QUEUE, 0)
    return max([noted, *booked])


@frozen
class Accounting(Quiet):
    """Accounting: it fetches an order, counts it in its books, and says how far it has come.

    Two things must become durable for each order: the amount in the books, and the position, so
    that accounting knows after a crash where to go on. As long as these are **two writes** there is
    a moment between them, and a process that is killed in this moment has done one without the
    other:

        commit, then count    the order is passed over and never counted: at most once
        count, then commit    it is fetched and counted a second time: at least once

    No order of two writes helps. What helps is **one write**: amount and position in one entry of
    the books (`one_write`). After a crash accounting asks its own books where to go on, and not the
    queue. A database does this with one transaction over two tables (for a Kafka consumer: "storing
    offsets outside Kafka", `KafkaConsumer`); Kafka's transactions do it with income and offsets in
    one transaction (lab 08).

    For a lesson the pieces of this may be put into any order (`order.consume=` in a system line):

        count     write the amount into the books
        commit    report the position to the queue, and wait until it has written it
        note      write the position beside the books, as a write of its own
        both      write amount and position in one write
        begin     open a transaction of the database in which the books are
        end       commit this transaction: what `count` and `note` have written since `begin`
                  becomes durable in one write

    A transaction without its end writes nothing, and a crash forgets it. An accounting with a
    position of its own (`note` or `both`) starts from that one; any other starts from the queue's.

    Left out: several orders at a time, and a consumer group that moves the work to another process.

    `offset`: what it asks for next. `position`: how far its books say that the queue was read.
    `held`: the order at hand, with the pieces `todo`, and whether it is to be `counted`. `begun`:
    the pieces written in the open transaction of its database; None where none is open. `seeks`:
    how many there were, which distinguishes the answers after one from those before it.
    """

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
        position = noted_position(disk)
        start = position if notes_position(config) else FROM_COMMITTED
        return Accounting(config, start, position), (Send(QUEUE, Fetch(start)),)

    def step(self, event: Event, disk: Disk) -> tuple[Accounting, Effects]:
        """Count each order that is fetched, piece by piece; ask again after a broken connection; go
        to another offset when the application calls Seek."""
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
                moved = replace(self._release_order(offset), seeks=self.seeks + 1)
                return moved, (moved._ask(), Return(build_success(call)))
        return self, ()

    def _ask(self) -> Effect:
        """What it waits for: that its commit is written, or the next order."""
        body = Fetch(self.offset) if self.held is None else Commit(self.held.offset + 1)
        return Send(QUEUE, body, self.seeks)

    def _proceed(self, disk: Disk) -> tuple[Accounting, Effects]:
        """Carry out accounting's remaining pieces for the order at hand (count, commit, note …) up
        to the next `commit`, which waits for the queue; after the last piece, fetch the next order.
        Pieces within a transaction of the database are written together at its end."""
        assert self.held is not None
        now, next_offset, books_end = self, self.held.offset + 1, disk.log(BOOKS).end
        effects: list[Effect] = []
        for done, piece in enumerate(self.todo, 1):
            if piece == "commit":
                waiting = replace(now, todo=self.todo[done:])
                return waiting, (*effects, waiting._ask())
            now, written = now._collect(piece)  # the pieces to write now, if any
            effects_made = now._write(written, books_end)
            effects += effects_made
            books_end += sum(isinstance(effect, Append) for effect in effects_made)
            if set(written) & set(NOTE_PIECES):  # the pieces that write the position
                now = replace(now, position=max(now.position, next_offset))
        released = now._release_order(next_offset)
        return released, (*effects, released._ask())

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
            position = after if set(pieces) & set(NOTE_PIECES) else None
            return [Append(BOOKS, Booking(self.held.order, end, position), notify=False)]
        return [Put(NOTES, QUEUE, after)] if "note" in pieces else []

    def _release_order(self, offset: int) -> Accounting:
        """With nothing in its hands, and this offset next."""
        return replace(self, offset=offset, held=None, todo=(), counted=False, begun=None)

    def decide(self, given: FetchResponse, disk: Disk) -> str:
        """Whether an order is counted. What is below its own position has been."""
        return COUNT if given.offset >= self.position else SKIP
