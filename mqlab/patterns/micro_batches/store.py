"""The store behind the sink: one producer, transactions, and readers of committed rows.

    InitProducerId → epoch + 1 (written), what was open `aborted`, progress answered
    write          → `pending`: the transaction is open, no reader sees the rows
    commit         → `committed`: rows and progress record are there, at the same moment

A request with an older epoch comes from a process that has been replaced, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...kernel import (
    Append,
    Caller,
    Disk,
    Effects,
    Event,
    Flush,
    Put,
    Quiet,
    Reply,
    Request,
    frozen,
)
from ..records import Record, read_records
from .config import QueryConfig
from .messages import (
    Commit,
    CommitResponse,
    Fenced,
    InitProducer,
    InitProducerResponse,
    Write,
    WriteResponse,
    name_batch,
)

LOG, EPOCH = "output", ".epoch"
PENDING, COMMITTED, ABORTED, SEEN = "pending", "committed", "aborted", "seen"


@frozen
class Output(Record):
    """An entry of the output, with the batch and the rows that it is about. `seen`: rows of a sink
    without transactions, which every reader sees at once."""

    number: int = 0
    rows: tuple[str, ...] = ()


@frozen
class Store(Quiet):
    """All it knows is on its disk."""

    config: QueryConfig

    @staticmethod
    def recover(config: QueryConfig, disk: Disk, at_ms: int) -> tuple[Store, Effects]:
        return Store(config), ()

    def step(self, event: Event, disk: Disk) -> tuple[Store, Effects]:
        match event:
            case Request(caller=caller, body=InitProducer(number)):
                return self, self._begin(disk, caller, number)
            case Request(caller=caller, body=Write() | Commit() as body) if self._is_fenced(
                disk, body.epoch
            ):
                return self, (Reply(caller, Fenced(body.number)),)
            case Request(caller=caller, body=Write(number, _, rows)):
                what = PENDING if "one_transaction" in self.config.on else SEEN
                return self, (
                    *_force(disk, what, number, rows),
                    Reply(caller, WriteResponse(number)),
                )
            case Request(caller=caller, body=Commit(number)):
                done = _force(disk, COMMITTED, number, list_open(disk))
                return self, (*done, Reply(caller, CommitResponse(number)))
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
    entry = Output(what, name_batch(number), disk.log(LOG).end, detail, number, rows)
    return Append(LOG, entry, notify=False), Flush()


def list_outputs(disk: Disk) -> tuple[Output, ...]:
    return tuple(r for r in read_records(disk, LOG) if isinstance(r, Output))


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
