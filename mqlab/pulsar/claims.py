"""What is true of a correct Pulsar, as properties over a world.

Careful wording is the point. "What is committed can be read" is not true, nor is "one open
transaction hides its own messages only". Nor does anything fence a client that was taken for dead,
unless another producer has its topic alone.

Three lists. `LIT` and `ALWAYS` hold in every reachable world of a correct broker, whatever stops or
breaks; what `LIVE` says can still be reached from every one. What real Pulsar does *not* promise,
though many expect it, is a claim that one may name (`claims=committed_stays` in a system line) to
be shown the execution that refutes it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain, pairwise

from ..kernel import Disk, Property, Words, World
from ..kernel.claims import Claim, claims_by_key, list_properties
from ..kernel.world import NodeState
from .client import Client
from .client.calls import Send
from .config import PENDING_ACK_SUFFIX, name_pending_ack_log
from .coordinator import Coordinator
from .messages import AckPosition, PendingAckEntry, PushMessage, TxnID
from .pending_ack import ACK, COMMIT
from .picture import words
from .picture.snapshot import (
    Cluster,
    Written,
    has_ended,
    list_markers,
    read_coordinators,
    read_entries,
)
from .states import RECOVERED, AckType, ClientTxnState, MarkerType, StoreState, TxnStatus
from .subscription import Subscription
from .topic import Topic

# What a client may rely on once it was answered, and what a load of a partition finds again

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
    """The sends of a client's present process that were answered, with what the answer said."""
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
    """The positions that committed transactions acknowledged one by one, read off a pending-ack
    log. An ACK record counts with all of its positions or, where one of them was already taken,
    with none."""
    pending: dict[TxnID, set[AckPosition]] = {}
    committed: set[AckPosition] = set()
    for record in records:
        if record.ack_type is AckType.CUMULATIVE:
            continue
        if record.op == ACK:
            all_taken = committed.union(*pending.values())
            if not any(_overlap(one, other) for one in record.positions for other in all_taken):
                pending.setdefault(record.txn, set()).update(record.positions)
            continue
        of_txn = pending.pop(record.txn, set())
        committed |= of_txn if record.op == COMMIT else set()
    return committed


def _overlap(one: AckPosition, other: AckPosition) -> bool:
    whole = min(one.batch_index, other.batch_index) < 0
    return one.position == other.position and (whole or one.batch_index == other.batch_index)


def acked_is_let_go(cluster: Cluster, world: World) -> bool:
    """Of the types whose consumers hold single entries: no consumer is sent one that was
    acknowledged, so no consumer holds it."""
    return not any(
        sub.cursor.is_deleted(position)
        for topic in list_topics(cluster, world)
        for sub in topic.subs.values()
        for consumer in sub.consumers
        for position in consumer.held
    )


def buffer_kept(cluster: Cluster, world: World) -> bool:
    """What a load would find, in the last snapshot and after it, is what the buffer knows: while
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
    """What is written in partitions, and what was reported to clients of their sends."""
    if name in cluster.clients:
        return list_receipts(node)
    return node.disk if name in cluster.partitions else None


# ---- who holds what now ------------------------------------------------------------------


def list_subscriptions(cluster: Cluster, world: World) -> list[Subscription]:
    return [sub for topic in list_topics(cluster, world) for sub in topic.subs.values()]


def list_queued(cluster: Cluster, world: World) -> list[PushMessage]:
    """What was sent to consumers and not received yet."""
    clients: list[Client] = [
        role for name in cluster.clients if (role := world.role(name)) is not None
    ]
    return [push for client in clients for c in client.consumers for push in c.queue]


def list_pending_ack_logs(cluster: Cluster, world: World) -> Iterator[list[PendingAckEntry]]:
    for partition in cluster.partitions:
        disk = world.disk(partition)
        for name in disk.logs():
            if name.endswith(PENDING_ACK_SUFFIX):
                yield list(disk.log(name).read(0))


# ---- transactions ------------------------------------------------------------------------


def clean_read(cluster: Cluster, world: World) -> bool:
    written = read_coordinators(cluster, world)
    return all(
        push.txn is None or written.has_committed(push.txn) for push in list_queued(cluster, world)
    )


def ids_grow(cluster: Cluster, world: World) -> bool:
    begun = read_coordinators(cluster, world).begun
    return all(one.most != other.most or one.least < other.least for one, other in pairwise(begun))


def as_decided(cluster: Cluster, world: World) -> bool:
    written = read_coordinators(cluster, world)
    markers = (
        marker.txn
        for name in cluster.partitions
        for marker in list_markers(read_entries(world, name), MarkerType.TXN_COMMIT)
    )
    records = (
        record.txn
        for log in list_pending_ack_logs(cluster, world)
        for record in log
        if record.op == COMMIT
    )
    return all(txn is not None and written.has_committed(txn) for txn in chain(markers, records))


def told_to_all(cluster: Cluster, world: World) -> bool:
    """Of commits only: what arrives after an abort, a timeout's for example, is not reported."""
    done = read_coordinators(cluster, world).done
    for name in cluster.partitions:
        entries = read_entries(world, name)
        marked = {entry.txn for entry in list_markers(entries, MarkerType.TXN_COMMIT)}
        for entry in entries:
            if entry.txn is None or entry.marker is not None or entry.txn in marked:
                continue
            if done.get(entry.txn) is TxnStatus.COMMITTED:
                return False
    return all(_is_told(log, done) for log in list_pending_ack_logs(cluster, world))


