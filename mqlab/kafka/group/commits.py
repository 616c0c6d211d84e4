"""Committed offsets: how far a group has come, with or without a transaction.

A transaction's offsets are appended at once, as part of the transaction, and stay
*pending*: a commit marker makes them count, an abort marker drops them. The log's order
decides between two commits of one partition, so a plain commit that was written later
than a pending one wins over it.

A transactional commit is verified (or its partition added) like a Produce, and only then
does the group look at who is asking. So a fenced member may still have made
`__consumer_offsets` part of its transaction; the transaction's end writes a marker there.

Source: OffsetMetadataManager, GroupCoordinatorService#commitTransactionalOffsets,
CoordinatorOperationExceptionHelper (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel import Caller, Disk, Effects, Map, Reply, frozen, replace, worded
from ..errors import Error
from ..log import COMMIT, Batch
from ..log.role import (
    Verifying,
    add_ack,
    append_marker,
    ask_coordinator,
    close_question,
    give_up_questions,
    take_safe,
)
from ..messages import (
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    Position,
    TxnOffsetCommit,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from .members import Group, GroupState
from .membership import restart_session

if TYPE_CHECKING:
    from . import GroupCoordinator

Result = tuple["GroupCoordinator", Effects]
ACCEPTS_HEARTBEAT = (GroupState.STABLE, GroupState.PREPARING_REBALANCE)


@worded("{group}: {label}")
class Offsets:
    """The records of one commit: a group and its positions."""

    group: str
    positions: tuple[Position, ...]

    @property
    def label(self) -> str:
        """What a picture's cell has room for."""
        return ", ".join(map(str, self.positions))


@frozen
class Placed:
    """A position with the offset of its record in `__consumer_offsets`: later wins."""

    position: Position
    at: int


#: by group, of each partition the position
Positions = Map[str, Map[str, Placed]]
NONE_YET: Map[str, Placed] = Map()


# ---- who may commit --------------------------------------------------------------------


def check_committer(gc: GroupCoordinator, ask: TxnOffsetCommit | OffsetCommit) -> Error:
    """Whether the group lets this member commit offsets: the error, or NONE. A commit without a
    generation (below 0) to an unknown group is allowed and creates it: a consumer that assigns its
    partitions itself has no other membership."""
    if "generation_fencing" not in gc.config.on:
        return Error.NONE
    group: Group | None = gc.groups.get(ask.group)
    transactional = isinstance(ask, TxnOffsetCommit)
    if group is not None:
        return group.check_commit(ask.member, ask.instance, ask.generation, transactional)
    if ask.generation < 0:
        return Error.NONE
    # a plain commit has an error of its own for an unknown group since version 9
    return (
        Error.GROUP_ID_NOT_FOUND
        if not transactional and ask.version >= 9
        else (Error.ILLEGAL_GENERATION)
    )


def commit_offsets(gc: GroupCoordinator, ask: OffsetCommit, caller: Caller, disk: Disk) -> Result:
    error = check_committer(gc, ask)
    if error:
        return gc, (Reply(caller, OffsetCommitResponse(error)),)
    group: Group | None = gc.groups.get(ask.group)
    member = group.members.get(ask.member) if group is not None else None
    timer: Effects = ()
    if group is not None and member is not None and group.state in ACCEPTS_HEARTBEAT:
        timer = (restart_session(group, member),)
    batch = Batch((Offsets(ask.group, ask.positions),), count=max(1, len(ask.positions)))
    gc, effects = gc.append_offsets(batch, caller, OffsetCommitResponse(), disk)
    return gc, (*timer, *effects)


def commit_in_transaction(
    gc: GroupCoordinator, ask: TxnOffsetCommit, caller: Caller, disk: Disk
) -> Result:
    """Handle TxnOffsetCommit: append the offsets as a batch of the transaction. Where it is the
    first one here, the transaction coordinator is asked before; from version 5 on it also adds this
    partition to the transaction."""
    batch = replace(_build_batch(ask), at_ms=gc.now_ms)
    error = Error.NONE if ask.group else Error.INVALID_GROUP_ID
    if not error and gc.part.is_stale(batch):
        error = Error.INVALID_PRODUCER_EPOCH
    if error:
        return gc, (Reply(caller, OffsetCommitResponse(error)),)
    if not gc.part.needs_guard(batch):
        return _append_verified(gc, ask, caller, None, disk)
    v2 = ask.version >= 5
    if not v2 and "verification" not in gc.config.on:
        return _append_verified(gc, ask, caller, None, disk)
    return ask_coordinator(gc, ask, caller, ask.txn_id, batch, disk, v2=v2)


