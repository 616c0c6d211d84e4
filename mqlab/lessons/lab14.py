"""What lab 14 shows: an execution that may be true, one program at two brokers, two releases, a
loss."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from textwrap import fill

from mqlab_widgets import Compare, Player

from ..kernel import Text, Trace, Words, spoken, tr, translate
from ..places import LABS, RECORDINGS, SCENARIOS
from ..real.differences import Listed, find_listed
from ..real.kafka.differences import IGNORED, TABLE
from ..recordings.recording import load
from ..registry import scenario
from ..registry.tables import columns
from ..serve.kafka import serve as serve
from .beside import put_beside
from .check import Hinted
from .exercises import read_hints
from .laid import ask_both as ask_both
from .laid import read_laid as read_laid
from .lost import LOST as LOST
from .lost import RUN, list_recorded
from .steps import first as first
from .verdict import NOT_WRITTEN, Verdict

REPORT = LABS / "reports" / "kafka-lost-marker" / "REPORT.md"
KILLED = """\
# {title.en}
system rocketmq {release} check_interval_ms=7000
run app: send-in-transaction orders-0 o1
---

kill broker
restart broker
fire app heartbeat
---

at 7000
fire broker check
"""
OLDER = KILLED.format(title=tr("4.9 writes an op record at once"), release="release=4.9")
NEWER = KILLED.format(title=tr("5.5 keeps op records in memory"), release="release=5.5")
RECORDING = tr("recording")


def play_file(story: str, recorded: str = "") -> Player:
    """The execution of a file in datasets/scenarios, open at its end. `recorded`: the name of the
    recording of a real broker that tells the same."""
    text = (SCENARIOS / f"{story}.scn").read_text("utf-8")
    trace = scenario(text, recorded=recorded)
    return Player(trace, step=len(trace))


def play_lost() -> Player:
    """The engine's execution of a commit that is acknowledged and lost."""
    return play_file(RUN, recorded="leaderless-marker")


def kill_newer() -> Trace:
    """RocketMQ 5.5: killed right after a commit, started again, and a check."""
    return scenario(NEWER.replace("---\n", ""), recorded="op-lost-by-a-kill")


def compare_kills() -> Compare:
    """The same kill of two releases, open at its end."""
    return put_beside(OLDER, NEWER, at=3)


def list_told() -> str:
    """What the rule is given: a moment of each kind in which readers wait or a commit is complete,
    the loss first."""
    kinds: dict[tuple[object, ...], tuple[str, ...]] = {}
    for one in list_recorded():
        commit, state, hw, lso, open_since = one.given
        kind = commit == "ok", state, lso < hw, open_since >= 0
        if lso == hw and state != "CompleteCommit":
            continue
        kinds.setdefault(kind, (one.name.rpartition("/")[2], *map(str, one.given)))
    return columns(
        [(str(RECORDING), "commit", "state", "hw", "lso", "open_since"), *kinds.values()]
    )


def list_ignored() -> str:
    """In what two answers may differ without being different, and why."""
    told = [f"{what}: {why}" for what, why in IGNORED]
    if spoken() == "zh":
        return "\n".join(translate(one, "page") or one for one in told)
    return "\n".join(fill(one, 88, subsequent_indent="    ") for one in told)


def read_report() -> str:
    """The page for upstream."""
    return REPORT.read_text("utf-8")


# ---- The first exercise of lab 14: rows that excuse the differences between the engine and Kafka
#
# An answer is a text, a line per difference, as in `Fetch @0 read_committed: one-log`. Before the
# colon is a pattern of the question, after it a reason. The rows are compared with the two
# recordings and the project's own table of differences, which its tests compare with both brokers.

PROFILE = "kafka-4.3.1/tv2"
PROGRAMS = ("segments", "claimed-in-compressed")
FORM = tr("write one line for each difference, such as “QUESTION: REASON”")
NO_REASON = Words("“{line}” has no reason: {form}")
MISSING = Words("nothing is said yet about “{question}”: {form}")
NO_QUESTION = Words("“{pattern}” is none of the questions in the two tables")
UNKNOWN = Words("there is no reason “{reason}”; there are {there}")
WIDE = "a wide excuse is the safer one"
TOO_WIDE = Words(
    "“{pattern}” excuses “{question}” as well, where both answers are equal: the next fault there "
    "would pass unseen"
)
IS_NOT = Words("“{question}” is not {reason}: {wrong}")
ALL = tr("three differences, and nothing else is excused")


@dataclass(frozen=True, slots=True)
class Reason:
    """`says`: its text in the lab; `wrong`: the message where it is given and is not the reason;
    `belief`: the belief behind that."""

    says: Text
    belief: str
    wrong: Text


REASONS = {
    "one-log": Reason(
        tr(
            "The engine keeps a log in one piece. A real broker answers from one file of several, "
            "and the client fetches again from there."
        ),
        "every difference is about storage",
        tr("no file of the log matters here: nothing has been read yet"),
    ),
    "not-opened": Reason(
        tr(
            "The real broker accepts compressed records without checking their lengths, and the "
            "engine refuses what no client could read."
        ),
        "compressed records are not looked at",
        tr("the real broker does check here, and fails; look which of the two answers ok"),
    ),
    "numbers": Reason(
        tr(
            "The real broker finds offsets out of sequence, tries to renumber the compressed "
            "records, and lacks what it needs for that. The engine stores them."
        ),
        "every record gets its number from the broker",
        tr("nothing is renumbered here: what is wrong is a length, or nothing at all"),
    ),
    "timing": Reason(
        tr("The two were asked at different moments."),
        "what differs is a matter of time",
        tr(
            "run it again, on any machine: the answer stays as it is. A difference of "
            "time would not"
        ),
    ),
    "client": Reason(
        tr("The two were asked by different clients."),
        "it must be the client",
        tr("one program has asked both, and the question is in the table once"),
    ),
    "broken": Reason(
        tr("The engine is wrong here, and must be repaired."),
        "where two differ, one is broken",
        tr("a client can live with both answers; find what each broker has done to give it"),
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
        """Judge the learner's list: each line must be right (`judge_row`), and together they must
        cover every difference between the brokers."""
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
    """Judge one line of the learner's list of accepted differences: a pattern of questions, and the
    reason why the brokers differ there. Returns what is wrong with it, or None."""
    matching = {a: row for a, row in list_questions().items() if fnmatchcase(a, pattern)}
    if not matching:
        return Verdict(False, NO_QUESTION(pattern=pattern))
    if reason not in REASONS:
        known = Text(", ".join(REASONS), "、".join(REASONS))
        return Verdict(False, UNKNOWN(reason=reason, there=known))
    for question, row in matching.items():
        if row is None:  # both brokers answer alike
            message = TOO_WIDE(pattern=pattern, question=question)
            return Verdict(False, message, WIDE)
        if RIGHT[row.asked] != reason:
            given = REASONS[reason]
            message = IS_NOT(question=question, reason=reason, wrong=given.wrong)
            return Verdict(False, message, given.belief)
    return None


HINTS = read_hints("14 excuses")
EXCUSES = Excuses(HINTS)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"excuses": (EXCUSES, "value")}
