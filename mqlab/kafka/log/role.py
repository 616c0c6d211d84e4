"""Fetch, and what else both roles that lead a partition do alike: waiting readers, idle producers,
an administrator's questions about producers.

`PartitionRole` is no base class: a leader and a group coordinator have these fields anyway,
and whatever is done for both takes either and gives the same kind back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ...kernel import (
    Append,
    Caller,
    CancelTimer,
    Disk,
    Effects,
    Map,
    Put,
    Reply,
    Send,
    SetTimer,
    Text,
    Words,
    frozen,
    phrase,
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
    AddPartitionsToTxn,
    Fetch,
    FetchResponse,
    ListOffsets,
    ListOffsetsResponse,
    Produce,
    TxnOffsetCommit,
    Unwatch,
    Watch,
    Watched,
    WriteTxnMarkers,
    braces,
)
from . import ABORT, COMMIT, MAX_SEQUENCE, AbortedTxn, Batch, batch_at, index_of, next_sequence

# Producer state of a partition, as its leader knows it: who writes, which transactions are
# open, how far one may read. Leader and group coordinator share it; `Partition` answers questions
# and takes notes, and never sends anything. Below it: snapshots and recovery, transaction markers,
# and the question to a coordinator before a transaction opens here.
#
# Everything here is rebuilt from the log, so nothing here is durable.
#
# *High watermark (HW)*: what is below it is replicated. Only replication moves it; a commit
# does not. *First unstable offset*: the beginning of the oldest transaction that is open or whose
# marker is not yet below the HW. *Last stable offset (LSO)*: the smaller of the two.
# A read_committed reader sees nothing at or above the LSO, be it part of a transaction or
# not; that is why one open transaction holds up everything after it in its partition.
#
# Sources: ProducerStateManager, ProducerStateEntry, ProducerAppendInfo,
# UnifiedLog#analyzeAndValidateProducerState, #lastStableOffset (Kafka 4.3).


WINDOW = 5  # ProducerStateEntry.NUM_BATCHES_TO_RETAIN


@frozen
class Written:
    """One of the batches a producer wrote last: what makes a duplicate recognisable. `first_seq`,
    `last_seq`: its sequence numbers; `first_offset`: where it begins."""

    first_seq: int
    last_seq: int
    first_offset: int
    at_ms: int


@frozen
class ProducerEntry:
    """A producer id here. `window`: its last five batches of this epoch, oldest first;
    `txn_first`: where its open transaction begins, -1 for none; `coordinator_epoch`: of
    its last marker, -1 for none; `last_ms`: stamp of the last thing it wrote."""

    epoch: int
    window: tuple[Written, ...] = ()
    txn_first: int = -1
    coordinator_epoch: int = -1
    last_ms: int = 0

    @property
    def last_seq(self) -> int:
        return self.window[-1].last_seq if self.window else -1

    def find_same(self, batch: Batch) -> Written | None:
        """The one of the last five that has this batch's numbers."""
        for seen in self.window:
            if (seen.first_seq, seen.last_seq) == (batch.first_seq, batch.last_seq):
                return seen
        return None


@frozen
class Guard:
    """A verification in progress or passed (VerificationStateEntry): who asked first, the lowest
    sequence seen meanwhile. `number` distinguishes a guard from a later one of the same producer: a
    marker in between removes it, and the append then fails. `lowest_seq`: that sequence; `v2`: of a
    client of transaction version 2."""

    number: int
    epoch: int
    lowest_seq: int
    v2: bool
    at_ms: int = 0


