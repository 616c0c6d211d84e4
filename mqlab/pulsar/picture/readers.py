"""What each consumer has now: what it was sent, whether its application has received it or not, and
what it has not acknowledged."""

from __future__ import annotations

from ...kernel import NOTHING, Got, Reader, World
from ..client import Client, Consumer
from ..messages import LedgerEntry, MessageId
from . import words
from .cluster import Cluster
from .ledgers import Written, read_entries


def draw_readers(cluster: Cluster, world: World, written: Written) -> tuple[Reader, ...]:
    out = []
    for name in cluster.clients:
        client: Client | None = world.role(name)
        for consumer in client.consumers if client is not None else ():
            out.append(_draw_consumer(world, name, consumer, written))
    return tuple(out)


def _draw_consumer(world: World, name: str, consumer: Consumer, written: Written) -> Reader:
    entries = read_entries(world, consumer.partition)
    queued = [push.message_id for push in consumer.queue]
    got = tuple(
        Got(consumer.partition, *_describe(id, entries, written))
        for id in (*consumer.received, *queued)
        if id.position < len(entries)
    )
    note = words.IN_QUEUE(count=len(queued)) if queued else NOTHING
    return Reader(f"{consumer.subscription} · {name}", got, note, consumer.partition)


def _describe(id: MessageId, entries: list[LedgerEntry], written: Written) -> tuple[str, str]:
    entry = entries[id.position]
    values = entry.values if id.batch_index < 0 else entry.values[id.batch_index :][:1]
    return ",".join(map(str, values)), written.name(entry.txn)
