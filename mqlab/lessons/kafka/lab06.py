"""Lab 06, Kafka's transaction coordinator: what its cells print.

The tables are read off traces: nothing here knows what a coordinator does. `read_recording` shows
what a real broker said to the same requests (datasets/recordings).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ...explore import Budget
from ...kafka import KafkaSystem
from ...kafka.claims import reads
from ...kafka.clients.calls import Commit
from ...kafka.config import java_hash, partition_for
from ...kafka.coordinator.entry import StateRecord
from ...kafka.messages import AddPartitionsToTxn, EndTxn, outcome
from ...kafka.picture.view import read_world
from ...kafka.states import NUMBERS, PREVIOUS, PREVIOUS_V2, TxnState
from ...kernel import (
    FAILED,
    UNKNOWN,
    Fact,
    FactKind,
    Outcome,
    Property,
    Run,
    System,
    Trace,
    Words,
    World,
    tr,
)
from ...kernel.world import NodeState
from ...registry import run_scenario, system
from ...registry import scenario as scenario
from ...registry.cases.kafka import SAFEGUARD_CASES as SAFEGUARD_CASES
from ...registry.tables import Name, columns, in_words, say_result
from ...registry.tables import find_lines as find_lines
from ...registry.tables import list_calls as list_calls
from ...registry.tables import table as table
from .. import java
from ..atlas.data_flow import data_flow as data_flow
from ..atlas.map_panel import broker_map as broker_map
from ..atlas.map_panel import map_table as map_table
from ..check import Exercise, expect_word, list_beliefs
from ..exercises import read_hints
from ..menus import list_kills as list_kills
from ..menus import list_safeguards as list_safeguards
from ..parsons import Parsons, Piece
from ..steps import find_red_step as find_red_step
from ..steps import first as first
from ..steps import is_kill
from .exercises.kills import ALIVE, KillExercise
from .systems.ruled import put_rule

if TYPE_CHECKING:
    from .released import HeldPayment

# --- what an execution shows --------------------------------------------------------------


def list_reads(trace: Trace, position: int = -1) -> str:
    """What a reader of each kind is given, and why it waits."""
    lines = []
    for r in trace.snapshot(position).readers:
        got = " ".join(g.label for g in r.got) or in_words("nothing")
        lines.append(f"{r.name:<17} {got:<18} {r.note}".rstrip())
    return "\n".join(lines)


def answers(trace: Trace, who: str = "hand") -> str:
    """Requests sent by hand, and what came back."""
    rows = []
    for fact in trace:
        if isinstance(fact.body, Outcome) and fact.node == who:
            refused = fact.body.status == FAILED
            answer = fact.body.detail if refused else say_result(fact.body)
            rows.append((Name(fact.body.call), answer))
    return table("request | answer", rows)


def records(trace: Trace) -> list[tuple[str, ...]]:
    """Every record of `__transaction_state`, as (status number, state, transactional id,
    producer id, epoch, partitions), in the order in which they were written."""
    out: list[tuple[str, ...]] = []
    for fact in trace:
        if isinstance(fact.body, StateRecord):
            before = _rows(trace, fact.index - 1)
            for row in _rows(trace, fact.index):
                if row not in before:
                    out.append((str(NUMBERS[TxnState(row[1])]), *row[1:]))
    return out


def _rows(trace: Trace, position: int) -> list[tuple[str, ...]]:
    records = next(t for t in trace.snapshot(position).tables if t.columns[0] == "transactionalId")
    return [(row[0], row[3], *row[:3], row[4]) for row in records.rows]


def latest(trace: Trace, position: int = -1) -> str:
    """`__transaction_state` as its compaction leaves it: the latest record of each key."""
    records = next(t for t in trace.snapshot(position).tables if t.columns[0] == "transactionalId")
    return columns([records.columns, *records.rows])


def requests(trace: Trace, coordinator: str = "coordinator") -> str:
    """What each request to the coordinator writes, and what is done when it is answered."""
    rows = []
    for fact in trace:
        if _asks(fact, coordinator):
            wrote, answer, later = _describe_handling(trace, fact, coordinator)
            rows.append((f"{fact.node}: {_wish(fact.body)}", wrote or "–", answer, later or "–"))
    return table("request | writes | answers | afterwards", rows)


def _asks(fact: Fact, coordinator: str) -> bool:
    """Whether another client asks the coordinator something."""
    return fact.kind is FactKind.SEND and fact.peer == coordinator and fact.node != coordinator


def _wish(request: object) -> str:
    """A request without what it carries, but with what it wants."""
    match request:
        case EndTxn(commit=commit):
            return f"EndTxn {outcome(commit)}"
        case AddPartitionsToTxn(verify_only=True):
            return "AddPartitionsToTxn verify"
    return type(request).__name__


def _describe_handling(trace: Trace, request: Fact, coordinator: str) -> tuple[str, str, str]:
    """How the coordinator handles one request, until it gets the next: three texts, what it writes
    or sends before its answer, the answer, and what it does after it."""
    before: list[str] = []
    later: list[str] = []
    answer = ""
    for fact in trace.facts[request.index :]:  # those after it, as `index` counts from 1
        if _asks(fact, coordinator):
            break
        if fact.node != coordinator:
            continue
        if fact.kind is FactKind.REPLY and fact.peer == request.node:
            answer = fact.text.en
        # something that it does to another node
        elif fact.peer not in ("", coordinator):
            (later if answer else before).append(fact.text.en.split()[0])
    return ", ".join(before), answer, ", ".join(_counted(later))


def _counted(words: list[str]) -> Iterator[str]:
    for word in dict.fromkeys(words):
        times = words.count(word)
        yield word if times == 1 else f"{word} ×{times}"


RUNS_OUT = Words("timeout {timer}: set at {at:g} s, runs out at {end:g} s")


def find_timeout(text: str) -> str:
    """When the timeout of a transaction that is open at the end of an execution expires."""
    run = run_scenario(text)
    begun = next(f.at_ms for f in run.trace if _begins(f.body))
    _, timer, after_ms = run.world.nodes["coordinator"].timers[0]
    return str(RUNS_OUT(timer=timer, at=begun / 1000, end=(begun + after_ms) / 1000))


def _begins(body: object) -> bool:
    return isinstance(body, StateRecord) and body.entry.state is TxnState.ONGOING


def costs(sizes: Iterable[tuple[int, int]]) -> str:
    """What transactions leave in the logs. `sizes`: (partitions, records in each of them)."""
    rows = [_cost(partitions, each) for partitions, each in sizes]
    head = "partitions | records | markers | offsets taken | records of the coordinator"
    return table(head, rows)


def _cost(partitions: int, each: int) -> tuple[int, ...]:
    """Counted in the logs after one transaction of a v2 client."""
    names = [f"charges-{p}" for p in range(partitions)]
    sends = [f"send {name} order-{n}, flush" for n in range(each) for name in names]
    calls = ", ".join(["init", "begin", *sends, "commit"])
    trace = scenario(f"system charges partitions={partitions}\nrun app: {calls}")
    kinds = [cell.kind for log in trace.snapshot(-1).logs for cell in log.cells]
    markers = kinds.count("control")
    begun = [row for row in records(trace) if row[1] != TxnState.EMPTY]
    return partitions, len(kinds) - markers, markers, len(kinds), len(begun)


# --- tables of the protocol ---------------------------------------------------------------


def coordinator_of(*txn_ids: str) -> str:
    """Java's hash of each id, and the partition of `__transaction_state` that keeps it."""
    rows = [(i, java_hash(i), partition_for(i, 50)) for i in txn_ids]
    return table("transactional.id | hashCode | partition", rows)


