"""The driver: it plans a batch, reads it, hands it to the sink and notes that it is done.

    idle → asking → (offsets/N written) reading → fencing → writing → committing
         → (commits/N written) idle

Its memory is worth nothing: after a restart, or when any call fails, it looks at its two logs.
The batch that `offsets` has and `commits` has not is run again from the beginning, and the sink
finds out whether anything is left to do. (Spark ends the query when the sink is fenced, and
a restart begins here.)
"""

from __future__ import annotations

from ...kernel import (
    Append,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Flush,
    Map,
    Quiet,
    Response,
    Send,
    SetTimer,
    frozen,
    replace,
)
from ..records import Record, force, read_records
from .config import SINK, QueryConfig
from .messages import (
    Commit,
    CommitResponse,
    Fenced,
    Fetch,
    FetchResponse,
    InitProducer,
    InitProducerResponse,
    LatestOffset,
    LatestOffsetResponse,
    Write,
    WriteResponse,
    name_batch,
)

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
    """`stage`: what it waits for. `ends` and `rows`: what the partitions have answered for batch
    `number`; `epoch`: given by the store for it."""

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
        return self, ()  # an answer to a call of a run that was given up

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
