"""Lab 10, acknowledgement: what its cells import."""

from __future__ import annotations

from collections.abc import Iterator

from mqlab_widgets import Compare, Player

from ...explore import Budget
from ...kernel import Outcome, Run, System, Trace, tr
from ...kernel.trace import FactKind
from ...pulsar import PulsarSystem
from ...pulsar.client.calls import Abort, Acknowledge, Commit, Receive
from ...pulsar.config import CURSORS, name_pending_ack_log
from ...pulsar.ledger import Cursor
from ...pulsar.messages import PendingAckEntry, TransactionMetadataEntry
from ...registry import run_scenario, scenario, system
from ...registry.cases.pulsar import CLAIM_CASES, SAFEGUARD_CASES
from ...registry.searches import tabulate_cases
from ...registry.tables import columns
from ...registry.tables import list_calls as list_calls
from ..beside import put_beside
from ..exercises import read_beliefs, read_hints
from ..java import ask_java, open_pulsar
from ..java import read_recording as read_recording
from ..laid import Laid
from ..menus import list_safeguards as list_safeguards
from ..parsons import Parsons, Piece
from ..patterns.systems import list_orders as list_orders
from ..steps import first as first
from ..stories import StoryExercise
from ..verdict import Verdict
from .exercises.acking import ACKING as ACKING
from .systems.passing import PIECES


def list_received(story: str) -> list[str]:
    """What each `receive` of a story gave, in the order in which they were called."""
    return [got.detail for got in _list_outcomes(story) if isinstance(got.call, Receive)]


def receive_last(story: str) -> str:
    """What the last `receive` of a story gave."""
    return list_received(story)[-1]


def answer_ack(story: str) -> str:
    """The answer to the last acknowledgement of a story."""
    return [got.result for got in _list_outcomes(story) if isinstance(got.call, Acknowledge)][-1]


def end_last(story: str) -> str:
    """The answer to the last commit of a story."""
    return [got.result for got in _list_outcomes(story) if isinstance(got.call, Commit)][-1]


def _list_outcomes(story: str) -> list[Outcome]:
    trace = run_scenario(story).trace
    return [fact.body for fact in trace if isinstance(fact.body, Outcome)]


def list_records(story: str) -> list[tuple[str, str, str]]:
    """What a story writes about transactions: where, which record, and what it says."""
    rows = []
    for fact in run_scenario(story).trace:
        if fact.kind is not FactKind.APPEND:
            continue
        match fact.body:
            case TransactionMetadataEntry():
                rows.append((fact.node, "transaction log", fact.text.en))
            case PendingAckEntry():
                rows.append((fact.node, "pending-ack log", fact.text.en))
    return rows


def list_pending_logs(story: str) -> list[tuple[str, str]]:
    """What is in each subscription's log of pending acknowledgements when a story is over."""
    run = run_scenario(story)
    assert isinstance(run.system, PulsarSystem)
    rows = []
    for partition in run.system.cluster.partitions:
        disk = run.world.disk(partition)
        for subscription, _ in disk.table(CURSORS).items():
            log = name_pending_ack_log(partition, subscription)
            rows.append((log, " | ".join(map(str, disk.log(log).read(0)))))
    return rows


# ---- one story, for several cases --------------------------------------------------------------

ABORTED = """
# One of four is acknowledged, and the transaction aborts
system pulsar clients=shop,worker
run worker: subscribe orders-0 billing type={type}
run shop: send orders-0 580538, send orders-0 580539, send orders-0 580540, send orders-0 580541
run worker: receive billing, new-transaction t1
run worker: {ack} txn=t1
run worker: abort t1
run worker: receive billing
"""
TYPES = ("Exclusive", "Failover", "Shared", "Key_Shared")
KINDS = {
    "individually": "ack billing orders-0@1",
    "cumulatively": "ack-cumulative billing orders-0@1",
}


def compare_types() -> str:
    """What each type of subscription sends again after an abort, by the kind of acknowledgement."""
    rows = []
    for kind in TYPES:
        for name, ack in KINDS.items():
            story = ABORTED.format(type=kind, ack=ack)
            answer = answer_ack(story)
            again = receive_last(story) if answer == "ok" else f"refused: {answer}"
            rows.append((kind, name, again))
    return columns([("type", "acknowledged", "received again after the abort"), *rows])


