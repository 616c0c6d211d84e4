"""A lesson's facts explained: what `meaning.py` must know is read off the whole world."""

from __future__ import annotations

from ...kernel import (
    Append,
    Appended,
    Effect,
    Event,
    Reply,
    Request,
    Return,
    Send,
    Telling,
    World,
    frozen,
)
from ..coordinator import StateRecord
from ..log import Batch
from .cluster import Cluster
from .meaning import (
    Kind,
    explain_answer,
    explain_batch,
    explain_change,
    explain_record,
    explain_request,
)
from .transactions import Txn, name_by_turn, read_transactions
from .view import read_world


@frozen
class WorldKnown:
    """What a world says of the run so far: the cluster's ids are known from the beginning."""

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
    """What the system adds to a fact: `effect` of `role` at `event`, or (None) a change in its
    memory, or what came before both. `world` is as the fact has left it."""
    tc = cluster.leader(world, cluster.config.coordinator)
    known = WorldKnown(cluster, read_transactions(world.disk(tc), cluster.ids))
    match effect:
        case None:
            return _change(known, world, role, event)
        case Append(entry=StateRecord(entry=entry)):
            return explain_record(known, entry)
        case Append(log=log, entry=Batch() as batch):
            rows = read_world(cluster, world).rows.get(log, [])
            txn = next((t for b, t, _ in rows if b.base == batch.base), None)
            return explain_batch(txn.name if txn else "", batch)
        case Send(body=body):
            return explain_request(known, role, body)
        case Reply(caller=caller, body=body):
            request = event.body if isinstance(event, Request) else None
            txn_id = dict(cluster.producers).get(caller.name, "")
            return explain_answer(known, role, request, body, txn_id)
        case Return(value=value):
            return Telling(fold=getattr(value, "ok", True))
    return Telling(fold=True)


def _change(known: WorldKnown, world: World, role: str, event: Event | None) -> Telling:
    part, newest = None, None
    if isinstance(event, Appended) and role in known.cluster.partitions:
        part = world.role(role).part
        newest = next(iter(world.disk(role).log(role).read(event.end - 1)), None)
    return explain_change(known, event, part, newest)