def handle_verification(gc: GroupCoordinator, corr: int, error: Error, disk: Disk) -> Result:
    """The transaction coordinator has answered."""
    waiting: Verifying[TxnOffsetCommit] | None = gc.verifying.get(corr)
    if waiting is None:
        return gc, ()
    gc = close_question(gc, corr)
    if error:
        refusal = OffsetCommitResponse(_translate_error(error, waiting.ask.version))
        return gc, (Reply(waiting.caller, refusal),)
    return _append_verified(gc, waiting.ask, waiting.caller, waiting.guard, disk)


def handle_lost_coordinator(gc: GroupCoordinator) -> Result:
    """The connection to the transaction coordinator broke: clients whose commit waited for its
    answer are answered so that they send it again."""
    retry = OffsetCommitResponse(Error.COORDINATOR_LOAD_IN_PROGRESS)
    gc, callers, pauses = give_up_questions(gc)
    return gc, (*pauses, *(Reply(caller, retry) for caller in callers))


def _translate_error(error: Error, version: int) -> Error:
    """What is answered to a producer when the transaction coordinator refuses."""
    if error is Error.PRODUCER_FENCED:
        return Error.INVALID_PRODUCER_EPOCH
    if error is Error.TRANSACTION_ABORTABLE and version < 4:
        return Error.INVALID_TXN_STATE
    return error


def _append_verified(
    gc: GroupCoordinator, ask: TxnOffsetCommit, caller: Caller, guard: int | None, disk: Disk
) -> Result:
    batch = _build_batch(ask)
    error = check_committer(gc, ask) or gc.part.check_data(batch, guard, sequences=False)
    if error:
        return gc, (Reply(caller, OffsetCommitResponse(error)),)
    return gc.append_offsets(batch, caller, OffsetCommitResponse(), disk)


def _build_batch(ask: TxnOffsetCommit) -> Batch:
    """A transaction's offsets as a batch; COORDINATOR appends carry no sequence."""
    return Batch(
        (Offsets(ask.group, ask.positions),),
        count=max(1, len(ask.positions)),
        pid=ask.pid,
        epoch=ask.epoch,
        transactional=True,
    )


# ---- what counts -----------------------------------------------------------------------


def note_offsets(
    gc: GroupCoordinator, batch: Batch, records: tuple[Offsets, ...]
) -> GroupCoordinator:
    """Take the committed offsets of a batch of `__consumer_offsets` into memory: as pending while
    the batch's transaction is open (unless the safeguard `offsets_in_transaction` is off), else as
    what counts. A group that is not known yet is created."""
    for offsets in records:
        if offsets.group not in gc.groups:
            gc = gc.with_group(Group(offsets.group))
    in_transaction = batch.transactional and "offsets_in_transaction" in gc.config.on
    positions: Positions = gc.pending.get(batch.pid, Map()) if in_transaction else Map()
    open_in = gc.open_in  # by group: the producer ids of open transactions with offsets of it
    for offsets in records:
        # with where they are in the log: of two for one partition the later one counts
        placed = ((p.partition, Placed(p, batch.base)) for p in offsets.positions)
        of_group = positions.get(offsets.group, NONE_YET).update(placed)
        positions = positions.set(offsets.group, of_group)
        if in_transaction:
            # (a Map as a set of producer ids: True says nothing)
            pids = open_in.get(offsets.group, Map()).set(batch.pid, True)
            open_in = open_in.set(offsets.group, pids)
    if in_transaction:
        return replace(gc, pending=gc.pending.set(batch.pid, positions), open_in=open_in)
    # they can be fetched once the log is replicated up to the end of their batch
    return _place_offsets(gc, positions, batch.last + 1)


