"""What is true of a correct Kafka, as properties over a world.

Careful wording is the point. "A transaction is atomic" is not true: its partitions get
their markers one after the other, and a reader may see half of it meanwhile.

Three lists. `ALWAYS` and `LIVE` hold in every reachable world of a correct cluster, with
both clients. `V2` holds because every end of a transaction gives a v2 client a new epoch.
What real Kafka does *not* promise, though many expect it, is a claim one may name
(`claims=whole_read` in a system line) to be shown the execution that refutes it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial

from ..kernel import Property, Words, World, frozen
from ..kernel.claims import Claim, claims_by_key, keep_answers, list_properties
from ..kernel.world import NodeState
from .clients.calls import Abort, Begin, Commit, Committed, SendOffsets, SendRecord
from .clients.producer import Producer
from .clients.worker import Worker
from .config import offsets_log
from .coordinator import Coordinator
from .coordinator.entry import TIMEOUT
from .group.commits import Offsets
from .group.members import GroupMetadata
from .log import COMMIT, Batch
from .messages import READ_COMMITTED
from .picture import words
from .picture.snapshot import describe_torn
from .picture.view import Cluster, Readable, Row, Seen, View, read_world
from .replication.router import Router
from .states import COMPLETED, PREPARED, TxnState

# What an application may rely on, as properties over a world: its calls against the logs
#
# The claims of the brokers (below) ask whether the brokers agree with each other. These ask what
# the application asked for, what was reported to it, and what a reader is then given. A claim about
# an application is about its present process: a client that was killed has forgotten its calls.

Sent = tuple[str, str]  # partition, value
Signature = tuple[str, int]  # member, generation


@frozen
class Bracket:
    """A transaction as its application sees it: what it sent between begin and now, the
    call that ends it ("" for none yet) and whether that call returned ok."""

    sent: tuple[Sent, ...] = ()
    end: str = ""
    ok: bool = False


@keep_answers
def brackets(node: NodeState) -> tuple[Bracket, ...]:
    """List the transactions of an application since its start, oldest first, as it sees them
    itself: from its calls and their results. A call that has not returned counts as made, but not
    as successful."""
    app = node.app
    if app is None:
        return ()
    calls = [(result.call, result.ok) for result in app.results]
    # a program that is a tuple of calls shows which one it waits for; a function does not
    if app.waiting and isinstance(app.program, tuple):
        calls.append((app.program[len(app.results)], False))
    transactions: list[Bracket] = []
    for call, ok in calls:
        match call:
            case Begin() if ok:
                transactions.append(Bracket())
            case SendRecord(partition, value) if transactions and ok:
                # Bracket: what was sent, the call that ends it, whether that was successful
                transactions[-1] = Bracket((*transactions[-1].sent, (partition, value)))
            # the same end may be called again after an error; another end would not be allowed
            case Commit() | Abort() if transactions and transactions[-1].end in ("", str(call)):
                transactions[-1] = Bracket(transactions[-1].sent, str(call), ok)
    return tuple(transactions)


@keep_answers
def _open(partition: str, readable: Readable) -> frozenset[tuple[str, str, int, int]]:
    return frozenset(
        (partition, value, batch.pid, batch.epoch)
        for batch, _ in readable
        for value in batch.records
    )


def _shown(seen: View) -> set[tuple[str, str, int, int]]:
    """(partition, value, producer id, epoch) of every record that is read committed."""
    parts = seen.cluster.partitions
    return set().union(*(_open(p, seen.list_readable(p, READ_COMMITTED)) for p in parts))


def as_asked(cluster: Cluster, world: World) -> bool:
    """Of a client's own epoch nothing is read but what its application asked to commit."""
    shown = _shown(read_world(cluster, world))
    for name, _ in cluster.producers:
        node = world.nodes[name]
        if not node.up:
            continue
        pid, epoch = identity(node)
        for bracket in brackets(node):
            if bracket.end != "commit" and any((*s, pid, epoch) in shown for s in bracket.sent):
                return False
    return True