WHO = """
# Who may acknowledge what?
system pulsar clients=shop,worker
run worker: subscribe orders-0 billing type={type}
run shop: send orders-0 580538, send orders-0 580539
run worker: receive billing, new-transaction t1 timeout=600000, new-transaction t2 timeout=600000
run worker: {one}
run worker: {other}
"""


def answer_second(sub_type: str, one: str, other: str) -> str:
    """The answer to `other` after `one`, both calls of a worker that has received two orders and
    has the transactions t1 and t2."""
    return answer_ack(WHO.format(type=sub_type, one=one, other=other))


# ---- orders that are passed on -----------------------------------------------------------------

#: a worker that acknowledges without its transaction: where the search of the lab begins
ALONE = """
# A worker acknowledges plainly
system passing pieces=receive,begin,send,plain,commit
hold worker→orders-0 Subscribe#1
run shop: send orders-0 580538
"""
PASS_ON = """
# An order is passed on
system passing clients=shop,worker,books
run books: subscribe income-0 books
run worker: subscribe orders-0 work type=Shared
run shop: send orders-0 580538
run worker: receive work, new-transaction t1, send income-0 580538 txn=t1, ack work txn=t1, {end} t1
run books: receive books
run worker: receive work
"""
ZOMBIE = """
# Two workers pass the same order on
system passing clients=shop,worker,twin,books
run books: subscribe income-0 books
run worker: subscribe orders-0 work type=Shared
run shop: send orders-0 580538
run worker: receive work, new-transaction t1, send income-0 580538 txn=t1
run twin: subscribe orders-0 work type=Shared
break worker orders-0
run twin: receive work, new-transaction t2, send income-0 580538 txn=t2, ack work txn=t2, commit t2
run worker: {acks}commit t1
run books: receive books
"""
FENCED = """
# A second instance wants the topic for itself
system passing clients=shop,worker,twin,books
run books: subscribe income-0 books
run worker: subscribe orders-0 work type=Shared, producer income-0 access=Exclusive
run shop: send orders-0 580538
run worker: receive work, new-transaction t1{before}
run twin: subscribe orders-0 work type=Shared
break worker orders-0
run twin: producer income-0 access=ExclusiveWithFencing
run twin: receive work, new-transaction t2, send income-0 580538 txn=t2, ack work txn=t2, commit t2
run worker: {after}commit t1
run books: receive books
"""
REPEATED = """
# The answer to a send is lost, and the client sends once more
system pulsar dedup={dedup}
lose app→orders-0 ⇒SendReceipt
run app: send orders-0 580538
"""


def pass_on(end: str) -> tuple[str, str]:
    """What the books receive, and the worker next, if its transaction ends with `end`."""
    _, income, again = list_received(PASS_ON.format(end=end))
    return income, again


def write_zombie(acknowledges: bool) -> str:
    return ZOMBIE.format(acks="ack work orders-0@0 txn=t1, " if acknowledges else "")


def zombie(acknowledges: bool) -> Trace:
    """A worker is replaced by its second instance, and goes on: it acknowledges in its transaction,
    or it has only sent."""
    return scenario(write_zombie(acknowledges))


def write_fence(sends_first: bool) -> str:
    send = "send income-0 580538 txn=t1"
    before, after = (f", {send}", "") if sends_first else ("", f"{send}, ")
    return FENCED.format(before=before, after=after)


def fence(sends_first: bool) -> Trace:
    """A worker that only sends is replaced, and its second instance fences it from the topic of the
    income: after the worker's send, or before it."""
    return scenario(write_fence(sends_first))


def zombie_ends() -> list[tuple[str, str, str]]:
    """The answer to the replaced worker's commit, and what the books receive."""
    stories = {
        "acknowledges in t1": write_zombie(True),
        "sends only": write_zombie(False),
        "sends only, and is fenced before it sends": write_fence(False),
        "sends only, and is fenced after it has sent": write_fence(True),
    }
    return [(name, end_last(story), receive_last(story)) for name, story in stories.items()]


def store_repeated() -> list[tuple[str, str]]:
    """What a partition stores when a send is repeated, without deduplication and with it."""
    rows = []
    for name, dedup in (("by default", 0), ("with deduplication", 1)):
        snapshot = run_scenario(REPEATED.format(dedup=dedup)).trace.snapshot(-1)
        rows.append((name, " ".join(cell.label for cell in snapshot.logs[0].cells)))
    return rows


