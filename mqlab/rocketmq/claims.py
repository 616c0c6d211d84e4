"""What is true of a correct RocketMQ, as properties over a world: what the broker's records say
about each other, whom its check may ask, what consumers apply.

Ends and copies are read off the commit log, in which every record has its place: so a claim can
say what was written first. What a producer was asked it keeps until it has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Protocol

from ..kernel import Property, Words, World, replace
from ..kernel.claims import Claim, claims_by_key, list_properties
from ..kernel.world import NodeState, is_lost
from .broker import Broker
from .broker.timer import CHECK
from .check import parse_op
from .config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from .consumer import APPLIED
from .log import COMMIT_LOG, PERSIST, Stored, offset_key, read_offsets
from .messages import REAL_QID, REAL_TOPIC, TRAN_MSG, UNIQ_KEY, CheckTransactionState, split_queue
from .picture import words
from .picture.view import Cluster, Txn, View, is_undecided, list_group_queues, read_world
from .producer import End, SendInTransaction, SetListener


def list_records(cluster: Cluster, world: World) -> list[Stored]:
    return list(world.disk(cluster.config.broker).log(COMMIT_LOG).read(0))


def no_copy_after_end(cluster: Cluster, world: World) -> bool:
    """Claim: the check never puts back a half message whose end was already recorded: when a copy
    is stored, the copy before it (checked once less) has no op message. A message sent again has
    two half messages with one key; one of them must still be open. Copies by an operator (times 0)
    are not checked."""
    # by (key, times checked): the offsets, in the half queue, of those without an op message
    open_by_copy: dict[tuple[str | None, int], set[int]] = {}
    copy_at_offset: dict[int, tuple[str | None, int]] = {}
    for stored in list_records(cluster, world):
        message = stored.message
        if message.topic == OP_TOPIC:
            for offset in parse_op(stored):
                if offset in copy_at_offset:
                    open_by_copy[copy_at_offset[offset]].discard(offset)
        elif message.topic == HALF_TOPIC:
            key, times = message.get(UNIQ_KEY), message.check_times
            if times and not open_by_copy.get((key, times - 1)):
                return False
            copy_at_offset[stored.queue_offset] = (key, times)
            open_by_copy.setdefault((key, times), set()).add(stored.queue_offset)
    return True


def delivered_whole(cluster: Cluster, world: World) -> bool:
    """Claim: a committed message is its half message unchanged, except for topic and queue, which
    are those that the producer named, the two properties that had kept them, and the two fields of
    the record that say what it is (sys_flag, prepared_offset)."""
    records = list_records(cluster, world)
    for stored in records:
        message = stored.message
        if message.queue not in cluster.config.topics or message.get(TRAN_MSG) != "true":
            continue
        # an offset of a lesson's commit log is the number of a record
        half = records[message.prepared_offset].message
        if half.topic != HALF_TOPIC:
            continue  # stored in its real topic: the half topic is off
        if (message.topic, str(message.queue_id)) != (half.get(REAL_TOPIC), half.get(REAL_QID)):
            return False
        expected = replace(
            half,
            topic=message.topic,
            queue_id=message.queue_id,
            sys_flag=message.sys_flag,
            prepared_offset=message.prepared_offset,
        )
        kept_in = (REAL_TOPIC, REAL_QID)
        if message.clear(kept_in) != expected.clear(kept_in):
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


def not_set_aside_early(cluster: Cluster, world: World) -> bool:
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


# What an order service may rely on, as properties over a world: its rows against the queues
#
# A row and a message belong together. That is what a transactional message is for, and it can be
# asked only where rows are: an order whose listener merely follows a script, or that is ended by
# hand, has no row that would decide, and the claims do not speak of it.


class Progress(Protocol):
    """Where the check has come to in the half topic, and which ends wait to be recorded."""

    @property
    def half_offset(self) -> int: ...

    @property
    def ops(self) -> tuple[int, ...]: ...


def is_open(seen: Progress, txn: Txn) -> bool:
    """Whether a coming round of the check will look at it: a half message or a copy of it is at or
    after the check's place, and its end is neither recorded nor about to be."""
    known = {*txn.ended, *seen.ops}
    return any(place >= seen.half_offset and place not in known for place in txn.halves)


