"""What a Kafka fact means: its transaction, whether it may be folded, one sentence why.

A lesson has a whole world to look at, a server only notes of what went by. What they must know
to understand a message is little, and stands in `Known`; everything else is in the message. So
the same message means the same in a lesson and on a server:

    request, of a producer     its transaction, by its transactional id and epoch
    answer                     the transaction of the one who asked; an error says why it is one
    record, marker             whose it is, and what it being durable decides
    LSO, HW moved              of interest where a marker has moved them

`fold` is for what a reader knows by heart after the first transaction: every id's first
handshake but the first, answers that say ok, what leaders and coordinators only repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Protocol

from ...kernel import NOTHING, Appended, Event, Request, Telling, Text, Words
from ..coordinator import Entry
from ..errors import Error
from ..group import GroupMetadata, Offsets
from ..group.messages import Heartbeat, JoinGroupResponse, SyncGroupResponse, describe_assignment
from ..log import Batch
from ..log.partition import Partition
from ..messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    EndTxnResponse,
    FetchResponse,
    InitProducerId,
    OffsetFetchResponse,
    Produce,
    TxnOffsetCommit,
    WriteTxnMarkers,
    outcome,
)
from ..replication import Leadership
from ..replication.messages import FetchReplica, FetchReplicaResponse, Found, Load, Metadata
from ..states import TxnState
from . import words
from .errors import explain_error
from .transactions import Txn, find_current, find_last

#: part of every run, and no news
EXPECTED = frozenset({Error.CONCURRENT_TRANSACTIONS, Error.MEMBER_ID_REQUIRED})
WHY_STATE = {
    TxnState.EMPTY: words.WHY_EMPTY,
    TxnState.ONGOING: words.WHY_ONGOING,
    TxnState.PREPARE_COMMIT: words.WHY_PREPARE_COMMIT,
    TxnState.PREPARE_ABORT: words.WHY_PREPARE_ABORT,
    TxnState.COMPLETE_COMMIT: words.WHY_COMPLETE,
    TxnState.COMPLETE_ABORT: words.WHY_COMPLETE,
    TxnState.DEAD: words.WHY_DEAD,
}


class Kind(Enum):
    """What a participant is, as far as its messages mean something else for it."""

    CLIENT = auto()
    COORDINATOR = auto()
    PARTITION = auto()
    GROUP = auto()


class Known(Protocol):
    """What one must know of a run to say what a message of it means."""

    def list_txns(self, txn_id: str) -> Sequence[Txn]:
        """The transactions of an id that are remembered, oldest first."""

    def name_next(self, txn_id: str) -> str:
        """The transaction that this id begins next; "" for an id that is not in the picture."""

    def is_first(self, txn_id: str) -> bool:
        """Whether it is the id on which a reader learns how ids are given."""

    def find_kind(self, name: str) -> Kind:
        """What the participant of this name is; who is no broker is a client."""


# ---- requests --------------------------------------------------------------------------


def explain_request(known: Known, sender: str, body: object) -> Telling:
    """Of a message that leaves `sender`."""
    match body:
        case Produce(batch=batch, txn_id=txn_id):
            name = _current(known, txn_id, batch.epoch) if batch.transactional else ""
            return Telling(name, label=Text(f"Produce {batch.words}"))
        case TxnOffsetCommit(txn_id=txn_id, epoch=epoch):
            return Telling(_current(known, txn_id, epoch), label=Text("TxnOffsetCommit"))
        case AddOffsetsToTxn(txn_id=txn_id, epoch=epoch):
            name = _current(known, txn_id, epoch, begins=True)
            return Telling(name, label=Text("AddOffsetsToTxn"))
        case AddPartitionsToTxn(txn_id=txn_id, epoch=epoch):
            # A leader's own question to the coordinator teaches nothing while all is well.
            by_leader = known.find_kind(sender) in (Kind.PARTITION, Kind.GROUP)
            name = _current(known, txn_id, epoch, begins=not by_leader)
            return Telling(name, by_leader, Text("AddPartitionsToTxn"))
        case EndTxn(txn_id=txn_id, commit=commit, epoch=epoch):
            name = find_last(known.list_txns(txn_id), epoch)
            return Telling(name, label=Text(f"EndTxn {outcome(commit)}"))
        case WriteTxnMarkers(txn_id=txn_id):
            return Telling(find_last(known.list_txns(txn_id)), label=Text("WriteTxnMarkers"))
        case InitProducerId(txn_id=txn_id):
            again = not txn_id or not known.is_first(txn_id)
            return Telling(fold=again, label=Text("InitProducerId"))
        case FetchReplica():
            return Telling(hide=True)
        case Leadership(partition=partition):
            return Telling(fold=partition != _partition(sender), label=Text("leadership"))
        case Load() | Metadata() | Heartbeat():
            return Telling(fold=True)
    return Telling(fold=known.find_kind(sender) is Kind.COORDINATOR)


def _current(known: Known, txn_id: str | None, epoch: int, begins: bool = False) -> str:
    if not txn_id:
        return ""
    return find_current(known.list_txns(txn_id), epoch, known.name_next(txn_id), begins)


def _partition(role: str) -> str:
    """A copy ("orders-0@2") speaks for its partition."""
    return role.partition("@")[0]


# ---- answers ---------------------------------------------------------------------------


def explain_answer(
    known: Known, sender: str, request: object, body: object, txn_id: str = ""
) -> Telling:
    """Of an answer that leaves `sender`. `request`: None where it is not at hand
    any more; `txn_id`: then whose answer it is, as far as that is known."""
    if isinstance(body, FetchReplicaResponse):
        news = any(copied.entries or copied.cut >= 0 for copied in body.logs)
        return Telling(hide=not news, label=Text("replicate"))
    if isinstance(body, Found):
        return Telling(fold=True)
    name = _name_txn(known, request, txn_id)
    error: Error = getattr(body, "error", Error.NONE)
    if error:
        return Telling(name, is_expected(error, sender), Text(error.name), explain_error(error))
    match body:
        case EndTxnResponse():
            return Telling(name, label=Text("ok"), why=words.WHY_ANSWERED())
        case FetchResponse(lso=lso, hw=hw):
            return Telling(why=words.WHY_FETCHED(lso=lso, hw=hw))
        case OffsetFetchResponse(unstable=unstable):
            why = words.WHY_UNSTABLE() if unstable else NOTHING
            return Telling(fold=not unstable, label=Text(str(body)), why=why)
        case JoinGroupResponse(generation=generation):
            return Telling(fold=True, label=Text(f"generation {generation}"))
        case SyncGroupResponse(assignment=assignment):
            return Telling(fold=True, label=Text(describe_assignment(assignment) or "ok"))
    return Telling(name, fold=True, label=Text("ok"))


def is_expected(error: Error, sender: str) -> bool:
    """Whether an error is part of every run. NOT_ENOUGH_REPLICAS is a disguise where there is
    one copy, and no others that might be missing: old clients know that they may try again, while
    the coordinator is busy with their last transaction (AddPartitionsToTxnManager)."""
    disguise = error is Error.NOT_ENOUGH_REPLICAS and _partition(sender) == sender
    return disguise or error in EXPECTED


def _name_txn(known: Known, request: object, txn_id: str) -> str:
    """The transaction that a request was about."""
    mine = known.list_txns(getattr(request, "txn_id", None) or txn_id)
    if isinstance(request, WriteTxnMarkers):  # its epoch is the marker's, not the data's
        return find_last(mine)
    epoch = request.batch.epoch if isinstance(request, Produce) else getattr(request, "epoch", -1)
    return find_last(mine, epoch)


# ---- what is written, what has moved -----------------------------------------------------


def explain_record(known: Known, entry: Entry) -> Telling:
    """Of a record of `__transaction_state`, which is known already."""
    if entry.state is TxnState.EMPTY:
        return Telling(fold=not known.is_first(entry.txn_id), why=words.WHY_EMPTY())
    name = find_last(known.list_txns(entry.txn_id))
    return Telling(name, why=WHY_STATE[entry.state](txn=name))


def explain_batch(name: str, batch: Batch) -> Telling:
    """Of a batch or marker of this transaction ("" for none) that is in the log now."""
    return Telling(name, why=_find_reason(batch)())


def _find_reason(batch: Batch) -> Words:
    if batch.control:
        return words.WHY_MARKER
    record = batch.records[0] if isinstance(batch.records, tuple) and batch.records else None
    if isinstance(record, GroupMetadata):
        return words.WHY_GENERATION
    if isinstance(record, Offsets):
        return words.WHY_PENDING if batch.transactional else words.WHY_OFFSETS
    return words.WHY_DATA


def explain_change(
    known: Known, event: Event | None, part: Partition | None, newest: Batch | None
) -> Telling:
    """Of something that has changed in a role's memory at this event. `part`: of a partition's
    leader; `newest`: the batch that the event is about. A marker that is safe is what lets
    readers go on; stops, timers and calls stand for themselves."""
    if isinstance(event, Request):
        if isinstance(event.body, FetchReplica):
            return Telling()  # what a follower's fetch has moved
        return explain_request(known, event.caller.name, event.body)
    if not isinstance(event, Appended) or part is None:
        return Telling()
    marker = newest is not None and bool(newest.control)
    return Telling(fold=not marker, why=words.WHY_LSO(lso=part.read_limit, hw=part.hw))