@frozen
class Partition:
    """`open`: (first offset, pid) of open transactions; `unreplicated`: (first offset, marker
    offset) of those whose marker is not yet below the HW; both sorted. `start`: the batch that the
    log begins with, once records were deleted. `producers`: by producer id; `guards`: verifications
    by producer id."""

    config: KafkaConfig
    hw: int = 0
    producers: Map[int, ProducerEntry] = Map()
    open: tuple[tuple[int, int], ...] = ()
    unreplicated: tuple[tuple[int, int], ...] = ()
    guards: Map[int, Guard] = Map()
    start: int = 0

    # -- how far one may read --------------------------------------------------------------

    @property
    def first_unstable(self) -> int | None:
        firsts = [*self.open[:1], *self.unreplicated[:1]]
        return max(min(first for first, _ in firsts), self.start) if firsts else None

    @property
    def lso(self) -> int:
        first = self.first_unstable
        return self.hw if first is None else min(first, self.hw)

    @property
    def read_limit(self) -> int:
        """The LSO as it is reported to readers, which their read_committed may not reach."""
        return self.lso

    def advance(self, end: int) -> Partition:
        """Everything below `end` is replicated. A transaction is done with once its
        marker is (ProducerStateManager#removeUnreplicatedTransactions)."""
        left = tuple(u for u in self.unreplicated if u[1] >= end)
        return replace(self, hw=end, unreplicated=left)

    # -- data --------------------------------------------------------------------------------

    def needs_guard(self, batch: Batch) -> bool:
        """Whether this batch would open a transaction here: then its leader must ask the
        coordinator first."""
        if not batch.transactional:
            return False
        entry = self.producers.get(batch.pid)
        return entry is None or entry.txn_first < 0 or entry.epoch != batch.epoch

    def with_guard(self, batch: Batch, number: int, v2: bool) -> Partition:
        """With a guard for the batch's producer; an existing one stays, and a late batch of a lower
        epoch does not change it (VerificationStateEntry#maybeUpdateLowestSequenceAndEpoch)."""
        guard: Guard | None = self.guards.get(batch.pid)
        if guard is None:
            guard = Guard(number, batch.epoch, batch.first_seq, v2, batch.at_ms)
        elif (-batch.epoch, batch.first_seq) < (-guard.epoch, guard.lowest_seq):
            guard = replace(guard, epoch=batch.epoch, lowest_seq=batch.first_seq)
        return replace(self, guards=self.guards.set(batch.pid, guard))

    def find_duplicate(self, batch: Batch) -> Written | None:
        """The batch among the last five that this one repeats *exactly*; any other overlap
        is no duplicate but out of order."""
        entry: ProducerEntry | None = self.producers.get(batch.pid)
        if entry is None or entry.epoch != batch.epoch or "sequence_check" not in self.config.on:
            return None
        return entry.find_same(batch)

    def is_stale(self, batch: Batch) -> bool:
        """Whether the batch comes from an older self of its producer; one that is unknown has
        been of no epoch, -1, so far (ProducerAppendInfo#checkProducerEpoch)."""
        entry: ProducerEntry | None = self.producers.get(batch.pid)
        known = entry.epoch if entry is not None else -1
        return "epoch_fencing" in self.config.on and batch.epoch < known

    def check_data(self, batch: Batch, guard: int | None, sequences: bool = True) -> Error:
        """Why a data batch cannot be appended, or NONE. `guard`: the number of the guard under
        which its transaction was verified; None: it was not, which is not an error here.
        `sequences` False: an append of the group coordinator itself, which carries no sequence
        numbers."""
        if batch.pid < 0:  # -1: of a producer without idempotence
            return Error.NONE
        if self.is_stale(batch):
            return Error.INVALID_PRODUCER_EPOCH
        if self.needs_guard(batch) and guard is not None:
            current_guard: Guard | None = self.guards.get(batch.pid)
            if current_guard is None or current_guard.number != guard:
                return Error.INVALID_TXN_STATE
        if sequences and "sequence_check" in self.config.on and not self._in_order(batch):
            return Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        entry: ProducerEntry | None = self.producers.get(batch.pid)
        if entry is not None and entry.txn_first >= 0 and not batch.transactional:
            return Error.INVALID_TXN_STATE
        return Error.NONE

    def _in_order(self, batch: Batch) -> bool:
        """Whether the batch's first sequence number is the next one of its producer: 0 in a new
        epoch, any number of a producer of which nothing is known. After a verification it is also
        not above the lowest number seen since (`guard`), and 0 of a v2 client without a batch."""
        entry: ProducerEntry | None = self.producers.get(batch.pid)
        guard: Guard | None = self.guards.get(batch.pid)
        first = batch.first_seq
        if guard is not None:
            if guard.v2 and first != 0 and (entry is None or not entry.window):
                return False
            if first > guard.lowest_seq:
                return False
        if entry is None:
            return True  # nothing is known of this producer: it may begin anywhere
        if entry.epoch != batch.epoch:
            return first == 0
        return first == (next_sequence(entry.last_seq) if entry.window else 0)

    def with_data(self, batch: Batch) -> Partition:
        """The partition's state after this batch was appended at `batch.base`: the producer's last
        sequence numbers, and its transaction, which the first batch opens."""
        if batch.pid < 0:  # of a producer without an id: nothing to remember
            return self
        entry: ProducerEntry = self.producers.get(batch.pid) or ProducerEntry(batch.epoch)
        if entry.epoch != batch.epoch:
            entry = replace(entry, epoch=batch.epoch, window=())
        written = Written(batch.first_seq, batch.last_seq, batch.base, batch.at_ms)
        opens_transaction = batch.transactional and entry.txn_first < 0
        entry = replace(
            entry,
            window=(*entry.window, written)[-WINDOW:],  # a duplicate of any of these is recognised
            txn_first=batch.base if opens_transaction else entry.txn_first,
            last_ms=batch.at_ms,
        )
        return replace(
            self,
            producers=self.producers.set(batch.pid, entry),
            open=(*self.open, (batch.base, batch.pid)) if opens_transaction else self.open,
            # the guard that let this batch in; a transaction that is open needs none
            guards=self.guards.remove(batch.pid) if batch.transactional else self.guards,
        )

    # -- markers -----------------------------------------------------------------------------

    def check_marker(self, ask: WriteTxnMarkers) -> Error:
        """Why a marker cannot be written (ProducerAppendInfo#appendEndTxnMarker)."""
        entry: ProducerEntry | None = self.producers.get(ask.pid)
        if entry is None:
            return Error.NONE
        if "epoch_fencing" in self.config.on:
            again = ask.epoch == entry.epoch and entry.txn_first < 0
            bumped = "epoch_bump" in self.config.on
            strict = ask.transaction_version >= 2 and bumped and not again
            if ask.epoch < entry.epoch or (strict and ask.epoch == entry.epoch):
                return Error.INVALID_PRODUCER_EPOCH
        if ask.coordinator_epoch < entry.coordinator_epoch:
            return Error.TRANSACTION_COORDINATOR_FENCED
        return Error.NONE

    def with_marker(self, batch: Batch, indexed: int) -> tuple[Partition, AbortedTxn | None]:
        """The partition's state after a marker was appended: the producer's transaction is over
        here. Returned with it is, for an abort that ends something, its entry of the aborted index;
        `indexed`: how many entries that index has. The transaction still holds the LSO back until
        its marker is replicated."""
        entry: ProducerEntry = self.producers.get(batch.pid) or ProducerEntry(batch.epoch)
        first_offset = entry.txn_first  # -1: no transaction of this producer is open here
        # `open`: (first offset, producer id) of each open transaction, in that sequence
        still_open = tuple(o for o in self.open if o[1] != batch.pid)
        producer = replace(
            entry,
            epoch=batch.epoch,
            # in a new epoch sequence numbers begin again: older batches are no duplicates of these
            window=entry.window if entry.epoch == batch.epoch else (),
            txn_first=-1,
            coordinator_epoch=batch.coordinator_epoch,
            last_ms=batch.at_ms,
        )
        not_replicated = ((first_offset, batch.base),) if first_offset >= 0 else ()
        after = replace(
            self,
            producers=self.producers.set(batch.pid, producer),
            open=still_open,
            unreplicated=tuple(sorted((*self.unreplicated, *not_replicated))),
            # a marker that is written once more leaves the guard of the next transaction alone
            guards=self.guards if self._guards_next(batch) else self.guards.remove(batch.pid),
        )
        if first_offset < 0 or batch.control != ABORT:
            return after, None
        # the last stable offset as it is once this marker is replicated
        lso = still_open[0][0] if still_open else batch.base + 1
        return after, AbortedTxn(indexed, batch.pid, first_offset, batch.base, lso)

    def _guards_next(self, marker: Batch) -> bool:
        """Whether the guard belongs to the producer's next transaction, which a v2 marker,
        written once more, must not disturb (UnifiedLog#updateProducers)."""
        guard: Guard | None = self.guards.get(marker.pid)
        return guard is not None and guard.v2 and guard.epoch == marker.epoch

    @property
    def remembers(self) -> bool:
        """Whether anything that can grow old is remembered."""
        return bool(self.producers) or bool(self.guards)

    def without_expired(self, now_ms: int) -> Partition:
        """Producers that were idle too long are forgotten, their epochs with them; never
        one whose transaction is open (ProducerStateManager#removeExpiredProducers)."""
        limit = now_ms - self.config.pid_expiration_ms
        kept = ((p, e) for p, e in self.producers.items() if e.txn_first >= 0 or e.last_ms > limit)
        guards = Map((pid, g) for pid, g in self.guards.items() if g.at_ms > limit)
        return replace(self, producers=Map(kept), guards=guards)

    # -- recovery ----------------------------------------------------------------------------

    @staticmethod
    def replay(
        config: KafkaConfig,
        log: Iterable[Batch],
        end: int,
        start: Partition | None = None,
        indexed: int = 0,
        since: int | None = None,
    ) -> tuple[Partition, tuple[AbortedTxn, ...]]:
        """Rebuild the state of a partition from its log, or from a snapshot (`start`) and the rest
        of the log; returns it with the aborted transactions found, for the index, which has
        `indexed` entries so far. `end`: where the replicated part of the log ends. Of each producer
        only the last batch is remembered, so only one duplicate is recognised instead of five.
        `since`: from this offset on a follower has noted every batch while it copied them, and
        remembers them all (None: it has noted nothing)."""
        part = start or Partition(config)
        aborted: list[AbortedTxn] = []
        has_noted = False
        for batch in log:
            if since is not None and batch.base >= since:  # once: `since` is None afterwards
                part, since = part._keep_last_batches(), None
                has_noted = True
            if batch.control:
                part, entry = part.with_marker(batch, indexed + len(aborted))
                aborted += [entry] if entry is not None else []
            else:
                part = part.with_data(batch)
        part = part if has_noted else part._keep_last_batches()
        return part.advance(end), tuple(aborted)

    def _keep_last_batches(self) -> Partition:
        short = Map((pid, replace(e, window=e.window[-1:])) for pid, e in self.producers.items())
        return replace(self, producers=short)


