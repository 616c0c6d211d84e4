"""The first exercise of lab 14: rows that excuse the differences between the engine and Kafka.

An answer is a text, a line per difference, as in `Fetch @0 read_committed: one-log`. In front of
the colon stands a pattern of the question, behind it a reason. The rows are held against the two
recordings and the project's own table of differences, which its tests hold against both brokers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from ..kernel import Text, Words
from ..places import RECORDINGS
from ..real.differences import Listed, find_listed
from ..real.kafka.differences import TABLE
from ..recordings.recording import load
from .check import Hinted
from .verdict import NOT_WRITTEN, Verdict

PROFILE = "kafka-4.3.1/tv2"
PROGRAMS = ("segments", "claimed-in-compressed")
FORM = Text(
    "write a line per difference, such as “QUESTION: REASON”",
    "每处差异写一行，例如“QUESTION: REASON”",
)
NO_REASON = Words("“{line}” has no reason: {form}", "“{line}”没有写理由：{form}")
MISSING = Words(
    "nothing is said yet about “{question}”: {form}", "关于“{question}”还什么都没有写：{form}"
)
NO_QUESTION = Words(
    "“{pattern}” is none of the questions in the two tables",
    "两张表里没有哪个问题与“{pattern}”匹配",
)
UNKNOWN = Words(
    "there is no reason “{reason}”; there are {there}", "没有“{reason}”这个理由，可选的有 {there}"
)
WIDE = "a wide excuse is the safer one"
TOO_WIDE = Words(
    "“{pattern}” excuses “{question}” as well, where both answer alike: the next fault there would "
    "pass unseen",
    "“{pattern}”把“{question}”也豁免了，而那里两边的应答相同：以后那里再出错，就没有人看得见",
)
IS_NOT = Words("“{question}” is not {reason}: {wrong}", "“{question}”的理由不是 {reason}：{wrong}")
ALL = Text("three differences, and nothing else is excused", "三处差异都有理由，此外什么也没有豁免")


@dataclass(frozen=True, slots=True)
class Reason:
    """`says`: as it stands in the lab; `wrong`: what somebody hears who gives it where it is not
    the reason; `belief`: what is behind that."""

    says: Text
    belief: str
    wrong: Text


REASONS = {
    "one-log": Reason(
        Text(
            "The engine keeps a log in one piece. A real broker answers from one file of "
            "several, and the client asks again from where it is.",
            "引擎的日志是一整份。真实的 broker 只从几个文件中的一个作答，客户端再从所在的位置接着问。",
        ),
        "every difference is about storage",
        Text(
            "no file of the log matters here: nothing has been read yet",
            "这里与日志的文件无关：还什么都没有读",
        ),
    ),
    "not-opened": Reason(
        Text(
            "The real broker takes compressed records without looking at their lengths, "
            "and the engine refuses what nobody could read.",
            "真实的 broker 不看压缩记录的长度就收下，引擎则拒绝谁也读不出来的东西。",
        ),
        "compressed records are not looked at",
        Text(
            "the real broker does look here, and fails; look at which of the two says ok",
            "真实的 broker 在这里确实看了，而且失败了；看看两者中哪一个应答 ok",
        ),
    ),
    "numbers": Reason(
        Text(
            "The real broker finds offsets that are not in order, wants to number "
            "compressed records again, and lacks what it would need for that. The engine "
            "stores them.",
            "真实的 broker 发现偏移量不按顺序，想给压缩记录重新编号，却缺少编号所需的东西。引擎则照样存下。",
        ),
        "every record gets its number from the broker",
        Text(
            "nothing is numbered again here: what is wrong is a length, or nothing at all",
            "这里没有重新编号：出错的是长度，或者根本没有出错",
        ),
    ),
    "timing": Reason(
        Text(
            "The two were asked at different moments.",
            "两边是在不同的时刻询问的。",
        ),
        "what differs is a matter of time",
        Text(
            "run it again, on any machine: the answer stays as it is. A difference of "
            "time would not",
            "在任何机器上再运行一次，应答都不会变；如果是时间造成的，就会变",
        ),
    ),
    "client": Reason(
        Text(
            "The two were asked by different clients.",
            "两边是由不同的客户端询问的。",
        ),
        "it must be the client",
        Text(
            "one program has asked both, and the question stands once in the table",
            "询问两边的是同一个程序，这个问题在表里也只有一行",
        ),
    ),
    "broken": Reason(
        Text(
            "The engine is wrong here, and must be mended.",
            "引擎在这里错了，必须修正。",
        ),
        "where two differ, one is broken",
        Text(
            "a client can live with both answers; find what each broker has done to give it",
            "两种应答客户端都能应付；找出每个 broker 做了什么才这样应答",
        ),
    ),
}
#: what the rows of the project's own table are about, by their questions → the reason here
RIGHT = {
    "Fetch @0 read_committed": "one-log",
    "Produce a record of *, gzip": "not-opened",
    "Produce an offset delta -1, gzip": "numbers",
}


@cache
def list_questions() -> dict[str, Listed | None]:
    """Each question of the programs, and the row of the project's table that excuses its answer;
    None where both brokers answer alike."""
    excuses: dict[str, Listed | None] = {}
    for name in PROGRAMS:
        rows = find_listed(f"tv2/{name}", TABLE)
        for seen in load(RECORDINGS / PROFILE / f"{name}.json").observations:
            excuses[seen.asked] = next((row for row in rows if row.covers(seen)), None)
    return excuses


@dataclass(frozen=True)
class Excuses(Hinted):
    """The exercise."""

    hints: tuple[Text, ...]

    def check(self, answer: object, graded: bool = False) -> Verdict:
        """Judge the lines one by one; the first that is not right is told."""
        if not isinstance(answer, str) or not answer.strip():
            return Verdict(False, NOT_WRITTEN)
        excused: set[str] = set()
        for line in filter(None, map(str.strip, answer.splitlines())):
            pattern, colon, reason = (part.strip(" .") for part in line.rpartition(":"))
            if not colon:
                return Verdict(False, NO_REASON(line=line, form=FORM))
            if (wrong := judge_row(pattern, reason)) is not None:
                return wrong
            excused |= {question for question in list_questions() if fnmatchcase(question, pattern)}
        differ = [question for question, row in list_questions().items() if row is not None]
        if missing := [question for question in differ if question not in excused]:
            return Verdict(False, MISSING(question=missing[0], form=FORM))
        return Verdict(True, ALL)


def judge_row(pattern: str, reason: str) -> Verdict | None:
    """What is wrong with one row; None where nothing is."""
    covered = {a: row for a, row in list_questions().items() if fnmatchcase(a, pattern)}
    if not covered:
        return Verdict(False, NO_QUESTION(pattern=pattern))
    if reason not in REASONS:
        there = Text(", ".join(REASONS), "、".join(REASONS))
        return Verdict(False, UNKNOWN(reason=reason, there=there))
    for question, row in covered.items():
        if row is None:
            message = TOO_WIDE(pattern=pattern, question=question)
            return Verdict(False, message, WIDE)
        if RIGHT[row.asked] != reason:
            given = REASONS[reason]
            message = IS_NOT(question=question, reason=reason, wrong=given.wrong)
            return Verdict(False, message, given.belief)
    return None


HINTS = (
    Text(
        "Only lines with ≠ need a row, and “*” in a pattern stands for anything. How many lines "
        "can one row take without taking one that has no ≠?",
        "只有带 ≠ 的行才需要写，模式中的“*”代表任意内容。一行最多能覆盖多少行，而不碰到没有 ≠ 的行？",
    ),
    Text(
        "One of the three is about how much of a log comes at once; in one the real broker says "
        "ok, and in one the engine does. One of them comes three times, with one codec: a single "
        "“*” takes all three lines.",
        "三处之一是一次返回多少日志；一处是真实的 broker 说 ok，一处是引擎说 ok。"
        "其中一处以同一种压缩出现三次：一个“*”就能覆盖这三行。",
    ),
)
EXCUSES = Excuses(HINTS)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"excuses": (EXCUSES, "value")}
