"""What commit does: the pieces of EndTxn to be put in order, and the kill that leaves a commit
without an answer. Lab 06's second and first graded exercise.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import takewhile

from ....explore import Budget
from ....kafka import KafkaSystem
from ....kafka.claims import reads
from ....kafka.clients.calls import Commit
from ....kafka.messages import EndTxn
from ....kafka.picture.view import read_world
from ....kernel import UNKNOWN, Outcome, Property, Run, System, Words, World, tr
from ....kernel.world import NodeState
from ....registry import system
from ...parsons import Parsons, Piece
from ...steps import is_kill
from .kills import ALIVE, KillExercise

# --- the pieces of EndTxn -----------------------------------------------------------------

ENDING = (
    "end_txn partitions=2 order.end_txn={} 'app=init; begin; send orders-0 a; flush; "
    "send orders-1 b; flush; commit'"
)


def _ends(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """The coordinator may die once, and the transaction's timeout may run out."""
    fault = Budget(kills=1, killable=("coordinator",), timers=1)
    return ((system(ENDING.format(",".join(order))), fault),)


DISTRACTORS = (
    Piece(
        "vote",
        tr("ask every partition whether it can commit"),
        tr(
            "partitions never vote: whatever they hold is already written, and they are told "
            "the outcome. The coordinator alone decides, by one record of its own"
        ),
        "partitions vote",
    ),
    Piece(
        "producer",
        tr("have the producer write its commit into __transaction_state"),
        tr(
            "a producer never writes there: it sends one request, EndTxn, and the coordinator "
            "appends to its own log. Any client that could write into that topic could end the "
            "transactions of everybody"
        ),
        "the producer writes its commit message into the log",
    ),
    Piece(
        "undo",
        tr("roll back if the client cannot be reached"),
        tr(
            "a decision is never taken back: a commit that timed out may well be committed. "
            "The client that got no answer does not know, and asks again with the same call"
        ),
        "what the client does not know has not happened",
    ),
    Piece(
        "drain",
        tr("wait until no record of this transaction is under way any more"),
        tr(
            "nobody can know what a network still holds. Before TV2 such a record falls into the "
            "next transaction; with TV2 the epoch rises at the end, and the late record is refused"
        ),
        "everything arrives before the end",
    ),
    Piece(
        "clock",
        tr("start the transaction's timeout of 15 minutes"),
        tr(
            "the clock starts with the first partition, and stops with PrepareCommit: what is "
            "decided never times out. And it is 60 s by default; 15 minutes is the most that a "
            "broker allows"
        ),
        "the timeout begins when the commit is asked for",
    ),
)

COMMIT = Parsons(
    name="commit",
    question=tr(
        "EndTxn(commit) has come in. Put what the coordinator does into an order that keeps every "
        "promise, whenever it dies. You do not need every piece."
    ),
    pieces=(
        Piece(
            "complete",
            tr("write CompleteCommit and wait until it is safe"),
        ),
        Piece("reply", tr("answer the client: ok")),
        Piece(
            "markers",
            tr("send a marker to every partition of the transaction"),
        ),
        Piece(
            "wait",
            tr("wait until every partition has answered"),
        ),
        Piece(
            "prepare",
            tr("write PrepareCommit and wait until it is safe"),
        ),
        *DISTRACTORS,
    ),
    systems=_ends,
    messages={
        "read back": tr(
            "no reader of committed data ever gets the records: no marker is ever sent"
        ),
        "commits": tr(
            "the transaction never ends: the coordinator waits for answers to markers it has not "
            "sent, or never writes that all is done"
        ),
        "told": tr("the client never hears that its transaction has committed"),
        "kept": tr(
            "the client was told ok before the decision was safe: the coordinator dies, finds an "
            "open transaction on its disk, and the timeout aborts what was acknowledged"
        ),
        "same outcome": tr(
            "a marker left before the decision was safe: the coordinator dies and has forgotten "
            "it, and the transaction is committed in one partition and aborted in the other"
        ),
        "settled": tr(
            "CompleteCommit says that nothing is owed any more. Written too early, it makes a "
            "restarted coordinator forget a marker: that partition's LSO stands still for ever"
        ),
    },
    right={
        ("prepare", "reply", "markers", "wait", "complete"): tr(
            "no schedule breaks a promise. This is Kafka's own order: the client is answered as "
            "soon as the outcome cannot change any more, and pays for no marker"
        ),
    },
)

# --- a commit without an answer -----------------------------------------------------------

STORY = """
# A commit that nobody answered
system kafka partitions=1 retries=1 readers=reader
{kill}
run app: init, begin, send orders-0 a, commit
restart coordinator
run reader: poll orders-0
"""

EARLY = "a coordinator that dies early is never heard of"
ANSWERED = "the answer is the decision"
KILLS = {
    ALIVE: tr(
        "the coordinator is alive: `when` names a message that it never sends. Ending a "
        "transaction, it writes PrepareCommit, answers (⇒EndTxn#1) and sends WriteTxnMarkers#1"
    ),
    EARLY: tr("too early: the client had not asked to commit, so there was nothing to decide"),
    ANSWERED: tr(
        "the client was answered after all. Either the answer had arrived when the coordinator "
        "died, or PrepareCommit was not in the log yet: then the transaction is still open, and "
        "the restarted coordinator takes the same request once more"
    ),
    "right": tr(
        "the client has no answer, and the payment is committed: to try again with a new "
        "transaction would pay twice"
    ),
}


def _killed(run: Run) -> str:
    """Which of `KILLS` a run with a killed coordinator shows."""
    trace = run.trace
    before = takewhile(lambda fact: not is_kill(fact), trace)
    if not any(isinstance(fact.body, EndTxn) for fact in before):
        return EARLY
    given = [fact.body for fact in trace if isinstance(fact.body, Outcome)]
    unknown = any(isinstance(one.call, Commit) and one.status == UNKNOWN for one in given)
    return "right" if unknown and trace.snapshot(-1).readers[0].got else ANSWERED


UNANSWERED = KillExercise(STORY, _killed, KILLS)


def never_unknown(searched: System, outcome: str) -> Property:
    """That no commit ends “unknown” while its transaction has the outcome "COMMIT" or "ABORT".
    Kafka promises neither: a client without an answer cannot tell."""
    assert isinstance(searched, KafkaSystem)
    cluster = searched.cluster

    def holds(world: World) -> bool:
        apps = [world.nodes[name].app for name, _ in cluster.producers]
        given = [result for app in apps if app is not None for result in app.results]
        if not any(isinstance(r.call, Commit) and r.status == UNKNOWN for r in given):
            return True
        return all(txn.outcome != outcome for txn in read_world(cluster, world).list_txns())

    def part(name: str, node: NodeState) -> Hashable:
        return reads(cluster, name, node), node.app.results if node.app is not None else ()

    sentence = Words("a commit without an answer does not end as {outcome}")(outcome=outcome)
    return Property(f"unknown, {outcome}", sentence, holds, "always", part)


#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"unanswered": (UNANSWERED, "value"), "commit": (COMMIT, "value")}