# ---- After a start: from the disk back to what a partition's leader knows ------------
#
# The newest snapshot is read and the tail of the log replayed. A stop between a marker and its
# index entry leaves the index short of what the log says: the missing entries are written now.
#
# Source: ProducerStateManager#truncateAndReload, UnifiedLog#rebuildProducerState (Kafka 4.3).

# ---- snapshots -----------------------------------------------------------------------


@worded("pid={pid} epoch={epoch} lastSequence={last_seq}")
class SnapshotEntry:
    """One producer in a `.snapshot`: ProducerId, ProducerEpoch, LastSequence, LastOffset,
    OffsetDelta, Timestamp (ms), CoordinatorEpoch, CurrentTxnFirstOffset; -1 for none."""

    pid: int
    epoch: int
    last_seq: int
    last_offset: int
    offset_delta: int
    at_ms: int
    coordinator_epoch: int
    txn_first: int


@frozen
class ProducerSnapshot:
    """`.snapshot` files: what a leader need not read the whole log for.

    A snapshot names every producer with the last batch it wrote here and the transaction it has
    open. Its name is the offset it describes: everything *below* it. One is written when a segment
    rolls and when a log has been recovered; after a start the newest one is read and only the tail
    of the log replayed. It keeps one batch a producer, so a duplicate that a leader would have
    known by one of the four before is out of order after a restart.

    *Left out:* the checksum, and the removal of snapshots that are no longer the newest.

    Sources: ProducerStateManager#writeSnapshot, #loadFromSnapshot, ProducerSnapshot.json (storage,
    Kafka 4.3).

    The content of one file. `entries`: one for each producer."""

    entries: tuple[SnapshotEntry, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.entries))


