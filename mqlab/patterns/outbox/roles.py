"""What services, relay and broker of an outbox say to each other, and what each of them does.

Read the table first, then the shop that writes it, the relay that reads it, the broker, and a
consumer with its inbox.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...kernel import (
    FAILED,
    Append,
    Caller,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Flush,
    Quiet,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    frozen,
    phrase,
    replace,
    worded,
)
from ..client import Answer
from ..records import Record, force, read_latest, read_records, write

# ---- messages -------------------------------------------------------------------------


@worded("order {txn}")
class PlaceOrder:
    """The application's call."""

    txn: str


@frozen
class ReadOutbox:
    """Give me the oldest row after number `after` without a mark; answered when there is one."""

    after: int = -1

    def __str__(self) -> str:
        return "ReadOutbox" if self.after < 0 else phrase("ReadOutbox after #{}", self.after)


@worded("row #{number} {txn}")
class OutboxRow:
    """`number`: which the database gave the row when its transaction began."""

    txn: str
    number: int


@worded("MarkSent {txn}")
class MarkSent:
    txn: str


@worded("marked")
class Marked:
    pass


@worded("Publish {topic} {txn}")
class Publish:
    topic: str
    txn: str


@worded("stored")
class PublishResponse:
    txn: str


@worded("Poll")
class Poll:
    """Give `group` the oldest message that it has not acknowledged; answered when there is one."""

    group: str


@worded("message {txn} @{offset}")
class PollResponse:
    txn: str
    offset: int


@worded("Acknowledge @{offset}")
class Acknowledge:
    group: str
    txn: str
    offset: int


@worded("ok")
class AcknowledgeResponse:
    pass


# ---- the outbox table -----------------------------------------------------------------

DATABASE = "database"
SENT, MESSAGE = "sent", "message"
NUMBER, PLACE = "#", "@"


def read_mark(record: Record, sign: str) -> int | None:
    """The number after a sign in `more`: `#` for the outbox row, `@` for the message's place in
    its topic."""
    marks = (word for word in record.more.split() if word.startswith(sign))
    return next((int(word[1:]) for word in marks), None)


def list_rows(disk: Disk, unsent: bool = True) -> Iterator[OutboxRow]:
    """The rows of the outbox in the order in which their transactions committed."""
    marked = {t for t, r in read_latest(disk, DATABASE).items() if r.what == SENT} if unsent else ()
    for record in read_records(disk, DATABASE):
        number = read_mark(record, NUMBER)
        if number is not None and record.txn not in marked:
            yield OutboxRow(record.txn, number)


def commit(disk: Disk, what: str, txn: str, number: int, together: bool, more: str = "") -> Effects:
    """One local transaction that writes a row and its message, or (`together` false) two writes
    with a gap between them: a *dual write*."""
    mark = f"{NUMBER}{number}"
    if together:
        return force(disk, DATABASE, what, txn, f"{more} {mark}".lstrip())
    return *force(disk, DATABASE, what, txn, more), *force(
        disk, DATABASE, MESSAGE, txn, mark, behind=1
    )


@frozen
class Table:
    """The outbox table of a service: rows that the service writes, a relay reads, and a mark ends.

        committed with its row → read (perhaps several times) → `sent`

    It is in the service's own database, which is all that makes it safe: whatever survives a
    power cut of the row survives for its message too. An entry of the log `database` whose `more`
    names a number (`#0`) carries a message; `sent` is its mark.

    `waiting`: relays that have asked while there was nothing to read, with the number after which
    they read.
    """

    waiting: tuple[tuple[Caller, int], ...] = ()

    def serve(self, caller: Caller, body: object, disk: Disk) -> tuple[Table, Effects]:
        """Handle a request of a relay: send it the next row after the number that it has read, at
        once or when there is one (`wake`), or mark a row as sent, which changes nothing twice."""
        match body:
            case ReadOutbox(after):
                row = next((row for row in list_rows(disk) if row.number > after), None)
                if row is None:
                    return replace(self, waiting=(*self.waiting, (caller, after))), ()
                return self, (Reply(caller, row),)
            case MarkSent(txn):
                last = read_latest(disk, DATABASE).get(txn)
                new = last is not None and last.what != SENT
                mark = (write(disk, DATABASE, SENT, txn), Flush()) if new else ()
                return self, (*mark, Reply(caller, Marked()))
        return self, ()

    def wake(self, written: Effects) -> tuple[Table, Effects]:
        """Answer the relays that wait for a new row of the outbox table (long polling), if this
        step, whose effects are `written`, writes one. Only the first new row is sent; a relay that
        reads only rows of higher numbers goes on waiting. Returns the table and the answers."""
        entries = (effect.entry for effect in written if isinstance(effect, Append))
        rows = tuple(
            OutboxRow(entry.txn, number)
            for entry in entries
            if (number := read_mark(entry, NUMBER)) is not None
        )
        # `after`: the relay wants a row with a higher number than this
        answered = tuple(
            (caller, row)
            for caller, after in self.waiting
            for row in rows[:1]
            if row.number > after
        )
        waiting = tuple(
            pair for pair in self.waiting if pair[0] not in {caller for caller, _ in answered}
        )
        return replace(self, waiting=waiting), tuple(Reply(caller, row) for caller, row in answered)


