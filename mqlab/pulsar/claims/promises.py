"""What a client may rely on once it was answered, and what a load of a partition finds again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ...kernel import World
from ...kernel.world import NodeState
from ..client.calls import Send
from ..config import name_pending_ack_log
from ..messages import AckPosition, PendingAckEntry, TxnID
from ..pending_ack.records import ACK, COMMIT
from ..picture.cluster import Cluster
from ..states import RECOVERED, AckType
from ..topic import Topic

Receipt = tuple[Send, str]


def answered_is_kept(cluster: Cluster, world: World) -> bool:
    """A send that was answered has its entry, where the answer says. (A client that was killed
    has forgotten its calls. A duplicate's answer names no place.)"""
    for name in cluster.clients:
        for call, detail in list_receipts(world.nodes[name]):
            at, log = int(detail.removeprefix("@")), world.disk(call.partition).log(call.partition)
            if at < log.start or at < 0:
                continue
            entry = next(log.read(at, at + 1), None)
            if entry is None or tuple(entry.values) != call.values:
                return False
            if call.metadata and (entry.txn is None) is bool(call.txn):
                return False
    return True


def list_receipts(node: NodeState) -> tuple[Receipt, ...]:
    """The sends of a client's present run that were answered, with what the answer said."""
    results = node.app.results if node.app is not None else ()
    return tuple((r.call, r.detail) for r in results if r.ok and isinstance(r.call, Send))


def committed_acks_kept(cluster: Cluster, world: World) -> bool:
    """Not after a seek, which turns a subscription back on purpose."""
    for topic in list_topics(cluster, world):
        for sub in topic.subs.values():
            if sub.waiting:
                continue
            log = world.disk(topic.name).log(name_pending_ack_log(topic.name, sub.name))
            for position in find_committed(log.read(0)):
                at, index = position.position, position.batch_index
                if not sub.cursor.is_deleted(at) and (
                    cluster.config.batch_index_ack and not sub.cursor.has_acked(at, index)
                ):
                    return False
    return True


def find_committed(records: Iterable[PendingAckEntry]) -> set[AckPosition]:
    """What the transactions that have committed here acknowledged one by one: all of a request or
    nothing of it, where something was taken already."""
    held: dict[TxnID, set[AckPosition]] = {}
    done: set[AckPosition] = set()
    for record in records:
        if record.ack_type is AckType.CUMULATIVE:
            continue
        if record.op == ACK:
            taken = done.union(*held.values())
            if not any(_overlap(one, other) for one in record.positions for other in taken):
                held.setdefault(record.txn, set()).update(record.positions)
            continue
        mine = held.pop(record.txn, set())
        done |= mine if record.op == COMMIT else set()
    return done


def _overlap(one: AckPosition, other: AckPosition) -> bool:
    whole = min(one.batch_index, other.batch_index) < 0
    return one.position == other.position and (whole or one.batch_index == other.batch_index)


def acked_is_let_go(cluster: Cluster, world: World) -> bool:
    """Of the types whose consumers hold single entries: nobody is sent one that was acknowledged,
    so nobody holds it."""
    return not any(
        sub.cursor.is_deleted(position)
        for topic in list_topics(cluster, world)
        for sub in topic.subs.values()
        for consumer in sub.consumers
        for position in consumer.held
    )


def buffer_kept(cluster: Cluster, world: World) -> bool:
    """What a load would find, in the last snapshot and behind it, is what the buffer knows: while
    nothing is being written."""
    for topic in list_topics(cluster, world):
        if topic.buffer.state not in RECOVERED or topic.appends:
            continue
        loaded = topic.load_buffer(world.disk(topic.name))
        if loaded.ongoing != topic.buffer.ongoing:
            return False
        if set(loaded.aborts) != set(topic.buffer.aborts):
            return False
    return True


def one_writer(cluster: Cluster, world: World) -> bool:
    """From the position at which a producer got the partition for itself, as long as it is open.
    A message names its producer itself."""
    for topic in list_topics(cluster, world):
        access = topic.access
        if not access.alone:
            continue
        written = list(world.disk(topic.name).log(topic.name).read(access.since))
        came = (*written, *(unsafe.entry for unsafe in topic.appends))
        messages = [e for e in came if e.marker is None and e.base >= access.since]
        if any(entry.producer != access.writer for entry in messages):
            return False
    return True


def list_topics(cluster: Cluster, world: World) -> list[Topic]:
    """The partitions that are up."""
    roles = (world.role(name) for name in cluster.partitions)
    return [role for role in roles if role is not None]


def reads_receipts(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What is written in partitions, and what clients were told of their sends."""
    if name in cluster.clients:
        return list_receipts(node)
    return node.disk if name in cluster.partitions else None
