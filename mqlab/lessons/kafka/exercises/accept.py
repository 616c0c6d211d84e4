"""The exercise of lab 05: the rule by which a leader takes, recognises or refuses a batch.

A learner's `accept` goes into the leader (`systems/ruled.py`). Each trial is a short
story whose every schedule is searched; which promise breaks in which story says what the
learner believes, so that every wrong rule meets its own sentence and its own shortest run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....explore import Budget
from ....kernel import System, Text
from ...check import expect_word
from ...trials import Stories
from ..systems.ruled import put_rule

ANSWERS = ("append", "duplicate", "refuse")
Rule = Callable[..., Any]
#: ((ranges of the last five, epoch known here, (epoch, first, last)), …): rules are called
#: with these twice, so that one that raises or has a memory is found before any search.
SAMPLES = (
    ((), -1, (0, 0, 0)),
    (((0, 0),), 0, (0, 1, 3)),
    (((0, 0), (1, 3)), 0, (0, 1, 3)),
    (((4, 4),), 1, (0, 0, 0)),
)


@dataclass(frozen=True)
class Trial:
    """A story (what `hand` sends, or another system line), and, by the name of the promise
    that breaks in it, the misconception (a number of the list, or a name) with its message."""

    story: str
    says: Mapping[str, tuple[str, Text]]
    budget: Budget = field(default_factory=Budget)

    def build_case(self, rule: Rule) -> tuple[System, Budget]:
        calls = [f"produce payments-0 {words}" for words in self.story.split("; ")]
        line = f"payments producers=hand:raw 'hand={'; '.join(calls)}'"
        if self.story.startswith("payments"):
            line = self.story
        return put_rule(line, "accept", rule), self.budget


NEVER = (
    "nothing is ever taken",
    Text(
        "refusing everything duplicates nothing, and no payment is ever counted: the first "
        "batch of a producer must be taken",
        "拒绝一切当然不会重复，但没有任何支付会被记录：生产者的第一个批次必须接受",
    ),
)
RETRY_IS_NEW = (
    "a retry is a new batch",
    Text(
        "a batch that comes again is stored again: the payment is counted twice. Its numbers "
        "are those of a batch that is in the log already",
        "重发的批次又被写入一次：支付被记了两次。它的序号与日志中已有的批次相同",
    ),
)
ERROR = (
    "a duplicate is an error",
    Text(
        "a duplicate is no error: the producer only wants to know that its batch is stored. It "
        "is told ok, with the offset of the first time",
        "重复并不是错误：生产者只想知道批次已写入。应该应答 ok，并给出第一次写入的偏移量",
    ),
)
UNTRUE = (
    "what is answered need not be stored",
    Text(
        "the producer is told ok for something that was never stored: a lost payment, and "
        "nobody will send it again",
        "对从未写入的批次应答了 ok：支付丢失，而且不会再有人重发",
    ),
)
GAP = (
    "a gap does not matter",
    Text(
        "a batch before this one is still missing. Appended now, the log has a hole, and the "
        "missing one would be out of order when it comes",
        "它之前还缺一个批次。现在写入，日志就有了空洞，缺失的批次到来时反而乱序",
    ),
)
NUMBERS = (
    "a batch is known by its last number",
    Text(
        "a batch has a *range* of numbers. It follows if its first number is the one after the "
        "last number of the batch before",
        "一个批次对应一*段*序号。它的首序号等于前一批次末序号加一，才算紧接其后",
    ),
)
LARGEST = (
    "only the last batch is remembered",
    Text(
        "the last batch alone is not enough: five may be under way, and after a lost connection "
        "all of them come again. Each of the last five is recognised",
        "只记住最后一个批次不够：可能有五个批次在途，断线后会全部重发。最近五个批次都要能识别",
    ),
)
OLDER = (
    "a smaller number is a duplicate",
    Text(
        "an old number alone proves nothing. Only one of the last five batches, with the same "
        "first and last number, is known with its offset; of anything else the leader cannot "
        "say where it lies, or whether all of it is stored: it refuses",
        "序号旧并不能证明什么。只有与最近五个批次之一首末序号完全相同，才知道它的偏移量；"
        "其余的 leader 无法说明在哪里、是否全部写入：应当拒绝",
    ),
)
OVERLAP = (
    "any overlap is a duplicate",
    Text(
        "first *and* last number must be the same. This batch begins where a known one begins "
        "and is longer: called a duplicate, its new record is lost",
        "首序号*和*末序号都必须相同。这个批次与已知批次起点相同但更长：当作重复，新的记录就丢了",
    ),
)
OVERLAP_TWICE = (
    "an overlap is new",
    Text(
        "part of this batch is in the log already: appended, that part is counted twice",
        "这个批次的一部分已在日志中：再写入，这部分就记了两次",
    ),
)
EPOCHLESS = (
    "epochs do not matter",
    Text(
        "numbers belong to an epoch. A new epoch counts from 0 again: its batch 0 is another "
        "batch than the old epoch's batch 0",
        "序号属于某个 epoch。新的 epoch 从 0 重新计数：它的 0 号批次不是旧 epoch 的 0 号批次",
    ),
)
ANYWHERE = (
    "a new epoch begins anywhere",
    Text(
        "the leader knows this producer, so it knows what a new epoch begins with: 0. Anything "
        "else means that batch 0 is still missing",
        "leader 认识这个生产者，所以知道新的 epoch 必须从 0 开始。否则说明 0 号批次还没到",
    ),
)
ZOMBIE = (
    "an old epoch is as good as a new one",
    Text(
        "a smaller epoch comes from a self that was replaced, or from a request that was long "
        "under way: nothing of it may be written after the new epoch",
        "较小的 epoch 来自已被取代的旧实例，或在途太久的请求：新 epoch 之后不得再写入",
    ),
)
FROM_ZERO = (
    "every producer begins at 0",
    Text(
        "of this producer the leader knows nothing: its entry may have expired, or the topic "
        "may be new to it in the middle of its session. It may begin with any number",
        "leader 对这个生产者一无所知：记录可能已过期。此时可以从任意序号开始",
    ),
)
WRAP = (
    "numbers only grow",
    Text(
        "sequence numbers are 32 bits: after 2147483647 comes 0, and a batch may straddle it",
        "序号是 32 位整数：2147483647 之后是 0，一个批次可以跨越这个边界",
    ),
)
STUCK = (
    "a refusal is for ever",
    Text(
        "a refused batch changes nothing: when the one that was missing has come, the next in "
        "order must be taken",
        "被拒绝的批次不改变任何状态：缺失的批次补上之后，下一个就必须接受",
    ),
)

TRIALS = (
    Trial("p1 seq=0", {"welcome": NEVER, "true ok": UNTRUE}),
    Trial("p1 seq=0; p1 seq=0", {"money": RETRY_IS_NEW, "welcome": ERROR, "true ok": UNTRUE}),
    Trial(
        "p1 seq=0; p3 seq=2; p2 seq=1; p3 seq=2",
        {"in order": GAP, "welcome": STUCK, "true ok": UNTRUE},
    ),
    Trial(
        "p1 seq=0; p2|p3|p4 seq=1; p2|p3|p4 seq=1; p5 seq=4",
        {"welcome": NUMBERS, "in order": NUMBERS, "true ok": NUMBERS, "money": NUMBERS},
    ),
    Trial(
        "p1 seq=0; p2 seq=1; p3 seq=2; p4 seq=3; p5 seq=4; p1 seq=0",
        {"welcome": LARGEST, "money": LARGEST},
    ),
    Trial(
        "p1 seq=0; p2 seq=1; p3 seq=2; p4 seq=3; p5 seq=4; p6 seq=5; p1 seq=0",
        {"true ok": OLDER, "money": RETRY_IS_NEW},
    ),
    Trial(
        "p1 seq=0; p2 seq=1; p2|p3 seq=1",
        {"true ok": OVERLAP, "money": OVERLAP_TWICE},
    ),
    Trial(
        "p1 seq=0; p2 seq=0 epoch=1; p3 seq=1 epoch=1",
        {"true ok": EPOCHLESS, "welcome": EPOCHLESS},
    ),
    Trial("p1 seq=0; p3 seq=1 epoch=1", {"in order": ANYWHERE, "true ok": EPOCHLESS}),
    Trial("p1 seq=0; p2 seq=1; p4 seq=3 epoch=1", {"in order": ANYWHERE}),
    Trial(
        "p1 seq=0; p2 seq=0 epoch=1; p3 seq=0; p3 seq=1",
        {"no zombie": ZOMBIE, "true ok": ZOMBIE, "in order": ZOMBIE},
    ),
    Trial("p7 seq=6; p8 seq=7", {"welcome": FROM_ZERO, "true ok": FROM_ZERO}),
    Trial(
        "p1 seq=2147483647; p2 seq=0; p3 seq=1",
        {"welcome": WRAP, "true ok": WRAP, "in order": WRAP},
    ),
    Trial(
        "p1|p2|p3 seq=2147483646; p4 seq=1",
        {"welcome": WRAP, "true ok": WRAP, "in order": WRAP},
    ),
    Trial(
        "payments 'order-service=send payments-0 p1; send payments-0 p2; flush'",
        {"money": RETRY_IS_NEW, "in order": GAP, "arrives": NEVER, "told": NEVER},
        Budget(breaks=2),
    ),
)
#: what only grading tries: the same beliefs, with other numbers
UNSEEN = (
    Trial(
        "p1 seq=40; p2 seq=41; p1 seq=40; p4 seq=43; p3 seq=42",
        {"welcome": NUMBERS, "in order": GAP, "counted once": RETRY_IS_NEW, "true ok": UNTRUE},
    ),
    Trial(
        "p1|p2 seq=7 epoch=3; p3|p4|p5 seq=9 epoch=3; p3|p4|p5 seq=9 epoch=3; p6 seq=12 epoch=3",
        {"welcome": NUMBERS, "in order": NUMBERS, "counted once": NUMBERS, "true ok": NUMBERS},
    ),
    Trial(
        "p1 seq=0 epoch=6; p2 seq=0 epoch=9; p3 seq=1 epoch=6; p4 seq=1 epoch=9",
        {"no zombie": ZOMBIE, "true ok": ZOMBIE, "in order": ZOMBIE, "welcome": EPOCHLESS},
    ),
)
HINTS = (
    Text(
        "Three questions, in this order: is the epoch older, newer or the same? Have I written "
        "exactly this batch, first and last number, among the last five? Is its first number "
        "the one that must come next?",
        "依次问三个问题：epoch 更旧、更新还是相同？最近五个批次中有没有首末序号完全相同的？"
        "它的首序号是不是下一个该来的序号？",
    ),
    Text(
        "A newer epoch begins its numbers at 0; only a producer of which nothing is known may "
        "begin elsewhere. In the same epoch compare the whole batch with the five, and remember "
        "that the number after 2**31 - 1 is 0.",
        "更新的 epoch 从序号 0 开始；只有一无所知的生产者才可以从别处开始。epoch 相同时，把整个批次与那五个比较；2**31 - 1 之后的序号是 0。",
    ),
)


ACCEPT = Stories(
    name="accept",
    trials=TRIALS,
    unseen=UNSEEN,
    samples=SAMPLES,
    expects=expect_word(*ANSWERS),
    hints=HINTS,
    right=Text(
        f"{len(TRIALS)} stories, every schedule of each: no payment is counted twice, none is "
        "lost, and nothing is refused that Kafka takes",
        f"{len(TRIALS)} 个故事的所有执行顺序：没有支付被重复记录或丢失，"
        "Kafka 会接受的也都没有被拒绝",
    ),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"accept": (ACCEPT, "rule")}
