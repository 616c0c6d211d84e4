"""The exercise of lab 10: may a transaction acknowledge these messages?

A learner's `may_ack` goes into the subscription (`systems/ruled.py`), where it is asked each
time that a transaction acknowledges messages one by one, and once more when the pending-ack log is
replayed. Each trial is a worker's program with several transactions, of which each passes an order
on: it acknowledges the order and sends its income. Whether a transaction may take a message that it
holds already is left open: no promise depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....explore import Budget
from ....kernel import System, Text, Words, tr
from ...check import Rule, expect_truth
from ...exercises import read_beliefs, read_hints
from ...trials import Stories
from ..systems.ruled import put_rule

T1, T2 = "(0,0)", "(0,1)"
#: a rule is called with these twice, so that one that raises or has a memory is found before any
#: search: (transaction, asked, acknowledged, pending)
SAMPLES = (
    (T1, (0,), (), ()),
    (T2, (0,), (), ((0, T1),)),
    (T2, (0,), (0,), ()),
    (T2, (1, 0), (2,), ((0, T1),)),
)
ORDERS = ("580538", "580539", "580540")
#: three real orders, received by a worker of a Shared subscription
_BEGIN = "subscribe orders-0 work from=earliest type=Shared; {sent}; receive work"


@dataclass(frozen=True)
class Trial:
    """A worker's program after it has received `orders` orders. `t1: 0 2` begins t1 if need be,
    acknowledges orders 0 and 2 in it and sends their income; other words are calls. `stops`: how
    often the orders' broker may be killed."""

    story: str
    says: Mapping[str, tuple[str, Text]]
    orders: int = 2
    stops: int = 0

    def build_case(self, rule: Rule) -> tuple[System, Budget]:
        line = (
            f"pulsar topic=orders,income dedup=1 'app={self._write_program()}' claims=stored_once"
        )
        budget = Budget(kills=self.stops, killable=("orders-0",))
        return put_rule(line, "ack", rule), budget

    def _write_program(self) -> str:
        sent = "; ".join(f"send orders-0 {order}" for order in ORDERS[: self.orders])
        calls, begun = [_BEGIN.format(sent=sent)], set()
        for part in self.story.split("; "):
            name, colon, taken = part.partition(": ")
            if not colon:
                calls.append(part)
                continue
            if name not in begun:
                calls.append(f"new-transaction {name}")
            begun.add(name)
            numbers = [int(number) for number in taken.split()]
            calls.append(f"ack work {' '.join(f'orders-0@{n}' for n in numbers)} txn={name}")
            calls += [f"send income-0 {ORDERS[n]} txn={name}" for n in sorted(set(numbers))]
        return "; ".join(calls)


(
    NOBODY, LAST_WINS, AGAIN, LOCKED, ONE_EACH, IN_ORDER, UP_TO, ANY, ELDER, SPOILT, REPLAYED,
) = read_beliefs("10 acking").items()  # fmt: skip
BOTH = ("one holder", "stored once")


def _twice(doubled: tuple[str, Text], welcome: tuple[str, Text] = NOBODY) -> dict[str, Any]:
    """The messages for a double income and for a wrong refusal."""
    return {**dict.fromkeys(BOTH, doubled), "pending kept": REPLAYED, "commits": welcome}


TRIALS = (
    Trial("t1: 0; commit t1", _twice(LAST_WINS)),
    Trial("t1: 0; t2: 0; commit t1; commit t2", _twice(LAST_WINS)),
    Trial("t1: 0; commit t1; t2: 0; commit t2", _twice(AGAIN)),
    Trial("t1: 1; commit t1", _twice(LAST_WINS, IN_ORDER)),
    Trial("ack work orders-0@1; t2: 0; commit t2", _twice(AGAIN, UP_TO)),
    Trial("t1: 0; t2: 1; commit t2", _twice(LAST_WINS, LOCKED)),
    Trial("t1: 0; t1: 1; commit t1", _twice(LAST_WINS, ONE_EACH)),
    Trial("t1: 0; t2: 0 1; commit t2; commit t1", _twice(ANY)),
    Trial("t1: 0; t2: 1 0; commit t2; commit t1", _twice(ANY)),
    Trial("t1: 1; commit t1; t2: 0 1; commit t2", _twice(ANY, IN_ORDER)),
    Trial(
        "new-transaction t1; t2: 0; ack work orders-0@0 txn=t1; "
        "send income-0 580538 txn=t1; commit t2; commit t1",
        _twice(ELDER),
    ),
    Trial("t1: 0; abort t1; t2: 0; commit t2", _twice(LAST_WINS, SPOILT)),
    Trial("t1: 0; t2: 0; commit t1; commit t2", _twice(LAST_WINS), stops=1),
)
#: what only grading tries: the same beliefs, with other messages
UNSEEN = (
    Trial("t1: 0 2; t2: 1; t3: 2; commit t3; commit t2; commit t1", _twice(LAST_WINS), orders=3),
    Trial("t1: 2; commit t1; t2: 0; t3: 1 2; commit t3", _twice(AGAIN, IN_ORDER), orders=3),
    Trial("t1: 1; t2: 2 0; commit t2", _twice(LAST_WINS, LOCKED), orders=3),
)
HINTS = read_hints("10 acking")


ACKING = Stories(
    name="acking",
    trials=TRIALS,
    unseen=UNSEEN,
    samples=SAMPLES,
    expects=expect_truth(tr("the answers are True and False")),
    hints=HINTS,
    right=Words(
        "{n} scenarios, every schedule of each: no order's income is stored twice, and no message "
        "that is free is refused"
    )(n=len(TRIALS)),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"acking": (ACKING, "rule")}
