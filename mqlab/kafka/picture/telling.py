"""What a Kafka fact means: its transaction, whether it may be folded, one sentence why."""

from __future__ import annotations

from ...kernel import (
    NOTHING,
    Append,
    Appended,
    Effect,
    Event,
    Reply,
    Request,
    Return,
    Send,
    Telling,
    Text,
    Words,
    World,
)
from ..coordinator import StateRecord
from ..errors import Error
from ..group import GroupMetadata, Offsets
from ..group.messages import JoinGroupResponse, SyncGroupResponse, describe_assignment
from ..log import Batch
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
from ..states import COMPLETED, TxnState
from . import words
from .snapshot import Cluster, view
from .transactions import Txn, name_of, transactions

#: part of every run, and no news
EXPECTED = frozenset({Error.CONCURRENT_TRANSACTIONS, Error.MEMBER_ID_REQUIRED})
#: refused for being outside the group's current generation
OUTSIDE = frozenset({Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.FENCED_INSTANCE_ID})
WHY_STATE = {
    TxnState.EMPTY: words.WHY_EMPTY,
    TxnState.ONGOING: words.WHY_ONGOING,
    TxnState.PREPARE_COMMIT: words.WHY_PREPARE_COMMIT,
    TxnState.PREPARE_ABORT: words.WHY_PREPARE_ABORT,
    TxnState.COMPLETE_COMMIT: words.WHY_COMPLETE,
    TxnState.COMPLETE_ABORT: words.WHY_COMPLETE,
    TxnState.DEAD: words.WHY_DEAD,
}


def tell(
    cluster: Cluster, world: World, role: str, event: Event | None, effect: Effect | None
) -> Telling:
    tc = cluster.leader(world, cluster.config.coordinator)
    txns = transactions(world, tc, cluster.ids)
    match effect:
        case None if isinstance(event, Request) and isinstance(event.body, FetchReplica):
            return Telling()  # what a follower's fetch has moved
        case None if isinstance(event, Request):
            return _sent(cluster, txns, event.caller.name, event.body)
        case None:
            return _moved(cluster, world, role, event)
        case Append(entry=StateRecord() as record):
            return _state(cluster, txns, record)
        case Append(log=log, entry=Batch() as batch):
            return _batch(cluster, world, log, batch)
        case Send(body=body):
            return _sent(cluster, txns, role, body)
        case Reply(caller=caller, body=body):
            asked = event.body if isinstance(event, Request) else None
            return _replied(cluster, txns, caller.name, asked, body)
        case Return(value=value):
            return Telling(fold=getattr(value, "ok", True))
    return Telling(fold=True)


def _moved(cluster: Cluster, world: World, role: str, event: Event | None) -> Telling:
    """A frontier has moved (or a stop, a timer, a call: they stand for themselves)."""
    if not isinstance(event, Appended) or role not in cluster.partitions:
        return Telling()
    part = world.role(role).part
    last = list(world.disk(role).log(role).read(event.end - 1))
    marker = bool(last) and bool(last[0].control)
    return Telling(fold=not marker, why=words.WHY_LSO(lso=part.lso, hw=part.hw))


def _state(cluster: Cluster, txns: dict[str, list[Txn]], record: StateRecord) -> Telling:
    entry = record.entry
    mine = txns.get(entry.txn_id, [])
    name = mine[-1].name if mine and entry.state is not TxnState.EMPTY else ""
    first = not cluster.ids or entry.txn_id == cluster.ids[0]
    fold = entry.state is TxnState.EMPTY and not first
    return Telling(name, fold, why=WHY_STATE[entry.state](txn=name))


def _batch(cluster: Cluster, world: World, log: str, batch: Batch) -> Telling:
    rows = view(cluster, world).rows.get(log, [])
    txn = next((t for b, t, _ in rows if b.base == batch.base), None)
    name = txn.name if txn else ""
    return Telling(name, why=_why_written(batch)())


def _why_written(batch: Batch) -> Words:
    if batch.control:
        return words.WHY_MARKER
    record = batch.records[0] if isinstance(batch.records, tuple) and batch.records else None
    if isinstance(record, GroupMetadata):
        return words.WHY_GENERATION
    if isinstance(record, Offsets):
        return words.WHY_PENDING if batch.transactional else words.WHY_OFFSETS
    return words.WHY_DATA


