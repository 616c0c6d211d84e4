"""Lab 09's id: which coordinator does a transaction belong to?

`find_coordinator(txn)` is given the 128 bits of a TxnID as one whole number. Its answer is held
against the coordinator in whose log the transaction was begun.
"""

from __future__ import annotations

from typing import Any

from ....kernel import Run, Text
from ....kernel.trace import FactKind
from ....pulsar.messages import TransactionMetadataEntry
from ...against_runs import AgainstRuns, Moment
from ...check import Belief

STORY = "system pulsar coordinators={many}\nrun app: {calls}"


def look(run: Run) -> list[Moment]:
    """Each transaction's id, and the coordinator that has written it down as new."""
    found = []
    for fact in run.facts:
        record = fact.body
        if fact.kind is FactKind.APPEND and isinstance(record, TransactionMetadataEntry):
            if record.op == "NEW":
                whole = record.txn.most << 64 | record.txn.least
                wrote = int(fact.node.removeprefix("tc-"))
                found.append(Moment((whole,), wrote, fact.text.en))
    return found


def _begin(coordinators: int, many: int) -> str:
    calls = ", ".join(f"new-transaction t{n}" for n in range(many))
    return STORY.format(many=coordinators, calls=calls)


def _expected(said: Any) -> str:
    whole = isinstance(said, int) and not isinstance(said, bool)
    return "" if whole else "return the number of a coordinator, such as 2"


BELIEFS = (
    Belief(
        "the top 16 bits are the coordinator",
        Text(
            "the design said 16 bits, and the articles repeat it. The implementation took 64: the "
            "top 16 bits are 0 in the id of every coordinator",
            "设计文档写的是 16 位，文章也照抄。实现用的是 64 位：无论哪个协调器，最高 16 位都是 0",
        ),
        lambda txn: txn >> 112,
    ),
    Belief(
        "the lower half is the coordinator",
        Text(
            "the lower 64 bits count the transactions of one coordinator. Two coordinators give "
            "the same count",
            "低 64 位是某个协调器自己的事务计数。两个协调器会给出相同的计数",
        ),
        lambda txn: txn & (2**64 - 1),
    ),
)

FINDING = AgainstRuns(
    stories=(_begin(3, 5),),
    unseen=(_begin(16, 16),),
    look=look,
    beliefs=BELIEFS,
    hints=(
        Text(
            "An id is printed as two numbers. How many bits does each of them have?",
            "id 打印成两个数。每个数占多少位？",
        ),
        Text("Shift the other half out: `txn >> 64`.", "把另一半移出去：`txn >> 64`。"),
    ),
    expects=_expected,
    right=Text(
        "each transaction stands in the log of that coordinator",
        "每个事务都在那个协调器的日志里",
    ),
    other=Text(
        "this transaction was written into the log of another coordinator",
        "这个事务写在另一个协调器的日志里",
    ),
)
