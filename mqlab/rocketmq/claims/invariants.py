"""What is true of a correct RocketMQ, as properties over a world.

Careful wording is the point. "A message is delivered once" is not true, nor is "a rollback is
final": the broker keeps no state for a transaction, and anyone who says COMMIT to it gets the
message delivered, however often and however late.

Three lists. `LIT` and `ALWAYS` hold in every reachable world of a correct broker, whatever stops
or breaks, short of a power cut; `LIVE` from every one. What real RocketMQ does *not* promise,
though many expect it, is a claim one may name (`claims=delivered_once` in a system line) to be
shown the run that refutes it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ...kernel import Property, Words, World
from ...kernel.claims import Claim, claims_by_key, list_properties
from ...kernel.world import NodeState
from ..picture import words
from ..picture.cluster import Cluster
from ..picture.transactions import is_undecided
from ..picture.view import read_world
from .promises import (
    applied_once,
    applied_or_kept,
    can_be_asked,
    has_end,
    is_check_due,
    is_lost,
    look_at_applied,
    look_at_rows,
    message_with_row,
    row_delivered,
    row_with_message,
)
from .records import (
    asks_the_living,
    delivered_whole,
    ended_for_good,
    names_the_copy,
    parked_when_spent,
    progress_kept,
    reads_living,
    reads_progress,
    reads_questions,
)

# ---- the broker alone ------------------------------------------------------------------


def clean_read(cluster: Cluster, world: World) -> bool:
    seen = read_world(cluster, world)
    return not any(
        is_undecided(stored.message)
        for queue in cluster.config.topics
        for stored in seen.read(queue)
    )


def no_half_lost(cluster: Cluster, world: World) -> bool:
    seen = read_world(cluster, world)
    return not any(is_lost(seen, txn) for txn in seen.book.txns.values())


def ends(cluster: Cluster, world: World) -> bool:
    """Every half has ended or is parked, or the check that will see to it is due, as often as is
    allowed."""
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


def parked_or_delivered(cluster: Cluster, world: World) -> bool:
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


def reads_lives(cluster: Cluster, name: str, node: NodeState) -> Hashable:
    """Rows with what is being written, and who is up."""
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
NO_HALF_LOST = _claim("no half lost", words.NO_HALF_LOST, no_half_lost)
#: shown as lights in every lesson's picture: they look at the database and at consumers
LIT = (
    _claim("row with message", words.ROW_WITH_MESSAGE, row_with_message, "can_always", reads_rows),
    _claim("message with row", words.MESSAGE_WITH_ROW, message_with_row, "always", reads_rows),
    _claim("applied once", words.APPLIED_ONCE, applied_once, "always", look_at_applied),
)
#: the lights of a server, which sees neither: they are about the broker alone
SERVED = (CLEAN_READ, NO_HALF_LOST)
ALWAYS = (
    *SERVED,
    _claim("applied or kept", words.APPLIED_OR_KEPT, applied_or_kept, "always", reads_applied),
    _claim("ended for good", words.ENDED_FOR_GOOD, ended_for_good),
    _claim("delivered whole", words.DELIVERED_WHOLE, delivered_whole),
    _claim("names the copy", words.NAMES_THE_COPY, names_the_copy, "always", reads_questions),
    _claim("progress kept", words.PROGRESS_KEPT, progress_kept, "always", reads_progress),
    _claim("parked when spent", words.PARKED_WHEN_SPENT, parked_when_spent),
)
LIVE = (
    _claim("ends", words.ENDS, ends, "can_always", reads_timers),
    _claim("row comes", words.ROW_COMES, message_with_row, "can_always", reads_rows),
)
UNKEPT = (
    _claim("delivered once", words.DELIVERED_ONCE, delivered_once),
    _claim("passed over", words.PASSED_OVER, passed_over),
    _claim("final", words.FINAL, final),
    _claim("parked or delivered", words.PARKED_OR_DELIVERED, parked_or_delivered),
    _claim("asks the living", words.ASKS_THE_LIVING, asks_the_living, "always", reads_living),
    _claim("row delivered", words.ROW_DELIVERED, row_delivered, "can_always", reads_due),
    _claim("can be asked", words.CAN_BE_ASKED, can_be_asked, "can_always", reads_lives),
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
