"""What each message, record and change of Kafka means: a transaction, a sentence why (`Telling`).

`Known` is what must be known for that; a lesson's is read off the whole world (`WorldKnown`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Protocol

from ...kernel import (
    NOTHING,
    Append,
    Appended,
    Effect,
    Event,
    Named,
    Outcome,
    Reply,
    Request,
    Return,
    Send,
    Stage,
    Telling,
    Text,
    Truncate,
    Words,
    World,
    frozen,
    name_plainly,
    replace,
    tr,
)
from ...kernel.run import put_in_words
from ...kernel.story import TOLD_YES
from ...kernel.text import say_both
from ..clients.calls import Abort, Commit, Flush, Poll
from ..coordinator.entry import Entry, StateRecord
from ..errors import Error
from ..group import GroupTombstone, OffsetTombstones
from ..group.commits import Offsets
from ..group.members import (
    GroupMetadata,
    Heartbeat,
    JoinGroupResponse,
    SyncGroupResponse,
    describe_assignment,
)
from ..log import ABORT, AbortedTxn, Batch
from ..log.role import Partition
from ..messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    DeleteTopic,
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
from ..replication.controller import FetchReplica, FetchReplicaResponse, Found, Load, Metadata
from ..states import COMPLETED, TxnState
from . import words
from .view import Cluster, Txn, find_current, find_last, name_by_turn, read_transactions, read_world

# ---- What a Kafka fact means: its transaction, whether it may be folded, one sentence why
#
# A lesson has a whole world to look at, a server only notes of what went by. What they must know
# to understand a message is little, and is in `Known`; everything else is in the message. So
# the same message means the same in a lesson and on a server:
#
#     request, of a producer     its transaction, by its transactional id and epoch
#     answer                     the transaction of the one who asked; an error says why it is one
#     record, marker             whose it is, and what it being durable decides
#     LSO, HW moved              of interest where a marker has moved them
#
# `fold` is for what a reader knows by heart after the first transaction: every id's first
# handshake but the first, answers that say ok, what leaders and coordinators only repeat.

ANSWERED = Text("ok")
GENERATION = Words("generation {n}", context="label")
#: part of every execution, and no news
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
STAGES: dict[TxnState, tuple[Stage, Words | None]] = {
    TxnState.ONGOING: (Stage.RESERVE, None),
    TxnState.PREPARE_COMMIT: (Stage.DECIDE, words.TOLD_COMMIT),
    TxnState.PREPARE_ABORT: (Stage.DECIDE, words.TOLD_ABORT),
    TxnState.COMPLETE_COMMIT: (Stage.FORGET, None),
    TxnState.COMPLETE_ABORT: (Stage.FORGET, None),
}


A_RECORD = Words("a record")
RETURNS = {Commit: TOLD_YES, Abort: TOLD_YES, Flush: TOLD_YES}
"""What is reported to an application at the end of its work."""


class Kind(Enum):
    """What a participant is, as far as its messages mean something else for it."""

    CLIENT = auto()
    COORDINATOR = auto()
    PARTITION = auto()
    GROUP = auto()


class Known(Protocol):
    """What one must know of an execution to say what a message of it means."""

    def list_txns(self, txn_id: str) -> Sequence[Txn]:
        """The transactions of an id that are remembered, oldest first."""

    def name_next(self, txn_id: str) -> str:
        """The transaction that this id begins next; "" for an id that is not in the picture."""

    def is_first(self, txn_id: str) -> bool:
        """Whether it is the id on which a reader learns how ids are given."""

    def find_kind(self, name: str) -> Kind:
        """What the participant of this name is; who is no broker is a client."""


# ---- requests ------------------------------------------------------------------------


def explain_request(known: Known, sender: str, body: object) -> Telling:
    """Explain a request for the picture: to which transaction it belongs, its label, and whether it
    may be folded away or hidden because it teaches nothing. `sender`: the node that sends it.
    `_current` names the id's latest transaction of this epoch, else its next one (with `begins`,
    the next also where this request begins one), `find_last` the latest, of this epoch if
    possible."""
    match body:
        case Produce(batch=batch, txn_id=txn_id):
            txn_name = _current(known, txn_id, batch.epoch) if batch.transactional else ""
            return Telling(txn_name, label=_name_batch(batch))
        case TxnOffsetCommit(txn_id=txn_id, epoch=epoch):
            return Telling(_current(known, txn_id, epoch), label=Text("TxnOffsetCommit"))
        case AddOffsetsToTxn(txn_id=txn_id, epoch=epoch):
            txn_name = _current(known, txn_id, epoch, begins=True)
            return Telling(txn_name, label=Text("AddOffsetsToTxn"))
        case AddPartitionsToTxn(txn_id=txn_id, epoch=epoch):
            # A leader's own question to the coordinator teaches nothing while all is well.
            by_leader = known.find_kind(sender) in (Kind.PARTITION, Kind.GROUP)
            txn_name = _current(known, txn_id, epoch, begins=not by_leader)
            return Telling(txn_name, fold=by_leader, label=Text("AddPartitionsToTxn"))
        case EndTxn(txn_id=txn_id, commit=commit, epoch=epoch):
            txn_name = find_last(known.list_txns(txn_id), epoch)
            return Telling(txn_name, label=Text(f"EndTxn {outcome(commit)}"))
        case WriteTxnMarkers(txn_id=txn_id):
            txn_name = find_last(known.list_txns(txn_id))
            return Telling(txn_name, label=Text("WriteTxnMarkers"), stage=Stage.PUBLISH)
        case InitProducerId(txn_id=txn_id):
            again = not txn_id or not known.is_first(txn_id)
            return Telling(fold=again, label=Text("InitProducerId"))
        case FetchReplica():
            return Telling(hide=True)
        case Leadership():
            return Telling(fold=True, label=tr("leadership", "label"))
        case Load() | Metadata() | Heartbeat():
            return Telling(fold=True)
    # a coordinator's message to itself (SendMarkers) is folded; others, an operator's say, are not
    return Telling(fold=known.find_kind(sender) is Kind.COORDINATOR)


def _name_batch(batch: Batch) -> Text:
    return say_both(lambda: f"Produce {batch.words}")


def _current(known: Known, txn_id: str | None, epoch: int, begins: bool = False) -> str:
    if not txn_id:
        return ""
    return find_current(known.list_txns(txn_id), epoch, known.name_next(txn_id), begins)


def _partition(role: str) -> str:
    """A copy ("orders-0@2") speaks for its partition."""
    return role.partition("@")[0]


# ---- answers -------------------------------------------------------------------------


def explain_answer(
    known: Known, sender: str, request: object, body: object, txn_id: str = ""
) -> Telling:
    """Explain an answer for the picture: the transaction it belongs to, its label, the sentence
    why, and whether it may be folded away. `request`: what it answers; None where that is no longer
    known, and then `txn_id` says whose answer it is ("" : unknown)."""
    if isinstance(body, FetchReplicaResponse):
        has_news = any(copied.entries or copied.cut >= 0 for copied in body.logs)
        return Telling(hide=not has_news, label=tr("replicate", "label"))
    if isinstance(body, Found):  # who leads a partition, to a client that has asked for it
        return Telling(fold=True)
    txn_name, error = _name_txn(known, request, txn_id), getattr(body, "error", Error.NONE)
    if error:
        fenced = error in (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)
        batch = getattr(request, "batch", None)
        unverified = error is Error.NOT_ENOUGH_REPLICAS and batch and batch.transactional
        return Telling(
            txn_name,
            fold=is_expected(error, sender),  # it occurs in every execution: the client retries
            label=Text(error.name),
            why=words.WHY_UNVERIFIED() if unverified else words.explain_error(error),
            story=words.TOLD_FENCED if fenced else None,
        )
    match body:
        case EndTxnResponse():
            mine = known.list_txns(getattr(request, "txn_id", txn_id))
            over = not mine or mine[-1].state in COMPLETED
            why = (words.WHY_ENDED if over else words.WHY_ANSWERED)()
            return Telling(txn_name, label=ANSWERED, why=why)
        case FetchResponse(lso=lso, hw=hw):
            return Telling(why=words.WHY_FETCHED(lso=lso, hw=hw))
        case OffsetFetchResponse(unstable=unstable):
            why = words.WHY_UNSTABLE() if unstable else NOTHING
            return Telling(fold=not unstable, label=put_in_words(body), why=why)
        case JoinGroupResponse(generation=generation):
            return Telling(fold=True, label=GENERATION(n=generation))
        case SyncGroupResponse(assignment=assignment):
            given = describe_assignment(assignment)
            return Telling(fold=True, label=Text(given) if given else ANSWERED)
    return Telling(txn_name, fold=True, label=ANSWERED)


def is_expected(error: Error, sender: str) -> bool:
    """Whether an error is part of every execution. NOT_ENOUGH_REPLICAS is a disguise where there is
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