def _sent(cluster: Cluster, txns: dict[str, list[Txn]], role: str, body: object) -> Telling:
    role = role.partition("@")[0]  # a copy speaks for its partition
    match body:
        case Produce(batch=batch, txn_id=txn_id):
            name = _going_on(cluster, txns, txn_id, batch.epoch)
            return Telling(name, label=Text(f"Produce {batch.words}"))
        case (
            TxnOffsetCommit(txn_id=txn_id, epoch=epoch)
            | AddOffsetsToTxn(txn_id=txn_id, epoch=epoch)
        ):
            return Telling(_going_on(cluster, txns, txn_id, epoch), label=Text(type(body).__name__))
        case AddPartitionsToTxn(txn_id=txn_id, epoch=epoch):
            by_leader = role in cluster.partitions or role in cluster.groups
            return Telling(
                _going_on(cluster, txns, txn_id, epoch), by_leader, Text("AddPartitionsToTxn")
            )
        case EndTxn(txn_id=txn_id, commit=commit, epoch=epoch):
            return Telling(_last(txns, txn_id, epoch), label=Text(f"EndTxn {outcome(commit)}"))
        case WriteTxnMarkers(txn_id=txn_id):
            return Telling(_last(txns, txn_id), label=Text("WriteTxnMarkers"))
        case InitProducerId(txn_id=txn_id):
            return Telling(fold=txn_id not in cluster.ids[:1], label=Text("InitProducerId"))
        case FetchReplica():
            return Telling(hide=True)
        case Load() | Metadata():
            return Telling(fold=True)
        case Leadership(partition=partition):
            return Telling(fold=partition != role, label=Text("leadership"))
    return Telling(fold=role == cluster.config.coordinator)


def _replied(
    cluster: Cluster,
    txns: dict[str, list[Txn]],
    to: str,
    asked: object,
    body: object,
) -> Telling:
    if isinstance(body, FetchReplicaResponse):
        news = any(copied.entries or copied.cut >= 0 for copied in body.logs)
        return Telling(hide=not news, label=Text("replicate"))
    if isinstance(body, Found):
        return Telling(fold=True)
    error: Error = getattr(body, "error", Error.NONE)
    txn_id = dict(cluster.producers).get(to, "")
    name = _last(txns, txn_id, getattr(asked, "epoch", -1)) if txn_id else ""
    if error:
        why = (words.WHY_FENCED if error in OUTSIDE else words.WHY_REFUSED)(error=error.name)
        return Telling(name, error in EXPECTED, Text(error.name), why)
    if isinstance(body, EndTxnResponse):
        return Telling(name, label=Text("ok"), why=words.WHY_ANSWERED())
    if isinstance(body, FetchResponse):
        why = words.WHY_FETCHED(lso=body.lso, hw=body.hw)
        return Telling(fold=to not in (*cluster.readers, *cluster.workers), why=why)
    if isinstance(body, OffsetFetchResponse):
        why = words.WHY_UNSTABLE() if body.unstable else NOTHING
        return Telling(fold=not body.unstable, label=Text(str(body)), why=why)
    if isinstance(body, JoinGroupResponse):
        return Telling(fold=True, label=Text(f"generation {body.generation}"))
    if isinstance(body, SyncGroupResponse):
        return Telling(fold=True, label=Text(describe_assignment(body.assignment) or "ok"))
    return Telling(name, fold=True, label=Text("ok"), why=NOTHING)


def _last(txns: dict[str, list[Txn]], txn_id: str | None, epoch: int = -1) -> str:
    """The id's latest transaction, of this producer epoch where there is one: what a zombie
    says is about its own transaction."""
    mine = txns.get(txn_id or "", [])
    fitting = [t for t in mine if t.epoch == epoch] or mine
    return fitting[-1].name if fitting else ""


def _going_on(cluster: Cluster, txns: dict[str, list[Txn]], txn_id: str | None, epoch: int) -> str:
    """The transaction that a message of this epoch belongs to: a late one to an older
    transaction, one that arrives before the coordinator knows of it to the next."""
    if not txn_id or txn_id not in cluster.ids:
        return ""
    mine = txns.get(txn_id, [])
    fitting = [t for t in mine if t.epoch == epoch]
    if fitting and (fitting[-1].state not in COMPLETED or fitting[-1] is not mine[-1]):
        return fitting[-1].name
    if fitting and cluster.config.transaction_version >= 2 and fitting[-1].path[-1] in COMPLETED:
        return fitting[-1].name
    return name_of(cluster.ids, txn_id, len(mine))