def transitions(*traces: Trace, transaction_version: int = 2) -> str:
    """The table of a transaction's states: from each line to each column, by the numbers that the
    log has for them. ● one of the traces took that step, ○ it is allowed, · it is not. A state that
    is only ever pending, and never written, is in brackets."""
    taken = {step for trace in traces for step in _steps(trace)}
    previous: Mapping[TxnState, frozenset[TxnState]]
    previous = PREVIOUS_V2 if transaction_version >= 2 else PREVIOUS
    rows = [
        (
            f"{NUMBERS[old]} {_short(old)}",
            *(
                "●" if (old, new) in taken else "○" if old in previous[new] else "·"
                for new in TxnState
            ),
        )
        for old in TxnState
    ]
    return table(f"from ↓ to → | {' | '.join(str(n) for n in NUMBERS.values())}", rows)


def _short(state: TxnState) -> str:
    pending = state in (TxnState.DEAD, TxnState.PREPARE_EPOCH_FENCE)
    return f"({state})" if pending else str(state)


def _steps(trace: Trace) -> Iterator[tuple[TxnState, TxnState]]:
    last: dict[str, TxnState] = {}
    for _, state, txn_id, *_ in records(trace):
        if txn_id in last:
            yield last[txn_id], TxnState(state)
        last[txn_id] = TxnState(state)


