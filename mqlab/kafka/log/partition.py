"""A partition as its leader knows it: who writes, which transactions are open, how far one
may read. Leader and group coordinator share it; it answers questions and takes notes, and
never sends anything.

Everything here is rebuilt from the log, so nothing here is durable.

*High watermark (HW)*: what lies below is replicated. Only replication moves it; a commit
does not. *First unstable offset*: where the oldest transaction begins that is open, or
whose marker is not yet below the HW. *Last stable offset (LSO)*: the smaller of the two.
A read_committed reader sees nothing at or above the LSO, be it part of a transaction or
not; that is why one open transaction holds up everything behind it in its partition.

Sources: ProducerStateManager, ProducerStateEntry, ProducerAppendInfo,
UnifiedLog#analyzeAndValidateProducerState, #lastStableOffset (Kafka 4.3).
"""

from __future__ import annotations

from collections.abc import Iterable

from ...kernel import Map, frozen, replace
from ..config import KafkaConfig
from ..errors import Error
from ..messages import WriteTxnMarkers
from . import ABORT, AbortedTxn, Batch, next_sequence

WINDOW = 5  # ProducerStateEntry.NUM_BATCHES_TO_RETAIN


@frozen
class Written:
    """One of the batches a producer wrote last: what makes a duplicate recognisable."""

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
    """A verification under way or passed (VerificationStateEntry): who asked first, the
    lowest sequence seen meanwhile. `number` tells a guard from a later one of the same
    producer: a marker in between removes it, and the append then fails."""

    number: int
    epoch: int
    lowest_seq: int
    v2: bool
    at_ms: int = 0


@frozen
class Partition:
    """`open`: (first offset, pid) of open transactions; `unreplicated`: (first offset,
    marker offset) of those whose marker is not yet below the HW; both sorted. `start`: the
    batch that the log begins with, once records were deleted."""

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
        """The LSO as readers are told it, which their read_committed may not reach."""
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
        """With a guard for the batch's producer; an existing one of the same epoch stays."""
        guard: Guard | None = self.guards.get(batch.pid)
        if guard is None or guard.epoch != batch.epoch:
            guard = Guard(number, batch.epoch, batch.first_seq, v2, batch.at_ms)
        elif batch.first_seq < guard.lowest_seq:
            guard = replace(guard, lowest_seq=batch.first_seq)
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
        """Why a data batch cannot be appended, NONE if it can. `guard` is the number of
        the guard it was verified under. `sequences` False: the group coordinator's own
        appends, whose sequence numbers are not looked at."""
        if batch.pid < 0:
            return Error.NONE
        if self.is_stale(batch):
            return Error.INVALID_PRODUCER_EPOCH
        if self.needs_guard(batch) and guard is not None:
            held: Guard | None = self.guards.get(batch.pid)
            if held is None or held.number != guard:
                return Error.INVALID_TXN_STATE
        if sequences and "sequence_check" in self.config.on and not self._in_order(batch):
            return Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        entry: ProducerEntry | None = self.producers.get(batch.pid)
        if entry is not None and entry.txn_first >= 0 and not batch.transactional:
            return Error.INVALID_TXN_STATE
        return Error.NONE

    def _in_order(self, batch: Batch) -> bool:
        entry: ProducerEntry | None = self.producers.get(batch.pid)
        guard: Guard | None = self.guards.get(batch.pid)
        first = batch.first_seq
        if guard is not None and guard.epoch == batch.epoch:
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
        """After the batch was appended at `batch.base`."""
        if batch.pid < 0:
            return self
        entry: ProducerEntry = self.producers.get(batch.pid) or ProducerEntry(batch.epoch)
        if entry.epoch != batch.epoch:
            entry = replace(entry, epoch=batch.epoch, window=())
        written = Written(batch.first_seq, batch.last_seq, batch.base, batch.at_ms)
        opens = batch.transactional and entry.txn_first < 0
        entry = replace(
            entry,
            window=(*entry.window, written)[-WINDOW:],
            txn_first=batch.base if opens else entry.txn_first,
            last_ms=batch.at_ms,
        )
        return replace(
            self,
            producers=self.producers.set(batch.pid, entry),
            open=(*self.open, (batch.base, batch.pid)) if opens else self.open,
            guards=self.guards.remove(batch.pid),
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
        """After a marker was appended: its transaction is over here. The second value is
        the index entry of an abort; `indexed` entries are there already."""
        entry: ProducerEntry = self.producers.get(batch.pid) or ProducerEntry(batch.epoch)
        first = entry.txn_first
        still_open = tuple(o for o in self.open if o[1] != batch.pid)
        new = replace(
            entry,
            epoch=batch.epoch,
            window=entry.window if entry.epoch == batch.epoch else (),
            txn_first=-1,
            coordinator_epoch=batch.coordinator_epoch,
            last_ms=batch.at_ms,
        )
        owed = ((first, batch.base),) if first >= 0 else ()
        after = replace(
            self,
            producers=self.producers.set(batch.pid, new),
            open=still_open,
            unreplicated=tuple(sorted((*self.unreplicated, *owed))),
            guards=self.guards if self._guards_next(batch) else self.guards.remove(batch.pid),
        )
        if first < 0 or batch.control != ABORT:
            return after, None
        lso = still_open[0][0] if still_open else batch.base + 1
        return after, AbortedTxn(indexed, batch.pid, first, batch.base, lso)

    def _guards_next(self, marker: Batch) -> bool:
        """Whether the guard belongs to the producer's next transaction, which a v2 marker,
        written once more, must not disturb (UnifiedLog#updateProducers)."""
        guard: Guard | None = self.guards.get(marker.pid)
        return guard is not None and guard.v2 and guard.epoch == marker.epoch

    @property
    def remembers(self) -> bool:
        """Whether anything is remembered that can grow old."""
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
        """From a log alone, or from what a snapshot says (`start`, and how many index
        entries lie before it) and the tail of the log. Only the last batch of each producer
        is remembered then, so its window of recognisable duplicates shrinks from five to
        one. `since`: a follower has noted what it copied from this offset on, and takes over
        with its memory (None: nothing was noted)."""
        part = start or Partition(config)
        aborted: list[AbortedTxn] = []
        noted = False
        for batch in log:
            if since is not None and batch.base >= since:
                part, since = part._keep_last_batches(), None
                noted = True
            if batch.control:
                part, entry = part.with_marker(batch, indexed + len(aborted))
                aborted += [entry] if entry is not None else []
            else:
                part = part.with_data(batch)
        part = part if noted else part._keep_last_batches()
        return part.advance(end), tuple(aborted)

    def _keep_last_batches(self) -> Partition:
        short = Map((pid, replace(e, window=e.window[-1:])) for pid, e in self.producers.items())
        return replace(self, producers=short)
