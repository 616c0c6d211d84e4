"""What an order service may rely on, as properties over a world: its rows against the queues.

A row and a message belong together. That is what a transactional message is for, and it can be
asked only where rows are: an order whose listener merely says what it is told, or that somebody
ends by hand, has no row that would decide, and the claims do not speak of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Protocol

from ...kernel import World
from ...kernel.world import NodeState
from ..broker.checking import CHECK
from ..consumer.listening import APPLIED
from ..log import Stored
from ..log.offsets import offset_key
from ..messages import REAL_TOPIC, split_queue
from ..picture.cluster import Cluster
from ..picture.transactions import Txn
from ..picture.view import View, list_group_queues, read_world
from ..producer.calls import End, SendInTransaction, SetListener


class Progress(Protocol):
    """Where the check has come to in the half topic, and which ends wait to be recorded."""

    @property
    def half_offset(self) -> int: ...

    @property
    def ops(self) -> tuple[int, ...]: ...


def is_open(seen: Progress, txn: Txn) -> bool:
    """Whether a coming round of the check will look at it: a half or a copy of it lies at or
    behind the check's place, and its end is neither recorded nor about to be."""
    known = {*txn.ended, *seen.ops}
    return any(place >= seen.half_offset and place not in known for place in txn.halves)


def has_end(seen: Progress, txn: Txn) -> bool:
    """Whether somebody has ended it, by COMMIT or ROLLBACK, as far as the broker knows."""
    return bool(txn.delivered or txn.ended or set(txn.halves) & set(seen.ops))


def is_lost(seen: Progress, txn: Txn) -> bool:
    """Whether it has a half that is neither open nor ended nor parked."""
    return bool(txn.halves) and not (is_open(seen, txn) or has_end(seen, txn) or txn.parked)


# ---- rows ------------------------------------------------------------------------------


def row_with_message(cluster: Cluster, world: World) -> bool:
    return not list_left_alone(cluster, world)


def list_left_alone(cluster: Cluster, world: World) -> list[str]:
    """The orders whose row no message will follow. Not while the call that writes the row is under
    way: its half may still come."""
    seen = read_world(cluster, world)
    return [
        order
        for order in list_judged_rows(seen)
        if not any(_is_owed(seen, txn) or txn.parked for txn in find_txns(seen, order))
        if order not in list_working(cluster, world)
    ]


def row_delivered(cluster: Cluster, world: World) -> bool:
    """Each order's message is delivered, or the check will come to its half. Where neither is so, a
    COMMIT may be on its way, or an answer to a check: the promise is broken only where none is
    left, which a search finds out. To be parked is not enough."""
    seen = read_world(cluster, world)
    due = is_check_due(cluster, world)
    return all(
        any(txn.delivered or (due and is_open(seen, txn)) for txn in find_txns(seen, order))
        for order in list_judged_rows(seen)
    )


def is_check_due(cluster: Cluster, world: World) -> bool:
    """Whether the broker will be woken for a round of the check. A search bounds how often timers
    fire, so a timer that is set counts as one that will."""
    timers = world.nodes[cluster.config.broker].timers
    return any(timer == CHECK for _, timer, _ in timers)


def _is_owed(seen: View, txn: Txn) -> bool:
    return bool(txn.delivered) or is_open(seen, txn)


def message_with_row(cluster: Cluster, world: World) -> bool:
    seen = read_world(cluster, world)
    unjudged = find_unjudged(cluster, world)
    return all(
        order in seen.orders or order in unjudged
        for queue in cluster.config.topics
        for stored in seen.read(queue)
        if seen.book.name(stored.message)
        for order in (stored.message.words,)
    )


def find_txns(seen: View, order: str) -> Iterator[Txn]:
    return (txn for txn in seen.book.txns.values() if txn.order == order)


def list_judged_rows(seen: View) -> list[str]:
    unjudged = find_unjudged(seen.cluster, seen.world)
    return [order for order in seen.orders if order not in unjudged]


def find_unjudged(cluster: Cluster, world: World) -> frozenset[str]:
    """The orders that no row decides: those of a scripted listener, and those ended by hand."""
    orders: set[str] = set()
    for name, _ in cluster.producers:
        app = world.nodes[name].app
        calls = app.program if app is not None and isinstance(app.program, tuple) else ()
        scripted = any(isinstance(call, SetListener) for call in calls)
        for call in calls:
            if isinstance(call, End) or (scripted and isinstance(call, SendInTransaction)):
                orders.add(call.order)
    return frozenset(orders)


def list_working(cluster: Cluster, world: World) -> list[str]:
    """The orders that some producer's call is about."""
    roles = [world.role(name) for name, _ in cluster.producers]
    calls = [role.call for role in roles if role is not None]
    return [call.order for call in calls if isinstance(call, SendInTransaction)]


# ---- who can be asked ------------------------------------------------------------------


def can_be_asked(cluster: Cluster, world: World) -> bool:
    """Each order's message is delivered, or somebody lives whom the broker will ask about its half:
    a process of the group registers by itself."""
    seen = read_world(cluster, world)
    return all(
        any(
            txn.delivered or (is_open(seen, txn) and _can_answer(cluster, world, txn))
            for txn in find_txns(seen, order)
        )
        for order in list_judged_rows(seen)
    )


def _can_answer(cluster: Cluster, world: World, txn: Txn) -> bool:
    anybody = "any_producer" in cluster.config.on
    return any(
        world.nodes[name].up and group == txn.group and (anybody or name == txn.sender)
        for name, group in cluster.producers
    )


# ---- consumers ---------------------------------------------------------------------------


def applied_once(cluster: Cluster, world: World) -> bool:
    tables = (world.disk(name).table(APPLIED) for name, _ in cluster.consumers)
    return all(times <= 1 for table in tables for times in table.values())


def applied_or_kept(cluster: Cluster, world: World) -> bool:
    """What lies before a group's offset is done with: some member has applied the order, or a
    copy of the message was kept."""
    seen = read_world(cluster, world)
    for group in cluster.consumer_groups:
        members = [name for name, of in cluster.consumers if of == group]
        applied = {order for name in members for order in world.disk(name).table(APPLIED)}
        kept = {stored.message.words for stored in _list_kept(seen, group)}
        for stored in seen.list_passed(group):
            if stored.message.words not in applied | kept:
                return False
    return True


def _list_kept(seen: View, group: str) -> list[Stored]:
    """What waits for the group, and what was given up."""
    retry, dead = list_group_queues(group)
    read = seen.offsets.get(offset_key(group, retry), 0)
    topic, _ = split_queue(retry)
    delayed = [s for s in seen.delayed if s.message.get(REAL_TOPIC) == topic]
    return [*delayed, *seen.read(retry)[read:], *seen.read(dead)]


def look_at_applied(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What the claims about consumers look at beside the broker: what each has applied."""
    return node.disk.table(APPLIED) if name in dict(cluster.consumers) else None


def look_at_rows(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What the claims here look at beside the broker: rows, programs, and calls under way."""
    if name == cluster.config.database:
        return node.disk
    if name in dict(cluster.producers) and node.app is not None:
        return node.app.program, node.roles[0].call if node.up else None
    return None