def read_recording(profile: str, name: str, *words: str, kafka: str = "4.3.1") -> str:
    """What a real Kafka of this version answered: the lines of a recording that hold one of
    `words` (all of them, where there are none). `profile`: "tv2", "tv2-legacy" or "tv0"."""
    return java.read_recording(f"kafka-{kafka}/{profile}", name, *words)


def fence_a_zombie() -> str:
    """As `released.fence_a_zombie`; a server is loaded only when this is called."""
    from . import released

    return released.fence_a_zombie()


def hold_a_payment() -> HeldPayment:
    """As `released.HeldPayment()`; a server is loaded only when this is called."""
    from .released import HeldPayment

    return HeldPayment()


# ---- What commit does: the pieces of EndTxn to be put in order, and the kill that leaves a commit
#
# without an answer. Lab 06's second and first graded exercise.

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
    Piece("vote", tr("ask every partition whether it can commit"),
          tr("partitions never vote: their records are already written, and they only get the "
             "outcome. The coordinator alone decides, by one record in its own log"),
          "partitions vote"),
    Piece("producer", tr("have the producer write its commit into __transaction_state"),
          tr("a producer never writes there: it sends one request, EndTxn, and the coordinator "
             "appends to its own log. Any client that could write into that topic could end the "
             "transactions of all others"),
          "the producer writes its commit message into the log"),
    Piece("undo", tr("roll back if the client cannot be reached"),
          tr("a decision is never taken back: a commit that timed out may well be committed. The "
             "client that got no answer cannot tell, and retries the same call"),
          "what the client does not know has not happened"),
    Piece("drain", tr("wait until no record of this transaction is in flight any more"),
          tr("no process can tell what a network still holds. Before TV2 such a record falls into "
             "the next transaction; with TV2 the epoch rises at the end, and the late record is "
             "refused"),
          "everything arrives before the end"),
    Piece("clock", tr("start the transaction's timeout of 15 minutes"),
          tr("the clock starts with the first partition, and stops with PrepareCommit: what is "
             "decided never times out. And it is 60 s by default; 15 minutes is the most that a "
             "broker allows"),
          "the timeout begins when the commit is asked for"),
)  # fmt: skip

COMMIT = Parsons(
    name="commit",
    question=tr("EndTxn(commit) has arrived. Arrange the coordinator's steps so that every promise "
                "is kept, whenever it dies. You do not need every piece."),
    pieces=(
        Piece("complete", tr("write CompleteCommit and wait until it is safe")),
        Piece("reply", tr("answer the client: ok")),
        Piece("markers", tr("send a marker to every partition of the transaction")),
        Piece("wait", tr("wait until every partition has answered")),
        Piece("prepare", tr("write PrepareCommit and wait until it is safe")), *DISTRACTORS,
    ),
    systems=_ends,
    messages={
        "read back": tr("no read_committed consumer ever gets the records: no marker is ever sent"),
        "commits": tr("the transaction never ends: the coordinator waits for answers to markers it "
                      "has not sent, or never writes that all is done"),
        "told": tr("the client never learns that its transaction has committed"),
        "kept": tr("the client got ok before the decision was safe: the coordinator dies, finds an "
                   "open transaction on its disk, and the timeout aborts what was acknowledged"),
        "same outcome": tr(
            "a marker was sent before the decision was safe: the coordinator dies and has "
            "forgotten it, and the transaction is committed in one partition and aborted in the "
            "other",
        ),
        "settled": tr("CompleteCommit means that no marker is pending any more. Written too early, "
                      "it makes a restarted coordinator forget a marker: that partition's LSO "
                      "never moves again"),
    },
    right={("prepare", "reply", "markers", "wait", "complete"): tr(
               "no schedule breaks a promise. This is Kafka's own sequence: the client gets its "
               "answer as soon as the outcome cannot change any more, and waits for no marker",
           )},
)  # fmt: skip

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
    ALIVE: tr("the coordinator is alive: `when` names a message that it never sends. Ending a "
              "transaction, it writes PrepareCommit, answers (⇒EndTxn#1) and sends "
              "WriteTxnMarkers#1"),
    EARLY: tr("too early: the client had not asked to commit, so there was nothing to decide"),
    ANSWERED: tr("the client got an answer after all. Either the answer had arrived when the "
                 "coordinator died, or PrepareCommit was not in the log yet: then the transaction "
                 "is still open, and the restarted coordinator accepts the same request once more"),
    "right": tr("the client has no answer, and the payment is committed: a retry with a new "
                "transaction would pay twice"),
}  # fmt: skip