def decided_as_asked(cluster: Cluster, world: World) -> bool:
    """With a client's own epoch no more transactions are decided as commits than its
    application has asked to commit."""
    txns = read_world(cluster, world).txns
    for name, txn_id in cluster.producers:
        node = world.nodes[name]
        if not txn_id or not node.up:
            continue
        mine = identity(node)
        decided = sum((t.pid, t.epoch) == mine and t.outcome == COMMIT for t in txns[txn_id])
        if decided > sum(bracket.end == "commit" for bracket in brackets(node)):
            return False
    return True


def no_lost_write(cluster: Cluster, world: World) -> bool:
    """What a commit that returned ok has sent can be read, once nothing is owed."""
    committed = {
        sent for name, _ in cluster.producers for sent in list_committed(world.nodes[name])
    }
    if not committed or is_unfinished(cluster, world):
        return True
    shown = {(partition, value) for partition, value, _, _ in _shown(read_world(cluster, world))}
    return committed <= shown


@keep_answers
def list_committed(node: NodeState) -> tuple[Sent, ...]:
    """What an application's present process has sent in transactions whose commit returned ok."""
    done = (bracket for bracket in brackets(node) if bracket.end == "commit" and bracket.ok)
    return tuple(sent for bracket in done for sent in bracket.sent)


def is_unfinished(cluster: Cluster, world: World) -> bool:
    """Whether anything is still to come: a partition has no leader, a decision has not reached
    every one, a record is not replicated, or retention has cut a log."""
    seen = read_world(cluster, world)
    leaders = {p: cluster.leader(world, p) for p in cluster.partitions}
    if any(cluster.leading_role(world, p) is None for p in leaders):
        return True
    if any(txn.state in PREPARED or txn.state is TxnState.ONGOING for txn in seen.list_txns()):
        return True
    for partition in cluster.partitions:
        log, part = world.disk(leaders[partition]).log(partition), seen.parts[partition]
        if part.open or part.hw < log.end or log.start:
            return True
    return False


def once(cluster: Cluster, world: World) -> bool:
    """A batch that was numbered is not read twice."""
    seen = read_world(cluster, world)
    for partition in cluster.partitions:
        got = [b for b, _ in seen.list_readable(partition, READ_COMMITTED) if b.first_seq >= 0]
        if len({(b.pid, b.epoch, b.first_seq) for b in got}) < len(got):
            return False
    return True


def replicated_positions(cluster: Cluster, world: World) -> bool:
    """A position that `committed` has returned to a consumer counts in every copy of the group's
    log that may lead next, so that no failover takes it back; of one copy, below the HW."""
    for name in (*cluster.readers, *cluster.workers):
        for group, position in find_given_positions(world.nodes[name]):
            log = offsets_log(group, cluster.config)
            end = read_world(cluster, world).parts[log].hw if cluster.replicas == 1 else None
            for copy in cluster.in_sync(world, log):
                if not _counts(world.disk(copy).log(log).read(0, end), group, position):
                    return False
    return True


def _counts(log: Iterable[Batch], group: str, position: str) -> bool:
    """Whether this log holds the position, written plainly or with a commit after it."""
    waiting: set[int] = set()
    for batch in log:
        if batch.control:
            if batch.control == COMMIT and batch.pid in waiting:
                return True
            waiting.discard(batch.pid)
            continue
        of_group = [r for r in batch.records if isinstance(r, Offsets) and r.group == group]
        if any(position == str(p) for record in of_group for p in record.positions):
            if not batch.transactional:
                return True
            waiting.add(batch.pid)
    return False


def find_given_positions(node: NodeState) -> tuple[tuple[str, str], ...]:
    """(group, position) of every committed position reported to an application."""
    results = node.app.results if node.app is not None else ()
    details = ((r.call.group, r.detail) for r in results if r.ok and isinstance(r.call, Committed))
    return tuple(
        (group, position)
        for group, detail in details
        for position in detail.split(", ")
        if not position.endswith("@-1")
    )