# ---- what is written, what has moved -------------------------------------------------


def explain_record(known: Known, entry: Entry) -> Telling:
    """Of a record of `__transaction_state`, which is known already."""
    if entry.state is TxnState.EMPTY:
        return Telling(fold=not known.is_first(entry.txn_id), why=words.WHY_EMPTY())
    name = find_last(known.list_txns(entry.txn_id))
    stage, story = STAGES.get(entry.state, (None, None))
    return Telling(name, why=WHY_STATE[entry.state](txn=name), stage=stage, story=story)


def explain_batch(name: str, batch: Batch) -> Telling:
    """Of a batch or marker of this transaction ("" for none) that is in the log now."""
    why, story = _find_reason(batch)
    stage = Stage.WRITE if batch.transactional and not batch.control else None
    return Telling(name, why=why(), stage=stage, story=story, record=_say_records(batch))


def _say_records(batch: Batch) -> Text:
    return Text(batch.words) if isinstance(batch.records, tuple) else A_RECORD()


def _find_reason(batch: Batch) -> tuple[Words, Words | None]:
    """The sentence why, and the story."""
    if batch.control:
        return words.WHY_MARKER, None
    record = batch.records[0] if isinstance(batch.records, tuple) and batch.records else None
    if isinstance(record, GroupMetadata):
        return words.WHY_GENERATION if record.members else words.WHY_NOBODY, words.TOLD_SHARED
    if isinstance(record, Offsets):
        if batch.transactional:
            return words.WHY_PENDING, words.TOLD_POSITION
        return words.WHY_OFFSETS, words.TOLD_COUNTED
    if isinstance(record, OffsetTombstones | GroupTombstone):
        return words.WHY_TOMBSTONE, None
    return words.WHY_DATA, words.TOLD_WRITTEN if batch.transactional else None