def _killed(run: Run) -> str:
    """Which of `KILLS` an execution with a killed coordinator shows."""
    trace = run.trace
    before = takewhile(lambda fact: not is_kill(fact), trace)
    if not any(isinstance(fact.body, EndTxn) for fact in before):
        return EARLY
    given = [fact.body for fact in trace if isinstance(fact.body, Outcome)]
    unknown = any(isinstance(one.call, Commit) and one.status == UNKNOWN for one in given)
    return "right" if unknown and trace.snapshot(-1).readers[0].got else ANSWERED


UNANSWERED = KillExercise(STORY, _killed, KILLS)


def never_unknown(searched: System, outcome: str) -> Property:
    """The claim that no commit ends “unknown” (without an answer) while its transaction has the
    outcome "COMMIT" or "ABORT". Kafka promises neither: a client without an answer cannot tell."""
    assert isinstance(searched, KafkaSystem)
    cluster = searched.cluster

    def holds(world: World) -> bool:
        apps = [world.nodes[name].app for name, _ in cluster.producers]
        results = [result for app in apps if app is not None for result in app.results]
        if not any(isinstance(r.call, Commit) and r.status == UNKNOWN for r in results):
            return True
        return all(txn.outcome != outcome for txn in read_world(cluster, world).list_txns())

    # What `holds` reads of each node: a search judges equal parts once.
    def part(name: str, node: NodeState) -> Hashable:
        return reads(cluster, name, node), node.app.results if node.app is not None else ()

    sentence = Words("a commit without an answer does not end as {outcome}")(outcome=outcome)
    return Property(f"unknown, {outcome}", sentence, holds, "always", part)


# ---- Lab 06's rule: who may go on with a transaction? --------------------------------
#
# `admit(known, state, busy, caller)` answers "ok", "PRODUCER_FENCED", "CONCURRENT_TRANSACTIONS"
# or "INVALID_PRODUCER_ID_MAPPING". It is put into the coordinator of a legacy client and tried
# with a producer alone, with its restarted second instance, and with requests written by hand.

Pair = tuple[int, int]
OK, FENCED, LATER, NO_SUCH = ANSWERS = (
    "ok",
    "PRODUCER_FENCED",
    "CONCURRENT_TRANSACTIONS",
    "INVALID_PRODUCER_ID_MAPPING",
)
TWIN = "producers=app:order-service,twin:order-service"
HAND = "producers=app:order-service,hand:raw"
ZOMBIE = (
    f"transaction_version=0 partitions=1 {TWIN} claims=decided_as_asked,fenced_out "
    "'app=init; begin; send orders-0 a; commit' 'twin=init; begin; send orders-0 c; commit'"
)
ALONE = (
    "asking transaction_version=0 partitions=2 'app=init; begin; send orders-0 a; flush; "
    "send orders-1 b; commit; begin; send orders-0 c; commit'"
)
BY_HAND = (
    "asking transaction_version=0 partitions=1 {} 'app=init; begin; send orders-0 a; commit' "
    "'hand={}'"
)
#: an older instance, an invented epoch, another producer's id, an unknown id
STRANGERS = (
    "AddPartitionsToTxn orders-0 pid=0 epoch=5",
    "EndTxn commit pid=7 epoch=0 v=4",
    "EndTxn abort pid=0 epoch=0 v=4 id=payment-service",
)

OTHERS = (
    "AddPartitionsToTxn orders-0 pid=0 epoch=9",
    "EndTxn commit pid=4 epoch=2 v=4",
    "EndTxn commit pid=0 epoch=31 v=4",
)