def _is_told(log: list[PendingAckEntry], done: Mapping[TxnID, TxnStatus]) -> bool:
    """Unless a consumer has acknowledged cumulatively: such a pending acknowledgement keeps other
    commits from being reported (`pending_ack`)."""
    if any(record.ack_type is AckType.CUMULATIVE for record in log):
        return True
    committed = {record.txn for record in log if record.op == COMMIT}
    return not any(
        done.get(record.txn) is TxnStatus.COMMITTED and record.txn not in committed
        for record in log
    )


def max_read_position_correct(cluster: Cluster, world: World) -> bool:
    """Claim on maxReadPosition: it is below the first message of every open transaction, and
    otherwise as far as possible. The second half is checked only while nothing is being written,
    and transactional messages may stay above it: one that arrived after its transaction was
    aborted, and, before a partition's first transaction, one that came during the first
    snapshot."""
    for topic in list_topics(cluster, world):
        entries = read_entries(world, topic.name)
        messages = [entry for entry in entries if entry.txn is not None and entry.marker is None]
        first_open = next((e.base for e in messages if not has_ended(entries, e)), None)
        if first_open is not None and first_open <= topic.readable:
            return False
        # appends: entries that are not durable yet
        if topic.buffer.state not in RECOVERED or topic.appends or not messages:
            continue
        transactional = {entry.base for entry in messages}
        furthest = topic.lac if first_open is None else first_open - 1
        if any(at not in transactional for at in range(topic.readable + 1, furthest + 1)):
            return False
    return True


# ---- acknowledgements --------------------------------------------------------------------


def one_holder(cluster: Cluster, world: World) -> bool:
    return all(has_one_holder(sub) for sub in list_subscriptions(cluster, world))


def has_one_holder(sub: Subscription) -> bool:
    """One by one: a whole entry, or a message of a batch."""
    holders: dict[AckPosition, TxnID] = {}
    return all(
        holders.setdefault(position, txn) == txn
        for txn, positions in sub.pending.of_txn
        for position in positions
    )


def pending_kept(cluster: Cluster, world: World) -> bool:
    """What a replay of the log would find is what is held: while nothing is being written."""
    return all(
        _replays_the_same(topic, sub, world.disk(topic.name))
        for topic in list_topics(cluster, world)
        for sub in topic.subs.values()
        if sub.durable and not sub.waiting
    )


def _replays_the_same(topic: Topic, sub: Subscription, disk: Disk) -> bool:
    replayed, _ = topic.begin_subscription(sub.name).replay_log(sub.cursor, disk, topic.lac)
    now = sub.pending
    return (replayed.positions, replayed.cumulative) == (now.positions, now.cumulative)