def table_of(partition: str) -> str:
    """The table that stands for a partition's snapshot files: offset → ProducerSnapshot."""
    return f"{partition}.snapshot"


def write_snapshot(part: Partition, name: str, at: int) -> Put:
    """The effect that writes the snapshot of everything below offset `at`."""
    entries = tuple(_entry(pid, e) for pid, e in part.producers.items())
    return Put(table_of(name), at, ProducerSnapshot(entries))


def roll_segment(part: Partition, name: str, disk: Disk) -> Effects:
    """The snapshot that is due before the next append, if the segment is full."""
    size = part.config.segment_records
    end = disk.log(name).end
    newest = max(disk.table(table_of(name)), default=0)
    return (write_snapshot(part, name, end),) if size and end - newest >= size else ()


def load_snapshot(config: KafkaConfig, name: str, disk: Disk) -> tuple[Partition, int]:
    """What the newest usable snapshot says, and the offset from which to replay."""
    table = disk.table(table_of(name))
    usable = [at for at in table if at <= disk.log(name).end]
    part = Partition(config)
    if not usable:
        return part, disk.log(name).start
    at = max(usable)
    producers = Map((entry.pid, _producer(entry)) for entry in table[at].entries)
    firsts = sorted((e.txn_first, pid) for pid, e in producers.items() if e.txn_first >= 0)
    return replace(part, producers=producers, open=tuple(firsts)), at