def explain_change(
    known: Known, event: Event | None, part: Partition | None, newest: Batch | None, name: str = ""
) -> Telling:
    """Explain a change in a role's memory for the picture. The important one is that a marker has
    become durable: readers can then go on; a change by plain data is in the story, and folded
    elsewhere. An empty Telling adds nothing to the fact. `part`: the partition of a leader, else
    None; `newest`: the batch that the event is about, and `name` its transaction."""
    if isinstance(event, Request):
        if isinstance(event.body, FetchReplica):
            return Telling()  # what a follower's fetch has moved
        return explain_request(known, event.caller.name, event.body)
    if not isinstance(event, Appended) or part is None:
        return Telling()
    why = words.WHY_LSO(lso=part.read_limit, hw=part.hw)
    if newest is None or not newest.control:
        # data of a client, not records that a coordinator writes for itself
        is_plain_data = newest is not None and _find_reason(newest)[0] is words.WHY_DATA
        if newest is None or newest.transactional or not is_plain_data:
            return Telling(fold=True, why=why)
        record = _say_records(newest)
        return Telling(fold=True, why=why, story=words.TOLD_PLAIN, record=record)
    story = words.TOLD_SKIPPED if newest.control == ABORT else words.TOLD_SHOWN
    return Telling(name, why=why, stage=Stage.SHOW, story=story)


@frozen
class WorldKnown:
    """What a world says of the execution so far: the cluster's ids are known from the beginning."""

    cluster: Cluster
    txns: dict[str, list[Txn]]

    def list_txns(self, txn_id: str) -> list[Txn]:
        return self.txns.get(txn_id, [])

    def name_next(self, txn_id: str) -> str:
        ids = self.cluster.ids
        return name_by_turn(ids, txn_id, len(self.txns[txn_id])) if txn_id in ids else ""

    def is_first(self, txn_id: str) -> bool:
        return txn_id in self.cluster.ids[:1]

    def find_kind(self, name: str) -> Kind:
        return find_kind(self.cluster, name)


