"""One sentence why for each kind of step: what it means here, not what its line says again.

Where a transaction, an offset or an error must be named, the sentence comes from `telling.py`.
Everything else that a learner sees finds its sentence in these tables, by the kind of the fact
and by the message, the timer, the outcome or the state that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...kernel import NOTHING, Fact, FactKind, Made, Text, Words
from ...kernel.reasons import (
    POWER_CUT,
    Changes,
    Reasons,
    Timers,
    Unguarded,
    find_unguarded,
    read_sentences,
)
from .. import coordinator
from ..clients.consumer import HEARTBEAT
from ..clients.producer import BUMPED, ENTERED, flight
from ..clients.producer.flight import MAX_BLOCK
from ..coordinator import OWES, SWEEP
from ..coordinator.entry import TIMEOUT
from ..errors import Error
from ..group import NOW, membership
from ..group.members import GroupState, JoinGroup
from ..log.role import ADD, EXPIRE, FRONTIERS
from ..messages import (
    EARLIEST,
    READ_COMMITTED,
    AddPartitionsToTxn,
    Fetch,
    InitProducerId,
    ListOffsets,
    Produce,
)
from ..replication.replica import ASKS, FOLLOWS, HW_MOVED, LEADS, NOBODY_LEADS
from ..replication.router import PAUSE
from ..states import ProducerState
from . import words
from .telling import Kind

SENTENCES = read_sentences(__file__)
#: by the name of the message; some mean something else here than there and have a name of their own
REQUESTS: Mapping[str, Words] = SENTENCES["requests"]
#: other answers say nothing that their words do not
ANSWERS: Mapping[str, Words] = SENTENCES["answers"]
STOPPED: Mapping[Kind, Words] = {Kind[name]: why for name, why in SENTENCES["stopped"].items()}
RECOVERED: Mapping[Kind, Words] = {Kind[name]: why for name, why in SENTENCES["recovered"].items()}
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
    ADD: Words("The coordinator was busy with this producer: the leader asks once more."),
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

STABLE = Words("Everybody knows its part; members of older generations may not commit positions.")
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
        "This call is refused, and the producer can do nothing more: another one has its name, its "
        "transaction was ended without it, or its numbers are unknown. What an earlier try of it "
        "did still counts."
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
            name = _name_request(fact.body, find_kind(fact.node))
            return REQUESTS[name]() if name in REQUESTS else NOTHING
        case FactKind.LATE if isinstance(fact.body, Produce) and fact.body.batch.pid < 0:
            return LATE_PLAIN()
        case FactKind.REPLY:
            name = type(fact.body).__name__
            return ANSWERS[name]() if name in ANSWERS else NOTHING
        case FactKind.RECOVERY if isinstance(fact.body, Made) and fact.body.words in RECOVERIES:
            return RECOVERIES[fact.body.words]()
    return REASONS.explain(fact, find_kind(fact.node))


def _name_request(body: object, sender: Kind) -> str:
    """The name under which REQUESTS has the sentence of a request, if there is one."""
    match body:
        case InitProducerId(txn_id=txn_id):
            return "INIT_TXN" if txn_id else "INIT_PLAIN"
        case Produce(batch=batch):
            numbered = "PRODUCE_NUMBERED" if batch.pid >= 0 else "PRODUCE_PLAIN"
            return "PRODUCE_TXN" if batch.transactional else numbered
        case AddPartitionsToTxn(verify_only=True):
            return "VERIFY"
        case AddPartitionsToTxn():
            return "ADD_BY_CLIENT" if sender is Kind.CLIENT else "ADD_BY_LEADER"
        case JoinGroup(instance=instance):
            return "JOIN_STATIC" if instance else "JOIN"
        case ListOffsets(at_ms=at_ms) if at_ms == EARLIEST:
            return "LIST_EARLIEST"
        case Fetch(isolation=isolation):
            return "FETCH_COMMITTED" if isolation == READ_COMMITTED else "FETCH_ALL"
    return type(body).__name__


# What is true while a safeguard is off, in the place of the sentences that rest on it
UNGUARDED: Unguarded = find_unguarded(
    SENTENCES["unguarded"],
    {
        **vars(words),
        "LATE": LATE,
        "STABLE": STABLE,
        **REQUESTS,
        **{f"stopped {kind.name}": why for kind, why in STOPPED.items()},
        **{f"recovered {kind.name}": why for kind, why in RECOVERED.items()},
    },
)