def _entry(pid: int, e: ProducerEntry) -> SnapshotEntry:
    last = e.window[-1] if e.window else None
    delta = (last.last_seq - last.first_seq) % (MAX_SEQUENCE + 1) if last else 0
    return SnapshotEntry(
        pid=pid,
        epoch=e.epoch,
        last_seq=e.last_seq,
        last_offset=last.first_offset + delta if last else -1,
        offset_delta=delta,
        at_ms=e.last_ms,
        coordinator_epoch=e.coordinator_epoch,
        txn_first=e.txn_first,
    )


def _producer(entry: SnapshotEntry) -> ProducerEntry:
    window: tuple[Written, ...] = ()
    if entry.last_seq >= 0:
        first_seq = (entry.last_seq - entry.offset_delta) % (MAX_SEQUENCE + 1)
        first = entry.last_offset - entry.offset_delta
        window = (Written(first_seq, entry.last_seq, first, entry.at_ms),)
    return ProducerEntry(entry.epoch, window, entry.txn_first, entry.coordinator_epoch, entry.at_ms)


# ---- recovery ------------------------------------------------------------------------


def recover_partition(
    config: KafkaConfig, name: str, disk: Disk, hw: int | None = None, since: int | None = None
) -> tuple[Partition, Effects]:
    """Recover a partition from its newest snapshot and its log after a start; returns it with the
    effects that write what is missing on the disk: index entries of aborted transactions and a
    snapshot. `hw`: up to where the log is replicated (None: all of it); `since`: from where on its
    batches were noted while they were copied (None: nowhere)."""
    log, index = disk.log(name), disk.log(index_of(name))
    # the snapshot describes everything below offset `tail`; the log is replayed from there
    start, tail = load_snapshot(config, name, disk)
    indexed = sum(entry.last_offset < tail for entry in index.read(0)) if tail else 0
    safe_end = log.end if hw is None else hw
    part, aborted = Partition.replay(config, log.read(tail), safe_end, start, indexed, since)
    part = replace(part, start=batch_at(log, log.start)) if log.start else part
    effects: Effects = tuple(
        Append(index_of(name), a, notify=False) for a in aborted if a.base >= index.end
    )
    if config.segment_records and log.end > tail:
        effects = (*effects, write_snapshot(part, name, log.end))
    return part, effects