def in_generation(cluster: Cluster, world: World) -> bool:
    """Claim: a group's log has no committed offsets signed by a member (its id and generation) that
    did not belong to that generation when they were written. Checked are the offsets that a running
    producer has written with its present epoch; what an earlier instance signed is no longer
    known."""
    # by (producer id, epoch): the (member, generation) pairs under which that producer signs
    signed = {
        identity(node): members
        for name, _ in cluster.producers
        if (node := world.nodes[name]).up and (members := signatures(node))
    }
    for name in cluster.groups if signed else ():
        groups: dict[str, GroupMetadata] = {}
        for batch in world.disk(cluster.leader(world, name)).log(name).read(0):
            for record in batch.records:
                if isinstance(record, GroupMetadata):
                    groups[record.group] = record
                elif isinstance(record, Offsets) and (batch.pid, batch.epoch) in signed:
                    # the latest record of the group before these offsets; None: it has had none.
                    # who: its (member, generation) pairs
                    group = groups.get(record.group)
                    if group is not None and not signed[batch.pid, batch.epoch] & who(group):
                        return False
    return True


def who(group: GroupMetadata) -> set[Signature]:
    return {(member.id, group.generation) for member in group.members}


@keep_answers
def signatures(node: NodeState) -> frozenset[Signature]:
    """The (member, generation) of every send-offsets of an application's present process; none
    if one of them was unsigned, since such a one is not fenced."""
    calls = [result.call for result in node.app.results] if node.app is not None else []
    calls += [producer(node).call] if node.up else []
    mine = [call for call in calls if isinstance(call, SendOffsets)]
    signed = all(call.member and call.generation >= 0 for call in mine)
    return frozenset((call.member, call.generation) for call in mine) if signed else frozenset()


def identity(node: NodeState) -> tuple[int, int]:
    """The (producer id, epoch) that a running client writes with."""
    role = producer(node)
    return role.pid, role.epoch


def producer(node: NodeState) -> Producer:
    role: Producer | Worker | Router = node.roles[0]
    inside = role.inside if isinstance(role, Router) else role
    mine = inside.producer if isinstance(inside, Worker) else inside
    assert isinstance(mine, Producer)
    return mine