def pending_withheld(cluster: Cluster, world: World) -> bool:
    """Not promised: a copy that was sent when a connection broke, before the acknowledgement
    arrived, waits in the consumer's queue."""
    held = {(s.partition, s.name): s.pending for s in list_subscriptions(cluster, world)}
    for push in list_queued(cluster, world):
        pending = held.get((push.message_id.partition, push.subscription))
        if pending is not None and pending.is_pending(AckPosition(push.message_id.position)):
            return False
    return True


def nothing_passed_over(cluster: Cluster, world: World) -> bool:
    """Not promised: the consumer lets go of what it acknowledges in a transaction before that is
    refused."""
    for topic in list_topics(cluster, world):
        entries = read_entries(world, topic.name)
        for sub in topic.subs.values():
            if not sub.is_single and not _accounts_for_all(topic, sub, [e.base for e in entries]):
                return False
    return True


def _accounts_for_all(topic: Topic, sub: Subscription, positions: list[int]) -> bool:
    held = {position for consumer in sub.consumers for position in consumer.held}
    held |= {at.position for waiting in sub.waiting for at in waiting.record.positions}
    return all(
        at >= sub.read
        or at in sub.replay
        or at in held
        or sub.cursor.is_deleted(at)
        or sub.pending.is_pending(AckPosition(at))
        for at in positions
    )


# ---- what must stay possible -------------------------------------------------------------


def ends(cluster: Cluster, world: World) -> bool:
    """Every transaction has ended, or its coordinator is loaded and will see to it: it is telling
    the participants, or a timer is set. A search bounds how often timers fire, so a timer that is
    set counts as one that will."""
    written = read_coordinators(cluster, world)
    return all(txn in written.done or _is_cared_for(cluster, world, txn) for txn in written.begun)


def _is_cared_for(cluster: Cluster, world: World, txn: TxnID) -> bool:
    node = world.nodes[cluster.coordinators[txn.most]]
    if not node.up:
        return False
    tc: Coordinator = node.roles[0]
    if tc.state is not StoreState.READY or txn not in tc.txns:
        return False
    timed = any(timer.endswith(f" {txn}") for _, timer, _ in node.timers)
    return timed or any(end.txn == txn for end in tc.ends)


# ---- what real Pulsar does not promise ---------------------------------------------------


def unblocked(cluster: Cluster, world: World) -> bool:
    written = read_coordinators(cluster, world)
    return not any(
        txn in written.done
        for topic in list_topics(cluster, world)
        for txn, _ in topic.buffer.ongoing
    )


def plain_at_once(cluster: Cluster, world: World) -> bool:
    return all(
        entry.txn is not None or entry.base > topic.lac or entry.base <= topic.readable
        for topic in list_topics(cluster, world)
        for entry in read_entries(world, topic.name)
    )


def one_marker(cluster: Cluster, world: World) -> bool:
    for name in cluster.partitions:
        markers = [entry.txn for entry in read_entries(world, name) if entry.marker is not None]
        if len(set(markers)) < len(markers):
            return False
    return True


def stored_once(cluster: Cluster, world: World) -> bool:
    written = read_coordinators(cluster, world)
    for name in cluster.partitions:
        values = [
            value
            for entry in read_entries(world, name)
            if entry.marker is None and (entry.txn is None or written.has_committed(entry.txn))
            for value in entry.values
        ]
        if len(set(values)) < len(values):
            return False
    return True


def state_tells(cluster: Cluster, world: World) -> bool:
    written = read_coordinators(cluster, world)
    roles = (world.role(name) for name in cluster.clients)
    return not any(
        txn.state is ClientTxnState.ERROR and written.has_committed(txn.id)
        for client in roles
        if client is not None
        for txn in client.txns.values()
    )


def committed_stays(cluster: Cluster, world: World) -> bool:
    written = read_coordinators(cluster, world)
    return not any(
        written.has_committed(txn)
        for topic in list_topics(cluster, world)
        for txn in topic.buffer.aborts
    )


def commits(cluster: Cluster, world: World) -> bool:
    written: Written = read_coordinators(cluster, world)
    return TxnStatus.COMMITTED in written.done.values()


# ---- as properties -----------------------------------------------------------------------


