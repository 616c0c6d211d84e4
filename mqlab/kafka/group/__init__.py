"""The group coordinator: how consumed positions join a transaction.

A group belongs to partition abs(hash) mod N of `__consumer_offsets`; the leader of that
partition is its coordinator, so this role is a partition leader too: the same log, the
same producer state, the same markers.

**Durable** are the offset records. A transaction's offsets are appended at once, as part
of the transaction, and stay *pending*: a commit marker makes them count, an abort marker
drops them. A later plain commit for the same partition wins over an older pending one,
because the log's order decides.

*What can go wrong.* A reader that starts while an offset is pending must not start from the
old one: `require_stable` makes it wait. A member of an older generation must not commit.
*Left out here:* joining and rebalancing; without a member id there is no group fencing.
Read on in GroupCoordinatorService, OffsetMetadataManager (Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..kernel import (
    Append,
    Appended,
    Caller,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Map,
    Reply,
    Request,
    Response,
    Send,
    Text,
)
from ..storage import COMMIT, Batch
from .config import KafkaConfig
from .errors import Error
from .leader import FRONTIERS, RECOVERED, append_marker, fetch, recover_partition
from .leader.produce import translated
from .messages import (
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    Fetch,
    ListOffsets,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    Position,
    TxnOffsetCommit,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from .partition import Partition

Key = tuple[str, str]  # group, partition


@dataclass(frozen=True, slots=True)
class Offsets:
    """The records of one commit: a group and its positions."""

    group: str
    positions: tuple[Position, ...]

    def __str__(self) -> str:
        return f"{self.group}: " + ", ".join(map(str, self.positions))


@dataclass(frozen=True, slots=True)
class Placed:
    """A position with the offset of its record in `__consumer_offsets`: later wins."""

    position: Position
    at: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A transactional commit whose partition the coordinator is being asked about."""

    ask: TxnOffsetCommit
    caller: Caller
    guard: int


