"""Lab 09's dispatcher: which messages is a subscription sent at this moment?

`send_now(entries, ongoing, aborted)` is told what the partition has at the end of a story, and what
its buffer knows. Its answer is held against what a new subscription received in that run.
"""

from __future__ import annotations

import re
from typing import Any

from ....kernel import Outcome, Run, Text, tr
from ....pulsar.picture.ledgers import read_entries
from ....pulsar.topic import Topic
from ...against_runs import AgainstRuns, Moment
from ...check import Belief, Rule
from ...verdict import Verdict
from ..systems.ruled import describe

Entries = tuple[tuple[int, str, str], ...]

PARTITION = "orders-0"
STORY = """
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
#: two are open, and what one aborted has written lies on either side
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


def look(run: Run) -> list[Moment]:
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


def _own_only(entries: Entries, ongoing: dict[str, int], aborted: list[str]) -> list[int]:
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


OWN_ONLY = "an open transaction hides only its own messages"
UNCOMMITTED = "there is a level read_uncommitted"
DISCARDED = "aborted messages are discarded"
MARKED = "a marker is a message"
NEWEST = "the newest open transaction decides"
PLAIN = "messages of transactions are sent another way"
BELIEFS = (
    Belief(
        OWN_ONLY,
        tr(
            "an open transaction holds back all that lies behind its first message, plain messages "
            "and those of other transactions too: a subscription is sent its partition in order, "
            "and only up to maxReadPosition"
        ),
        _own_only,
    ),
    Belief(
        UNCOMMITTED,
        tr(
            "nobody is sent a message whose transaction is open. Consumers of Pulsar have no level "
            "read_uncommitted: the proposal was never merged"
        ),
        _uncommitted,
    ),
    Belief(
        DISCARDED,
        tr(
            "an abort takes no message away: it still lies at its position. Only the list "
            "`aborted` keeps it from consumers, and the dispatcher must look there"
        ),
        _unfiltered,
    ),
    Belief(
        MARKED,
        tr(
            "a marker takes a position and holds no message: the dispatcher passes over it, and "
            "nobody is sent it"
        ),
        _markers,
    ),
    Belief(
        NEWEST,
        tr(
            "several transactions are open, and the one whose first message lies lowest decides. "
            "What lies between it and the others waits as well"
        ),
        _newest,
    ),
    Belief(
        PLAIN,
        tr(
            "once its transaction has committed, a message is sent like any other, from the place "
            "where it lies. Nothing writes it there a second time"
        ),
        _plain_only,
    ),
)


def _expected(answer: Any) -> Text | None:
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
        STORY.format(lines=lines.strip()) for lines in (OPEN, ENDED, SECOND_FIRST, TWO_OPEN)
    ),
    unseen=(STORY.format(lines=LATER.strip()),),
    look=look,
    beliefs=BELIEFS,
    hints=(
        tr(
            "Two questions. How far may be read: which of the numbers in `ongoing` decides? And "
            "what of the entries up to there is sent to nobody?"
        ),
        tr(
            "The first message of the oldest open transaction ends what may be read, and "
            "everything may be read where none is open. Of the entries before it, markers are "
            "for nobody, and so is one more kind of entry."
        ),
    ),
    expects=_expected,
    right=tr("in each of these runs the subscription received just that"),
    other=tr(
        "the subscription received something else in this run: look at what lies before and behind "
        "maxReadPosition, and at what its last step says"
    ),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"reading": (READING, "rule")}
