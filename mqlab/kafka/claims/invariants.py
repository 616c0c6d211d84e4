"""What is true of a correct Kafka, as properties over a world.

Careful wording is the point. "A transaction is atomic" is not true: its partitions get
their markers one after the other, and a reader may see half of it meanwhile.

Three lists. `ALWAYS` and `LIVE` hold in every reachable world of a correct cluster, with
both clients. `V2` holds because every end of a transaction gives a v2 client a new epoch.
What real Kafka does *not* promise, though many expect it, is a claim one may name
(`claims=whole_read` in a system line) to be shown the run that refutes it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

from ...kernel import Property, Words, World
from ...kernel.claims import Claim, claims_by_key, keep_answers, list_properties
from ...kernel.world import NodeState
from ..coordinator import TIMEOUT, Coordinator
from ..log import COMMIT
from ..messages import READ_COMMITTED
from ..picture import words
from ..picture.cluster import Cluster
from ..picture.readers import describe_torn
from ..picture.transactions import Row
from ..picture.view import Readable, Seen, read_world
from ..states import COMPLETED, TxnState
from .promises import (
    as_asked,
    decided_as_asked,
    find_given_positions,
    in_generation,
    list_committed,
    look_at_calls,
    no_lost_write,
    once,
    replicated_positions,
)

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
    """The same, and what applications have asked for and were told."""
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
    """What a view is made of, and what applications were told is committed."""
    return reads(cluster, name, node) or list_committed(node)


def reads_given(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """The logs of groups, and which positions consumers were told."""
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
    _claim(
        "decided as asked",
        words.DECIDED_AS_ASKED,
        decided_as_asked,
        "always",
        reads_decisions,
    ),
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