def reads_disks(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What is written: by coordinators and in partitions."""
    return None if name in cluster.clients else node.disk


def reads_topics(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """The same, and what a partition knows."""
    if name in cluster.partitions:
        return node.disk, node.roles[0] if node.up else None
    return reads_disks(cluster, name, node)


def reads_consumers(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """The same, and what consumers were sent."""
    if name in cluster.clients:
        return node.roles[0].consumers if node.up else None
    return reads_topics(cluster, name, node)


def reads_states(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What is written, and the states that clients see."""
    if name in cluster.clients:
        return node.roles[0].txns if node.up else None
    return reads_disks(cluster, name, node)


def reads_timers(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What is written, and what coordinators are about to do."""
    if name not in cluster.coordinators:
        return None
    tc = node.roles[0] if node.up else None
    timed = tuple(timer for _, timer, _ in node.timers)
    return node.up, node.disk, timed, (tc.state, tc.txns, tc.ends) if tc is not None else None


Test = Callable[[Cluster, World], bool]
Look = Callable[[Cluster, str, NodeState], Hashable]


def _claim(
    name: str, sentence: Words, holds: Test, reads: Look = reads_disks, kind: str = "always"
) -> Claim[Cluster]:
    """A claim about a Pulsar cluster: it looks at what is written, or says what else."""
    return Claim(name, sentence, holds, kind, reads)


CLEAN_READ = _claim("clean read", words.CLEAN_READ, clean_read, reads_consumers)
TOLD_TO_ALL = _claim("told to all", words.TOLD_TO_ALL, told_to_all)
ONE_HOLDER = _claim("one holder", words.ONE_HOLDER, one_holder, reads_topics)
#: shown as lights in every picture
LIT = (CLEAN_READ, TOLD_TO_ALL, ONE_HOLDER)
ALWAYS = (
    _claim("ids grow", words.IDS_GROW, ids_grow),
    _claim("as decided", words.AS_DECIDED, as_decided),
    _claim(
        "max read position correct",
        words.MAX_READ_POSITION_CORRECT,
        max_read_position_correct,
        reads_topics,
    ),
    _claim("pending kept", words.PENDING_KEPT, pending_kept, reads_topics),
    _claim("answered is kept", words.ANSWERED_IS_KEPT, answered_is_kept, reads_receipts),
    _claim("committed acks kept", words.COMMITTED_ACKS_KEPT, committed_acks_kept, reads_topics),
    _claim("acked is let go", words.ACKED_IS_LET_GO, acked_is_let_go, reads_topics),
    _claim("buffer kept", words.BUFFER_KEPT, buffer_kept, reads_topics),
    _claim("one writer", words.ONE_WRITER, one_writer, reads_topics),
)
LIVE = (_claim("ends", words.ENDS, ends, reads_timers, "can_always"),)
UNKEPT = (
    _claim("nothing passed over", words.NOTHING_PASSED_OVER, nothing_passed_over, reads_topics),
    _claim("pending withheld", words.PENDING_WITHHELD, pending_withheld, reads_consumers),
    _claim("unblocked", words.UNBLOCKED, unblocked, reads_topics, "can_always"),
    _claim("plain at once", words.PLAIN_AT_ONCE, plain_at_once, reads_topics),
    _claim("one marker", words.ONE_MARKER, one_marker),
    _claim("stored once", words.STORED_ONCE, stored_once),
    _claim("state tells", words.STATE_TELLS, state_tells, reads_states),
    _claim("committed stays", words.COMMITTED_STAYS, committed_stays, reads_topics),
)
#: where a program commits
SOMETIMES = (_claim("commits", words.COMMITS, commits, kind="sometimes"),)
#: what a system line may name, by that name
CLAIMS = claims_by_key((*ALWAYS, *LIVE, *UNKEPT))


def properties(
    cluster: Cluster, claims: tuple[str, ...] = (), commits: bool = True
) -> tuple[Property, ...]:
    """What a search checks: everything that a correct broker keeps, what must be reachable (if
    any program `commits`), and the claims that were named."""
    kept = (*LIT, *ALWAYS, *LIVE)
    named = (CLAIMS[name] for name in claims)
    return list_properties(cluster, kept, named, SOMETIMES if commits else ())
