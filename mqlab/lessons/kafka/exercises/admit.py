"""Lab 06's rule: who may go on with a transaction?

`admit(known, state, busy, caller)` answers "ok", "PRODUCER_FENCED", "CONCURRENT_TRANSACTIONS"
or "INVALID_PRODUCER_ID_MAPPING". It is put into the coordinator of a legacy client and tried
with a producer alone, with its restarted twin, and with requests written by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....explore import Budget
from ....kernel import System, Text
from ...check import Belief, Exercise, expect_word
from ..systems.ruled import put_rule

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
#: an older self, somebody who invents an epoch, another producer's id, an id nobody knows
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
    """The twin twice: first for what a zombie's requests lead to, then for every answer."""
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


BELIEFS = (
    Belief(
        "the transactional id is enough",
        Text(
            "the transactional id names the application, not the instance. The one that was "
            "replaced has the same id, and only the epoch tells the two apart: with this rule "
            "it goes on with its successor's transaction",
            "transactional.id 指的是应用，而不是某个实例。被取代的旧实例用的是同一个 id，只有 epoch "
            "能区分两者：按这条规则，它会继续操作接替者的事务",
        ),
        lambda known, state, busy, caller: LATER if busy else OK if known else NO_SUCH,
    ),
    Belief(
        "the epoch is the partition's affair",
        Text(
            "leaders check the epoch of records, but ending a transaction writes none: the old "
            "self's EndTxn would commit what its successor has only half written",
            "分区 leader 会检查记录的 epoch，但结束事务并不写记录：旧实例的 EndTxn 会提交接替者只写了"
            "一半的事务",
        ),
        _but(
            lambda known, state, busy, caller: (
                None if known[0] != caller[0] else LATER if busy else OK
            )
        ),
    ),
    Belief(
        "only smaller epochs are refused",
        Text(
            "at the coordinator the epoch must be the same, not just no smaller. It gives epochs "
            "out itself: a larger one was never given to anybody",
            "在协调者处 epoch 必须相等，而不只是不小于。epoch 由协调者自己分配：更大的 epoch 从未"
            "给过任何人",
        ),
        _but(
            lambda known, state, busy, caller: (
                (LATER if busy else OK) if known[0] == caller[0] and caller[1] > known[1] else None
            )
        ),
    ),
    Belief(
        "the epoch is enough",
        Text(
            "epochs are counted for each producer id: epoch 0 of another id is another producer",
            "epoch 是按 producer id 计数的：另一个 id 的 epoch 0 是另一个生产者",
        ),
        _but(
            lambda known, state, busy, caller: (
                FENCED if known[1] != caller[1] else LATER if busy else OK
            )
        ),
    ),
    Belief(
        "every refusal is final",
        Text(
            "CONCURRENT_TRANSACTIONS means: ask again in a moment. While the markers of the "
            "last transaction are under way its healthy producer would be told that it is "
            "fenced, and shut down",
            "CONCURRENT_TRANSACTIONS 的意思是稍后再试。上一个事务的控制消息还在途中时，健康的生产者会被"
            "告知已被隔离，于是停机",
        ),
        lambda known, state, busy, caller: FENCED if busy else right(known, state, busy, caller),
    ),
    Belief(
        "every refusal is for now",
        Text(
            "an instance that was replaced is never let in again. Told to ask again, it does so "
            "for ever, and nobody learns that it is a zombie",
            "被取代的实例再也不会被接受。让它重试，它就会一直重试下去，谁也不知道它是僵尸",
        ),
        lambda known, state, busy, caller: OK if right(known, state, busy, caller) == OK else LATER,
    ),
    Belief(
        "nothing is under way until it is decided",
        Text(
            "`busy` is also true while an Ongoing or Complete record is being written: an id has "
            "one transition under way at most, whichever it is",
            "写 Ongoing 或 Complete 记录期间 `busy` 也为真：一个 id 同一时刻至多有一个转换在进行，"
            "不论是哪一种",
        ),
        _but(
            lambda known, state, busy, caller: (
                OK if known == caller and busy and not state.startswith("Prepare") else None
            )
        ),
    ),
    Belief(
        "an open transaction is busy",
        Text(
            "Ongoing is when its own producer must come in: to add a partition, and to end it",
            "Ongoing 正是它自己的生产者该进来的时候：加入分区，以及结束事务",
        ),
        _but(lambda known, state, busy, caller: LATER if state == "Ongoing" else None),
    ),
    Belief(
        "every refusal is a fence",
        Text(
            "PRODUCER_FENCED tells that a newer instance exists. Of another producer id, or of "
            "an id nobody knows (it expires after seven days), there is none: "
            "INVALID_PRODUCER_ID_MAPPING",
            "PRODUCER_FENCED 表示有了更新的实例。若是另一个 producer id，或是没有人知道的 id（七天后"
            "过期），并没有这样的实例：INVALID_PRODUCER_ID_MAPPING",
        ),
        lambda known, state, busy, caller: right(known, state, busy, caller).replace(
            NO_SUCH, FENCED
        ),
    ),
    Belief(
        "nobody is let in",
        Text(
            "it is safe to let nobody in, and useless: somebody must be able to commit",
            "谁都不让进当然安全，但毫无用处：总得有人能提交",
        ),
        lambda known, state, busy, caller: LATER,
    ),
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
    hints=(
        Text(
            "Three questions: is the producer id the right one? Is the epoch the latest? Is "
            "something being written just now? The first two are about identity, and no waiting "
            "helps.",
            "三个问题：producer id 对吗？是最新的 epoch 吗？现在有记录正在写入吗？前两个关乎身份，"
            "等待无济于事。",
        ),
        Text(
            "A producer whose id is wrong has been forgotten; one whose epoch is not the "
            "latest, smaller *or larger*, was replaced or never was. Only a producer that is "
            "right in both may be told to wait. One of the inputs is not needed.",
            "id 不对的生产者已被遗忘；epoch 不是最新的（更小*或更大*），要么已被取代，要么从未存在。两者都对的生产者才会被要求等待。有一个输入用不到。",
        ),
    ),
    expects=expect_word(*ANSWERS),
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"admit": (ADMIT, "rule")}
