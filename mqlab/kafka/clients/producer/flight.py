"""What a producer keeps of its work: batches under way, how a partition is numbered, and
the one question that is open at a coordinator."""

from __future__ import annotations

from ....kernel import frozen
from ...log import Batch
from ...messages import AddOffsetsToTxn, AddPartitionsToTxn, EndTxn, InitProducerId, TxnOffsetCommit
from ..calls import SendOffsets

#: what a producer asks coordinators
CoordinatorQuestion = (
    InitProducerId | AddPartitionsToTxn | AddOffsetsToTxn | EndTxn | TxnOffsetCommit
)
DELIVERY = "delivery "
RETRY = "retry"  # the timer of everything that waits before it is sent again


@frozen
class Line:
    """How a partition is being written: under which id and epoch, and the next sequence
    number. All batches of a partition that are under way stand in one line (TxnPartitionEntry).
    """

    pid: int
    epoch: int
    next: int = 0

    @property
    def number(self) -> int:
        """A number for the request of the next batch, different in every epoch, so that a
        late answer to an older one is not taken for its."""
        return number_of(self.epoch, self.next)


def number_of(epoch: int, sequence: int) -> int:
    return max(epoch, 0) << 31 | sequence


@frozen
class Flight:
    """A batch that is not answered yet (ProducerBatch).

    `number` -1: it has no sequence number, for it never left, or must be numbered again; else
    the number of its last request. `sent`: it is with the leader now. `paused`: it waits for
    the retry timer. `tries`: how often it was sent again, counted where that is bounded.
    `stray`: the application sent it outside of a transaction and was told so; nevertheless
    it is here, and leaves with the next transaction that writes to its partition.
    """

    partition: str
    batch: Batch
    number: int = -1
    sent: bool = False
    paused: bool = False
    tries: int = 0
    stray: bool = False

    @property
    def owner(self) -> tuple[int, int]:
        return self.batch.pid, self.batch.epoch

    @property
    def timer(self) -> str:
        """Its delivery timeout; two batches of the same words share one."""
        return f"{DELIVERY}{self.partition} {'|'.join(self.batch.records)}"

    @property
    def is_renumbered(self) -> bool:
        """Whether its sequence number is another than the one it was last sent with."""
        return self.number != number_of(self.batch.epoch, self.batch.first_seq)


@frozen
class TxnRequest:
    """The one request to a coordinator that is under way (TxnRequestHandler). `sent` False:
    it waits for the retry timer, or (`parked`) for the application to call again. `then`:
    the offsets to commit once the group's partition is in the transaction."""

    to: str
    body: CoordinatorQuestion
    sent: bool = True
    parked: bool = False
    tries: int = 0
    then: SendOffsets | None = None