def has_end(seen: Progress, txn: Txn) -> bool:
    """Whether it was ended, by COMMIT or ROLLBACK, as far as the broker knows."""
    return bool(txn.delivered or txn.ended or set(txn.halves) & set(seen.ops))


def is_forgotten(seen: Progress, txn: Txn) -> bool:
    """Whether it has a half message that is neither open nor ended nor set aside."""
    return bool(txn.halves) and not (is_open(seen, txn) or has_end(seen, txn) or txn.parked)


# ---- rows ------------------------------------------------------------------------------


def row_with_message(cluster: Cluster, world: World) -> bool:
    return not list_left_alone(cluster, world)


def list_left_alone(cluster: Cluster, world: World) -> list[str]:
    """The orders whose row no message will follow. Not while the call that writes the row is in
    flight: its half message may still come."""
    seen = read_world(cluster, world)
    return [
        order
        for order in list_judged_rows(seen)
        if not any(_is_owed(seen, txn) or txn.parked for txn in find_txns(seen, order))
        if order not in list_working(cluster, world)
    ]


def row_delivered(cluster: Cluster, world: World) -> bool:
    """Each order's message is delivered, or the check will come to its half message. Where neither
    is so, a COMMIT may be on its way, or an answer to a check: the promise is broken only where
    none is left, which a search finds out. To be set aside is not enough."""
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
    """Each order's message is delivered, or the broker will ask a process that is alive about its
    half message: a process of the group registers by itself."""
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
    """What is before a group's offset is done with: some member has applied the order, or a
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
    """What the claims here look at beside the broker: rows, programs, and calls in flight."""
    if name == cluster.config.database:
        return node.disk
    if name in dict(cluster.producers) and node.app is not None:
        return node.app.program, node.roles[0].call if node.up else None
    return None


# ---- What is true of a correct RocketMQ, as properties over a world ------------------
#
# Careful wording is the point. "A message is delivered once" is not true, nor is "a rollback is
# final": the broker keeps no state for a transaction, and anyone who says COMMIT to it gets the
# message delivered, however often and however late.
#
# Three lists. `LIT` and `ALWAYS` hold in every reachable world of a correct broker, whatever stops
# or breaks, short of a power cut; `LIVE` from every one. What real RocketMQ does *not* promise,
# though many expect it, is a claim one may name (`claims=delivered_once` in a system line) to be
# shown the execution that refutes it.

# ---- the broker alone ------------------------------------------------------------------


def clean_read(cluster: Cluster, world: World) -> bool:
    seen = read_world(cluster, world)
    return not any(
        is_undecided(stored.message)
        for queue in cluster.config.topics
        for stored in seen.read(queue)
    )


def no_half_message_lost(cluster: Cluster, world: World) -> bool:
    seen = read_world(cluster, world)
    return not any(is_forgotten(seen, txn) for txn in seen.book.txns.values())


def ends(cluster: Cluster, world: World) -> bool:
    """Every half message has ended or is set aside, or the check that will see to it is due, as
    often as is allowed."""
    if not world.nodes[cluster.config.broker].up:
        return False
    seen = read_world(cluster, world)
    due = is_check_due(cluster, world)
    most = max(1, cluster.config.check_max)
    return all(
        has_end(seen, txn) or txn.parked or (due and txn.times <= most)
        for txn in seen.book.txns.values()
        if txn.halves
    )


# ---- what real RocketMQ does not promise -------------------------------------------------


def delivered_once(cluster: Cluster, world: World) -> bool:
    return all(txn.delivered <= 1 for txn in read_world(cluster, world).book.txns.values())


def passed_over(cluster: Cluster, world: World) -> bool:
    return not any(txn.again for txn in read_world(cluster, world).book.txns.values())


def final(cluster: Cluster, world: World) -> bool:
    txns = read_world(cluster, world).book.txns.values()
    return not any(txn.rolled_back and txn.delivered for txn in txns)


def set_aside_or_delivered(cluster: Cluster, world: World) -> bool:
    txns = read_world(cluster, world).book.txns.values()
    return not any(txn.parked and txn.delivered for txn in txns)


# ---- what must be reachable --------------------------------------------------------------


def commits(cluster: Cluster, world: World) -> bool:
    return any(txn.delivered for txn in read_world(cluster, world).book.txns.values())


# ---- as properties -----------------------------------------------------------------------


def reads(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What a view is made of: the broker's disk, and what it knows beside it."""
    if name != cluster.config.broker:
        return None
    if not node.up:
        return node.disk
    broker = node.roles[0]
    return node.disk, broker.offsets, broker.ops