# ---- the shop -------------------------------------------------------------------------

ORDERED = "ordered"
COMMIT, WORK_MS = "commit", 1_000


@frozen
class Running:
    """A local transaction that has its row's number and has not committed."""

    txn: str
    number: int
    caller: Caller


@frozen
class Shop(Quiet):
    """The shop: a local transaction writes an order and the row of its message.

        order asked for → number taken → committed: `ordered #number` (one write) → answered

    A database gives a row its number when the row is inserted, and lets others see it when the
    transaction commits. So a transaction that takes its time (`slow`) may commit after one that
    took a later number: numbers are no order of commits. A process that is killed before the commit
    has written nothing, as a database rolls back what was not committed.

    `slow`: orders whose local transaction takes time; `following`: the next row's number.
    """

    config: Config
    slow: tuple[str, ...] = ()
    following: int = 0
    running: tuple[Running, ...] = ()
    table: Table = Table()

    @staticmethod
    def recover(
        config: Config, slow: tuple[str, ...], disk: Disk, at_ms: int
    ) -> tuple[Shop, Effects]:
        highest = max((row.number for row in list_rows(disk, unsent=False)), default=-1)
        return Shop(config, slow, highest + 1), ()

    def step(self, event: Event, disk: Disk) -> tuple[Shop, Effects]:
        """Carry out an order's local transaction: give its message a number, and write order and
        message together, at once or, for a slow order, when its timer fires. An order whose id is
        known is refused. Requests of a relay go to the outbox table."""
        match event:
            case Request(caller=caller, body=PlaceOrder(txn)):
                if txn in read_latest(disk, DATABASE) or any(
                    txn == each.txn for each in self.running
                ):
                    return self, (Reply(caller, Answer(txn, FAILED, "this order is known")),)
                transaction = Running(txn, self.following, caller)
                numbered = replace(self, following=self.following + 1)
                if txn not in self.slow:
                    return numbered._commit(transaction, disk)
                timer_set = SetTimer(f"{COMMIT} {txn}", WORK_MS)
                return replace(numbered, running=(*self.running, transaction)), (timer_set,)
            case Fired(timer=timer):
                due = next(each for each in self.running if timer == f"{COMMIT} {each.txn}")
                others = tuple(each for each in self.running if each != due)
                return replace(self, running=others)._commit(due, disk)
            case Request(caller=caller, body=body):
                table, effects = self.table.serve(caller, body, disk)
                return replace(self, table=table), effects
        return self, ()

    def _commit(self, done: Running, disk: Disk) -> tuple[Shop, Effects]:
        together = "row_with_message" in self.config.on
        written = commit(disk, ORDERED, done.txn, done.number, together)
        table, replies = self.table.wake(written)
        return replace(self, table=table), (
            *written,
            Reply(done.caller, Answer(done.txn)),
            *replies,
        )


# ---- the relay ------------------------------------------------------------------------

CURSOR = "cursor"
READ = "read"
RETRY, RETRY_MS = "retry", 1_000