# ---- Transaction markers (control batches): how a transaction ends on a partition ----
#
# It is a batch like any other, with a header that says COMMIT or ABORT and takes exactly one
# offset. An abort that ends something is noted in the index beside the log, so that readers learn
# what to skip; a commit needs no note.
#
# Source: MemoryRecords#withEndTransactionMarker, TransactionIndex#append (Kafka 4.3).

MARKER_BYTES = 78  # a control batch on a real disk


def append_marker(
    part: Partition, name: str, ask: WriteTxnMarkers, disk: Disk, at_ms: int
) -> tuple[Partition, Effects, Batch]:
    """Append a transaction's marker (a control batch) and, for an abort that ends something here,
    its entry of the aborted index (of which no event reports). Returns the partition, the effects
    and the marker, which is durable once `Appended` reports `marker.last + 1`."""
    marker = Batch(
        base=disk.log(name).end,
        pid=ask.pid,
        epoch=ask.epoch,
        transactional=True,
        control=COMMIT if ask.commit else ABORT,
        coordinator_epoch=ask.coordinator_epoch,
        at_ms=at_ms,
        size=MARKER_BYTES,
    )
    roll = roll_segment(part, name, disk)
    part, aborted = part.with_marker(marker, indexed=disk.log(index_of(name)).end)
    index_entry = () if aborted is None else (Append(index_of(name), aborted, notify=False),)
    return part, (*roll, Append(name, marker), *index_entry), marker


# ---- Before a batch opens a transaction on a partition, the transaction coordinator is asked
#
# Leader and group coordinator do the same thing here (KIP-890): a *guard* is set up on the
# partition, the question leaves, and the request waits under a number. The answer comes back
# to the number; whether the guard is still there says whether a marker came in between. What is
# answered to whom is theirs to decide.
#
# A legacy client must have added the partition itself, so the coordinator only verifies; a v2
# client's partition is added now.
#
# Source: ReplicaManager#maybeSendPartitionsToTransactionCoordinator, AddPartitionsToTxnManager,
# VerificationGuard (Kafka 4.3).

#: Produce at a leader, TxnOffsetCommit at a group coordinator
Ask = TypeVar("Ask", bound=Produce | TxnOffsetCommit)
ADD = "add "


@frozen
class Verifying(Generic[Ask]):
    """A request that waits for the coordinator's word: what was asked, by whom, under which guard,
    and how often the question was put again. `ask`: the request."""

    ask: Ask
    caller: Caller
    question: AddPartitionsToTxn
    guard: int
    again: int = 0


