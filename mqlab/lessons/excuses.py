"""The first exercise of lab 14: rows that excuse the differences between the engine and Kafka.

An answer is a text, a line per difference, as in `Fetch @0 read_committed: one-log`. In front of
the colon stands a pattern of the question, behind it a reason. The rows are held against the two
recordings and the project's own table of differences, which its tests hold against both brokers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from ..kernel import Text
from ..places import RECORDINGS
from ..real.differences import Listed, find_listed
from ..real.kafka.differences import TABLE
from ..real.recording import load
from .check import Hinted
from .verdict import NOT_WRITTEN, Verdict

PROFILE = "kafka-4.3.1/tv2"
PROGRAMS = ("segments", "claimed-in-compressed")
FORM = Text("write a line per difference, such as “QUESTION: REASON”")


@dataclass(frozen=True, slots=True)
class Reason:
    """`says`: as it stands in the lab; `wrong`: what somebody hears who gives it where it is not
    the reason; `belief`: what is behind that."""

    says: str
    belief: str
    wrong: str


REASONS = {
    "one-log": Reason(
        "The engine keeps a log in one piece. A real broker answers from one file of several, and "
        "the client asks again from where it is.",
        "every difference is about storage",
        "no file of the log matters here: nothing has been read yet",
    ),
    "not-opened": Reason(
        "The real broker takes compressed records without looking at their lengths, and the "
        "engine refuses what nobody could read.",
        "compressed records are not looked at",
        "the real broker does look here, and fails; look at which of the two says ok",
    ),
    "numbers": Reason(
        "The real broker finds offsets that are not in order, wants to number compressed records "
        "again, and lacks what it would need for that. The engine stores them.",
        "every record gets its number from the broker",
        "nothing is numbered again here: what is wrong is a length, or nothing at all",
    ),
    "timing": Reason(
        "The two were asked at different moments.",
        "what differs is a matter of time",
        "run it again, on any machine: the answer stays as it is. A difference of time would not",
    ),
    "client": Reason(
        "The two were asked by different clients.",
        "it must be the client",
        "one program has asked both, and the question stands once in the table",
    ),
    "broken": Reason(
        "The engine is wrong here, and must be mended.",
        "where two differ, one is broken",
        "a client can live with both answers; find what each broker has done to give it",
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
    found: dict[str, Listed | None] = {}
    for name in PROGRAMS:
        rows = find_listed(f"tv2/{name}", TABLE)
        for seen in load(RECORDINGS / PROFILE / f"{name}.json").observations:
            found[seen.asked] = next((row for row in rows if row.covers(seen)), None)
    return found


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
                return Verdict(False, Text(f"“{line}” has no reason: {FORM}"))
            if (wrong := judge_row(pattern, reason)) is not None:
                return wrong
            excused |= {asked for asked in list_questions() if fnmatchcase(asked, pattern)}
        differ = [asked for asked, row in list_questions().items() if row is not None]
        if missing := [asked for asked in differ if asked not in excused]:
            return Verdict(False, Text(f"nothing is said yet about “{missing[0]}”: {FORM}"))
        return Verdict(True, Text("three differences, and nothing else is excused"))


def judge_row(pattern: str, reason: str) -> Verdict | None:
    """What is wrong with one row; None where nothing is."""
    covered = {a: row for a, row in list_questions().items() if fnmatchcase(a, pattern)}
    if not covered:
        return Verdict(False, Text(f"“{pattern}” is none of the questions in the two tables"))
    if reason not in REASONS:
        there = ", ".join(REASONS)
        return Verdict(False, Text(f"there is no reason “{reason}”; there are {there}"))
    for asked, row in covered.items():
        if row is None:
            return Verdict(
                False,
                Text(
                    f"“{pattern}” excuses “{asked}” as well, where both answer alike: the next "
                    "fault there would pass unseen"
                ),
                "a wide excuse is the safer one",
            )
        if RIGHT[row.asked] != reason:
            given = REASONS[reason]
            return Verdict(False, Text(f"“{asked}” is not {reason}: {given.wrong}"), given.belief)
    return None


HINTS = (
    Text(
        "Only lines with ≠ need a row, and “*” in a pattern stands for anything. How many lines "
        "can one row take without taking one that has no ≠?",
        "只有带 ≠ 的行才需要写，模式中的“*”代表任意内容。一行最多能覆盖多少行，而不碰到没有 ≠ 的行？",
    ),
    Text(
        "One of the three is about how much of a log comes at once; in one the real broker says "
        "ok, and in one the engine does. Write `Produce a record of *, gzip` for what is three "
        "times the same.",
        "三处之一是一次返回多少日志；一处是真实代理说 ok，一处是引擎说 ok。三次相同的问题写成 "
        "`Produce a record of *, gzip`。",
    ),
)
EXCUSES = Excuses(HINTS)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"excuses": (EXCUSES, "value")}
