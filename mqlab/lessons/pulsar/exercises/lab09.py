"""The exercises of lab 09: ids of transactions, what a subscription is sent, what a buffer knows
after it was loaded again, and a story in which the broker hides what it has committed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ....explore import Budget
from ....kernel import Outcome, Run, Text, tr
from ....kernel.trace import FactKind
from ....pulsar import PulsarSystem
from ....pulsar.client.calls import Send
from ....pulsar.messages import LedgerEntry, TransactionMetadataEntry
from ....pulsar.picture.snapshot import list_markers, read_entries
from ....pulsar.states import MarkerType
from ....pulsar.topic import Topic
from ...against_runs import AgainstRuns, Moment
from ...check import Exercise, Rule, Systems, list_beliefs
from ...exercises import read_beliefs, read_hints
from ...stories import StoryExercise
from ...verdict import Verdict
from ..systems.ruled import ID, Txns, describe, put_rule

# ---- The test of lab 09: a story in which the broker hides what it has committed -----
#
#     story = "run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1 …"
#
# No safeguard is off. The story is right if in its end a transaction counts as committed at its
# coordinator and as aborted in a partition, so that a later consumer does not get its messages.

SYSTEM = (
    "system pulsar topic=orders,payments clients=app,web,accounting timeout_ms=600000 "
    "claims=committed_stays"
)
LIGHT = "committed stays"

UNCOMMITTED = "an aborted message can be lost"
PUNCTUAL = "a transaction ends for everybody at the same moment"
CLIENT = "a client always knows that its transaction has ended"
REFUSED = "the low watermark keeps every late message out"
ALONE = "a late message alone hides what was committed"
BELIEFS = read_beliefs("09 hiding")
RIGHT = tr(
    "a transaction that was committed counts as aborted in its partition: a consumer that comes "
    "later never gets its messages, and no safeguard was off"
)


def judge_run(run: Run) -> Verdict:
    """What a story has done to what was committed."""
    schedule = tuple(map(str, run.choices))
    lights = {light.name: light.ok for light in run.trace.snapshot(-1).lights}
    if not lights[LIGHT]:
        return Verdict(True, RIGHT, "", schedule, run.system, LIGHT)
    belief = find_belief(run)
    return Verdict(False, BELIEFS[belief], belief, schedule, run.system)


def find_belief(run: Run) -> str:
    """The wrong belief (a key of BELIEFS) that a learner's scenario shows, which hides nothing that
    was committed. Its signs are looked for one by one, the surest first; without any it is
    PUNCTUAL."""
    # calls of clients that failed, each partition's entries, transactions with a commit marker, and
    # those with a message
    failed = [f.body for f in run.trace if isinstance(f.body, Outcome) and not f.body.ok]
    ledgers = list(list_ledgers(run))
    committed = {e.txn for entries in ledgers for e in list_markers(entries, MarkerType.TXN_COMMIT)}
    with_messages = {e.txn for entries in ledgers for e in entries if e.marker is None}
    if not committed & with_messages:
        return UNCOMMITTED
    # the partition refuses it: the low watermark (all older transactions have ended) is known there
    if any("NotAllowedException" in outcome.detail for outcome in failed):
        return REFUSED
    # a message that is in the log after its transaction's marker
    if any(is_late(entries, MarkerType.TXN_COMMIT) for entries in ledgers):
        return ALONE
    if any(is_late(entries, MarkerType.TXN_ABORT) for entries in ledgers):
        return UNCOMMITTED
    sends = [outcome for outcome in failed if isinstance(outcome.call, Send)]
    # the client itself refuses to send: it knows of the end
    if any("InvalidTxnStatus" in outcome.detail for outcome in sends):
        return CLIENT
    return PUNCTUAL


def list_ledgers(run: Run) -> Iterator[list[LedgerEntry]]:
    """The entries of each partition when the execution is over."""
    assert isinstance(run.system, PulsarSystem)
    for partition in run.system.cluster.partitions:
        yield read_entries(run.world, partition)


def is_late(entries: list[LedgerEntry], kind: MarkerType) -> bool:
    """Whether a message of a partition comes after a marker of its transaction."""
    ended = {entry.txn: entry.base for entry in reversed(list_markers(entries, kind))}
    return any(e.marker is None and e.base > ended.get(e.txn, e.base) for e in entries)


HINTS = read_hints("09 hiding")
HIDING = StoryExercise((SYSTEM,), judge_run, HINTS)

# ---- Lab 09's id: which one does a client's next transaction get? --------------------
#
# `next_id(ids, coordinators)` is given the ids of all transactions that one client has begun, each
# as one whole number of 128 bits. Its answer is compared with the id under which a coordinator
# recorded the next transaction.
#
# A client takes the coordinators in turn, from number 1 on
# (TransactionCoordinatorClientImpl#nextHandler), and each coordinator counts its own transactions
# from 0 (MLTransactionSequenceIdGenerator; 4.2).

STORY = "system pulsar coordinators={many}\nrun app: {calls}"
HALF = 64


def look(run: Run) -> list[Moment]:
    """After each transaction but the last: the ids so far, and the one that comes next."""
    assert isinstance(run.system, PulsarSystem)
    many = run.system.coordinators
    moments: list[Moment] = []
    ids: tuple[int, ...] = ()
    for fact in run.facts:
        record = fact.body
        if fact.kind is FactKind.APPEND and isinstance(record, TransactionMetadataEntry):
            whole = record.txn.most << HALF | record.txn.least
            if ids:
                moments.append(Moment((ids, many), whole, fact.index))
            ids = (*ids, whole)
    return moments


def _begin(coordinators: int, many: int) -> str:
    calls = ", ".join(f"new-transaction t{n}" for n in range(many))
    return STORY.format(many=coordinators, calls=calls)


FORM = tr("return an id as one whole number, such as 5 << 64 | 7 for (5,7)")


def _expected(answer: Any) -> Text | None:
    whole = isinstance(answer, int) and not isinstance(answer, bool)
    return None if whole else FORM


def _count(
    read: Callable[[int], int], write: Callable[[int, int], int]
) -> Callable[[tuple[int, ...], int], int]:
    """The next id by a layout: `read` takes the coordinator out of an id, `write` puts both
    numbers in."""

    def rule(ids: tuple[int, ...], coordinators: int) -> int:
        turn = (read(ids[-1]) + 1) % coordinators
        return write(turn, sum(read(one) == turn for one in ids))

    return rule


def _read_upper(txn: int) -> int:
    return txn >> HALF


def _read_top(txn: int) -> int:
    return txn >> 112


def _read_lower(txn: int) -> int:
    return txn & (1 << HALF) - 1


next_id = _count(_read_upper, lambda turn, count: turn << HALF | count)


def _keep_to_one(ids: tuple[int, ...], coordinators: int) -> int:
    return ids[-1] + 1


def _count_all(ids: tuple[int, ...], coordinators: int) -> int:
    return next_id(ids, coordinators) >> HALF << HALF | len(ids)


def _never_begin_again(ids: tuple[int, ...], coordinators: int) -> int:
    turn = _read_upper(ids[-1]) + 1
    return turn << HALF | sum(_read_upper(one) == turn for one in ids)


def _count_nothing(ids: tuple[int, ...], coordinators: int) -> int:
    return next_id(ids, coordinators) >> HALF << HALF


NUMBERING_BELIEFS = list_beliefs(
    "09 numbering",
    {
        "the top 16 bits are the coordinator": _count(
            _read_top, lambda turn, count: turn << 112 | count
        ),
        "the lower half is the coordinator": _count(
            _read_lower, lambda turn, count: count << HALF | turn
        ),
        "a client keeps to one coordinator": _keep_to_one,
        "all coordinators count together": _count_all,
        "there is always one more coordinator": _never_begin_again,
        "an id names the coordinator only": _count_nothing,
    },
)

NUMBERING = AgainstRuns(
    stories=(_begin(3, 8), _begin(1, 3)),
    unseen=(_begin(16, 20),),
    look=look,
    beliefs=NUMBERING_BELIEFS,
    hints=read_hints("09 numbering"),
    expects=_expected,
    right=tr("each transaction was written down under just this id"),
    other=tr("this transaction was written down under another id: see whose turn it was, and how "
             "many transactions that coordinator had begun"),
)  # fmt: skip


# ---- Lab 09's dispatcher: which messages is a subscription sent at this moment? ------
#
# `send_now(entries, ongoing, aborted)` is given what the partition has at the end of a story, and
# what its buffer knows. Its answer is compared with what a new subscription received in that
# execution.

Entries = tuple[tuple[int, str, str], ...]

PARTITION = "orders-0"
READING_STORY = """
system pulsar clients=app,web,accounting
{lines}
run accounting: subscribe orders-0 books from=earliest
run accounting: receive books
"""
#: plain orders around an open one
OPEN = """
run web: send orders-0 580538
run app: new-transaction t1, send orders-0 580539 txn=t1
run web: send orders-0 580540
"""
#: one transaction is aborted, and one is committed
ENDED = """
run app: new-transaction t1, send orders-0 580538 txn=t1, abort t1
run app: new-transaction t2, send orders-0 580539 txn=t2, commit t2
run web: send orders-0 580540
"""
#: the transaction that wrote second has committed, and the first one is open
SECOND_FIRST = """
run web: send orders-0 580538
run app: new-transaction t1, send orders-0 580539 txn=t1
run web: new-transaction t2, send orders-0 580540 txn=t2, commit t2
"""
#: two are open, and an aborted one's messages are on either side
TWO_OPEN = """
run app: new-transaction t1, send orders-0 580538 txn=t1
run web: send orders-0 580539
run app: new-transaction t2, send orders-0 580540 txn=t2
run web: send orders-0 580541
run web: new-transaction t3, send orders-0 580542 txn=t3
run app: send orders-0 580543 txn=t1, abort t1
"""
#: what only grading tries
LATER = """
run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1
run app: new-transaction t2, send orders-0 580539 txn=t2, abort t2
run web: send orders-0 580540
run web: new-transaction t3, send orders-0 580541 txn=t3
run app: new-transaction t4, send orders-0 580542 txn=t4, abort t4
run web: send orders-0 580543
"""


def look_reading(run: Run) -> list[Moment]:
    """What the partition has when a story is over, and what the subscription received of it."""
    topic = run.world.role(PARTITION)
    assert isinstance(topic, Topic)
    entries = tuple(describe(entry) for entry in read_entries(run.world, PARTITION))
    ongoing = {str(txn): at for txn, at in topic.buffer.ongoing}
    aborted = [str(txn) for txn in topic.buffer.aborts]
    last = run.facts[-1]
    assert isinstance(last.body, Outcome)
    received = [int(place) for place in re.findall(r"@(\d+)", last.body.detail)]
    return [Moment((entries, ongoing, aborted), received, last.index)]


def send_now(entries: Entries, ongoing: dict[str, int], aborted: list[str]) -> list[int]:
    """As the real dispatcher does it."""
    end = min(ongoing.values(), default=len(entries))
    return [
        position
        for position, kind, txn in entries
        if position < end and kind in ("plain", "message") and txn not in aborted
    ]


def _hides_itself_only(entries: Entries, ongoing: dict[str, int], aborted: list[str]) -> list[int]:
    return [at for at in send_now(entries, {}, aborted) if entries[at][2] not in ongoing]


def _uncommitted(entries: Entries, ongoing: dict[str, int], aborted: list[str]) -> list[int]:
    return send_now(entries, {}, aborted)


def _unfiltered(entries: Entries, ongoing: dict[str, int], aborted: list[str]) -> list[int]:
    return send_now(entries, ongoing, [])


def _markers(entries: Entries, ongoing: dict[str, int], aborted: list[str]) -> list[int]:
    end = min(ongoing.values(), default=len(entries))
    return [at for at, _, txn in entries if at < end and txn not in aborted]


def _newest(entries: Entries, ongoing: dict[str, int], aborted: list[str]) -> list[int]:
    """Up to the newest open transaction, without what is open."""
    end = max(ongoing.values(), default=len(entries))
    sent = send_now(entries[:end], {}, aborted)
    return [at for at in sent if entries[at][2] not in ongoing]


def _plain_only(entries: Entries, ongoing: dict[str, int], aborted: list[str]) -> list[int]:
    return [at for at in send_now(entries, ongoing, aborted) if entries[at][1] == "plain"]


READING_BELIEFS = list_beliefs(
    "09 reading",
    {
        "an open transaction hides only its own messages": _hides_itself_only,
        "there is a level read_uncommitted": _uncommitted,
        "aborted messages are discarded": _unfiltered,
        "a marker is a message": _markers,
        "the newest open transaction decides": _newest,
        "messages of transactions are sent another way": _plain_only,
    },
)


def _expected_reading(answer: Any) -> Text | None:
    form = tr("return a list of positions, such as [0, 2]")
    if not isinstance(answer, list):
        return form
    return None if all(isinstance(at, int) and not isinstance(at, bool) for at in answer) else form


class ReadingExercise(AgainstRuns):
    """The positions may come as a list or as a tuple, which is what a list becomes on its way to
    the judge."""

    def check(self, rule: Rule, graded: bool = False) -> Verdict:
        def listed(*given: Any) -> Any:
            answer = rule(*given)
            return list(answer) if isinstance(answer, tuple) else answer

        return super().check(listed, graded)


READING = ReadingExercise(
    stories=tuple(
        READING_STORY.format(lines=lines.strip()) for lines in (OPEN, ENDED, SECOND_FIRST, TWO_OPEN)
    ),
    unseen=(READING_STORY.format(lines=LATER.strip()),),
    look=look_reading,
    beliefs=READING_BELIEFS,
    hints=read_hints("09 reading"),
    expects=_expected_reading,
    right=tr("in each of these executions the subscription received just that"),
    other=tr(
        "the subscription received something else in this example: look at what is before and "
        "after maxReadPosition, and at what its last step says"
    ),
)


# ---- Lab 09's rule: what does a transaction buffer know after its partition was loaded again?
#
# `recover(max_read, aborted, entries)` is given the last snapshot and the entries after it, and
# says what is open and what is aborted. It is put into the partition (`systems/ruled.py`),
# which is killed and loaded at every moment.

LINE = "pulsar {more} clients=app,shop 'app={calls}' 'shop=subscribe orders-0 s from=earliest'"
CLAIMS = "claims=committed_stays,unblocked"
BEGIN = "new-transaction t1; send orders-0 a txn=t1; send orders-0 b txn=t1"
COMMITTED = LINE.format(more=CLAIMS, calls=f"{BEGIN}; commit t1")
ABORTED = LINE.format(more=CLAIMS, calls=f"{BEGIN}; abort t1")
#: the snapshot knows of an abort from which the replay no longer starts
FORGOTTEN = LINE.format(
    more=f"snapshot_count=1 {CLAIMS}",
    calls="new-transaction t1; send orders-0 x txn=t1; abort t1; send orders-0 n",
)
TWO = LINE.format(
    more=CLAIMS,
    calls="new-transaction t1; new-transaction t2; send orders-0 a txn=t1; send orders-0 b txn=t2; "
    "commit t2; abort t1",
)
#: what only grading tries: both ends, a plain message between, and a snapshot
RECOVERING_LATER = LINE.format(
    more=f"snapshot_count=1 {CLAIMS}",
    calls="new-transaction t1; new-transaction t2; send orders-0 a txn=t1; send orders-0 n; "
    "send orders-0 b txn=t2; abort t2; commit t1",
)
KILL = Budget(kills=1, killable=("orders-0",))


def _tried(rule: Rule, *lines: str) -> Systems:
    return tuple((put_rule(line, "recover", rule), KILL) for line in lines)


def _expected_recovering(answer: Any) -> Text | None:
    """What is wrong with the form of an answer."""
    form = tr('return two things: a dictionary as {"(0,3)": 5}, and a list as ["(0,2)"]')
    if not (isinstance(answer, tuple) and len(answer) == 2):
        return form
    ongoing, aborted = answer
    if not (isinstance(ongoing, dict) and isinstance(aborted, list)):
        return form
    if not all(isinstance(at, int) and not isinstance(at, bool) for at in ongoing.values()):
        return form
    ids = [*ongoing, *aborted]
    return None if all(isinstance(txn, str) and ID.fullmatch(txn) for txn in ids) else form


class RecoveryExercise(Exercise):
    """The aborted may come as a list or as a tuple, which is what a list becomes on its way to the
    judge."""

    def check(self, rule: Rule, graded: bool = False) -> Verdict:
        return super().check(partial(_list_aborted, rule), graded)


def _list_aborted(rule: Rule, *given: Any) -> Any:
    answer = rule(*given)
    match answer:
        case (ongoing, list() | tuple() as aborted):
            return ongoing, list(aborted)
    return answer


def recover(max_read: int, aborted: tuple[str, ...], entries: Entries) -> Txns:
    """As the real buffer does it."""
    ongoing: dict[str, int] = {}
    ended = list(aborted)
    for position, kind, txn in entries:
        if kind == "message" and txn not in ended:
            ongoing.setdefault(txn, position)
        if kind in ("commit", "abort"):
            ongoing.pop(txn, None)
        if kind == "abort":
            ended.append(txn)
    return ongoing, ended


def _take_snapshot(max_read: int, aborted: tuple[str, ...], entries: Entries) -> Txns:
    return {}, list(aborted)


def _take_last(max_read: int, aborted: tuple[str, ...], entries: Entries) -> Txns:
    _, ended = recover(max_read, aborted, entries)
    ongoing: dict[str, int] = {}
    for position, kind, txn in entries:
        if kind == "message" and txn not in ended:
            ongoing[txn] = position
        if kind in ("commit", "abort"):
            ongoing.pop(txn, None)
    return ongoing, ended


def _forget_aborts(max_read: int, aborted: tuple[str, ...], entries: Entries) -> Txns:
    ongoing, _ = recover(max_read, aborted, entries)
    return ongoing, list(aborted)


def _start_afresh(max_read: int, aborted: tuple[str, ...], entries: Entries) -> Txns:
    return recover(max_read, (), entries)


def _never_commit(max_read: int, aborted: tuple[str, ...], entries: Entries) -> Txns:
    return recover(max_read, aborted, tuple(e for e in entries if e[1] != "commit"))


def _abort_open(max_read: int, aborted: tuple[str, ...], entries: Entries) -> Txns:
    ongoing, ended = recover(max_read, aborted, entries)
    return {}, [*ended, *ongoing]


RECOVERING_BELIEFS = list_beliefs(
    "09 recovery",
    {
        "the snapshot knows what is open": _take_snapshot,
        "a transaction begins with its last message": _take_last,
        "an abort deletes its messages": _forget_aborts,
        "the snapshot can be left out": _start_afresh,
        "a commit need not be noted": _never_commit,
        "what is open at a crash is rolled back": _abort_open,
    },
)

RECOVERY = RecoveryExercise(
    name="recovery",
    systems=lambda rule: _tried(rule, COMMITTED, ABORTED, FORGOTTEN, TWO),
    unseen=lambda rule: _tried(rule, RECOVERING_LATER),
    samples=(
        (-1, (), ()),
        (-1, (), ((0, "message", "(0,0)"), (1, "message", "(0,0)"), (2, "plain", ""))),
        (-1, (), ((0, "message", "(0,0)"), (1, "commit", "(0,0)"))),
        (-1, (), ((0, "message", "(0,0)"), (1, "abort", "(0,0)"), (2, "plain", ""))),
        (4, ("(0,2)",), ((5, "message", "(0,3)"), (6, "message", "(0,4)"), (7, "abort", "(0,3)"))),
    ),
    beliefs=RECOVERING_BELIEFS,
    hints=read_hints("09 recovery"),
    expects=_expected_recovering,
    right=tr("whenever the partition is loaded again, it knows what is open and what is aborted"),
)  # fmt: skip


#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {
    "numbering": (NUMBERING, "rule"),
    "reading": (READING, "rule"),
    "recovery": (RECOVERY, "rule"),
    "hiding": (HIDING, "value"),
}