#: what each safeguard of acknowledgements is for, and what even Pulsar does not promise
NEEDED = ("pending_ack_conflict", "pending_ack_log", "pending_ack_filter", "redeliver_aborted")
UNPROMISED = ("zombie", "send-again", "error-and-committed")


def tabulate_searches() -> str:
    """What breaks without a safeguard, and what even Pulsar does not promise: the shortest
    execution of each. The searches run when this is called."""
    without = [(name, SAFEGUARD_CASES[name]) for name in NEEDED]
    claims = [(name, CLAIM_CASES[name]) for name in UNPROMISED]
    tables = tabulate_cases("without", without), tabulate_cases("with everything on", claims)
    return "\n\n".join(tables)


# ---- beside Kafka ----------------------------------------------------------------------------

THREE = list_orders(3)
KAFKA = f"""# In Kafka
system income orders={",".join(f"{one.number}:{one.pence}" for one in THREE)} readers=reader
run worker: init, subscribe accounting orders, poll
---

run worker: begin, send income-0 580539:31073, send income-0 580540:40483
run worker: send-offsets accounting orders-0@{{offset}}
---

run worker: commit
---

run worker: unsubscribe
run worker: subscribe accounting orders, poll
---
"""
PULSAR = f"""# In Pulsar
system pulsar topic=orders,income clients=shop,worker,twin
run worker: subscribe orders-0 accounting type=Shared
run shop: {", ".join(f"send orders-0 {one.number}" for one in THREE)}
run worker: receive accounting
---

run worker: new-transaction t1, send income-0 580539 txn=t1, send income-0 580540 txn=t1
run worker: ack accounting orders-0@1 orders-0@2 txn=t1
---

run worker: commit t1
---

run worker: close accounting
run twin: subscribe orders-0 accounting type=Shared
run twin: receive accounting
---
"""


def put_beside_kafka(offset: int = 3) -> Compare:
    """The same orders in both: the first one cannot be processed, the two after it can. `offset`:
    what the worker commits in Kafka."""
    return put_beside(KAFKA.format(offset=offset), PULSAR, at=3)


def compare_with_kafka() -> str:
    """What comes to the process that reads on, and so what becomes of each order: for each offset
    that the worker could commit in Kafka, and in Pulsar."""
    rows = [
        (f"Kafka, offset {offset}", receive_next(put_beside_kafka(offset).players[0]))
        for offset in (0, 3)
    ]
    rows.append(("Pulsar, orders @1 and @2", receive_next(put_beside_kafka().players[1])))
    return columns([("the worker has committed", "the next process gets"), *rows])


def receive_next(player: Player) -> str:
    """What the last call of an execution was given."""
    given = [fact.body.detail for fact in player.trace if isinstance(fact.body, Outcome)]
    return given[-1].replace(":31678", "").replace(":31073", "").replace(":40483", "")


def redeliver_to_java(fetch: bool = False) -> Laid:
    """The released Java client acknowledges in a transaction that aborts."""
    return ask_java(open_pulsar, "pulsar-4.2.4/4.2/cumulative-and-abort", fetch)


# ---- The test of lab 10: what a worker does when a cumulative acknowledgement was aborted
#
#     story = "run worker: redeliver billing …"
#
# The lines follow an abort that has left three orders unacknowledged. The story is right if the
# orders are received once more, each of them once, and are acknowledged for good when it is over.

ORDERS = ("580538", "580539", "580540")
GIVEN = f"""\
system pulsar clients=shop,worker,twin
run worker: subscribe orders-0 billing
run shop: {", ".join(f"send orders-0 {order}" for order in ORDERS)}
run worker: receive billing, new-transaction t1
run worker: ack-cumulative billing orders-0@2 txn=t1
run worker: abort t1"""

COMES_BACK = "29 an abort gives the messages back"
UNREAD = "an acknowledged order is billed"
TWICE = "redelivery leaves out what was received"
UNFINISHED = "received again means acknowledged"
BELIEFS = read_beliefs("10 returning")
RIGHT = tr(
    "all three orders have come once more, and are acknowledged for good: £1032.34 are billed"
)


