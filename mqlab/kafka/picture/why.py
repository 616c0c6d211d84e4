"""One sentence why for each kind of step: what it means here, not what its line says again.

Where a transaction, an offset or an error must be named, the sentence comes from `telling.py`.
Everything else that a learner sees finds its sentence in these tables, by the kind of the fact
and by the message, the timer, the outcome or the state that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...kernel import NOTHING, Fact, FactKind, Made, Text, Words
from ...kernel.reasons import POWER_CUT, Changes, Reasons, Timers, Unguarded
from .. import coordinator
from ..clients.consumer import HEARTBEAT
from ..clients.producer import BUMPED, ENTERED, flight
from ..clients.producer.flight import MAX_BLOCK
from ..coordinator import OWES, SWEEP
from ..coordinator.entry import TIMEOUT, DescribeTransactions, ListTransactions
from ..errors import Error
from ..group import NOW, membership
from ..group.members import DeleteGroup, DeleteOffsets, GroupState, JoinGroup, LeaveGroup, SyncGroup
from ..log.role import ADD, EXPIRE, FRONTIERS, DescribeProducers
from ..messages import (
    EARLIEST,
    READ_COMMITTED,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    AddPartitionsToTxnResponse,
    CreateTopic,
    DeleteRecords,
    DeleteTopic,
    EndTxn,
    Fetch,
    InitProducerId,
    InitProducerIdResponse,
    ListOffsets,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    PartitionsDeleted,
    Produce,
    ProduceResponse,
    TxnOffsetCommit,
    WriteTxnMarkers,
    WriteTxnMarkersResponse,
)
from ..replication.controller import AlterPartition, FetchReplicaResponse, FindCoordinator, Register
from ..replication.replica import ASKS, FOLLOWS, HW_MOVED, LEADS, NOBODY_LEADS
from ..replication.router import PAUSE
from ..states import ProducerState
from . import words
from .telling import Kind

REQUESTS: dict[type, Words] = {
    AddOffsetsToTxn: Words(
        "The log of the group's positions joins the transaction as a partition does: it will get "
        "a marker."
    ),
    TxnOffsetCommit: Words(
        "How far the group has read travels inside the transaction and counts only if it commits."
    ),
    EndTxn: Words(
        "The client only asks for the end; what counts is what the coordinator writes down."
    ),
    WriteTxnMarkers: Words(
        "The decision is on disk already; it is told to each partition until that has answered."
    ),
    OffsetCommit: Words(
        "A position committed by itself belongs to no transaction and counts at once."
    ),
    OffsetFetch: Words(
        "A member that takes a partition over begins at the position that its group has committed."
    ),
    FindCoordinator: Words(
        "The hash of the name picks one partition of an internal log; the leader of that "
        "partition is its coordinator."
    ),
    JoinGroup: Words(
        "A member that comes makes all others join again: partitions are shared out again."
    ),
    SyncGroup: Words(
        "One member shares the partitions out; the others learn their part from the coordinator."
    ),
    LeaveGroup: Words(
        "A member that says goodbye is replaced without waiting for its session to run out."
    ),
    ListOffsets: Words(
        "Where a log ends depends on who asks: at the LSO for committed data, else at the HW."
    ),
    DeleteTopic: Words(
        "A producer with a transaction open in this topic is not asked, and not told."
    ),
    PartitionsDeleted: Words("A topic is deleted: no group keeps a position in it."),
    CreateTopic: Words("It has the name of the one that was deleted, and nothing else of it."),
    DeleteRecords: Words("What is before this offset is deleted, decided or not."),
    DeleteGroup: Words("A group and all its positions go, if nobody is in it."),
    DeleteOffsets: Words("The group forgets how far it has read these partitions."),
    ListTransactions: Words(
        "The coordinator can name only what it knows; a hanging transaction is not among it."
    ),
    DescribeTransactions: Words(
        "One half of the search for a hanging transaction: what does the coordinator believe?"
    ),
    DescribeProducers: Words(
        "The other half of the search: who is open in this partition, whatever the coordinator "
        "believes?"
    ),
    AlterPartition: Words(
        "Which copies count as in sync is written down by the controller; a leader only asks."
    ),
    Register: Words("Only a node that the controller knows to be up may lead or count as in sync."),
}
INIT_TXN = Words(
    "A producer asks for its id and epoch before it does anything else; that shuts out the one "
    "that held the name before."
)
INIT_PLAIN = Words(
    "Without a transactional id a producer gets a number nobody has had: it lets leaders "
    "recognise repeats, until the process ends."
)
PRODUCE_TXN = Words("Data goes straight to the partition's leader; the coordinator never sees it.")
PRODUCE_NUMBERED = Words(
    "Producer id, epoch and sequence number travel along: by them the leader knows a repeat."
)
PRODUCE_PLAIN = Words(
    "Nothing in it tells a repeat from a new record: sent twice, it is stored twice."
)
ADD_BY_CLIENT = Words(
    "The coordinator must know of a partition before data goes there, or it would never get a "
    "marker."
)
ADD_BY_LEADER = Words(
    "Before it stores the record, the leader asks whether this transaction is really open."
)
LIST_EARLIEST = Words(
    "Where the log begins: with auto.offset.reset=earliest, a reader without a place in it goes on "
    "there."
)
FETCH_COMMITTED = Words(
    "A reader of committed data gets nothing from the LSO on, however far the log goes."
)
FETCH_ALL = Words(
    "A reader of everything is held up by the high watermark only, not by open transactions."
)

#: other answers say nothing that their words do not
ANSWERS: dict[type, Words] = {
    ProduceResponse: Words("Every in-sync copy holds it now: the producer may forget the record."),
    OffsetFetchResponse: Words("-1 is a partition for which the group has no committed position."),
    FetchReplicaResponse: Words(
        "A follower copies by asking; from where it asks next, the leader learns how far it has "
        "got."
    ),
    InitProducerIdResponse: Words("From now on the producer's requests carry this id and epoch."),
    AddPartitionsToTxnResponse: Words(
        "The coordinator's log names the partition now, so the end of the transaction sends a "
        "marker there."
    ),
    WriteTxnMarkersResponse: Words(
        "The marker is in this partition's log: the coordinator need not send it again."
    ),
    OffsetCommitResponse: Words(
        "The positions are in the group's log; those of a transaction count once it has committed."
    ),
}

STOPPED: dict[Kind, Words] = {
    Kind.COORDINATOR: Words(
        "Its memory is gone, its log is not: what was decided on disk still holds, and what had "
        "not been sent must wait for the restart."
    ),
    Kind.PARTITION: Words(
        "What the process has written stays with the operating system: a crash of the process "
        "loses no record."
    ),
    Kind.GROUP: Words("Who was a member is forgotten; generations and positions are in its log."),
    Kind.CLIENT: Words(
        "A client keeps nothing on disk, and no broker is told: they notice only its silence, or "
        "its successor."
    ),
}
RECOVERED: dict[Kind, Words] = {
    Kind.COORDINATOR: Words(
        "It knows again what its log says and no more: what was not decided there, never was."
    ),
    Kind.PARTITION: Words(
        "From its log and its snapshot it works out which transactions are open and what readers "
        "may see."
    ),
    Kind.GROUP: Words(
        "It reads its log again: positions count as before, pending ones wait for their marker."
    ),
    Kind.CLIENT: Words("The program begins at its first line and remembers nothing."),
}
#: by what the node says of its recovery, where that is more than what it is
RECOVERIES = {
    OWES: Words(
        "The decision was on disk, so it is final: all its markers are sent, also those that had "
        "arrived."
    ),
    ASKS: Words(
        "Somebody else may lead by now: it serves nobody until the controller has told it who does."
    ),
}

BROKEN = Words(
    "The client cannot tell whether its last request has arrived; it will ask again on a new "
    "connection."
)
LATE = Words(
    "It left before the connection broke and arrives only now: only its epoch and its numbers "
    "can show that it is old."
)
LATE_PLAIN = Words(
    "It left before the connection broke and arrives only now. It carries no producer id and no "
    "number, so nothing shows that it is old."
)
MUTED = Words(
    "The broker reads no further request from a connection before it has answered the last one. "
    "So this batch waits for one that waits for the coordinator."
)
CUT_BACK = Words(
    "The leader does not have these records: no in-sync copy was counted for them, so nobody was "
    "told that they are safe."
)

SESSION_OVER = Words(
    "No heartbeat for session.timeout.ms: the member counts as gone, whether it is or not."
)

TIMERS: Timers = {
    flight.RETRY: Words("No good answer has come: the same question is asked again."),
    coordinator.AGAIN: Words("A partition has not answered: its marker is sent until it does."),
    coordinator.APPEND_AGAIN: Words(
        "Too few copies were in sync to keep the record safe: the coordinator writes it again."
    ),
    ADD: Words("The coordinator has not answered the leader's question: it asks once more."),
    PAUSE: Words("Nobody led the partition: the client looks for its leader once more."),
    flight.DELIVERY: Words(
        "delivery.timeout.ms has passed: the producer gives the record up, although it may be "
        "stored."
    ),
    MAX_BLOCK: Words(
        "max.block.ms has passed: the call stops waiting, but what it asked for may still happen."
    ),
    SWEEP: Words(
        "An id unused for transactional.id.expiration.ms is forgotten with all it protected."
    ),
    EXPIRE: Words(
        "A producer silent for producer.id.expiration.ms is forgotten: a repeat of its records "
        "would be new."
    ),
    TIMEOUT: Words(
        "A transaction open for longer than transaction.timeout.ms is aborted by its "
        "coordinator: readers would wait for it."
    ),
    HEARTBEAT: Words("A member that says nothing for too long would lose its partitions."),
    membership.SESSION: SESSION_OVER,
    membership.JOIN: Words("Who has not joined by now is left out of the new generation."),
    membership.SYNC: Words("Who has not asked for its part by now is left out of the group."),
}

STABLE = Words("Everybody knows its part; only members of this generation may commit positions.")
REPLICATED_UP_TO = Words(
    "Every in-sync copy holds the log up to here: the loss of one node loses none of it."
)
CONTROLLED = Words(
    "The controller's record decides who leads; what an older leader says is refused now."
)
#: what has changed in a role's memory
CHANGES: Changes = {
    FRONTIERS: REPLICATED_UP_TO,
    HW_MOVED: REPLICATED_UP_TO,
    (NOW, GroupState.PREPARING_REBALANCE): Words(
        "Somebody has come or gone: all members join again before anybody gets partitions."
    ),
    (NOW, GroupState.COMPLETING_REBALANCE): Words(
        "All have joined, so the generation has a number; one member shares the partitions out."
    ),
    (NOW, GroupState.STABLE): STABLE,
    (NOW, GroupState.EMPTY): Words(
        "Nobody reads for the group any more; its committed positions stay for the next."
    ),
    (ENTERED, ProducerState.ABORTABLE_ERROR): Words(
        "This transaction cannot commit any more; once it is aborted the producer may go on."
    ),
    (ENTERED, ProducerState.FATAL_ERROR): Words(
        "This producer can do nothing more; only a new one may go on."
    ),
    BUMPED: Words(
        "It has no coordinator to ask: with a new epoch it begins to count again, and leaders "
        "accept that."
    ),
    **dict.fromkeys((LEADS, FOLLOWS, NOBODY_LEADS), CONTROLLED),
}

#: what a failed call means, by what the client knows of the error
FAILURES: Mapping[object, Words] = {
    flight.ILLEGAL_STATE: Words(
        "The client refuses by itself and asks nobody: its state does not allow this call."
    ),
    Error.CONCURRENT_TRANSACTIONS: Words(
        "The last transaction of this id has not quite ended; asked again later, it may begin."
    ),
    flight.Kind.FATAL: Words(
        "This call is refused, and the producer can do nothing more: another one has its name, or "
        "its numbers are unknown. What an earlier try of it did still counts."
    ),
    flight.Kind.ABORTABLE: Words(
        "This call is refused, and the transaction cannot commit any more; the producer may abort "
        "it and go on."
    ),
}
FAILURE = Words(
    "This call is refused, and the application gets the error. It can go on in another way."
)
REASONS = Reasons(
    stopped=STOPPED,
    recovered=RECOVERED,
    timers=TIMERS,
    changes=CHANGES,
    alone={
        FactKind.POWER_CUT: POWER_CUT,
        FactKind.BREAK: BROKEN,
        FactKind.LATE: LATE,
        FactKind.TRUNCATE: CUT_BACK,
    },
    explain_success=lambda _: NOTHING,
    explain_failure=lambda outcome: FAILURES.get(outcome.meaning, FAILURE)(),
)


def explain_fact(fact: Fact, find_kind: Callable[[str], Kind]) -> Text:
    """One sentence why; nothing where the tables know none. `find_kind`: what a node is."""
    match fact.kind:
        case FactKind.IDLE if isinstance(fact.body, Produce):
            return MUTED()
        case FactKind.SEND | FactKind.IDLE:
            return _explain_request(fact.body, find_kind(fact.node))
        case FactKind.LATE if isinstance(fact.body, Produce) and fact.body.batch.pid < 0:
            return LATE_PLAIN()
        case FactKind.REPLY:
            return ANSWERS[type(fact.body)]() if type(fact.body) in ANSWERS else NOTHING
        case FactKind.RECOVERY if isinstance(fact.body, Made) and fact.body.words in RECOVERIES:
            return RECOVERIES[fact.body.words]()
    return REASONS.explain(fact, find_kind(fact.node))


def _explain_request(body: object, sender: Kind) -> Text:
    match body:
        case InitProducerId(txn_id=txn_id):
            return (INIT_TXN if txn_id else INIT_PLAIN)()
        case Produce(batch=batch):
            numbered = PRODUCE_NUMBERED if batch.pid >= 0 else PRODUCE_PLAIN
            return (PRODUCE_TXN if batch.transactional else numbered)()
        case AddPartitionsToTxn():
            return (ADD_BY_CLIENT if sender is Kind.CLIENT else ADD_BY_LEADER)()
        case ListOffsets(at_ms=at_ms) if at_ms == EARLIEST:
            return LIST_EARLIEST()
        case Fetch(isolation=isolation):
            return (FETCH_COMMITTED if isolation == READ_COMMITTED else FETCH_ALL)()
    return REQUESTS[type(body)]() if type(body) in REQUESTS else NOTHING


# What is true while a safeguard is off, in the place of the sentences that rest on it

DECIDED_BEHIND = Words(
    "the decision is written, but partitions may have been told another one before."
)
UNGUARDED: Unguarded = {
    "epoch_fencing": {
        words.WHY_EMPTY: Words(
            "the producer has its id and epoch, and a producer with an older epoch is served "
            "all the same."
        ),
        INIT_TXN: Words(
            "a producer asks for its id and epoch first, and one that held the name before "
            "goes on all the same."
        ),
        LATE: Words(
            "it left before the connection broke and arrives only now, and nobody looks at "
            "its epoch."
        ),
    },
    "sequence_check": {
        PRODUCE_NUMBERED: Words(
            "producer id, epoch and sequence number travel along, and nobody compares them."
        ),
        INIT_PLAIN: Words(
            "a producer gets a number nobody has had, and no leader recognises a repeat by it."
        ),
        LATE: Words(
            "it left before the connection broke and arrives only now, and nobody looks at "
            "its sequence numbers."
        ),
        words.WHY_DATA: Words(
            "it is in the log at once, even if the same record is there already."
        ),
    },
    "lso": {
        words.TOLD_WRITTEN: Words("readers of committed data get it, decided or not."),
        words.WHY_DATA: Words(
            "it is in the log at once, and readers of committed data need not wait for the "
            "decision."
        ),
        words.WHY_LSO: Words("read_committed reads up to the high watermark, as everybody does."),
        words.WHY_FETCHED: Words("what is below the high watermark is read, decided or not."),
        FETCH_COMMITTED: Words(
            "a reader of committed data gets what is below the high watermark, decided or not."
        ),
    },
    "aborted_index": {
        words.TOLD_SKIPPED: Words("readers of committed data are shown what was aborted."),
        words.WHY_LSO: Words(
            "read_committed reads up to the LSO, and nothing tells it which records were aborted."
        ),
        words.WHY_FETCHED: Words(
            "the records come without the list of aborted transactions, so a reader takes all "
            "of them for committed."
        ),
    },
    "prepare_before_markers": {
        REQUESTS[EndTxn]: Words(
            "the client asks for the end, and partitions are told before anything is written down."
        ),
        words.WHY_ANSWERED: Words(
            "the client is answered without waiting for a decision in the log."
        ),
        REQUESTS[WriteTxnMarkers]: Words(
            "a partition is told whether the decision is in the log or not."
        ),
        words.WHY_PREPARE_COMMIT: DECIDED_BEHIND,
        words.TOLD_COMMIT: DECIDED_BEHIND,
        words.TOLD_ABORT: DECIDED_BEHIND,
        words.WHY_PREPARE_ABORT: DECIDED_BEHIND,
        RECOVERED[Kind.COORDINATOR]: Words(
            "it knows what its log says, and not which markers it has sent without writing "
            "that down."
        ),
    },
    "transaction_timeout": {
        words.WHY_ONGOING: Words(
            "the coordinator now knows which partitions will need markers, and no clock runs."
        )
    },
    "verification": {
        words.WHY_DATA: Words(
            "it is in the log at once; of an old client's record nobody asks whether its "
            "transaction is open."
        )
    },
    "epoch_bump": {
        words.WHY_ANSWERED: Words(
            "the client is answered and keeps its epoch, so a late record of this transaction "
            "looks like one of the next."
        ),
        LATE: Words(
            "it left before the connection broke and arrives only now, with an epoch that is "
            "still good."
        ),
    },
    "offsets_in_transaction": {
        REQUESTS[TxnOffsetCommit]: Words(
            "how far the group has read is sent within the transaction, and counts at once."
        ),
        words.WHY_PENDING: Words(
            "these positions count at once, whatever becomes of the transaction."
        ),
    },
    "generation_fencing": {
        words.WHY_GENERATION: Words(
            "a generation: who is in the group and what each reads; others may commit all the same."
        ),
        STABLE: Words(
            "everybody knows its part, and members of older generations may commit as well."
        ),
        REQUESTS[SyncGroup]: Words(
            "one member shares the partitions out, and who is left out may still commit."
        ),
        words.WHY_PENDING: Words("positions as part of the transaction, no matter who sent them."),
        words.WHY_OFFSETS: Words("these positions count at once, no matter who sent them."),
    },
}
