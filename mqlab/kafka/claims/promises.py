"""What an application may rely on, as properties over a world: its calls against the logs.

The claims of `invariants.py` ask whether the brokers agree with each other. These ask what
the application asked for, what it was told, and what a reader is then given. A claim about
an application is about its present run: a client that was killed has forgotten its calls.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ...kernel import World, frozen
from ...kernel.claims import keep_answers
from ...kernel.world import NodeState
from ..clients.calls import Abort, Begin, Commit, Committed, SendOffsets, SendRecord
from ..clients.producer import Producer
from ..clients.worker import Worker
from ..config import offsets_log
from ..group.commits import Offsets
from ..group.members import GroupMetadata
from ..log import COMMIT, Batch
from ..messages import READ_COMMITTED
from ..picture.cluster import Cluster
from ..picture.view import Readable, View, read_world
from ..replication.router import Router
from ..states import PREPARED, TxnState

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
    """The transactions of an application's present run, oldest first, read off its calls
    and their results. A call that has not returned counts as made."""
    app = node.app
    if app is None:
        return ()
    calls = [(result.call, result.ok) for result in app.results]
    if app.waiting and isinstance(app.program, tuple):
        calls.append((app.program[len(app.results)], False))
    out: list[Bracket] = []
    for call, ok in calls:
        match call:
            case Begin() if ok:
                out.append(Bracket())
            case SendRecord(partition, value) if out and ok:
                out[-1] = Bracket((*out[-1].sent, (partition, value)))
            case Commit() | Abort() if out and out[-1].end in ("", str(call)):
                out[-1] = Bracket(out[-1].sent, str(call), ok)
    return tuple(out)


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
    """What an application's present run has sent in transactions whose commit returned ok."""
    done = (bracket for bracket in brackets(node) if bracket.end == "commit" and bracket.ok)
    return tuple(sent for bracket in done for sent in bracket.sent)


def is_unfinished(cluster: Cluster, world: World) -> bool:
    """Whether anything is still to come: a node is down, a decision has not reached every
    partition, a record is not replicated, or retention has cut a log."""
    seen = read_world(cluster, world)
    leaders = {p: cluster.leader(world, p) for p in cluster.partitions}
    if not all(world.nodes[leader].up for leader in leaders.values()):
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
    """A position that `committed` has told a consumer counts in every copy of the group's log
    that may lead next, so that no failover takes it back; of one copy, below the HW."""
    for name in (*cluster.readers, *cluster.workers):
        for group, position in find_given_positions(world.nodes[name]):
            log = offsets_log(group, cluster.config)
            end = read_world(cluster, world).parts[log].hw if cluster.replicas == 1 else None
            for copy in cluster.in_sync(world, log):
                if not _counts(world.disk(copy).log(log).read(0, end), group, position):
                    return False
    return True


def _counts(log: Iterable[Batch], group: str, position: str) -> bool:
    """Whether this log holds the position, written plainly or with a commit behind it."""
    waiting: set[int] = set()
    for batch in log:
        if batch.control:
            if batch.control == COMMIT and batch.pid in waiting:
                return True
            waiting.discard(batch.pid)
            continue
        mine = [r for r in batch.records if isinstance(r, Offsets) and r.group == group]
        if any(position == str(p) for record in mine for p in record.positions):
            if not batch.transactional:
                return True
            waiting.add(batch.pid)
    return False


def find_given_positions(node: NodeState) -> tuple[tuple[str, str], ...]:
    """(group, position) of every committed position that an application was told."""
    results = node.app.results if node.app is not None else ()
    details = ((r.call.group, r.detail) for r in results if r.ok and isinstance(r.call, Committed))
    return tuple(
        (group, position)
        for group, detail in details
        for position in detail.split(", ")
        if not position.endswith("@-1")
    )


def in_generation(cluster: Cluster, world: World) -> bool:
    """Positions that a member has signed, with its id and the generation it knows, are
    written only while it belongs to that generation, by the group's records before them
    (with the client's own epoch: what an earlier run has signed is not known any more)."""
    signed = {
        identity(node): mine
        for name, _ in cluster.producers
        if (node := world.nodes[name]).up and (mine := signatures(node))
    }
    for name in cluster.groups if signed else ():
        known: dict[str, GroupMetadata] = {}
        for batch in world.disk(cluster.leader(world, name)).log(name).read(0):
            for record in batch.records:
                if isinstance(record, GroupMetadata):
                    known[record.group] = record
                elif isinstance(record, Offsets) and (batch.pid, batch.epoch) in signed:
                    group = known.get(record.group)
                    if group is not None and not signed[batch.pid, batch.epoch] & who(group):
                        return False
    return True


def who(group: GroupMetadata) -> set[Signature]:
    return {(member.id, group.generation) for member in group.members}


@keep_answers
def signatures(node: NodeState) -> frozenset[Signature]:
    """The (member, generation) of every send-offsets of an application's present run; none
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
