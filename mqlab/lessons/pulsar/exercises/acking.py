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
from ....kernel import System, Text
from ...check import Rule
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


NOBODY = (
    "nobody may acknowledge",
    Text(
        "refusing everybody doubles nothing, and no order is ever done: a transaction that asks "
        "for a message that nobody has must be let in",
        "拒绝所有人当然不会重复，但没有一个订单能完成：要求确认一条没人占用的消息，必须放行",
    ),
)
LAST_WINS = (
    "30 the last one wins",
    Text(
        "two transactions have acknowledged one order, and both commit: its income is there twice. "
        "The second one gets a TransactionConflictException",
        "两个事务确认了同一个订单，而且都提交了：它的收入记了两次。后到者得到 "
        "TransactionConflictException",
    ),
)
AGAIN = (
    "an acknowledgement may be repeated",
    Text(
        "this order was acknowledged for good, and its income is stored. A second transaction that "
        "acknowledges it stores the income once more: `acked` is as much a conflict as `pending`",
        "这个订单已最终确认，收入也已写入。第二个事务再确认它，收入就又写一次：`acked` 和 `pending` "
        "同样是冲突",
    ),
)
LOCKED = (
    "a pending acknowledgement locks the subscription",
    Text(
        "another message is pending, not this one. Messages are acknowledged one by one: an open "
        "transaction keeps nobody from acknowledging the others",
        "待定的是另一条消息，不是这一条。消息是逐条确认的：未结束的事务并不妨碍别人确认其余消息",
    ),
)
ONE_EACH = (
    "a transaction acknowledges one message",
    Text(
        "a transaction may acknowledge as many messages as it likes: that it holds one already is "
        "no conflict",
        "一个事务可以确认任意多条消息：它已经占用一条，并不是冲突",
    ),
)
IN_ORDER = (
    "acknowledgements go in order",
    Text(
        "nothing says that the orders before must be done first. That is Kafka, where one offset "
        "stands for everything before it; here each message stands for itself",
        "没有规定前面的订单必须先完成。那是 Kafka：一个偏移量代表它之前的一切；这里每条消息只代表自己",
    ),
)
UP_TO = (
    "what lies before an acknowledged message is acknowledged",
    Text(
        "order 580539 is acknowledged, 580538 before it is not: it must still be possible. `acked` "
        "lists exactly the messages that are",
        "订单 580539 已确认，它之前的 580538 还没有：必须仍可确认。`acked` 列出的正是已确认的那些",
    ),
)
ANY = (
    "one free message is enough",
    Text(
        "a request is all or nothing: one message of it that another transaction holds, and none "
        "of them may be acknowledged. Here an order came along that was taken",
        "一个请求要么全部成功要么全部失败：其中只要有一条被别的事务占用，就一条也不能确认。这里混进了"
        "一个已被占用的订单",
    ),
)
ELDER = (
    "the older transaction wins",
    Text(
        "nobody is thrown out. The younger transaction was first and holds the message; the older "
        "one is refused, whatever its number is",
        "没有谁会被挤掉。较新的事务先到，占用了消息；较老的事务被拒绝，不论编号大小",
    ),
)
SPOILT = (
    "what was aborted stays taken",
    Text(
        "an abort has freed the message: it is in neither list, and the next transaction must get "
        "it",
        "中止已释放这条消息：它不在任何一个列表里，下一个事务必须能得到它",
    ),
)
REPLAYED = (
    "what was let in may be refused later",
    Text(
        "the broker is restarted and replays its log: the rule is asked again, and refuses what it "
        "had let in, because another message has been acknowledged since. Look at the messages "
        "that are asked for, and at no other",
        "broker 重启并回放日志：规则再被询问一次，却拒绝了先前放行的，只因其间另一条消息已确认。"
        "只看所要求的消息，不看别的",
    ),
)
BOTH = ("one holder", "stored once")


def _twice(doubled: tuple[str, Text], welcome: tuple[str, Text] = NOBODY) -> dict[str, Any]:
    """What a double income is told, and a refusal that was none of its business."""
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
HINTS = (
    Text(
        "Look at each message that is asked for, and at no other. Who could have it already?",
        "逐条看所要求的消息，不看别的。谁可能已经占用它？",
    ),
    Text(
        "A message is free if it is neither acknowledged for good nor pending for another "
        "transaction. May a request be accepted if one of its messages is not free?",
        "既没有最终确认、也没有为另一个事务待定的消息才是空闲的。如果请求里有一条不空闲，还能接受吗？",
    ),
)


def _expected(answer: Any) -> Text | None:
    form = Text("the answers are True and False", "可答 True 或 False")
    return None if isinstance(answer, bool) else form


ACKING = Stories(
    name="acking",
    trials=TRIALS,
    unseen=UNSEEN,
    samples=SAMPLES,
    expects=_expected,
    hints=HINTS,
    right=Text(
        f"{len(TRIALS)} stories, every schedule of each: no order's income is stored twice, and no "
        "message that is free is refused",
        f"{len(TRIALS)} 个故事的所有执行顺序：没有订单的收入写了两次，空闲的消息也没有被拒绝",
    ),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"acking": (ACKING, "rule")}