@frozen
class Relay(Quiet):
    """The relay: it takes the oldest row, publishes it, and marks it when the broker has stored it.

        ReadOutbox → row → Publish → stored → MarkSent → marked → ReadOutbox …

    It has no memory that matters: after a crash it reads again, and what was published but not
    marked is published a second time. One row is in flight at a time, so messages are in a topic
    in the order of commits, apart from repetitions.

    Without `marks_each_row` it remembers on its own disk the number of the last row it has
    published, and reads after it.

    From `service`'s outbox into `topic` of `broker`. `row`: what is being published; `peer`: whose
    answer it waits for.
    """

    config: Config
    service: str
    broker: str
    topic: str
    peer: str
    row: OutboxRow | None = None

    @staticmethod
    def recover(
        config: Config, service: str, broker: str, topic: str, disk: Disk, at_ms: int
    ) -> tuple[Relay, Effects]:
        relay = Relay(config, service, broker, topic, service)
        return relay, (relay._ask(disk),)

    def step(self, event: Event, disk: Disk) -> tuple[Relay, Effects]:
        """Read the next row of the outbox, publish its message, mark the row as sent (without
        `marks_each_row`: note its number instead), and so on. After a broken connection it begins
        with reading again, so a message may be published twice. With `marked_when_stored` off the
        row is marked too early, before the broker has the message. `self.peer`: the node whose
        answer it waits for."""
        match event:
            case Response(peer=peer) if peer != self.peer:
                return self, ()  # an answer on a connection that was given up
            case Response(body=OutboxRow() as row):
                publish = Send(self.broker, Publish(self.topic, row.txn))
                marks_first = "marked_when_stored" not in self.config.on
                early_mark = (Send(self.service, MarkSent(row.txn)),) if marks_first else ()
                return replace(self, peer=self.broker, row=row), (*early_mark, publish)
            case Response(body=PublishResponse()) if self.row is not None:
                published = replace(self, peer=self.service, row=None)
                return published, self._end(self.row, disk)
            # marked before it was stored: the next row is read when the broker has answered
            case Response(body=Marked()) if "marked_when_stored" in self.config.on:
                return self, (self._ask(disk),)
            case ConnectionLost(peer=peer) if peer == self.peer:
                return self, (SetTimer(RETRY, RETRY_MS),)
            case Fired():
                return replace(self, peer=self.service, row=None), (self._ask(disk),)
        return self, ()

    def _end(self, row: OutboxRow, disk: Disk) -> Effects:
        """The row is published: mark it, or remember its number."""
        if "marks_each_row" not in self.config.on:
            read = force(disk, CURSOR, READ, row.txn, f"{NUMBER}{row.number}")
            return *read, Send(self.service, ReadOutbox(row.number))
        if "marked_when_stored" not in self.config.on:
            return (self._ask(disk),)
        return (Send(self.service, MarkSent(row.txn)),)

    def _ask(self, disk: Disk) -> Send:
        last = None
        for record in read_records(disk, CURSOR):
            last = read_mark(record, NUMBER)
        return Send(self.service, ReadOutbox(-1 if last is None else last))


# ---- the broker -----------------------------------------------------------------------

ORDERS, SHIPMENTS = "orders", "shipments"
ACKED = "acked"


def position_of(group: str) -> str:
    """The log that holds what a group has acknowledged."""
    return f"position of {group}"


