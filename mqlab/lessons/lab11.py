"""Lab 11, order → income: its exercise. A batch number meets a marker: what now?

The sink has fenced its older self and read the marker that the last committed transaction
left. `decide(marker, batch)` says what to do with this batch: "write", "skip" or "stop".
Here every crash and a lost checkpoint come down to a pair of numbers, so all pairs are tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..kernel import Text
from .check import RuleError, call_rule
from .verdict import NOT_WRITTEN, Verdict

NONE = -1
Rule = Callable[[int, int], str]


@dataclass(frozen=True, slots=True)
class Case:
    """What a crash left behind: the marker (-1: none yet) and the batch Spark hands over."""

    marker: int
    batch: int
    right: str
    story: Text


CASES = (
    Case(NONE, 0, "write", Text("the very first batch", "第一批")),
    Case(4, 5, "write", Text("the batch after the last committed one", "紧接最后提交的那一批")),
    Case(
        5,
        5,
        "skip",
        Text(
            "killed after the commit and before commits/5: Spark hands the batch over again",
            "在提交之后、写 commits/5 之前被杀：Spark 再次交来这一批",
        ),
    ),
    Case(0, 0, "skip", Text("the same, in the first batch", "同样的情形，发生在第一批")),
    Case(
        7,
        0,
        "stop",
        Text(
            "the checkpoint was deleted: batch 0 now holds other orders than the old batch 0",
            "检查点被删除：现在的第 0 批与原来的第 0 批不是同样的订单",
        ),
    ),
    Case(
        7,
        3,
        "stop",
        Text(
            "an older copy of the checkpoint was put back: batches 3 to 7 are in the sink",
            "放回了旧的检查点：第 3 到第 7 批已在接收端",
        ),
    ),
    Case(
        4,
        6,
        "stop",
        Text("batch 5 is missing: the sink was put back", "缺少第 5 批：接收端被回退"),
    ),
    Case(
        NONE,
        6,
        "stop",
        Text("the sink's topic was made anew", "接收端的主题被重建"),
    ),
)

_FOLLOWS = Text("the batch after the last committed one", "紧接最后提交的那一批")
_AGAIN = Text("the batch is handed over again", "再次交来同一批")
_APART = Text("sink and checkpoint disagree", "接收端与检查点不一致")
UNSEEN = (
    Case(41, 42, "write", _FOLLOWS),
    Case(0, 1, "write", _FOLLOWS),
    Case(12, 12, "skip", _AGAIN),
    Case(9, 2, "stop", _APART),
    Case(3, 8, "stop", _APART),
    Case(NONE, 1, "stop", _APART),
)

BELIEFS: tuple[tuple[str, Rule, Text], ...] = (
    (
        "a transaction alone is exactly once",
        lambda marker, batch: "write",
        Text(
            "a batch that is handed over again is written again: the transaction is whole both "
            "times. The progress must be in the transaction, and must be looked at",
            "再次交来的批次会再次写入：两次事务都是完整的。进度必须写在事务里，而且必须查看",
        ),
    ),
    (
        "batch ≤ marker means done",
        lambda marker, batch: "skip" if batch <= marker else "write",
        Text(
            "after a lost checkpoint the batch numbers begin again at 0 and mean other orders: "
            "skipping them loses income silently (measured: −25 %)",
            "检查点丢失后批号从 0 重新开始，含义已不同：跳过它们会悄悄丢失收入（实测 −25 %）",
        ),
    ),
    (
        "a gap does not matter",
        lambda marker, batch: "skip" if batch == marker else "write" if batch > marker else "stop",
        Text(
            "a batch that does not follow the marker leaves a hole: what is missing in between "
            "will never be written by anybody",
            "与标记不连续的批次会留下空洞：中间缺失的部分再也不会有人写入",
        ),
    ),
)


@dataclass(frozen=True)
class Deciding:
    """The exercise: `cases`, and more of them that only grading tries."""

    cases: tuple[Case, ...]
    unseen: tuple[Case, ...]

    def check(self, decide: Rule, graded: bool = False) -> Verdict:
        """Judge a rule by every case; a wrong one is told the story and the belief behind it."""
        every = (*self.cases, *(self.unseen if graded else ()))
        try:
            answers = [call_rule(decide, (case.marker, case.batch)) for case in every]
        except RuleError as error:
            return Verdict(False, Text(str(error)))
        if all(answer is None for answer in answers):
            return Verdict(False, NOT_WRITTEN)
        for case, answer in zip(every, answers, strict=True):
            if answer != case.right:
                return self._wrong(answers, case, answer)
        return Verdict(True, Text("every crash ends with each order counted once, or with a stop"))

    def _wrong(self, answers: list[object], case: Case, answer: object) -> Verdict:
        story = f"decide({case.marker}, {case.batch}): {case.story}; you said {answer!r}"
        for name, rule, message in BELIEFS:
            believed = [rule(c.marker, c.batch) for c in self.cases]
            if answers[: len(self.cases)] == believed:
                return Verdict(False, Text(f"{story}. {message}"), name)
        if answer not in ("write", "skip", "stop"):
            return Verdict(False, Text(f'{story}; the answers are "write", "skip" and "stop"'))
        return Verdict(False, Text(story))


DECIDE = Deciding(CASES, UNSEEN)