def write_marker(
    gc: GroupCoordinator, ask: WriteTxnMarkers, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """A transaction that has committed offsets here ends."""
    error = gc.part.check_marker(ask)
    answer = WriteTxnMarkersResponse(ask.txn_id, ask.pid, error, ask.epoch)
    if error:
        return gc, (Reply(caller, answer),)
    part, effects, marker = append_marker(gc.part, gc.name, ask, disk, at_ms)
    new = replace(apply_marker(gc, marker), part=part)
    ack = (marker.last + 1, caller, answer)
    return replace(new, acks=add_ack(new.acks, ack)), effects


def apply_marker(gc: GroupCoordinator, batch: Batch) -> GroupCoordinator:
    """After a marker: what was pending counts, or is dropped."""
    mine: Positions = gc.pending.get(batch.pid, Map())
    open_in = gc.open_in
    for group in mine:
        open_in = set_or_remove(open_in, group, open_in[group].remove(batch.pid))
    gc = replace(gc, pending=gc.pending.remove(batch.pid), open_in=open_in)
    return _place_offsets(gc, mine, batch.last + 1) if batch.control == COMMIT else gc


def set_or_remove(of: Map[Any, Map[Any, Any]], key: Any, value: Map[Any, Any]) -> Map[Any, Any]:
    """`of` with this map at `key`, or without the key where the map is empty."""
    return of.set(key, value) if value else of.remove(key)


def _place_offsets(gc: GroupCoordinator, placed: Positions, end: int) -> GroupCoordinator:
    """These count, once the log is replicated up to `end`."""
    committed: Positions = gc.committed
    for group, positions in placed.items():
        there = committed.get(group, NONE_YET)
        later = (
            (partition, new)
            for partition, new in positions.items()
            if (old := there.get(partition)) is None or old.at < new.at
        )
        committed = committed.set(group, there.update(later))
    return count_offsets(gc, committed, end)


def count_offsets(gc: GroupCoordinator, committed: Positions, end: int) -> GroupCoordinator:
    """With these positions; they are safe once the log is replicated up to `end`."""
    if end <= gc.part.hw:
        return replace(gc, committed=committed, safe=committed)
    return replace(gc, committed=committed, timeline=(*gc.timeline, (end, committed)))


def release_safe(gc: GroupCoordinator, end: int) -> GroupCoordinator:
    """The log is replicated up to `end`."""
    passed, left = take_safe(gc.timeline, end)
    return replace(gc, safe=passed[-1][1], timeline=left) if passed else gc


# ---- what is reported ----------------------------------------------------------------


def fetch_offsets(gc: GroupCoordinator, ask: OffsetFetch, caller: Caller, disk: Disk) -> Result:
    """A position that was reported must not be lost: a consumer that has started from it would have
    skipped what the group, after a failover, has not read. A stable fetch is therefore a write
    of nothing: its answer waits until all that is in the log is replicated. Any other reads
    what counted at the high watermark (GroupCoordinatorService#fetchOffsets)."""
    answer, end = read_offsets(gc, ask), disk.log(gc.name).end
    if ask.require_stable and end > gc.part.hw:
        return replace(gc, acks=add_ack(gc.acks, (end, caller, answer))), ()
    return gc, (Reply(caller, answer),)


def read_offsets(gc: GroupCoordinator, ask: OffsetFetch) -> OffsetFetchResponse:
    counted = (gc.committed if ask.require_stable else gc.safe).get(ask.group, NONE_YET)
    wanted = tuple(counted) if ask.partitions is None else ask.partitions
    held = frozenset(list_pending(gc, ask.group) if ask.require_stable else ())
    positions = tuple(
        placed.position if (placed := counted.get(p)) else Position(p, -1) for p in wanted
    )
    return OffsetFetchResponse(positions, tuple(p for p in wanted if p in held))


def list_pending(gc: GroupCoordinator, group: str) -> list[str]:
    """Partitions of which an open transaction holds a position of this group."""
    return [p for pid in gc.open_in.get(group, Map()) for p in gc.pending[pid][group]]