def ask_coordinator(
    role: R,
    ask: Produce | TxnOffsetCommit,
    caller: Caller,
    txn_id: str,
    batch: Batch,
    disk: Disk,
    *,
    v2: bool,
) -> tuple[R, Effects]:
    """Ask the transaction coordinator about a batch before it is appended (AddPartitionsToTxn): a
    client of version 2 has its partition added by this request (`implicit`), for an older one it is
    only verified. The batch waits in `verifying` under the number of its request. `guards` has a
    number for its producer meanwhile; a marker that comes in between removes that, and the batch is
    then refused."""
    # the guard's number is where the log ends, so it is higher after each marker
    part = role.part.with_guard(batch, number=disk.log(role.name).end, v2=v2)
    request = AddPartitionsToTxn(
        txn_id, batch.pid, batch.epoch, (role.name,), verify_only=not v2, implicit=v2
    )
    corr = 0  # the lowest number that no open question has
    while corr in role.verifying:
        corr += 1
    verifying = Verifying(ask, caller, request, part.guards[batch.pid].number)
    new = replace(role, part=part, verifying=role.verifying.set(corr, verifying))
    return new, (Send(role.config.coordinator, request, corr),)


def close_question(role: R, corr: int) -> R:
    """It is answered: nothing waits under this number any more."""
    return replace(role, verifying=role.verifying.remove(corr))


def give_up_questions(role: R) -> tuple[R, list[Caller], Effects]:
    """The connection to the coordinator broke: who waited, to be asked to try again. The
    pauses end with their questions: a number may be used again."""
    callers = [waiting.caller for waiting in role.verifying.values()]
    pauses = tuple(CancelTimer(f"{ADD}{corr}") for corr, w in role.verifying.items() if w.again)
    return replace(role, verifying=Map()), callers, pauses


# ---- Fetch: what a reader gets -------------------------------------------------------
#
# The broker cuts, the client filters. Under read_committed the leader gives nothing at or
# above the LSO, and adds the list of transactions that were aborted in the range; aborted
# data and markers travel all the same. No mode buffers anything.
#
# Sources: UnifiedLog#read, LocalLog#addAbortedTransactions, TransactionIndex (Kafka 4.3).

LEAST_BYTES = 70  # of a record that no client sent, so that its bytes were not counted


def upper_bound(part: Partition, isolation: str) -> int:
    """The offset that a reader of this isolation level may not reach."""
    if isolation == READ_COMMITTED and "lso" in part.config.on:
        return part.read_limit
    return part.hw


def answer_fetch(part: Partition, name: str, ask: Fetch, disk: Disk) -> FetchResponse:
    """Answer Fetch: whole batches from an offset on, up to the high watermark or, with
    read_committed, up to the last stable offset; and the aborted transactions among them, which the
    client filters out. The first batch is sent however large it is (KIP-74). An offset outside of
    the log is refused with OFFSET_OUT_OF_RANGE."""
    log = disk.log(name)
    end = upper_bound(part, ask.isolation)  # read_limit, below: the last stable offset
    if not log.start <= ask.offset <= log.end:
        return FetchResponse(Error.OFFSET_OUT_OF_RANGE, part.hw, part.read_limit, log.start)
    batches: list[Batch] = []
    total_bytes = 0
    for batch in log.read(ask.offset, end) if ask.offset < end else ():
        # size 0: a batch that no client has sent as bytes
        batch_bytes = batch.size or LEAST_BYTES * batch.count
        if batch.last >= end or (batches and total_bytes + batch_bytes > ask.max_bytes):
            break
        batches.append(batch)
        total_bytes += batch_bytes
    # None: a client that reads uncommitted filters nothing
    aborted: tuple[AbortedTxn, ...] | None = None
    if ask.isolation == READ_COMMITTED:
        upper = batches[-1].last + 1 if batches else ask.offset
        aborted = collect_aborted_txns(name, ask.offset, upper, disk)
        if "aborted_index" not in part.config.on:  # a safeguard that is switched off
            aborted = ()
    return FetchResponse(Error.NONE, part.hw, part.read_limit, log.start, tuple(batches), aborted)


