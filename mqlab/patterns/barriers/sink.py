"""The sink: output in transactions, one a checkpoint, each committed in two steps.

    records                     in memory
    barrier n                   `pending` n: on disk, hidden; then acknowledged
    checkpoint n is complete    `committed` n: readers see it
    deployed again from n       pending up to n: committed; pending above n: aborted

Flink calls these steps beginTransaction, preCommit, commit, recoverAndCommit and recoverAndAbort
(TwoPhaseCommitSinkFunction). The disk is that of the store to which the sink writes: it outlives
the sink, and it knows the latest attempt: an older one ends nothing here. A
store that gives up what stays pending too long (`expires`) aborts it by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...kernel import (
    Append,
    CancelTimer,
    Disk,
    Effects,
    Event,
    Fired,
    Flush,
    Put,
    Quiet,
    Reply,
    Request,
    Send,
    SetTimer,
    frozen,
    replace,
)
from ..records import Record, read_latest, read_records
from .config import JM, JobConfig
from .messages import (
    Acknowledge,
    Barrier,
    Complete,
    Deploy,
    DeployResponse,
    Register,
    Row,
    name_checkpoint,
)
from .task import is_current, report

LOG, LATEST = "output", ".latest"
PENDING, COMMITTED, ABORTED, EXPIRED = "pending", "committed", "aborted", "expired"
EXPIRE, EXPIRE_MS = "expire", 900_000


@frozen
class Output(Record):
    """An entry of the sink's log, with the output that it is about."""

    number: int = 0
    values: tuple[str, ...] = ()


@frozen
class Sink(Quiet):
    """`values`: received since the last barrier. `unwritten`: (checkpoint, its output), where the
    sink does not pre-commit."""

    config: JobConfig
    attempt: int = 0
    values: tuple[str, ...] = ()
    unwritten: tuple[tuple[int, tuple[str, ...]], ...] = ()

    @staticmethod
    def recover(config: JobConfig, disk: Disk, at_ms: int) -> tuple[Sink, Effects]:
        clocks = tuple(
            SetTimer(f"{EXPIRE} {last.txn}", EXPIRE_MS)
            for last in read_latest(disk, LOG).values()
            if last.what == PENDING and config.expires
        )
        return Sink(config), (*clocks, Send(JM, Register()))

    def step(self, event: Event, disk: Disk) -> tuple[Sink, Effects]:
        match event:
            case Request(caller=caller, body=Deploy(attempt, number, _)):
                if attempt <= disk.table(LATEST).get("attempt", 0):
                    return self, ()  # from before the last restart
                ended = (Put(LATEST, "attempt", attempt), *self._end_pending(disk, number))
                return Sink(self.config, attempt), (*ended, Reply(caller, DeployResponse(attempt)))
            case Request(body=Row(attempt, value)) if is_current(
                self.config, self.attempt, attempt
            ):
                return replace(self, values=(*self.values, value)), ()
            case Request(body=Barrier(attempt, number)) if attempt == self.attempt:
                return self._pre_commit(disk, number)
            case Request(body=Complete(number)):
                return self, self._commit(disk, number)
            case Fired(timer=timer):
                return self, self._expire(disk, timer.partition(" ")[2])
        return self, report(self.attempt, event)

    def _pre_commit(self, disk: Disk, number: int) -> tuple[Sink, Effects]:
        role = replace(self, values=())
        voted = Send(JM, Acknowledge(self.attempt, number, 0))
        if "pre_commit" not in self.config.on:
            return replace(role, unwritten=(*self.unwritten, (number, self.values))), (voted,)
        end = disk.log(LOG).end
        written = _force(PENDING, number, self.values, end)
        if "commit_after_checkpoint" not in self.config.on:
            written = (*written, *_force(COMMITTED, number, self.values, end + 1))
        elif self.config.expires:
            written = (*written, SetTimer(f"{EXPIRE} {name_checkpoint(number)}", EXPIRE_MS))
        return role, (*written, voted)

    def _commit(self, disk: Disk, number: int) -> Effects:
        """What is pending for this checkpoint; committing twice changes nothing."""
        last = read_latest(disk, LOG).get(name_checkpoint(number))
        if isinstance(last, Output) and last.what == PENDING:
            done = _force(COMMITTED, number, last.values, disk.log(LOG).end)
            return (*done, CancelTimer(f"{EXPIRE} {last.txn}"))
        kept = dict(self.unwritten).get(number)
        if last is None and kept is not None:
            return _force(COMMITTED, number, kept, disk.log(LOG).end)
        return ()

    def _end_pending(self, disk: Disk, restored: int) -> Effects:
        """recoverAndCommit up to the restored checkpoint, recoverAndAbort above it."""
        effects: Effects = ()
        end = disk.log(LOG).end
        for last in list_outputs(disk):
            if last.what != PENDING:
                continue
            what = COMMITTED if last.number <= restored else ABORTED
            if what == COMMITTED and "recover_and_commit" not in self.config.on:
                continue
            ended = _force(what, last.number, last.values, end)
            effects = (*effects, *ended, CancelTimer(f"{EXPIRE} {last.txn}"))
            end += 1
        return effects

    def _expire(self, disk: Disk, txn: str) -> Effects:
        last = read_latest(disk, LOG).get(txn)
        if not isinstance(last, Output) or last.what != PENDING:
            return ()
        return _force(EXPIRED, last.number, last.values, disk.log(LOG).end)


def _force(what: str, number: int, values: tuple[str, ...], base: int) -> Effects:
    detail = f"{{{', '.join(values)}}}"
    entry = Output(what, name_checkpoint(number), base, detail, number, values)
    return Append(LOG, entry, notify=False), Flush()


def list_outputs(disk: Disk) -> tuple[Output, ...]:
    """The last entry of each checkpoint's output, by its number."""
    last = read_latest(disk, LOG).values()
    return tuple(sorted((o for o in last if isinstance(o, Output)), key=lambda o: o.number))


def list_committed(disk: Disk) -> Iterator[str]:
    """What a reader of the output gets, in the order in which it was committed."""
    for record in read_records(disk, LOG):
        if isinstance(record, Output) and record.what == COMMITTED:
            yield from record.values