def right(known: Pair | None, state: str, busy: bool, caller: Pair) -> str:
    """Kafka's own rule (TransactionCoordinator#endTransactionWithTV1)."""
    if known is None or known[0] != caller[0]:
        return NO_SUCH
    if known[1] != caller[1]:
        return FENCED
    return LATER if busy else OK


Rule = Callable[[Pair | None, str, bool, Pair], str]


def _but(wrong: Callable[[Pair, str, bool, Pair], str | None]) -> Rule:
    """The right rule with one belief in its place, where the id is known."""

    def rule(known: Pair | None, state: str, busy: bool, caller: Pair) -> str:
        answer = None if known is None else wrong(known, state, busy, caller)
        return answer or right(known, state, busy, caller)

    return rule


def _systems(rule: Callable[..., Any]) -> tuple[tuple[System, Budget], ...]:
    """The second instance twice: first for what a zombie's requests lead to, then for every
    answer."""
    retry = Budget(retries=2)
    return (
        (_ruled(f"kafka {ZOMBIE}", rule), retry),
        (_ruled(ALONE, rule), retry),
        (_ruled(f"asking {ZOMBIE}", rule), retry),
        *((_ruled(BY_HAND.format(HAND, ask), rule), retry) for ask in STRANGERS),
    )


def _unseen(rule: Callable[..., Any]) -> tuple[tuple[System, Budget], ...]:
    """More of the same, with other numbers: what only grading tries."""
    return tuple((_ruled(BY_HAND.format(HAND, ask), rule), Budget(retries=2)) for ask in OTHERS)


def _ruled(line: str, rule: Callable[..., Any]) -> System:
    return put_rule(line, "admit", rule)


BELIEFS = list_beliefs(
    "06 admit",
    {
        "the transactional id is enough": lambda known, state, busy, caller: (
            LATER if busy else OK if known else NO_SUCH
        ),
        "the epoch is the partition's affair": _but(
            lambda known, state, busy, caller: (
                None if known[0] != caller[0] else LATER if busy else OK
            )
        ),
        "only smaller epochs are refused": _but(
            lambda known, state, busy, caller: (
                (LATER if busy else OK) if known[0] == caller[0] and caller[1] > known[1] else None
            )
        ),
        "the epoch is enough": _but(
            lambda known, state, busy, caller: (
                FENCED if known[1] != caller[1] else LATER if busy else OK
            )
        ),
        "every refusal is final": lambda known, state, busy, caller: (
            FENCED if busy else right(known, state, busy, caller)
        ),
        "every refusal is for now": lambda known, state, busy, caller: (
            OK if right(known, state, busy, caller) == OK else LATER
        ),
        "nothing is in flight until it is decided": _but(
            lambda known, state, busy, caller: (
                OK if known == caller and busy and not state.startswith("Prepare") else None
            )
        ),
        "an open transaction is busy": _but(
            lambda known, state, busy, caller: LATER if state == "Ongoing" else None
        ),
        "every refusal is a fence": lambda known, state, busy, caller: right(
            known, state, busy, caller
        ).replace(NO_SUCH, FENCED),
        "nobody is let in": lambda known, state, busy, caller: LATER,
    },
)

_PAIRS = (((0, 2), (0, 2)), ((0, 2), (0, 0)), ((0, 2), (0, 5)), ((3, 1), (7, 1)), ((3, 1), (7, 0)))
_STATES = (
    ("Empty", False),
    ("Empty", True),
    ("Ongoing", False),
    ("Ongoing", True),
    ("PrepareCommit", True),
    ("CompleteAbort", False),
)
SAMPLES = (
    *((known, state, busy, caller) for known, caller in _PAIRS for state, busy in _STATES),
    (None, "", False, (0, 0)),
)

ADMIT = Exercise(
    name="admit",
    systems=_systems,
    unseen=_unseen,
    samples=SAMPLES,
    beliefs=BELIEFS,
    hints=read_hints("06 admit"),
    expects=expect_word(*ANSWERS),
)  # fmt: skip


#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {
    "admit": (ADMIT, "rule"),
    "unanswered": (UNANSWERED, "value"),
    "commit": (COMMIT, "value"),
}