def judge_run(run: Run) -> Verdict:
    """What has become of the three orders."""
    schedule = tuple(map(str, run.choices))
    belief = find_belief(run)
    if not belief:
        return Verdict(True, RIGHT, "", schedule, run.system)
    return Verdict(False, BELIEFS[belief], belief, schedule, run.system)


def find_belief(run: Run) -> str:
    """Why the orders are not billed, "" if they are."""
    given = list(list_given(run))
    came = [words.split()[0] for one in given if one != "nothing" for words in one.split(", ")]
    if given and not came:
        return COMES_BACK
    if set(came) != set(ORDERS):
        return UNREAD
    if len(came) > len(ORDERS):
        return TWICE
    cursor: Cursor = run.world.disk("orders-0").table(CURSORS).get("billing", Cursor())
    return "" if all(map(cursor.is_deleted, range(len(ORDERS)))) else UNFINISHED


def list_given(run: Run) -> Iterator[str]:
    """What each `receive` of a consumer gave after the abort."""
    outcomes = [fact.body for fact in run.trace if isinstance(fact.body, Outcome)]
    aborted = next(at for at, one in enumerate(outcomes) if isinstance(one.call, Abort))
    for outcome in outcomes[aborted:]:
        if isinstance(outcome.call, Receive):
            yield outcome.detail


HINTS = read_hints("10 returning")
RETURNING = StoryExercise((GIVEN,), judge_run, HINTS)

# ---- Lab 10's pieces: what a worker does that passes an order on, in which order -----
#
# `receive`, `begin`, `send`, `ack`, `plain` and `commit` are calls of Pulsar's client. Every order
# of them is tried (`systems/passing.py`) with a worker that may be killed anywhere, and with a
# timeout that may fire at any moment.

LINE = "passing pieces={} 'shop=send orders-0 580538'"
FAULTS = (Budget(kills=1, killable=("worker",)), Budget(timers=1))


def _systems(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    line = LINE.format(",".join(key for key in order if key in PIECES))
    return tuple((system(line), budget) for budget in FAULTS)


DISTRACTORS = (
    Piece("note", tr("note in the client which orders are not acknowledged yet"),
        tr("the client need not remember anything: the broker keeps what is delivered, pending "
           "and acknowledged, in the cursor and in a log of pending acks that outlive the client"),
        "32 unacknowledged state lives in the client"),
    Piece("init", tr("take over a transactional id, which fences an older worker"),
          tr("that is Kafka. A Pulsar transaction has no name with which you could fence it: the "
             "conflict over the message stops an older worker here. The sends to a topic can be "
             "fenced if a producer asks for it, but a commit cannot"),
          "a name fences an older worker"),
    Piece("offset", tr("send the position after the order to the transaction"),
          tr("that is Kafka, where a position stands for everything before it. Pulsar's "
             "transaction takes the messages themselves, each by its id and in any order"),
          "acknowledgements go in order"),
)  # fmt: skip

PASSING = Parsons(
    name="passing",
    question=tr("Put the worker's steps into sequence, so that each order's income counts once, "
                "wherever the worker is killed. You do not need every piece."),
    pieces=(
        Piece("commit", tr("commit the transaction")), DISTRACTORS[0],
        Piece("send", tr("send the order's income in the transaction")),
        Piece("plain", tr("acknowledge the order, without the transaction")), DISTRACTORS[1],
        Piece("receive", tr("receive an order; if none is there, the work is done")),
        DISTRACTORS[2], Piece("ack", tr("acknowledge the order in the transaction")),
        Piece("begin", tr("begin a transaction")),
    ),
    systems=_systems,
    messages={
        "done": tr("the order is never done: a piece is missing, or a call comes where the client "
                   "refuses it. What belongs to a transaction comes between its begin and its "
                   "commit"),
        "passed on": tr("the order is done with, and its income does not count. A plain "
                        "acknowledgement waits for no commit: it is applied at once, and no abort "
                        "takes it back"),
        "counted once": tr(
            "the income is committed and the order is not acknowledged yet: the worker is killed "
            "in between, the order comes again and its income counts twice. Both belong in one "
            "transaction",
        ),
    },
    right={("receive", "begin", "send", "ack", "commit"): tr(
               "wherever the worker is killed, the order's income counts once. Sending and "
               "acknowledging may change places: neither counts before the commit",
           )},
)  # fmt: skip


#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"passing": (PASSING, "value"), "returning": (RETURNING, "value")}
