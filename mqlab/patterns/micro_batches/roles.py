"""What driver, partitions and store of a streaming query say, and what each of them does."""

from __future__ import annotations

from collections.abc import Iterator

from ...kernel import (
    Append,
    Caller,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Flush,
    Map,
    Put,
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
from ..records import Record, force, read_records

DRIVER, SINK = "driver", "sink"


@frozen
class QueryConfig(Config):
    """`sources`: the partitions that are read."""

    sources: tuple[str, ...] = ()


# ---- messages -------------------------------------------------------------------------


def name_batch(number: int) -> str:
    return f"mb{number}"


class OfBatch:
    """What belongs to the batch of its `number`."""

    __slots__ = ()
    number: int

    @property
    def txn(self) -> str:
        return name_batch(self.number)


@worded("next order")
class Arrive:
    """A partition's own reason to take the next order: a customer."""

    quiet = True


@worded("latestOffset")
class LatestOffset:
    """How far does this partition go?"""


@worded("offset {offset}")
class LatestOffsetResponse:
    offset: int


@worded("Fetch {start}..{end} for {txn}")
class Fetch(OfBatch):
    """The records of a batch, from `start` to before `end`."""

    number: int
    start: int
    end: int


@frozen
class FetchResponse(OfBatch):
    number: int
    rows: tuple[str, ...]

    def __str__(self) -> str:
        return phrase("records {{{}}}", ", ".join(self.rows))


@worded("InitProducerId for {txn}")
class InitProducer(OfBatch):
    """Fence the writer before this one, end what it has left open, and say how far the store is."""

    number: int


@worded("epoch {epoch}, progress {progress}")
class InitProducerResponse(OfBatch):
    """`progress`: the last batch whose transaction has committed, -1 for none."""

    number: int
    epoch: int
    progress: int


@frozen
class Write(OfBatch):
    """The rows of a batch and its progress record, into the open transaction."""

    number: int
    epoch: int
    rows: tuple[str, ...]

    def __str__(self) -> str:
        return phrase("write {} {{{}}}", self.txn, ", ".join(self.rows))


@worded("written")
class WriteResponse(OfBatch):
    number: int


@worded("commit {txn}")
class Commit(OfBatch):
    number: int
    epoch: int


@worded("committed")
class CommitResponse(OfBatch):
    number: int


@worded("fenced")
class Fenced(OfBatch):
    """ProducerFencedException: another producer writes by now."""

    number: int


# ---- the driver -----------------------------------------------------------------------

OFFSETS, COMMITS = "offsets", "commits"
TRIGGER, TRIGGER_MS = "trigger", 60_000
IDLE, ASKING, READING, FENCING = "idle", "asking", "reading", "fencing"
WRITING, COMMITTING = "writing", "committing"
RETRY, RETRY_MS = "retry", 1_000


@frozen
class Planned(Record):
    """`offsets/N`: where batch N ends in each partition. It begins where the one before ends."""

    ends: tuple[tuple[str, int], ...] = ()


@frozen
class Driver(Quiet):
    """The driver: it plans a batch, reads it, hands it to the sink and notes that it is done.

        idle → asking → (offsets/N written) reading → fencing → writing → committing
             → (commits/N written) idle

    Its memory is worth nothing: after a restart, or when any call fails, it looks at its two logs.
    The batch that `offsets` has and `commits` has not is run again from the beginning, and the sink
    finds out whether anything is left to do. (Spark ends the query when the sink is fenced, and a
    restart begins here.)

    `stage`: what it waits for. `ends` and `rows`: what the partitions have answered for batch
    `number`; `epoch`: given by the store for it.
    """

    config: QueryConfig
    stage: str = IDLE
    number: int = 0
    ends: Map[str, int] = Map()
    rows: Map[str, tuple[str, ...]] = Map()
    epoch: int = 0

    @staticmethod
    def recover(config: QueryConfig, disk: Disk, at_ms: int) -> tuple[Driver, Effects]:
        """A batch in doubt is run again at once."""
        role = Driver(config, number=count_done(disk))
        if find_planned(disk, role.number) is not None:
            return role._begin(disk)
        return role, (SetTimer(TRIGGER, TRIGGER_MS),)

    def step(self, event: Event, disk: Disk) -> tuple[Driver, Effects]:
        """Run a batch stage by stage: ask where the partitions end, read, fence older drivers at
        the sink, write, commit. Each answer leads to the next stage, once all partitions have
        answered; after a broken connection or a refusal by the sink (`Fenced`) the batch begins
        again when a timer fires."""
        match event:
            case Fired() if self.stage == IDLE:
                return self._begin(disk)
            case ConnectionLost() | Response(body=Fenced()):
                return replace(self, stage=IDLE), (SetTimer(RETRY, RETRY_MS),)
            case Response(peer=peer, body=LatestOffsetResponse(end)) if self.stage == ASKING:
                return self._plan(disk, replace(self, ends=self.ends.set(peer, end)))
            case Response(peer=peer, body=FetchResponse(_, rows)) if self.stage == READING:
                return replace(self, rows=self.rows.set(peer, rows))._read()
            case Response(body=InitProducerResponse(_, epoch, done)) if self.stage == FENCING:
                return replace(self, epoch=epoch)._decide(disk, done)
            case Response(body=WriteResponse()) if self.stage == WRITING:
                commit = Send(SINK, Commit(self.number, self.epoch))
                return replace(self, stage=COMMITTING), (commit,)
            case Response(body=CommitResponse()) if self.stage == COMMITTING:
                return self._finish(disk)
        return self, ()  # an answer to a call of a query run that was given up

    # -- the plan ------------------------------------------------------------------------

    def _begin(self, disk: Disk) -> tuple[Driver, Effects]:
        """The batch in doubt if there is one, else a new one."""
        number = count_done(disk)
        role = Driver(self.config, ASKING, number)
        planned = find_planned(disk, number)
        if planned is not None:
            return replace(role, ends=Map(planned.ends))._fetch(disk)
        return role, tuple(Send(name, LatestOffset()) for name in self.config.sources)

    def _plan(self, disk: Disk, role: Driver) -> tuple[Driver, Effects]:
        if len(role.ends) < len(self.config.sources):
            return role, ()
        if dict(role.ends.items()) == find_start(disk, role.number, self.config.sources):
            return replace(role, stage=IDLE), (SetTimer(TRIGGER, TRIGGER_MS),)  # no new orders
        role, fetches = role._fetch(disk)
        first = role._note_offsets(disk) if "offsets_first" in self.config.on else ()
        return role, (*first, *fetches)

    def _fetch(self, disk: Disk) -> tuple[Driver, Effects]:
        start = find_start(disk, self.number, self.config.sources)
        return replace(self, stage=READING), tuple(
            Send(name, Fetch(self.number, start[name], self.ends[name]))
            for name in self.config.sources
        )

    # -- the sink's five steps -----------------------------------------------------------

    def _read(self) -> tuple[Driver, Effects]:
        if len(self.rows) < len(self.config.sources):
            return self, ()
        return replace(self, stage=FENCING), (Send(SINK, InitProducer(self.number)),)

    def _decide(self, disk: Disk, progress: int) -> tuple[Driver, Effects]:
        if progress == self.number and "reads_progress" in self.config.on:
            return self._finish(disk)  # it is in: only the note was missing
        rows = tuple(row for name in self.config.sources for row in self.rows[name])
        write = Send(SINK, Write(self.number, self.epoch, rows))
        noted = () if "commits_last" in self.config.on else self._note_done(disk)
        return replace(self, stage=WRITING), (*noted, write)

    def _finish(self, disk: Disk) -> tuple[Driver, Effects]:
        late = () if find_planned(disk, self.number) else self._note_offsets(disk)
        done = self._note_done(disk) if count_done(disk) == self.number else ()
        return replace(self, stage=IDLE), (*late, *done, SetTimer(TRIGGER, TRIGGER_MS))

    # -- its two logs --------------------------------------------------------------------

    def _note_offsets(self, disk: Disk) -> Effects:
        ends = tuple((name, self.ends[name]) for name in self.config.sources)
        detail = f"{{{', '.join(f'{name}: {end}' for name, end in ends)}}}"
        entry = Planned(OFFSETS, name_batch(self.number), disk.log(OFFSETS).end, detail, ends)
        return Append(OFFSETS, entry, notify=False), Flush()

    def _note_done(self, disk: Disk) -> Effects:
        return force(disk, COMMITS, COMMITS, name_batch(self.number))


def count_done(disk: Disk) -> int:
    """How many batches `commits` has: the number of the next one."""
    return disk.log(COMMITS).end


def list_planned(disk: Disk) -> tuple[Planned, ...]:
    return tuple(r for r in read_records(disk, OFFSETS) if isinstance(r, Planned))


def find_planned(disk: Disk, number: int) -> Planned | None:
    return next((p for p in list_planned(disk) if p.txn == name_batch(number)), None)


def find_start(disk: Disk, number: int, sources: tuple[str, ...]) -> dict[str, int]:
    """Where a batch begins: at the end of the one before."""
    before = find_planned(disk, number - 1)
    return dict(before.ends) if before else dict.fromkeys(sources, 0)


# ---- a partition ----------------------------------------------------------------------

ORDERS = "orders"
ORDER = "order"


@worded("order {more}")
class Order(Record):
    """An order is no batch's before one is planned."""


@frozen
class Partition(Quiet):
    """A partition of the topic: orders arrive whenever they like, and stay.

    That they stay is what a batch rests on: read again, the same offsets give the same orders.

    `orders`: those that will have arrived in the end.
    """

    name: str
    orders: tuple[str, ...]

    @staticmethod
    def recover(
        name: str, orders: tuple[str, ...], disk: Disk, at_ms: int
    ) -> tuple[Partition, Effects]:
        role = Partition(name, orders)
        return role, role._await_next(disk.log(ORDERS).end)

    def step(self, event: Event, disk: Disk) -> tuple[Partition, Effects]:
        end = disk.log(ORDERS).end
        match event:
            case Request(body=Arrive()) if end < len(self.orders):
                kept = Append(ORDERS, Order(ORDER, "", end, self.orders[end]), notify=False)
                return self, (kept, Flush(), *self._await_next(end + 1))
            case Request(caller=caller, body=LatestOffset()):
                return self, (Reply(caller, LatestOffsetResponse(end)),)
            case Request(caller=caller, body=Fetch(number, start, until)):
                rows = list_orders(disk)[start:until]
                return self, (Reply(caller, FetchResponse(number, rows)),)
        return self, ()

    def _await_next(self, end: int) -> Effects:
        return (Send(self.name, Arrive()),) if end < len(self.orders) else ()


def list_orders(disk: Disk) -> tuple[str, ...]:
    """What has arrived, in its order."""
    return tuple(record.more for record in read_records(disk, ORDERS))


# ---- the store ------------------------------------------------------------------------

OUTPUT, EPOCH = "output", ".epoch"
PENDING, COMMITTED, ABORTED, SEEN = "pending", "committed", "aborted", "seen"


@frozen
class Output(Record):
    """An entry of the output, with the batch and the rows that it is about. `seen`: rows of a sink
    without transactions, which every reader sees at once."""

    number: int = 0
    rows: tuple[str, ...] = ()


@frozen
class Store(Quiet):
    """The store that the sink writes to: one producer, transactions, and readers of committed rows.

        InitProducerId → epoch + 1 (written), what was open `aborted`, progress answered
        write          → `pending`: the transaction is open, no reader sees the rows
        commit         → `committed`: rows and progress record are there, at the same moment

    A request with an older epoch comes from a process that has been replaced, and is refused.

    All it knows is on its disk.
    """

    config: QueryConfig

    @staticmethod
    def recover(config: QueryConfig, disk: Disk, at_ms: int) -> tuple[Store, Effects]:
        return Store(config), ()

    def step(self, event: Event, disk: Disk) -> tuple[Store, Effects]:
        """Serve the sink's driver: begin a new epoch, keep the rows of a batch pending, commit
        them. Without `one_transaction` readers see them before the commit (`SEEN`). A write or
        commit with an older epoch is refused."""
        match event:
            case Request(caller=caller, body=InitProducer(number)):
                return self, self._begin(disk, caller, number)
            case Request(caller=caller, body=Write() | Commit() as body) if self._is_fenced(
                disk, body.epoch
            ):
                return self, (Reply(caller, Fenced(body.number)),)
            case Request(caller=caller, body=Write(number, _, rows)):
                state = PENDING if "one_transaction" in self.config.on else SEEN
                return self, (
                    *_force(disk, state, number, rows),
                    Reply(caller, WriteResponse(number)),
                )
            case Request(caller=caller, body=Commit(number)):
                # list_open: the rows that are pending
                written = _force(disk, COMMITTED, number, list_open(disk))
                return self, (*written, Reply(caller, CommitResponse(number)))
        return self, ()

    def _begin(self, disk: Disk, caller: Caller, number: int) -> Effects:
        epoch = disk.table(EPOCH).get("epoch", 0) + 1
        left = list_outputs(disk)[-1:]
        ended = (
            _force(disk, ABORTED, left[0].number, list_open(disk))
            if left and left[0].what == PENDING
            else ()
        )
        answer = InitProducerResponse(number, epoch, find_progress(disk))
        return (Put(EPOCH, "epoch", epoch), *ended, Reply(caller, answer))

    def _is_fenced(self, disk: Disk, epoch: int) -> bool:
        newest = disk.table(EPOCH).get("epoch", 0)
        return epoch != newest and "producer_fencing" in self.config.on


def _force(disk: Disk, what: str, number: int, rows: tuple[str, ...]) -> Effects:
    detail = f"{{{', '.join(rows)}}}"
    entry = Output(what, name_batch(number), disk.log(OUTPUT).end, detail, number, rows)
    return Append(OUTPUT, entry, notify=False), Flush()


def list_outputs(disk: Disk) -> tuple[Output, ...]:
    return tuple(r for r in read_records(disk, OUTPUT) if isinstance(r, Output))


def list_open(disk: Disk) -> tuple[str, ...]:
    """The rows in the open transaction: those after the last commit or abort."""
    rows: tuple[str, ...] = ()
    for output in list_outputs(disk):
        rows = (*rows, *output.rows) if output.what == PENDING else ()
    return rows


def find_progress(disk: Disk) -> int:
    """The progress record: the last batch whose transaction has committed, -1 for none."""
    return max((o.number for o in list_outputs(disk) if o.what == COMMITTED), default=-1)


def list_seen(disk: Disk) -> Iterator[tuple[str, str]]:
    """(row, its batch): what a reader of committed rows gets, in order."""
    for output in list_outputs(disk):
        if output.what in (COMMITTED, SEEN):
            yield from ((row, output.txn) for row in output.rows)
