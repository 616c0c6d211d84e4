"""A lesson's facts explained: what `meaning.py` must know is read off the whole world."""

from __future__ import annotations

from ...kernel import Append, Effect, Event, Put, Reply, Request, Return, Send, Telling, World
from ...kernel.outcome import Outcome
from ..application.database import TABLE
from ..consumer.calls import Consume
from ..consumer.listening import APPLIED
from ..log import QueueEntry, Stored
from ..producer.calls import End, SendInTransaction
from .cluster import Cluster
from .meaning import explain_answer, explain_applied, explain_record, explain_request, explain_row
from .view import read_world
from .why import Kind


def find_kind(cluster: Cluster, name: str) -> Kind:
    """What a node of a lesson is."""
    if name == cluster.config.database:
        return Kind.DATABASE
    if name in dict(cluster.producers):
        return Kind.PRODUCER
    if cluster.slave and name == cluster.config.slave:
        return Kind.SLAVE
    return Kind.CONSUMER if name in dict(cluster.consumers) else Kind.BROKER


def annotate(
    cluster: Cluster, world: World, role: str, event: Event | None, effect: Effect | None
) -> Telling:
    """What the system adds to a fact: `effect` of `role` at `event`, or (None) a change in its
    memory, or what came before both. `world` is as the fact has left it."""
    book = read_world(cluster, world).book
    match effect:
        case None:
            # Late, without effect, or a change in memory: whose it is; why, says why.py.
            request = event.body if isinstance(event, Request) else None
            return Telling(explain_request(book, request).txn)
        case Append(entry=QueueEntry()):
            return Telling(hide=True)  # part of its message
        case Append(entry=Stored() as stored):
            return explain_record(book, stored)
        case Put(table=table, key=key, value=value) if table == TABLE:
            return explain_row(book, key, value)
        case Put(table=table, key=key, value=value) if table == APPLIED:
            return explain_applied(book, key, value)
        case Send(body=body):
            return explain_request(book, body, cluster.config.check_max)
        case Reply(body=body):
            return explain_answer(book, event.body if isinstance(event, Request) else None, body)
        case Return(value=Outcome(call=SendInTransaction() | End() as call)):
            return Telling(book.name_order(call.order))
        case Return(value=Outcome(call=Consume())):
            return Telling()
    return Telling(fold=True)
