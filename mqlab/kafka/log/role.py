"""Fetch, and what else both roles that lead a partition do alike: waiting readers, idle producers,
an administrator's questions about producers.

`PartitionRole` is no base class: a leader and a group coordinator have these fields anyway,
and whatever is done for both takes either and gives the same kind back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import Any, ClassVar, Protocol, TypeVar

from ...kernel import (
    Caller,
    Disk,
    Effects,
    Map,
    Reply,
    SetTimer,
    Text,
    Words,
    frozen,
    replace,
    worded,
)
from ...kernel.role import LogView
from ..config import KafkaConfig
from ..errors import Error
from ..messages import (
    EARLIEST,
    LATEST,
    NEWEST,
    READ_COMMITTED,
    Fetch,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
    Unwatch,
    Watch,
    Watched,
    braces,
)
from . import AbortedTxn, Batch, index_of
from .partition import Partition, Verifying

# ---- Fetch: what a reader gets -------------------------------------------------------
#
# The broker cuts, the client filters. Under read_committed the leader gives nothing at or
# above the LSO, and adds the list of transactions that were aborted in the range; aborted
# data and markers travel all the same. No mode buffers anything.
#
# Sources: UnifiedLog#read, LocalLog#addAbortedTransactions, TransactionIndex (Kafka 4.3).

LEAST_BYTES = 70  # of a record that no client sent, so that nobody has counted its bytes


def upper_bound(part: Partition, isolation: str) -> int:
    """The offset that a reader of this isolation level may not reach."""
    if isolation == READ_COMMITTED and "lso" in part.config.on:
        return part.read_limit
    return part.hw


def answer_fetch(part: Partition, name: str, ask: Fetch, disk: Disk) -> FetchResponse:
    """Fetch: whole batches from the offset up to the high watermark or, with read_committed, to the
    last stable offset, with the transactions among them that were aborted."""
    log = disk.log(name)
    end = upper_bound(part, ask.isolation)
    if not log.start <= ask.offset <= log.end:
        return FetchResponse(Error.OFFSET_OUT_OF_RANGE, part.hw, part.read_limit, log.start)
    batches: list[Batch] = []
    size = 0
    for batch in log.read(ask.offset, end) if ask.offset < end else ():
        bytes_more = batch.size or LEAST_BYTES * batch.count
        if batch.last >= end or (batches and size + bytes_more > ask.max_bytes):
            break
        batches.append(batch)
        size += bytes_more
    aborted: tuple[AbortedTxn, ...] | None = None
    if ask.isolation == READ_COMMITTED:
        upper = batches[-1].last + 1 if batches else ask.offset
        aborted = collect_aborted_txns(name, ask.offset, upper, disk)
        if "aborted_index" not in part.config.on:
            aborted = ()
    return FetchResponse(Error.NONE, part.hw, part.read_limit, log.start, tuple(batches), aborted)


def collect_aborted_txns(name: str, start: int, upper: int, disk: Disk) -> tuple[AbortedTxn, ...]:
    """The aborted transactions that matter for [start, upper)
    (TransactionIndex#collectAbortedTxns). Entries are in the order of their last offset,
    so the first that matters is found by halving."""
    index = disk.log(index_of(name))
    low, high = 0, index.end
    while low < high:
        middle = (low + high) // 2
        if next(iter(index.read(middle, middle + 1))).last_offset < start:
            low = middle + 1
        else:
            high = middle
    aborted: list[AbortedTxn] = []
    for entry in index.read(low):
        if entry.first_offset < upper:
            aborted.append(entry)
        if entry.lso >= upper:
            break
    return tuple(aborted)


class TimeIndexed(Protocol):
    """A log that keeps a time index beside its batches (`.timeindex`) finds a time by
    halving; a lesson's log has none and is read from its start."""

    def find_since(self, at_ms: int) -> int: ...

    @property
    def newest(self) -> int: ...


class Stamped(Protocol):
    """Records that are bytes, each with a stamp of its own; (place, stamp) of the first at
    or after a time. A lesson's records share their batch's stamp."""

    def find_since(self, at_ms: int) -> tuple[int, int] | None: ...


def answer_list_offsets(
    part: Partition, name: str, ask: ListOffsets, disk: Disk
) -> ListOffsetsResponse:
    """Earliest, latest (LSO or HW), or the first record stamped at or after a time, found
    among what the isolation level may read; -1 where there is none. A marker is a record
    with a stamp of its own and may be the answer (seen on a real 4.3.1 broker)."""
    log = disk.log(name)
    end = upper_bound(part, ask.isolation)
    if ask.at_ms == EARLIEST:
        return ListOffsetsResponse(log.start)
    if ask.at_ms == LATEST:
        return ListOffsetsResponse(end)
    at_ms = find_newest(log, end) if ask.at_ms == NEWEST else ask.at_ms
    start: int = log.find_since(at_ms) if hasattr(log, "find_since") else log.start
    for batch in log.read(start, end) if start < end else ():
        if batch.at_ms >= at_ms:
            return _find_since(batch, at_ms)
    return ListOffsetsResponse(-1)


def find_newest(log: LogView | TimeIndexed, end: int) -> int:
    """The latest stamp of a log, which is not always the last."""
    if hasattr(log, "newest"):
        return log.newest
    return max((b.at_ms for b in log.read(log.start, end)), default=-1)


def _find_since(batch: Batch, at_ms: int) -> ListOffsetsResponse:
    """The record within a batch whose latest stamp is late enough."""
    records: Stamped | object = batch.records
    match = records.find_since(at_ms) if hasattr(records, "find_since") else None
    if match is None:
        return ListOffsetsResponse(batch.base, batch.at_ms)
    place, stamp = match
    return ListOffsetsResponse(batch.base + place, stamp)


# ---- Waiting for a log to grow: long polls, and acknowledgements (`acks`) not yet safe
#
# A reader that found too little asks to be told when there is more than it was given; the
# answer comes with the append that makes it so, or at once if it has happened meanwhile. The
# reader gives up by the number of its question.
#
# Many may wait for one log at once, so none of these functions looks at all of them for one
# that comes, leaves or is answered; only an append asks every reader.
#
# Source: DelayedFetch, DelayedProduce, ReplicaManager#fetchMessages (Kafka 4.3).

#: readers, by who asks and under which number
Watchers = Map[tuple[str, int], tuple[Caller, Watch]]
#: something that is safe once the log is replicated up to the offset at its place 0
At = TypeVar("At", bound=tuple[int, *tuple[object, ...]])
_end_of = itemgetter(0)


def add_ack(waiting: tuple[At, ...], new: At) -> tuple[At, ...]:
    """With one more, in the order of the offsets; behind those with the same one."""
    at = bisect_right(waiting, new[0], key=_end_of)
    return (*waiting[:at], new, *waiting[at:])


def take_safe(waiting: tuple[At, ...], end: int) -> tuple[tuple[At, ...], tuple[At, ...]]:
    """(those that are safe now that the log is replicated up to `end`, the others)."""
    at = bisect_right(waiting, end, key=_end_of)
    return waiting[:at], waiting[at:]


def add_watcher(
    watchers: Watchers, caller: Caller, ask: Watch, end: int
) -> tuple[Watchers, Effects]:
    """`end`: the offset that this reader may not reach just now."""
    if ask.offset < end:
        return watchers, (Reply(caller, Watched()),)
    return watchers.set((caller.name, caller.corr), (caller, ask)), ()


def remove_watcher(watchers: Watchers, caller: Caller, corr: int) -> Watchers:
    """Without the question that `caller` asked under this number."""
    return watchers.remove((caller.name, corr))


def wake_watchers(watchers: Watchers, end: Callable[[str], int]) -> tuple[Watchers, Effects]:
    """After the log has grown; `end`: what may not be reached, by isolation level."""
    ready = [
        (key, caller) for key, (caller, ask) in watchers.items() if ask.offset < end(ask.isolation)
    ]
    for key, _ in ready:
        watchers = watchers.remove(key)
    return watchers, tuple(Reply(caller, Watched()) for _, caller in ready)


# ---- What an administrator asks about the producers of a partition (KIP-664) ---------
#
# Source: DescribeProducersRequest, DescribeProducersResponse (clients, Kafka 4.3).


@worded("DescribeProducers")
class DescribeProducers:
    """To a partition leader: who has written here, and whose transaction is open."""


@frozen
class ActiveProducer:
    """A producer on one partition; -1 stands for none in every field. `last_seq`, `last_ms`:
    sequence number and time of its last batch; `coordinator_epoch`: of the last marker;
    `txn_first`: where its open transaction begins."""

    pid: int
    epoch: int
    last_seq: int
    last_ms: int
    coordinator_epoch: int
    txn_first: int

    def __str__(self) -> str:
        since = f" open since @{self.txn_first}" if self.txn_first >= 0 else ""
        return f"pid={self.pid} epoch={self.epoch} lastSequence={self.last_seq}{since}"


@frozen
class DescribeProducersResponse:
    """`producers`: those that the partition remembers."""

    producers: tuple[ActiveProducer, ...] = ()
    error: Error = Error.NONE

    def __str__(self) -> str:
        return self.error.words if self.error else braces(tuple(map(str, self.producers)))


def describe_producers(part: Partition) -> DescribeProducersResponse:
    """A partition's answer (ProducerStateManager#activeProducers)."""
    return DescribeProducersResponse(
        tuple(
            ActiveProducer(pid, e.epoch, e.last_seq, e.last_ms, e.coordinator_epoch, e.txn_first)
            for pid, e in part.producers.items()
        )
    )


class PartitionRole(Protocol):
    """`name`: of the partition and its log. `verifying`: requests that wait for the
    transaction coordinator's word, by number. `watchers`: readers that wait for more."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def config(self) -> KafkaConfig: ...
    @property
    def name(self) -> str: ...
    @property
    def part(self) -> Partition: ...
    @property
    def verifying(self) -> Map[int, Verifying[Any]]: ...
    @property
    def watchers(self) -> Watchers: ...


R = TypeVar("R", bound=PartitionRole)

# ---- readers -------------------------------------------------------------------------

ReaderRequest = Fetch | ListOffsets | DescribeProducers | Watch | Unwatch


def answer_reader(role: R, body: ReaderRequest, caller: Caller, disk: Disk) -> tuple[R, Effects]:
    """The requests of readers: a question to a partition that appends nothing to it.

    A leader and a group coordinator answer them alike. Only a long poll changes the role at all: it
    remembers who waits.

    (role, effects): the answer at once, but for a Watch that finds nothing new.
    """
    match body:
        case Fetch():
            return role, (Reply(caller, answer_fetch(role.part, role.name, body, disk)),)
        case ListOffsets():
            answer = answer_list_offsets(role.part, role.name, body, disk)
            return role, (Reply(caller, answer),)
        case DescribeProducers():
            return role, (Reply(caller, describe_producers(role.part)),)
        case Watch(isolation=isolation):
            end = upper_bound(role.part, isolation)
            watchers, effects = add_watcher(role.watchers, caller, body, end)
            return replace(role, watchers=watchers), effects
        case Unwatch(corr=corr):
            left = remove_watcher(role.watchers, caller, corr)
            return replace(role, watchers=left), ()


# ---- idle producers ------------------------------------------------------------------

EXPIRE = "expire producers"


def schedule_expiry(config: KafkaConfig, old: Partition | None, new: Partition) -> Effects:
    """The timer that looks for idle producers, once there is somebody to forget; `old` None:
    none is running."""
    begins = new.remembers and (old is None or not old.remembers)
    if not config.pid_expiration_ms or not begins:
        return ()
    return (SetTimer(EXPIRE, config.pid_sweep_ms),)


def forget_idle(role: R, at_ms: int) -> tuple[R, Effects]:
    """Producers that nobody hears of any more.

    A leader that remembered every producer for ever would grow for ever. So a timer runs as long as
    there is somebody to forget, and what was idle for `pid_expiration_ms` is dropped, except
    producers whose transaction is open (ProducerStateManager#removeExpiredProducers, Kafka 4.3).

    The timer has fired; it is set again while somebody is left.
    """
    part = role.part.without_expired(at_ms)
    return replace(role, part=part), schedule_expiry(role.config, None, part)


# ---- in words ------------------------------------------------------------------------

FRONTIERS = Words("HW={hw} LSO={lso}")
RECOVERED = Words("recovered, HW={hw} LSO={lso}")


def tell_frontiers(old: Partition | None, new: Partition) -> tuple[Text, ...]:
    """`old` None: the partition was recovered just now."""
    if old is None:
        return (RECOVERED(hw=new.hw, lso=new.read_limit),)
    if (new.hw, new.read_limit) != (old.hw, old.read_limit):
        return (FRONTIERS(hw=new.hw, lso=new.read_limit),)
    return ()