def find_kind(cluster: Cluster, name: str) -> Kind:
    """What a node of a lesson is; a copy ("orders-0@2") speaks for its partition."""
    name = name.partition("@")[0]
    if name == cluster.config.coordinator:
        return Kind.COORDINATOR
    if name in cluster.partitions:
        return Kind.PARTITION
    return Kind.GROUP if name in cluster.groups else Kind.CLIENT


def annotate(
    cluster: Cluster, world: World, role: str, event: Event | None, effect: Effect | None
) -> Telling:
    """All that the system adds to a fact of the narration: transaction, label, sentence why, stage.
    The fact is `effect` of `role` when it handled `event`; without an effect (None) it is a change
    in the role's memory. `world`: after the fact."""
    tc = cluster.leader(world, cluster.config.coordinator)
    known = WorldKnown(cluster, read_transactions(world.disk(tc), cluster.ids))
    match effect:
        case None:
            return _change(known, world, role, event)
        case Append(entry=StateRecord(entry=entry)):
            return explain_record(known, entry)
        case Append(log=log, entry=Batch() as batch):
            telling = explain_batch(_find_txn(cluster, world, log, batch), batch)
            # a follower's copy begins no stage: the leader's append did
            if cluster.leader(world, log) != role:
                return replace(telling, stage=None, story=None)
            if cluster.replicas > 1 and not telling.story and not batch.control:
                return replace(telling, story=words.TOLD_PLAIN)
            return telling
        case Truncate() if isinstance(getattr(event, "body", None), DeleteTopic):
            return Telling(fold=True, why=words.WHY_DELETED())
        case Send(body=body):
            return explain_request(known, role, body)
        case Reply(caller=caller, body=body):
            request = event.body if isinstance(event, Request) else None
            txn_id = dict(cluster.producers).get(caller.name, "")
            return explain_answer(known, role, request, body, txn_id)
        case Return(value=Outcome(call=call, status="ok", detail=detail) as outcome):
            story, read = RETURNS.get(type(call)), NOTHING
            if isinstance(call, Poll) and detail:
                story, read = words.TOLD_READ, say_both(outcome.say_detail)
            return Telling(fold=True, story=story, record=read)
        case Return(value=value):  # a call that failed is not folded
            return Telling(fold=getattr(value, "ok", True))
    return Telling(fold=True)


def _change(known: WorldKnown, world: World, role: str, event: Event | None) -> Telling:
    part, newest, name = None, None, ""
    if isinstance(event, Appended) and role in known.cluster.partitions:
        part = world.role(role).part
        newest = next(iter(world.disk(role).log(role).read(event.end - 1)), None)
        if newest is not None and newest.control:
            name = _find_txn(known.cluster, world, role, newest)
    return explain_change(known, event, part, newest, name)


def _find_txn(cluster: Cluster, world: World, log: str, batch: Batch) -> str:
    """Whose batch it is; "" where it has no owner."""
    rows = read_world(cluster, world).rows.get(log, [])
    txn = next((txn for row, txn, _ in rows if row.base == batch.base), None)
    return txn.name if txn else ""


# ---- What an effect of a Kafka role is called where a stop shows if it had been done -

MARKER_TO = Words("the marker to {to}")
MARKERS = Words("markers")
ANSWER = Words("the answer")
ANSWERS = Words("answers")
MARKER = Words("the marker")
RECORDS = Words("records")
INDEX = Words("the entry in .txnindex")
BATCHES = Words("batches")


def name_effect(role: str, effect: Effect) -> Named | None:
    """The label of an effect in the diagram of a step, and what its kind is called where several
    are counted ("1 of 2 markers"). None, so not shown: a message to itself, a follower's fetch, and
    what has no name of its own, such as a timer."""
    match effect:
        case Send(to=to) if to == role:
            return None
        case Send(body=FetchReplica()):
            return None
        case Send(to=to, body=WriteTxnMarkers()):
            return Named(MARKER_TO(to=to), MARKERS())
        case Send(body=Produce(batch=batch)):
            return Named(_name_batch(batch), BATCHES())
        case Reply():
            return Named(ANSWER(), ANSWERS())
        case Append(entry=StateRecord(entry=entry)):
            return Named(Text(str(entry.state)), RECORDS())
        case Append(entry=AbortedTxn()):
            return Named(INDEX(), INDEX())
        case Append(entry=Batch() as batch):
            return Named(MARKER() if batch.control else Text(batch.words), RECORDS())
    return name_plainly(effect)
