"""The messages of a transaction: what producers, consumers, coordinators and partition leaders
say to each other. Field names follow the protocol's.

Messages that only one package handles are there: `coordinator/describe.py` and `log/role.py`
(an administrator's questions), `group/members.py` (who is in a group),
`replication/controller.py` (who leads).

A partition is written "topic-0", as Kafka's own tools print it. Where the version of a
request changes what the broker does, the message carries it; everything else about
versions is the wire layer's business.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

from ..kernel import Words, frozen, phrase, worded
from .errors import Error
from .log import AbortedTxn, Batch

READ_COMMITTED = "read_committed"
READ_UNCOMMITTED = "read_uncommitted"


def say_no_call(who: str) -> str:
    """What a client answers to a call that is another client's."""
    return f"{who} has no such call; readers=, admins=, producers= and `controller` have others"


def braces(names: tuple[str, ...]) -> str:
    return "{" + ", ".join(names) + "}"


def outcome(commit: bool) -> str:
    return "commit" if commit else "abort"


@frozen
class Answer:
    """What most answers begin with; by itself one that says no more than whether it went well."""

    error: Error = Error.NONE

    def refuse(self, error: Error) -> Self:
        """The same kind of answer, of which nothing is left but an error: what becomes of one
        that waited for a record that could not be made safe."""
        return type(self)(error)

    def __str__(self) -> str:
        return self.error.words


# ---- producer → transaction coordinator ------------------------------------------------


@frozen
class InitProducerId:
    """`txn_id` None: from an idempotent producer without transactions, to any broker.
    `pid`, `epoch`: what the caller believes it has (KIP-360), -1 for nothing."""

    txn_id: str | None
    timeout_ms: int = 60_000
    pid: int = -1
    epoch: int = -1

    def __str__(self) -> str:
        knows = f" pid={self.pid} epoch={self.epoch}" if self.pid >= 0 else ""
        name = "" if self.txn_id is None else f" {self.txn_id}"
        return f"InitProducerId{name}{knows}"


@frozen
class InitProducerIdResponse(Answer):
    pid: int = -1
    epoch: int = -1

    def __str__(self) -> str:
        given = "" if self.error else f" pid={self.pid} epoch={self.epoch}"
        return f"{self.error.words}{given}"


@frozen
class AddPartitionsToTxn:
    """From a legacy client, or (`verify_only` for legacy clients, else implicitly adding) from a
    partition leader on behalf of one. `implicit`: a partition leader adds its own partition
    (transaction version 2)."""

    txn_id: str
    pid: int
    epoch: int
    partitions: tuple[str, ...]
    verify_only: bool = False
    implicit: bool = False

    def __str__(self) -> str:
        verify = f" {phrase('verify')}" if self.verify_only else ""
        return f"AddPartitionsToTxn {braces(self.partitions)}{verify}"


@frozen
class AddPartitionsToTxnResponse(Answer):
    """To AddPartitionsToTxn and to AddOffsetsToTxn, which adds one partition too."""


@worded("AddOffsetsToTxn {group}")
class AddOffsetsToTxn:
    """Adds the partition of `__consumer_offsets` that keeps `group`."""

    txn_id: str
    pid: int
    epoch: int
    group: str


@frozen
class EndTxn:
    """`v2`: request version 5 or later, whose answer carries the next epoch. `commit`: commit or
    abort."""

    txn_id: str
    pid: int
    epoch: int
    commit: bool
    v2: bool = True

    def __str__(self) -> str:
        return f"EndTxn {outcome(self.commit)} epoch={self.epoch}"


@frozen
class EndTxnResponse(Answer):
    pid: int = -1
    epoch: int = -1

    def __str__(self) -> str:
        epoch = f" epoch={self.epoch}" if self.epoch >= 0 and not self.error else ""
        return self.error.words + epoch


# ---- coordinator → itself, → leaders ---------------------------------------------------


@worded("send markers of {txn_id}")
class SendMarkers:
    """The coordinator's note to itself: the decision is durable, the markers are owed."""

    txn_id: str


@frozen
class WriteTxnMarkers:
    """One Send a partition. `transaction_version` 2 (request v2) makes the leader demand an epoch
    above the one it knows. An admin's abort has `txn_id` "". `commit`: a commit or an abort marker;
    `coordinator_epoch`: fences an earlier coordinator."""

    txn_id: str
    pid: int
    epoch: int
    commit: bool
    coordinator_epoch: int = 0
    transaction_version: int = 2

    def __str__(self) -> str:
        again = f" coordinatorEpoch={self.coordinator_epoch}" if self.coordinator_epoch else ""
        return f"WriteTxnMarkers {outcome(self.commit)} epoch={self.epoch}{again}"


@frozen
class WriteTxnMarkersResponse:
    """`epoch`: of the marker that was asked for, by which the coordinator knows which of an
    id's transactions is meant."""

    txn_id: str
    pid: int
    error: Error = Error.NONE
    epoch: int = -1

    def refuse(self, error: Error) -> Self:
        """It still says which marker is meant."""
        return replace(self, error=error)

    def __str__(self) -> str:
        return self.error.words


# ---- clients → partition leaders -------------------------------------------------------


@frozen
class Produce:
    """One batch for one partition. `version`: 12 and up add the partition implicitly, 11
    can be answered TRANSACTION_ABORTABLE, older ones get INVALID_TXN_STATE instead. `flaw`: why
    the batch cannot be appended, as far as its bytes say it; its partition is added to the
    transaction before that is looked at. `verify` False: the broker is configured to open a legacy
    client's transaction without asking (transaction.partition.verification.enable)."""

    batch: Batch
    txn_id: str | None = None
    version: int = 12
    flaw: Error = Error.NONE
    verify: bool = True

    #: of one without an effect: a leader answers each, at once or in its turn
    idle: ClassVar[Words] = Words("{what}: waits its turn")

    def __str__(self) -> str:
        b = self.batch
        return f"Produce {b.words}" + (f" epoch={b.epoch} seq={b.first_seq}" if b.pid >= 0 else "")