def collect_aborted_txns(name: str, start: int, upper: int, disk: Disk) -> tuple[AbortedTxn, ...]:
    """Find the aborted transactions that overlap the offsets [start, upper)
    (TransactionIndex#collectAbortedTxns). Index entries are sorted by their last offset, so a
    binary search finds the first one that ends at or after `start`; the search ends where the last
    stable offset had passed `upper` when an entry was written."""
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
        if entry.lso >= upper:  # every later entry is of a transaction that began above it
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
    or after a time, from a place on. A lesson's records share their batch's stamp."""

    def find_since(self, at_ms: int, place: int = 0) -> tuple[int, int] | None: ...


def answer_list_offsets(
    part: Partition, name: str, ask: ListOffsets, disk: Disk
) -> ListOffsetsResponse:
    """Answer ListOffsets: the earliest offset, the latest (LSO or high watermark), or the first
    record with a timestamp at or after a given time, which for NEWEST is the newest timestamp of
    the log; -1 where there is none. Only what the isolation level may read is searched. A marker is
    a record with a timestamp of its own and may be the answer, and so may a deleted record to
    NEWEST, and to nothing else (seen on a real 4.3.1 broker)."""
    log = disk.log(name)
    end = upper_bound(part, ask.isolation)
    if ask.at_ms == EARLIEST:
        return ListOffsetsResponse(log.start)
    if ask.at_ms == LATEST:
        return ListOffsetsResponse(end)
    at_ms = find_newest(log, end) if ask.at_ms == NEWEST else ask.at_ms
    # a server's log has a time index (TimeIndexed); a lesson's log is read from its start
    start: int = log.find_since(at_ms) if hasattr(log, "find_since") else log.start
    first = 0 if ask.at_ms == NEWEST else log.start
    for batch in log.read(start, end) if start < end else ():
        if batch.at_ms >= at_ms and (found := _find_since(batch, at_ms, first)) is not None:
            return found
    return ListOffsetsResponse(-1)


def find_newest(log: LogView | TimeIndexed, end: int) -> int:
    """The latest stamp of a log, which is not always the last."""
    if hasattr(log, "newest"):
        return log.newest
    return max((b.at_ms for b in log.read(log.start, end)), default=-1)


def _find_since(batch: Batch, at_ms: int, first: int) -> ListOffsetsResponse | None:
    """The record, at `first` or after it, within a batch whose latest stamp is late enough. None
    where those that are are deleted."""
    records: Stamped | object = batch.records
    deleted = max(first - batch.base, 0)
    match = records.find_since(at_ms, deleted) if hasattr(records, "find_since") else None
    if match is None:
        return ListOffsetsResponse(batch.base, batch.at_ms) if not deleted else None
    place, stamp = match
    return ListOffsetsResponse(batch.base + place, stamp)


# ---- Waiting for a log to grow: long polls, and acknowledgements (`acks`) not yet safe
#
# A reader that found too little asks for an answer when there is more than it was given; the
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
    """With one more, in the order of the offsets; after those with the same one."""
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
        since = f" {phrase('open since @{}', self.txn_first)}" if self.txn_first >= 0 else ""
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
    """Answer a request that only reads: Fetch, ListOffsets, DescribeProducers, or a long poll
    (Watch, Unwatch). Partition leaders and group coordinators share it. Returns the role and the
    effects: the answer at once, except for a Watch that finds nothing new, which the role remembers
    and answers later, and for an Unwatch, which makes it forget one and has no answer."""
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
    """The timer that looks for idle producers, once there is a producer to forget; `old` None:
    none is running."""
    begins = new.remembers and (old is None or not old.remembers)
    if not config.pid_expiration_ms or not begins:
        return ()
    return (SetTimer(EXPIRE, config.pid_sweep_ms),)


def forget_idle(role: R, at_ms: int) -> tuple[R, Effects]:
    """Producers that have been idle for too long.

    A leader that remembered every producer for ever would grow for ever. So a timer runs as long as
    there is a producer to forget, and what was idle for `pid_expiration_ms` is dropped, except
    producers whose transaction is open (ProducerStateManager#removeExpiredProducers, Kafka 4.3).

    The timer has fired; it is set again while a producer is left.
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
