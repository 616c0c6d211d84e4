"""What is true while a safeguard is off, in the place of the sentences that rest on it."""

from __future__ import annotations

from ...kernel import Words
from ...kernel.reasons import Unguarded
from ..group.messages import SyncGroup
from ..messages import EndTxn, TxnOffsetCommit, WriteTxnMarkers
from . import why, words
from .meaning import Kind

DECIDED_BEHIND = Words(
    "the decision is written, but partitions may have been told another one before."
)
UNGUARDED: Unguarded = {
    "epoch_fencing": (
        (
            words.WHY_EMPTY,
            Words(
                "the producer has its id and epoch, and a producer with an older epoch is served "
                "all the same."
            ),
        ),
        (
            why.INIT_TXN,
            Words(
                "a producer asks for its id and epoch first, and one that held the name before "
                "goes on all the same."
            ),
        ),
        (
            why.LATE,
            Words(
                "it left before the connection broke and arrives only now, and nobody looks at "
                "its epoch."
            ),
        ),
    ),
    "sequence_check": (
        (
            why.PRODUCE_NUMBERED,
            Words("producer id, epoch and sequence number travel along, and nobody compares them."),
        ),
        (
            why.INIT_PLAIN,
            Words(
                "a producer gets a number nobody has had, and no leader recognises a repeat by it."
            ),
        ),
        (
            why.LATE,
            Words(
                "it left before the connection broke and arrives only now, and nobody looks at "
                "its sequence numbers."
            ),
        ),
        (
            words.WHY_DATA,
            Words("it is in the log at once, even if the same record lies there already."),
        ),
    ),
    "lso": (
        (
            words.WHY_DATA,
            Words(
                "it is in the log at once, and readers of committed data need not wait for the "
                "decision."
            ),
        ),
        (
            words.WHY_LSO,
            Words("read_committed reads up to the high watermark, as everybody does."),
        ),
        (
            words.WHY_FETCHED,
            Words("what lies below the high watermark is read, decided or not."),
        ),
        (
            why.FETCH_COMMITTED,
            Words(
                "a reader of committed data gets what lies below the high watermark, decided or "
                "not."
            ),
        ),
    ),
    "aborted_index": (
        (
            words.WHY_LSO,
            Words(
                "read_committed reads up to the LSO, and nothing tells it which records were "
                "aborted."
            ),
        ),
        (
            words.WHY_FETCHED,
            Words(
                "the records come without the list of aborted transactions, so a reader takes all "
                "of them for committed."
            ),
        ),
    ),
    "prepare_before_markers": (
        (
            why.REQUESTS[EndTxn],
            Words(
                "the client asks for the end, and partitions are told before anything is written "
                "down."
            ),
        ),
        (
            words.WHY_ANSWERED,
            Words("the client is answered without waiting for a decision in the log."),
        ),
        (
            why.REQUESTS[WriteTxnMarkers],
            Words("a partition is told whether the decision is in the log or not."),
        ),
        (words.WHY_PREPARE_COMMIT, DECIDED_BEHIND),
        (words.WHY_PREPARE_ABORT, DECIDED_BEHIND),
        (
            why.RECOVERED[Kind.COORDINATOR],
            Words(
                "it knows what its log says, and not which markers it has sent without writing "
                "that down."
            ),
        ),
    ),
    "transaction_timeout": (
        (
            words.WHY_ONGOING,
            Words("the coordinator now knows where it will owe markers, and no clock runs."),
        ),
    ),
    "verification": (
        (
            words.WHY_DATA,
            Words(
                "it is in the log at once; of an old client's record nobody asks whether its "
                "transaction is open."
            ),
        ),
    ),
    "epoch_bump": (
        (
            words.WHY_ANSWERED,
            Words(
                "the client is answered and keeps its epoch, so a late record of this transaction "
                "looks like one of the next."
            ),
        ),
        (
            why.LATE,
            Words(
                "it left before the connection broke and arrives only now, with an epoch that is "
                "still good."
            ),
        ),
    ),
    "offsets_in_transaction": (
        (
            why.REQUESTS[TxnOffsetCommit],
            Words("how far the group has read is sent within the transaction, and counts at once."),
        ),
        (
            words.WHY_PENDING,
            Words("these positions count at once, whatever becomes of the transaction."),
        ),
    ),
    "generation_fencing": (
        (
            words.WHY_GENERATION,
            Words(
                "a generation: who is in the group and what each reads; others may commit all the "
                "same."
            ),
        ),
        (
            why.STABLE,
            Words("everybody knows its part, and members of older generations may commit as well."),
        ),
        (
            why.REQUESTS[SyncGroup],
            Words("one member shares the partitions out, and who is left out may still commit."),
        ),
        (
            words.WHY_PENDING,
            Words("positions as part of the transaction, no matter who sent them."),
        ),
        (
            words.WHY_OFFSETS,
            Words("these positions count at once, no matter who sent them."),
        ),
    ),
}
