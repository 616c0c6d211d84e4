"""Lab 09's rule: what does a transaction buffer know after its partition was loaded again?

`recover(max_read, aborted, entries)` is given the last snapshot and the entries behind it, and
says what is open and what is aborted. It is put into the partition (`systems/ruled.py`),
which is killed and loaded at every moment.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ....explore import Budget
from ....kernel import Text, tr
from ...check import Belief, Exercise, Rule, Systems
from ...verdict import Verdict
from ..systems.ruled import ID, Txns, put_rule

Entries = tuple[tuple[int, str, str], ...]

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
LATER = LINE.format(
    more=f"snapshot_count=1 {CLAIMS}",
    calls="new-transaction t1; new-transaction t2; send orders-0 a txn=t1; send orders-0 n; "
    "send orders-0 b txn=t2; abort t2; commit t1",
)
KILL = Budget(kills=1, killable=("orders-0",))


def _tried(rule: Rule, *lines: str) -> Systems:
    return tuple((put_rule(line, "recover", rule), KILL) for line in lines)


def _expected(answer: Any) -> Text | None:
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


SNAPSHOT_KNOWS = "the snapshot knows what is open"
NEWEST = "a transaction begins with its last message"
DELETED = "an abort deletes its messages"
FROM_HERE = "the snapshot can be left out"
NEVER_ENDS = "a commit need not be noted"
UNDONE = "what is open at a crash is rolled back"
BELIEFS = (
    Belief(
        SNAPSHOT_KNOWS,
        tr(
            "a snapshot holds maxReadPosition and what is aborted. What is open is not in it: one "
            "finds it by reading the entries behind it. Without that, messages of an open "
            "transaction are delivered after every load"
        ),
        _take_snapshot,
    ),
    Belief(
        NEWEST,
        tr(
            "what counts is the *first* message of a transaction here: with its last one, the "
            "messages before it lie below maxReadPosition and are delivered while it is open"
        ),
        _take_last,
    ),
    Belief(
        DELETED,
        tr(
            "an abort deletes nothing. The messages still lie there, and only this list keeps "
            "them from consumers: an abort marker belongs on it"
        ),
        _forget_aborts,
    ),
    Belief(
        FROM_HERE,
        tr(
            "only entries behind the snapshot are read. What was aborted before it stands in the "
            "snapshot alone, and is delivered if you do not take it over"
        ),
        _start_afresh,
    ),
    Belief(
        NEVER_ENDS,
        tr(
            "a commit marker ends a transaction too. One that stays open here blocks its "
            "partition: nothing behind its first message is delivered any more"
        ),
        _never_commit,
    ),
    Belief(
        UNDONE,
        tr(
            "a partition decides nothing. The coordinator may still commit this transaction, or "
            "has already done so, and then its committed messages are hidden for ever"
        ),
        _abort_open,
    ),
)

RECOVERY = RecoveryExercise(
    name="recovery",
    systems=lambda rule: _tried(rule, COMMITTED, ABORTED, FORGOTTEN, TWO),
    unseen=lambda rule: _tried(rule, LATER),
    samples=(
        (-1, (), ()),
        (-1, (), ((0, "message", "(0,0)"), (1, "message", "(0,0)"), (2, "plain", ""))),
        (-1, (), ((0, "message", "(0,0)"), (1, "commit", "(0,0)"))),
        (-1, (), ((0, "message", "(0,0)"), (1, "abort", "(0,0)"), (2, "plain", ""))),
        (4, ("(0,2)",), ((5, "message", "(0,3)"), (6, "message", "(0,4)"), (7, "abort", "(0,3)"))),
    ),
    beliefs=BELIEFS,
    hints=(
        tr(
            "Go through the entries in their order. Which of the four kinds changes what is open, "
            "and which one what is aborted?"
        ),
        tr(
            "A transaction is open from its first message here until a marker of either kind. "
            "What does an abort marker add that a commit marker does not? And what was known "
            "before the first of these entries?"
        ),
    ),
    expects=_expected,
    right=tr("whenever the partition is loaded again, it knows what is open and what is aborted"),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"recovery": (RECOVERY, "rule")}
