"""What the broker's records say about each other, and whom its check may ask.

Ends and copies are read off the commit log, in which every record has its place: so a claim can
say what was written first. What a producer was asked it keeps until it has answered.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ...kernel import World, replace
from ...kernel.world import NodeState, is_lost
from ..broker import Broker
from ..check.ops import parse_op
from ..config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from ..log import COMMIT_LOG, Stored
from ..log.offsets import PERSIST, read_offsets
from ..messages import REAL_QID, REAL_TOPIC, TRAN_MSG, UNIQ_KEY, CheckTransactionState
from ..picture.cluster import Cluster


def list_records(cluster: Cluster, world: World) -> list[Stored]:
    return list(world.disk(cluster.config.broker).log(COMMIT_LOG).read(0))


def ended_for_good(cluster: Cluster, world: World) -> bool:
    """Each copy was made of a half whose end was not recorded when the copy was written. A
    message that was sent again has two halves with one key: it is enough that one of them, asked
    about once less, was open. An operator's copy, with no check before it, is another matter."""
    open_ones: dict[tuple[str | None, int], set[int]] = {}
    places: dict[int, tuple[str | None, int]] = {}
    for stored in list_records(cluster, world):
        message = stored.message
        if message.topic == OP_TOPIC:
            for place in parse_op(stored):
                if place in places:
                    open_ones[places[place]].discard(place)
        elif message.topic == HALF_TOPIC:
            key, times = message.get(UNIQ_KEY), message.check_times
            if times and not open_ones.get((key, times - 1)):
                return False
            places[stored.queue_offset] = (key, times)
            open_ones.setdefault((key, times), set()).add(stored.queue_offset)
    return True


def delivered_whole(cluster: Cluster, world: World) -> bool:
    """A committed message is its half with topic and queue as they were before: every other field
    is the same, and every property of it but those two."""
    records = list_records(cluster, world)
    for stored in records:
        message = stored.message
        if message.queue not in cluster.config.topics or message.get(TRAN_MSG) != "true":
            continue
        half = records[message.prepared_offset].message
        if half.topic != HALF_TOPIC:
            continue  # stored in its real topic: the half topic is off
        if (message.topic, str(message.queue_id)) != (half.get(REAL_TOPIC), half.get(REAL_QID)):
            return False
        same = replace(
            half,
            topic=message.topic,
            queue_id=message.queue_id,
            sys_flag=message.sys_flag,
            prepared_offset=message.prepared_offset,
        )
        noted = (REAL_TOPIC, REAL_QID)
        if message.clear(noted) != same.clear(noted):
            return False
    return True


def names_the_copy(cluster: Cluster, world: World) -> bool:
    """A question at a producer names a copy that was put back for it, the same transaction's."""
    records = list_records(cluster, world)
    return all(_is_its_copy(records, ask) for ask in list_questions(cluster, world))


def list_questions(cluster: Cluster, world: World) -> Iterable[CheckTransactionState]:
    for name, _ in cluster.producers:
        role = world.role(name)
        yield from (task.about for task in role.checks) if role is not None else ()


def _is_its_copy(records: list[Stored], ask: CheckTransactionState) -> bool:
    if ask.commit_log_offset >= len(records):
        return False
    copy = records[ask.commit_log_offset]
    return (
        copy.message.topic == HALF_TOPIC
        and copy.queue_offset == ask.queue_offset
        and copy.message.check_times == ask.message.check_times >= 1
        and copy.message.get(UNIQ_KEY) == ask.message.get(UNIQ_KEY)
    )


def asks_the_living(cluster: Cluster, world: World) -> bool:
    """Whom the broker would ask is up, or the broker has yet to hear that this producer is gone.
    Not promised: a heartbeat may arrive after the death of its sender, which registers again."""
    node = world.nodes[cluster.config.broker]
    broker: Broker | None = world.role(cluster.config.broker)
    if broker is None:
        return True
    addressees = {name for clients in broker.producers.groups.values() for name in clients}
    return all(
        world.nodes[name].up
        or not node.conns.get((cluster.config.broker, name), 0)
        or any(is_lost(event, name) for _, event in node.inbox)
        for name in sorted(addressees)
    )


def progress_kept(cluster: Cluster, world: World) -> bool:
    """How far each group has come is on the disk, or the write that will see to it is due."""
    node = world.nodes[cluster.config.broker]
    if not node.up or any(timer == PERSIST for _, timer, _ in node.timers):
        return True
    return bool(read_offsets(node.disk) == node.roles[0].offsets)


def parked_when_spent(cluster: Cluster, world: World) -> bool:
    """Nothing is given up before it was asked about as often as is allowed."""
    return all(
        stored.message.check_times >= cluster.config.check_max
        for stored in list_records(cluster, world)
        if stored.message.topic == DISCARD_TOPIC
    )


def reads_questions(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """The broker's records, and what producers were asked and have not answered."""
    if name == cluster.config.broker:
        return node.disk
    if name in dict(cluster.producers) and node.up:
        return tuple(task.about for task in node.roles[0].checks)
    return None


def reads_living(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """Which producers are up, whom the broker would ask, and what it is about to hear."""
    if name == cluster.config.broker:
        return node.inbox, node.conns, node.roles[0].producers if node.up else None
    return node.up


def reads_progress(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """Offsets in memory and on the disk, and what will write them."""
    if name != cluster.config.broker:
        return None
    timed = tuple(timer for _, timer, _ in node.timers)
    return node.up, node.disk, timed, node.roles[0].offsets if node.up else None