@dataclass(frozen=True, slots=True)
class GroupCoordinator:
    """`committed`: what counts. `pending`: by producer id, what its open transaction would
    make count. `members`: (group, member) → generation, for fencing."""

    config: KafkaConfig
    name: str
    part: Partition
    committed: Map[Key, Placed] = Map()
    pending: Map[int, tuple[tuple[Key, Placed], ...]] = Map()
    members: Map[tuple[str, str], int] = Map()
    acks: tuple[tuple[int, Caller, object], ...] = ()
    verifying: Map[int, Waiting] = Map()

    def step(self, event: Event, disk: Disk) -> tuple[GroupCoordinator, Effects]:
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self._asked(body, caller, disk, at_ms)
            case Appended(end=end):
                return self._replicated(end)
            case Response(corr=corr, body=AddPartitionsToTxnResponse(error=error)):
                return self._verified(corr, error, disk)
            case ConnectionLost(peer=peer) if peer == self.config.coordinator:
                retry = OffsetCommitResponse(Error.COORDINATOR_LOAD_IN_PROGRESS)
                replies = tuple(Reply(w.caller, retry) for w in self.verifying.values())
                return replace(self, verifying=Map()), replies
        # A timer or a call is nothing a group coordinator has yet.
        return self, ()

    def _asked(
        self, body: object, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[GroupCoordinator, Effects]:
        match body:
            case TxnOffsetCommit():
                return self._txn_commit(body, caller, disk)
            case OffsetCommit(group=group, positions=positions):
                error = self._fenced(body)
                if error:
                    return self, (Reply(caller, OffsetCommitResponse(error)),)
                batch = Batch((Offsets(group, positions),), count=max(1, len(positions)))
                return self._append(batch, caller, disk)
            case OffsetFetch():
                return self, (Reply(caller, self._fetched(body)),)
            case WriteTxnMarkers():
                return self._end(body, caller, disk, at_ms)
            case Fetch():
                return self, (Reply(caller, fetch.answer(self.part, self.name, body, disk)),)
            case ListOffsets():
                return self, (Reply(caller, fetch.offset(self.part, self.name, body, disk)),)
        raise TypeError(f"a group coordinator is never sent {type(body).__name__}")

    # -- commits -------------------------------------------------------------------------

    def _fenced(self, ask: TxnOffsetCommit | OffsetCommit) -> Error:
        """Whether the group lets this member commit (ClassicGroup#validateOffsetCommit)."""
        if not ask.group:
            return Error.INVALID_GROUP_ID
        if "generation_fencing" not in self.config.on or (not ask.member and ask.generation < 0):
            return Error.NONE
        generation = self.members.get((ask.group, ask.member))
        if generation is None:
            return Error.UNKNOWN_MEMBER_ID
        return Error.NONE if generation == ask.generation else Error.ILLEGAL_GENERATION

    def _txn_commit(
        self, ask: TxnOffsetCommit, caller: Caller, disk: Disk
    ) -> tuple[GroupCoordinator, Effects]:
        error = self._fenced(ask)
        batch = _batch(ask)
        if not error and self.part.stale(batch):
            error = Error.INVALID_PRODUCER_EPOCH
        if error:
            return self, (Reply(caller, OffsetCommitResponse(error)),)
        if not self.part.needs_guard(batch):
            return self._append(batch, caller, disk)
        v2 = ask.version >= 5
        part = self.part.guarded(batch, disk.log(self.name).end, v2)
        corr = 0
        while corr in self.verifying:
            corr += 1
        waiting = Waiting(ask, caller, part.guards[batch.pid].number)
        question = AddPartitionsToTxn(
            ask.txn_id, ask.pid, ask.epoch, (self.name,), verify_only=not v2, implicit=v2
        )
        new = replace(self, part=part, verifying=self.verifying.set(corr, waiting))
        return new, (Send(self.config.coordinator, question, corr),)

    def _verified(self, corr: int, error: Error, disk: Disk) -> tuple[GroupCoordinator, Effects]:
        waiting: Waiting | None = self.verifying.get(corr)
        if waiting is None:
            return self, ()
        new = replace(self, verifying=self.verifying.remove(corr))
        batch = _batch(waiting.ask)
        if not error:
            error = new.part.refusal(batch, waiting.guard, sequences=False)
        if error:
            # Offset commits know TRANSACTION_ABORTABLE from version 4, adding from 5 on.
            told = translated(error, waiting.ask.version + 7)
            return new, (Reply(waiting.caller, OffsetCommitResponse(told)),)
        return new._append(batch, waiting.caller, disk)

    def _append(self, batch: Batch, caller: Caller, disk: Disk) -> tuple[GroupCoordinator, Effects]:
        batch = replace(batch, base=disk.log(self.name).end)
        ack = (batch.last + 1, caller, OffsetCommitResponse())
        new = replace(self._noted(batch), part=self.part.with_data(batch), acks=(*self.acks, ack))
        return new, (Append(self.name, batch),)

    def _noted(self, batch: Batch) -> GroupCoordinator:
        """After an offset batch: pending where it belongs to a transaction, else counted."""
        placed = tuple(
            ((offsets.group, position.partition), Placed(position, batch.base))
            for offsets in batch.records
            for position in offsets.positions
        )
        if batch.transactional and "offsets_in_transaction" in self.config.on:
            mine = (*self.pending.get(batch.pid, ()), *placed)
            return replace(self, pending=self.pending.set(batch.pid, mine))
        return replace(self, committed=_counted(self.committed, placed))

    def _ended(self, batch: Batch) -> GroupCoordinator:
        """After a marker: what was pending counts, or is dropped."""
        mine = self.pending.get(batch.pid, ())
        counted = _counted(self.committed, mine) if batch.control == COMMIT else self.committed
        return replace(self, committed=counted, pending=self.pending.remove(batch.pid))

    def _end(
        self, ask: WriteTxnMarkers, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[GroupCoordinator, Effects]:
        error = self.part.marker_refusal(ask)
        answer = WriteTxnMarkersResponse(ask.txn_id, ask.pid, error)
        if error:
            return self, (Reply(caller, answer),)
        part, effects, end = append_marker(self.part, self.name, ask, disk, at_ms)
        marker = next(e for e in effects if isinstance(e, Append))
        new = replace(self._ended(marker.entry), part=part)
        return replace(new, acks=(*self.acks, (end, caller, answer))), effects

    def _replicated(self, end: int) -> tuple[GroupCoordinator, Effects]:
        ready = tuple(Reply(caller, answer) for at, caller, answer in self.acks if at <= end)
        left = tuple(a for a in self.acks if a[0] > end)
        return replace(self, part=self.part.advanced(end), acks=left), ready

    # -- reading -------------------------------------------------------------------------

    def _fetched(self, ask: OffsetFetch) -> OffsetFetchResponse:
        held = {key for mine in self.pending.values() for key, _ in mine if key[0] == ask.group}
        wanted = ask.partitions
        if wanted is None:
            wanted = tuple(p for group, p in self.committed if group == ask.group)
        unstable = tuple(p for p in wanted if ask.require_stable and (ask.group, p) in held)
        found = tuple(
            placed.position if (placed := self.committed.get((ask.group, p))) else Position(p, -1)
            for p in wanted
        )
        return OffsetFetchResponse(found, unstable)

    def changed(self, old: GroupCoordinator | None) -> tuple[Text, ...]:
        part = self.part
        if old is None:
            return (RECOVERED(hw=part.hw, lso=part.lso),)
        if (part.hw, part.lso) != (old.part.hw, old.part.lso):
            return (FRONTIERS(hw=part.hw, lso=part.lso),)
        return ()

    @staticmethod
    def recover(
        config: KafkaConfig, name: str, disk: Disk, at_ms: int
    ) -> tuple[GroupCoordinator, Effects]:
        """Replay the log: what was pending is pending again."""
        part, effects = recover_partition(config, name, disk)
        group = GroupCoordinator(config, name, part)
        log = disk.log(name)
        for batch in log.read(log.start):
            group = group._ended(batch) if batch.control else group._noted(batch)
        return group, effects


def _batch(ask: TxnOffsetCommit) -> Batch:
    """A transaction's offsets as a batch; COORDINATOR appends carry no sequence."""
    return Batch(
        (Offsets(ask.group, ask.positions),),
        count=max(1, len(ask.positions)),
        pid=ask.pid,
        epoch=ask.epoch,
        transactional=True,
    )


def _counted(
    committed: Map[Key, Placed], placed: tuple[tuple[Key, Placed], ...]
) -> Map[Key, Placed]:
    for key, new in placed:
        old: Placed | None = committed.get(key)
        if old is None or old.at < new.at:
            committed = committed.set(key, new)
    return committed