def look_at_calls(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What the claims here look at beside the logs: calls, results, and the client's epoch."""
    if node.app is None or name not in dict(cluster.producers) or not node.up:
        return None
    return brackets(node), signatures(node), identity(node)


# ---- the brokers agree -----------------------------------------------------------------


def same_outcome(seen: Seen) -> bool:
    ends: dict[str, str] = {}
    for rows in seen.rows.values():
        for name, outcome in _list_ends(rows):
            if ends.setdefault(name, outcome) != outcome:
                return False
    return True


@keep_answers
def _list_ends(rows: Sequence[Row]) -> dict[tuple[str, str], None]:
    """The transactions that have ended in a log, and how."""
    return {
        (txn.name, outcome): None
        for batch, txn, outcome in rows
        if txn is not None and outcome and not batch.control
    }


def clean_read(seen: Seen) -> bool:
    return all(
        _is_clean(seen.rows[p], seen.list_readable(p, READ_COMMITTED)) for p in seen.partitions
    )


@keep_answers
def _is_clean(rows: Sequence[Row], readable: Readable) -> bool:
    ends = {batch.base: end for batch, _, end in rows}
    return all(ends[batch.base] == COMMIT for batch, _ in readable)


def replicated_read(seen: Seen) -> bool:
    return all(
        batch.last < seen.parts[p].hw
        for p in seen.partitions
        for batch, _ in seen.list_readable(p, READ_COMMITTED)
    )


def decided_first(seen: Seen) -> bool:
    return all(is_decided(row) for rows in seen.rows.values() for row in rows)


def is_decided(row: Row) -> bool:
    """Of a marker: whether it is what its coordinator has decided."""
    batch, txn, _ = row
    return not batch.control or txn is None or txn.outcome == batch.control


def closed_everywhere(cluster: Cluster, world: World) -> bool:
    """Once the coordinator calls a transaction complete, it is open in no partition."""
    return not any(
        txn is not None and txn.state in COMPLETED and not outcome
        for rows in read_world(cluster, world).rows.values()
        for _, txn, outcome in rows
    )


def lso_waits(cluster: Cluster, world: World) -> bool:
    """No LSO has passed a record whose transaction is undecided here, or whose marker is
    not replicated yet."""
    seen = read_world(cluster, world)
    for name, rows in seen.rows.items():
        part = seen.parts[name]
        markers = [batch for batch, _, _ in rows if batch.control]
        for batch, _, outcome in rows:
            if batch.transactional and not batch.control and batch.base < part.lso:
                own = (m.base for m in markers if m.pid == batch.pid and m.base > batch.base)
                if not outcome or next(own, part.hw) >= part.hw:
                    return False
    return True


def fenced_out(cluster: Cluster, world: World) -> bool:
    """Whatever is read committed was written with the epoch of a transaction that its
    coordinator has committed: nothing a fenced producer wrote later is among it."""
    seen = read_world(cluster, world)
    return all(
        txn is not None and txn.outcome == COMMIT and txn.epoch == batch.epoch
        for p in cluster.partitions
        for batch, txn in seen.list_readable(p, READ_COMMITTED)
        if batch.transactional
    )


def offsets_with_output(cluster: Cluster, world: World) -> bool:
    """Positions count if and only if the transaction that carries them has committed there:
    what was read and what came of it are decided together."""
    seen = read_world(cluster, world)
    for name in cluster.groups:
        role = cluster.leading_role(world, name)
        if role is None:
            continue
        ends = {batch.base: outcome for batch, _, outcome in seen.rows[name]}
        counted = (placed for mine in role.committed.values() for placed in mine.values())
        if any(ends.get(placed.at) != COMMIT for placed in counted):
            return False
    return True


# ---- every transaction ends ------------------------------------------------------------


def ends(cluster: Cluster, world: World) -> bool:
    """Nothing is open, or the timer that will end it runs. A search bounds how often timers
    fire, so a timer that is set counts as one that will."""
    if not all(node.up for node in world.nodes.values()):
        return False
    seen = read_world(cluster, world)
    tc: Coordinator = world.role(cluster.config.coordinator)
    timed = {t for _, t, _ in world.nodes[cluster.config.coordinator].timers}
    watched = {
        (entry.pid, partition)
        for txn_id, entry in tc.entries.items()
        if TIMEOUT + txn_id in timed
        for partition in entry.partitions
    }
    return all((pid, name) in watched for name, part in seen.parts.items() for _, pid in part.open)


# ---- what must be reachable ------------------------------------------------------------


def commits(cluster: Cluster, world: World) -> bool:
    txns = read_world(cluster, world).list_txns()
    return any(txn.state is TxnState.COMPLETE_COMMIT for txn in txns)


def read_back(cluster: Cluster, world: World) -> bool:
    seen = read_world(cluster, world)
    return any(
        txn is not None
        for p in cluster.partitions
        for _, txn in seen.list_readable(p, READ_COMMITTED)
    )


# ---- what real Kafka does not promise --------------------------------------------------


def whole_read(cluster: Cluster, world: World) -> bool:
    """A reader gets all of a committed transaction or nothing of it."""
    seen = read_world(cluster, world)
    return describe_torn(seen, seen.list_given(READ_COMMITTED)) is None


# ---- as properties ---------------------------------------------------------------------


def reads(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What a view is made of: the coordinator's disk, and what leaders have and know. With
    several replicas any of them may lead, so the whole node."""
    if cluster.replicas > 1:
        return node
    if name == cluster.config.coordinator:
        return node.disk
    if name in cluster.partitions or name in cluster.groups:
        if not node.up:
            return node.disk
        part = node.roles[0].part
        known = (part.hw, part.open, part.unreplicated)
        return node.disk, known, getattr(node.roles[0], "committed", None)
    return None


def reads_calls(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """The same, and what applications have asked for and what was reported to them."""
    return reads(cluster, name, node) or look_at_calls(cluster, name, node)


def reads_asked(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What applications have asked for, and the logs. Whose each batch is, is of no interest, so
    the coordinator's disk is not."""
    alone = cluster.replicas == 1 and name == cluster.config.coordinator
    return None if alone else reads_calls(cluster, name, node)


def reads_decisions(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What applications have asked for, and the coordinator's disk. No log is of interest."""
    log = name in cluster.partitions or name in cluster.groups
    return None if cluster.replicas == 1 and log else reads_calls(cluster, name, node)


def reads_signatures(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What applications have signed, and the logs of groups."""
    log = cluster.replicas == 1 and name in cluster.partitions
    return None if log else reads_asked(cluster, name, node)


def reads_committed(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """What a view is made of, and what was reported to applications as committed."""
    return reads(cluster, name, node) or list_committed(node)


def reads_given(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """The logs of groups, and which positions were reported to consumers."""
    return reads(cluster, name, node) or find_given_positions(node) or None


def reads_timers(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """The same, and what the coordinator knows and will be woken for."""
    if name == cluster.config.coordinator:
        timed = tuple(timer for _, timer, _ in node.timers)
        return node.up, node.disk, node.roles[0].entries if node.up else None, timed
    return node.up, reads(cluster, name, node)


def _claim(
    name: str,
    sentence: Words,
    holds: Callable[[Cluster, World], bool],
    kind: str = "always",
    reads: Callable[[Cluster, str, NodeState], Hashable] = reads,
) -> Claim[Cluster]:
    """A claim about a Kafka cluster: it looks at what a view is made of, or says what else."""
    return Claim(name, sentence, holds, kind, reads)


def _lit(name: str, sentence: Words, holds: Callable[[Seen], bool]) -> Claim[Cluster]:
    """A claim about what is drawn, of a world."""
    return _claim(name, sentence, partial(_look, holds))


def _look(holds: Callable[[Seen], bool], cluster: Cluster, world: World) -> bool:
    return holds(read_world(cluster, world))


SAME_OUTCOME = _lit("same outcome", words.SAME_OUTCOME, same_outcome)
CLEAN_READ = _lit("clean read", words.CLEAN_READ, clean_read)
REPLICATED_READ = _lit("replicated read", words.REPLICATED_READ, replicated_read)
DECIDED_FIRST = _lit("decided first", words.DECIDED_FIRST, decided_first)
#: shown as lights in every picture, a server's too
LIT = (SAME_OUTCOME, CLEAN_READ, REPLICATED_READ, DECIDED_FIRST)
ALWAYS = (
    _claim("closed everywhere", words.CLOSED_EVERYWHERE, closed_everywhere),
    _claim("LSO waits", words.LSO_WAITS, lso_waits),
    _claim("fenced out", words.FENCED_OUT, fenced_out),
    _claim("offsets with output", words.OFFSETS_WITH_OUTPUT, offsets_with_output),
    _claim("once", words.ONCE, once),
    _claim("no lost write", words.NO_LOST_WRITE, no_lost_write, "always", reads_committed),
    _claim("in generation", words.IN_GENERATION, in_generation, "always", reads_signatures),
    _claim(
        "replicated positions",
        words.REPLICATED_POSITIONS,
        replicated_positions,
        "always",
        reads_given,
    ),
)
LIVE = (_claim("ends", words.ENDS, ends, "can_always", reads_timers),)
#: with several replicas, where the leaders' logs answer for the partitions
REPLICATED = (*LIT, *ALWAYS)
V2 = (
    _claim("as asked", words.AS_ASKED, as_asked, "always", reads_asked),
    _claim("decided as asked", words.DECIDED_AS_ASKED, decided_as_asked, "always", reads_decisions),
)
UNKEPT = (_claim("whole read", words.WHOLE_READ, whole_read),)
SOMETIMES = (
    _claim("commits", words.COMMITS, commits, "sometimes"),
    _claim("read back", words.READ_BACK, read_back, "sometimes"),
)
#: what a system line may name, by that name
CLAIMS = claims_by_key((*ALWAYS, *LIVE, *V2, *UNKEPT))


def replicated_claims() -> tuple[str, ...]:
    """The names among them that are asked of several replicas too."""
    return tuple(name for name, claim in CLAIMS.items() if claim in (*REPLICATED, *UNKEPT))


def properties(
    cluster: Cluster, client: str = "v2", claims: tuple[str, ...] = ()
) -> tuple[Property, ...]:
    """What a search checks: everything that a correct cluster keeps with this client, what
    must be reachable, and the claims that were named."""
    kept = (*LIT, *ALWAYS, *LIVE, *(V2 if client == "v2" else ()))
    if cluster.replicas > 1:
        kept = REPLICATED
    named = (CLAIMS[name] for name in claims)
    return list_properties(cluster, kept, named, SOMETIMES)