def reads_rows(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """The same, and rows with what is being written."""
    return reads(cluster, name, node) or look_at_rows(cluster, name, node)


def reads_applied(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """The same, and what consumers have applied."""
    return reads(cluster, name, node) or look_at_applied(cluster, name, node)


def reads_timers(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What a view is made of, and what the broker will be woken for."""
    if name != cluster.config.broker:
        return None
    timed = tuple(timer for _, timer, _ in node.timers)
    return node.up, reads(cluster, name, node), timed


def reads_liveness(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What a claim about liveness reads: whether the node is up, and its rows."""
    return node.up, reads_rows(cluster, name, node)


def reads_due(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """Rows with what is being written, and what the broker will be woken for."""
    timed = tuple(timer for _, timer, _ in node.timers) if name == cluster.config.broker else None
    return reads_rows(cluster, name, node), timed


def _claim(
    name: str,
    sentence: Words,
    holds: Callable[[Cluster, World], bool],
    kind: str = "always",
    reads: Callable[[Cluster, str, NodeState], Hashable] = reads,
) -> Claim[Cluster]:
    """A claim about a RocketMQ cluster: it looks at what a view is made of, or says what else."""
    return Claim(name, sentence, holds, kind, reads)


CLEAN_READ = _claim("clean read", words.CLEAN_READ, clean_read)
NO_HALF_MESSAGE_LOST = _claim(
    "no half message lost", words.NO_HALF_MESSAGE_LOST, no_half_message_lost
)
#: shown as lights in every lesson's picture: they look at the database and at consumers
LIT = (
    _claim("row with message", words.ROW_WITH_MESSAGE, row_with_message, "can_always", reads_rows),
    _claim("message with row", words.MESSAGE_WITH_ROW, message_with_row, "always", reads_rows),
    _claim("applied once", words.APPLIED_ONCE, applied_once, "always", look_at_applied),
)
#: the lights of a server, which sees neither: they are about the broker alone
SERVED = (CLEAN_READ, NO_HALF_MESSAGE_LOST)
ALWAYS = (
    *SERVED,
    _claim("applied or kept", words.APPLIED_OR_KEPT, applied_or_kept, "always", reads_applied),
    _claim("ended for good", words.ENDED_FOR_GOOD, no_copy_after_end),
    _claim("delivered whole", words.DELIVERED_WHOLE, delivered_whole),
    _claim("names the copy", words.NAMES_THE_COPY, names_the_copy, "always", reads_questions),
    _claim("progress kept", words.PROGRESS_KEPT, progress_kept, "always", reads_progress),
    _claim("not set aside early", words.NOT_SET_ASIDE_EARLY, not_set_aside_early),
)
LIVE = (
    _claim("ends", words.ENDS, ends, "can_always", reads_timers),
    _claim("row comes", words.ROW_COMES, message_with_row, "can_always", reads_rows),
)
UNKEPT = (
    _claim("delivered once", words.DELIVERED_ONCE, delivered_once),
    _claim("passed over", words.PASSED_OVER, passed_over),
    _claim("final", words.FINAL, final),
    _claim("set aside or delivered", words.SET_ASIDE_OR_DELIVERED, set_aside_or_delivered),
    _claim("asks the living", words.ASKS_THE_LIVING, asks_the_living, "always", reads_living),
    _claim("row delivered", words.ROW_DELIVERED, row_delivered, "can_always", reads_due),
    _claim("can be asked", words.CAN_BE_ASKED, can_be_asked, "can_always", reads_liveness),
)
SOMETIMES = (_claim("commits", words.COMMITS, commits, "sometimes"),)
#: what a system line may name, by that name
CLAIMS = claims_by_key((*ALWAYS, *LIVE, *UNKEPT))


def properties(cluster: Cluster, claims: tuple[str, ...] = ()) -> tuple[Property, ...]:
    """What a search checks: everything that a correct broker keeps, what must be reachable, and
    the claims that were named."""
    kept = (*LIT, *ALWAYS, *LIVE)
    named = (CLAIMS[name] for name in claims)
    return list_properties(cluster, kept, named, SOMETIMES)