@frozen
class Broker(Quiet):
    """The broker: topics and the position of each group. It knows no transactions.

    A message that is published twice is in its topic twice: nothing here looks inside. A group
    is given its oldest message until it has acknowledged it; its position is on disk.

    `waiting`: (caller, group) of Polls without an answer yet. One of them may have come on a
    connection that has broken since; each is answered, for it is not known here which.
    """

    config: Config
    waiting: tuple[tuple[Caller, str], ...] = ()

    @staticmethod
    def recover(config: Config, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
        """Those who waited have lost their connection, and will ask again."""
        return Broker(config), ()

    def step(self, event: Event, disk: Disk) -> tuple[Broker, Effects]:
        """Store a message in its topic and acknowledge it; answer a group's poll with the oldest
        message that it has not acknowledged, at once or when one arrives."""
        match event:
            case Request(caller=caller, body=Publish(topic, txn)):
                message = Record(MESSAGE, txn, disk.log(topic).end)
                stored = (*force(disk, topic, MESSAGE, txn), Reply(caller, PublishResponse(txn)))
                if topic != ORDERS:  # no relay polls another topic, so none waits for it
                    return self, stored
                # polls that wait: their groups have acknowledged all that was there before
                replies = tuple(Reply(to, give(message)) for to, _ in self.waiting)
                return replace(self, waiting=()), (*stored, *replies)
            case Request(caller=caller, body=Poll(group)):
                oldest = find_next(disk, group)
                if oldest is None:
                    return replace(self, waiting=(*self.waiting, (caller, group))), ()
                return self, (Reply(caller, give(oldest)),)
            case Request(caller=caller, body=Acknowledge(group, txn, offset)):
                # else it was acknowledged before: the position stays
                is_next = offset == disk.log(position_of(group)).end
                position_written = force(disk, position_of(group), ACKED, txn) if is_next else ()
                return self, (*position_written, Reply(caller, AcknowledgeResponse()))
        return self, ()


def give(message: Record) -> PollResponse:
    return PollResponse(message.txn, message.base)


def find_next(disk: Disk, group: str) -> Record | None:
    """The oldest order that a group has not acknowledged."""
    position = disk.log(position_of(group)).end
    return next((m for m in read_records(disk, ORDERS) if m.base == position), None)


# ---- a consumer with an inbox ---------------------------------------------------------

APPLIED = "applied"


@frozen
class Consumer(Quiet):
    """A consumer with an inbox: effect, id and follow-up in one transaction, then the position.

        message → id in the inbox? else `applied` (one write) → acknowledged → next

    A crash between write and acknowledgement brings the message again, and so does a relay that was
    killed before it marked the row; in both cases the inbox knows it. The follow-up's row is
    written with the effect, so there is one for each effect and none without, however often a
    message comes.

    `group`: by which name the broker keeps its position. `follows_up`: whether an effect has a
    message of its own.
    """

    config: Config
    broker: str
    group: str
    follows_up: bool = False
    table: Table = Table()

    @staticmethod
    def recover(
        config: Config, broker: str, group: str, follows_up: bool, disk: Disk, at_ms: int
    ) -> tuple[Consumer, Effects]:
        return Consumer(config, broker, group, follows_up), (Send(broker, Poll(group)),)

    def step(self, event: Event, disk: Disk) -> tuple[Consumer, Effects]:
        """Poll for a message, apply it to the consumer's own database, and acknowledge it. With the
        safeguard `effect_before_ack` off it is acknowledged first, and a crash in between loses the
        effect. A request is a relay's, to the consumer's own outbox (`table`)."""
        match event:
            case Response(body=PollResponse(txn, offset)):
                table, written, replies = self._apply(disk, txn, offset)
                acknowledgement = Send(self.broker, Acknowledge(self.group, txn, offset))
                applied = replace(self, table=table)
                if "effect_before_ack" in self.config.on:
                    return applied, (*written, *replies, acknowledgement)
                return applied, (acknowledgement, *written, *replies)
            case Response(body=AcknowledgeResponse()) | Fired():
                return self, (Send(self.broker, Poll(self.group)),)
            case ConnectionLost(peer=peer) if peer == self.broker:
                return self, (SetTimer(RETRY, RETRY_MS),)
            case Request(caller=caller, body=body):
                table, effects = self.table.serve(caller, body, disk)
                return replace(self, table=table), effects
        return self, ()

    def _apply(self, disk: Disk, txn: str, offset: int) -> tuple[Table, Effects, Effects]:
        """The table afterwards, what is written, and which relay is answered."""
        applied = [record for record in read_records(disk, DATABASE) if record.what == APPLIED]
        if "inbox" in self.config.on and self._knows(applied, txn, offset):
            return self.table, (), ()
        place = f"{PLACE}{offset}"
        if not self.follows_up:
            return self.table, force(disk, DATABASE, APPLIED, txn, place), ()
        together = "row_with_message" in self.config.on
        written = commit(disk, APPLIED, txn, len(applied), together, place)
        table, replies = self.table.wake(written)
        return table, written, replies

    def _knows(self, applied: list[Record], txn: str, offset: int) -> bool:
        if "id_of_the_row" in self.config.on:
            return any(record.txn == txn for record in applied)
        return any(read_mark(record, PLACE) == offset for record in applied)
