"""Lab 09's rule: what does a transaction buffer know after its partition was loaded again?

`recover(max_read, aborted, entries)` is given the last snapshot and the entries behind it, and
says what is open and what is aborted. It is put into the partition (`systems/ruled.py`),
which is killed and loaded at every moment.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ....explore import Budget
from ....kernel import Text
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
    form = Text(
        'return two things: a dictionary as {"(0,3)": 5}, and a list as ["(0,2)"]',
        '请返回两样：像 {"(0,3)": 5} 这样的字典，和像 ["(0,2)"] 这样的列表',
    )
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
        Text(
            "a snapshot holds maxReadPosition and what is aborted. What is open is not in it: one "
            "finds it by reading the entries behind it. Without that, messages of an open "
            "transaction are delivered after every load",
            "快照只有 maxReadPosition 和已中止的事务，并没有未结束的事务：要读它之后的条目才知道。"
            "否则每次加载后，未结束事务的消息都会被投递",
        ),
        _take_snapshot,
    ),
    Belief(
        NEWEST,
        Text(
            "what counts is the *first* message of a transaction here: with its last one, the "
            "messages before it lie below maxReadPosition and are delivered while it is open",
            "起作用的是事务在这里的*第一条*消息：若取最后一条，它前面的消息就落在 maxReadPosition 以内，"
            "事务还没结束就会投递",
        ),
        _take_last,
    ),
    Belief(
        DELETED,
        Text(
            "an abort deletes nothing. The messages still lie there, and only this list keeps "
            "them from consumers: an abort marker belongs on it",
            "中止不删除任何东西。消息还在原处，只有这个列表能把它们挡在消费者之外：读到中止控制消息就要记入",
        ),
        _forget_aborts,
    ),
    Belief(
        FROM_HERE,
        Text(
            "only entries behind the snapshot are read. What was aborted before it stands in the "
            "snapshot alone, and is delivered if you do not take it over",
            "只会读快照之后的条目。更早中止的事务只记在快照里，不把它带过来，它的消息就会被投递",
        ),
        _start_afresh,
    ),
    Belief(
        NEVER_ENDS,
        Text(
            "a commit marker ends a transaction too. One that stays open here blocks its "
            "partition: nothing behind its first message is delivered any more",
            "提交控制消息同样结束事务。若仍把它当作未结束，它就会堵住分区：第一条消息之后什么都不再投递",
        ),
        _never_commit,
    ),
    Belief(
        UNDONE,
        Text(
            "a partition decides nothing. The coordinator may still commit this transaction, or "
            "has already done so, and then its committed messages are hidden for ever",
            "分区不做任何决定。协调者之后可能提交这个事务，甚至已经提交，那样它已提交的消息就永远看不到了",
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
        Text(
            "Go through the entries in their order. Which of the four kinds changes what is open, "
            "and which one what is aborted?",
            "按顺序看每个条目。四种里哪些会改变“未结束”，哪一种会改变“已中止”？",
        ),
        Text(
            "A transaction is open from its first message here until a marker of either kind. "
            "What does an abort marker add that a commit marker does not? And what was known "
            "before the first of these entries?",
            "事务从它在这里的第一条消息起处于未结束状态，直到任一种控制消息。中止控制消息比提交控制消息多留下什么？在这些条目之前已经知道什么？",
        ),
    ),
    expects=_expected,
    right=Text(
        "whenever the partition is loaded again, it knows what is open and what is aborted",
        "分区无论何时重新加载，都知道哪些事务未结束、哪些已中止",
    ),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"recovery": (RECOVERY, "rule")}