@frozen
class ProduceResponse(Answer):
    """`at_ms`: of a duplicate, when it was first written; `start`: where the log begins."""

    base_offset: int = -1
    at_ms: int = -1
    start: int = 0

    def __str__(self) -> str:
        return self.error.words + ("" if self.error else f" @{self.base_offset}")


@worded("Fetch @{offset} {isolation}")
class Fetch:
    """Read from `offset` on, at most `max_bytes` (but at least one batch)."""

    offset: int
    isolation: str = READ_COMMITTED
    max_bytes: int = 1 << 20


@frozen
class FetchResponse(Answer):
    """Whole batches, aborted data and markers included; `aborted` is None under
    read_uncommitted. Filtering is the client's work."""

    hw: int = -1
    lso: int = -1
    start: int = 0
    batches: tuple[Batch, ...] = ()
    aborted: tuple[AbortedTxn, ...] | None = None

    def __str__(self) -> str:
        if self.error:
            return self.error.words
        held = "; ".join(b.control.lower() if b.control else b.words for b in self.batches)
        return held or phrase("nothing")


@worded("Watch @{offset}")
class Watch:
    """Answer once there is something to read at `offset` (the long poll of a Fetch)."""

    offset: int
    isolation: str = READ_COMMITTED


@worded("Unwatch")
class Unwatch:
    """The one who waits for an answer under number `corr` needs it no longer."""

    corr: int


@worded("there is more to read")
class Watched:
    pass


@worded("ListOffsets {at_ms}")
class ListOffsets:
    """`at_ms`: a timestamp, LATEST, EARLIEST, or NEWEST (the record stamped latest)."""

    at_ms: int
    isolation: str = READ_COMMITTED


@frozen
class DeleteRecords:
    """The log is to begin at `offset`; -1: at the high watermark."""

    offset: int

    def __str__(self) -> str:
        if self.offset < 0:
            return phrase("DeleteRecords before the end")
        return phrase("DeleteRecords before {}", self.offset)


@frozen
class DeleteRecordsResponse:
    """`low_watermark`: where the log begins now."""

    low_watermark: int
    error: Error = Error.NONE

    def __str__(self) -> str:
        return self.error.words + ("" if self.error else f" @{self.low_watermark}")


@worded("DeleteTopic")
class DeleteTopic:
    """The partition is no more: its log, its index, and all that its leader knows."""


@worded("CreateTopic")
class CreateTopic:
    """There is a partition of this name again, and it is empty."""


@frozen
class TopicResponse(Answer):
    """To both, and to PartitionsDeleted."""


LATEST = -1
EARLIEST = -2
NEWEST = -3


@worded("@{offset}")
class ListOffsetsResponse:
    offset: int
    at_ms: int = -1
    error: Error = Error.NONE


@frozen
class PartitionsDeleted:
    """To a group coordinator: no group keeps a position in these (#onPartitionsDeleted)."""

    partitions: tuple[str, ...]

    def __str__(self) -> str:
        return f"PartitionsDeleted {braces(self.partitions)}"


# ---- clients → group coordinator -------------------------------------------------------


def _generation(generation: int) -> str:
    return f" generation={generation}" if generation >= 0 else ""


@worded("{partition}@{offset}")
class Position:
    """A committed offset of one partition: the next record to read, never the last read.
    `leader_epoch`: that of the last record read, -1 where the client gave none; it is kept
    and given back, so that a reader notices a log that was cut since (KIP-320)."""

    partition: str
    offset: int
    metadata: str = ""
    leader_epoch: int = -1


@frozen
class TxnOffsetCommit:
    """Offsets as part of a transaction. `version` 5 and up adds the partition of
    `__consumer_offsets` implicitly. `member` "" and `generation` -1: no group fencing; `instance`:
    a static member's name. `positions`: the offsets to commit, by partition."""

    txn_id: str
    group: str
    pid: int
    epoch: int
    positions: tuple[Position, ...]
    member: str = ""
    generation: int = -1
    version: int = 5
    instance: str | None = None

    def __str__(self) -> str:
        positions = braces(tuple(map(str, self.positions)))
        return f"TxnOffsetCommit {self.group} {positions}{_generation(self.generation)}"


@frozen
class OffsetCommit:
    """A plain commit, outside any transaction; its fields as in TxnOffsetCommit."""

    group: str
    positions: tuple[Position, ...]
    member: str = ""
    generation: int = -1
    version: int = 9
    instance: str | None = None

    def __str__(self) -> str:
        positions = braces(tuple(map(str, self.positions)))
        return f"OffsetCommit {self.group} {positions}{_generation(self.generation)}"


@frozen
class OffsetCommitResponse(Answer):
    """To both commits: one error for all positions."""


@worded("OffsetFetch {group}")
class OffsetFetch:
    """`partitions` None: all of the group. `require_stable` (KIP-447): refuse while a
    transaction holds a pending offset."""

    group: str
    partitions: tuple[str, ...] | None = None
    require_stable: bool = True


@frozen
class OffsetFetchResponse:
    """A partition without a committed offset has offset -1. `unstable`: partitions whose offset an
    open transaction may still change."""

    positions: tuple[Position, ...] = ()
    unstable: tuple[str, ...] = ()
    error: Error = Error.NONE

    def __str__(self) -> str:
        if self.error:
            return self.error.words
        if self.unstable:
            return Error.UNSTABLE_OFFSET_COMMIT.name
        return braces(tuple(map(str, self.positions)))
