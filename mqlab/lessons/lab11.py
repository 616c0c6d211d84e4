"""Lab 11, order → income: its exercise, and the bench on which a real job is killed.

The sink has fenced its older self and read the *progress record*, the number of the last batch
whose transaction committed. `decide(progress, batch)` says what to do with this batch: "write",
"skip" or "stop".

A rule is judged twice. `DECIDE` plays three crashes with the real amounts of two hours of
orders, in plain Python: that takes milliseconds, so it is what is graded. `Bench.try_rule` puts
the same rule into the sink of a Spark job, kills it with -9, and must find the same sums.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..kernel import Text
from .check import RuleError, call_rule
from .parsons import Order, Parsons, Piece
from .verdict import NOT_WRITTEN, Verdict

if TYPE_CHECKING:
    from ..spark.crashes import Cell, Ground

NONE = -1
KILLED = 3  # the batch
HALF_HOUR, HOUR = 30, 60  # minutes of a batch; the latter after the checkpoint was lost
SINCE, UNTIL = "2011-12-05 12:00", "2011-12-05 14:00"
Rule = Callable[[int, int], str]
Pair = tuple[int, int, str]  # progress, batch, and the right answer
Say = Callable[[str], None]


# --- the orders, and what each batch writes ----------------------------------------------------


@cache
def lunch() -> tuple[dict[str, str], ...]:
    """The order lines of two hours, without a large cancellation among them."""
    from ..spark.files import DAY, read_lines

    return tuple(dict(x) for x in read_lines(DAY) if SINCE <= x["InvoiceDate"] < UNTIL)


@cache
def written(minutes: int) -> tuple[int, ...]:
    """Tenths of a penny that each batch writes, where a batch is so many minutes of orders.

    A batch closes the minutes that the batches before it have passed (the watermark), so it
    writes those of the batch before it, without its last minute.
    """
    from ..spark.orders import MINUTE_MS, encode, floor_minute, income_of, time_ms

    income: dict[int, int] = {}  # start of the minute → tenths
    for line in lunch():
        at = time_ms(line["InvoiceDate"])
        start = floor_minute(at)
        income[start] = income.get(start, 0) + income_of(encode(line), at)
    first, step = min(income), minutes * MINUTE_MS
    newest: dict[int, int] = {}  # batch → its last minute
    for start in income:
        batch = (start - first) // step
        newest[batch] = max(newest.get(batch, 0), start)
    newest[max(newest)] += MINUTE_MS  # the closing record
    found, closed = [], 0
    for _, seen in [(NONE, 0), *sorted(newest.items())]:
        found.append(sum(tenths for at, tenths in income.items() if closed <= at < seen))
        closed = max(closed, seen)
    return tuple(found)


def pounds(tenths: int) -> str:
    from ..spark.orders import pounds as text

    return text(tenths)


# --- three stories ------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What a rule did in a story: the sum in topic Income, whether it stopped the job, and each
    question with its answer."""

    tenths: int = 0
    progress: int = NONE
    stopped: bool = False
    asked: list[tuple[int, int, object]] = field(default_factory=list)

    def hand_over(self, rule: Rule, batches: Sequence[int], since: int, until: int) -> None:
        """Spark hands batches `since` to `until - 1` to the sink."""
        for batch in range(since, until):
            if self.stopped:
                return
            answer = rule(self.progress, batch)
            self.asked.append((self.progress, batch, answer))
            if answer == "write":
                self.tenths += batches[batch]
                self.progress = batch
            self.stopped = answer not in ("write", "skip")

    @property
    def sum(self) -> str:
        """In words, against what it should be."""
        should = sum(written(HALF_HOUR))
        if self.tenths == should:
            return f"the income is {pounds(self.tenths)}, which is right"
        error = (self.tenths - should) / should * 100
        return f"the income is {pounds(self.tenths)} instead of {pounds(should)} ({error:+.1f} %)"


def crash(rule: Rule) -> Outcome:
    """Killed after the commit of batch 3 and before commits/3; started again."""
    found, batches = Outcome(), written(HALF_HOUR)
    found.hand_over(rule, batches, 0, KILLED + 1)
    found.hand_over(rule, batches, KILLED, len(batches))
    return found


def lost_checkpoint(rule: Rule) -> Outcome:
    """The same kill; then somebody deletes the checkpoint, and starts with larger batches."""
    found, again = Outcome(), written(HOUR)
    found.hand_over(rule, written(HALF_HOUR), 0, KILLED + 1)
    found.hand_over(rule, again, 0, len(again))
    return found


def new_topic(rule: Rule) -> Outcome:
    """The same kill; then topic Income is made anew, empty, and the checkpoint is kept."""
    found, batches = Outcome(), written(HALF_HOUR)
    found.hand_over(rule, batches, KILLED, len(batches))
    return found


@dataclass(frozen=True, slots=True)
class Story:
    """`stop`: whether stopping is right; else every order must be counted once."""

    title: str
    play: Callable[[Rule], Outcome]
    stop: bool
    why: str

    def refutes(self, found: Outcome) -> bool:
        return found.stopped != self.stop or not (
            self.stop or found.tenths == sum(written(HALF_HOUR))
        )


STORIES = (
    Story(
        "killed after the commit of batch 3, before commits/3",
        crash,
        False,
        "batch 3 is handed over again: the progress record says that it is in",
    ),
    Story(
        "killed, and the checkpoint was deleted",
        lost_checkpoint,
        True,
        "the numbers begin again at 0 and mean other orders: no answer but “stop” is right",
    ),
    Story(
        "killed, and topic Income was made anew",
        new_topic,
        True,
        "the batches before this one are not in the topic, and nobody will write them",
    ),
)

PAIRS: tuple[Pair, ...] = (
    (NONE, 0, "write"), (4, 5, "write"), (5, 5, "skip"), (0, 0, "skip"), (7, 0, "stop"),
    (7, 3, "stop"), (4, 6, "stop"), (NONE, 6, "stop"),
)  # fmt: skip
UNSEEN: tuple[Pair, ...] = (
    (41, 42, "write"), (0, 1, "write"), (12, 12, "skip"), (9, 2, "stop"), (3, 8, "stop"),
    (NONE, 1, "stop"),
)  # fmt: skip

BELIEFS: tuple[tuple[str, Rule, Text], ...] = (
    (
        "a transaction alone is exactly once",
        lambda progress, batch: "write",
        Text(
            "a batch that is handed over again is written again: the transaction is whole both "
            "times. The progress must be in the transaction, and must be looked at",
            "再次交来的批次会再次写入：两次事务都是完整的。进度必须写在事务里，而且必须查看",
        ),
    ),
    (
        "batch ≤ progress means done",
        lambda progress, batch: "skip" if batch <= progress else "write",
        Text(
            "after a lost checkpoint the batch numbers begin again at 0 and mean other orders: "
            "skipping them loses income silently",
            "检查点丢失后批号从 0 重新开始，含义已不同：跳过它们会悄悄丢失收入",
        ),
    ),
    (
        "a gap does not matter",
        lambda progress, batch: (
            "skip" if batch == progress else "write" if batch > progress else "stop"
        ),
        Text(
            "a batch that does not follow the progress record leaves a hole: what is missing in "
            "between will never be written by anybody",
            "与进度记录不连续的批次会留下空洞：中间缺失的部分再也不会有人写入",
        ),
    ),
)


def right_answer(progress: int, batch: int) -> str:
    from ..spark.sinks import decide

    return decide(progress, batch)


@dataclass(frozen=True)
class Deciding:
    """The exercise: three stories, pairs that tell rules apart, and more of them that only grading
    tries."""

    stories: tuple[Story, ...]
    pairs: tuple[Pair, ...]
    unseen: tuple[Pair, ...]

    def check(self, decide: Rule, graded: bool = False) -> Verdict:
        """Judge a rule; a wrong one hears what it did, which sum came out, and why."""
        rule = Remembered(decide)
        try:
            if all(rule(progress, batch) is None for progress, batch, _ in self.pairs):
                return Verdict(False, NOT_WRITTEN)
            for story in self.stories:
                found = story.play(rule)
                if story.refutes(found):
                    return self._named(rule, _told(story, found))
            for progress, batch, right in (*self.pairs, *(self.unseen if graded else ())):
                if (answer := rule(progress, batch)) != right:
                    return self._named(rule, _said(progress, batch, answer, right))
        except RuleError as error:
            return Verdict(False, Text(str(error)))
        return Verdict(True, Text("every crash ends with each order counted once, or with a stop"))

    def _named(self, rule: Rule, message: str) -> Verdict:
        """With the belief behind the rule, where it acts as a known one does."""
        for name, believed, belief in BELIEFS:
            if all(rule(p, b) == believed(p, b) for p, b, _ in self.pairs):
                return Verdict(False, Text(f"{message}. Remember: {belief}"), name)
        return Verdict(False, Text(message))


class Remembered:
    """A rule that is asked each question once, within its time. Raises RuleError."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.known: dict[tuple[int, int], str] = {}

    def __call__(self, progress: int, batch: int) -> str:
        asked = progress, batch
        if asked not in self.known:
            self.known[asked] = call_rule(self.rule, asked)
        return self.known[asked]


def _said(progress: object, batch: object, answer: object, right: str) -> str:
    if answer not in ("write", "skip", "stop"):
        return (
            f'decide({progress}, {batch}) gave {answer!r}; the answers are "write", "skip", "stop"'
        )
    return f'decide({progress}, {batch}) gave "{answer}", not "{right}"'


def _told(story: Story, found: Outcome) -> str:
    """What the rule did, what sum came out, and why that is wrong."""
    did = next(
        _said(progress, batch, answer, right)
        for progress, batch, answer in found.asked
        if answer != (right := right_answer(progress, batch))
    )
    ended = "the job stopped, and " if found.stopped else ""
    return f"{story.title}: {did}; {ended}{found.sum}. Here {story.why}"


DECIDE = Deciding(STORIES, PAIRS, UNSEEN)


# --- the order of the five steps ---------------------------------------------------------------

PIECES = (
    Piece("read", Text("read the progress record", "读取进度记录")),
    Piece("commit", Text("commit the transaction", "提交事务")),
    Piece("fence", Text("fence: initialise the producer", "隔离：初始化生产者")),
    Piece("write", Text("write the rows and the progress record", "写入各行和进度记录")),
    Piece("decide", Text("decide: write, skip or stop", "决定：写入、跳过或停止")),
)
LATE = Text(
    "a driver that was only slow commits its batch after you have read the progress record: the "
    "batch is in twice. Fence it first, then nothing can change any more"
)
BLIND = Text("the batch is written before anybody has looked whether it is in: it may be in twice")
UNREAD = Text("there is nothing to decide on before the progress record was read")
OPEN = Text("what is written after the commit is outside the transaction: nothing makes it whole")
UNFENCED = Text("a producer must be initialised before it can write: there is no transaction yet")


class Steps(Parsons):
    """The sink's five steps. An order is judged by what it makes possible, step by step."""

    def judge(self, order: Order) -> Verdict:
        if sorted(order) != sorted(piece.key for piece in self.pieces):
            return Verdict(False, Text("use each of the five steps once"))
        for name, why in self.messages.items():
            then, first = name.split(" before ")
            if order.index(first) > order.index(then):
                return Verdict(False, why, name)
        return Verdict(True, Text("fence → read the progress → decide → write → commit"))


STEPS = Steps(
    name="steps",
    question=Text("What does the sink do with a batch, from first to last?"),
    pieces=PIECES,
    systems=lambda order: (),
    messages={
        "decide before read": UNREAD,
        "write before decide": BLIND,
        "commit before write": OPEN,
        "write before fence": UNFENCED,
        "read before fence": LATE,
    },
)


# --- the bench ---------------------------------------------------------------------------------


class Bench:
    """Two hours of real orders at a broker, and a job that is killed with -9.

    The notebook's own Spark starts once. The job that dies runs in a process of its own; the next
    such process gets ready while the restarted job is still at work.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._folder = tempfile.TemporaryDirectory(prefix="mqlab-", ignore_cleanup_errors=True)
        self._ground: Ground | None = None
        self._number = 0

    @property
    def expected(self) -> str:
        """The income of the two hours, computed without Spark."""
        return pounds(sum(written(HALF_HOUR)))

    def kill(self, sink: str, point: str, rule: Rule | None = None, say: Say = print) -> Cell:
        """Kill the job once at `point` of batch 3, start it again, and add up its output.

        Raises IncomeError, whose text says what to do next.
        """
        from ..spark import connector
        from ..spark.crashes import run_cell
        from ..spark.kills import Point
        from ..spark.sinks import OWN

        ground = self._prepare(say)
        if sink == OWN:
            connector.fetch()  # raises what is missing
        name = self._name()
        return run_cell(
            ground, sink, Point(point), hard=True, name=name, rule=rule, more=True, say=say
        )

    def trial(self, sink: str, point: str, *, say: Say) -> tuple[str, str]:
        """The same, as the row of a table: the income and its error."""
        cell = self.kill(sink, point, say=say)
        return pounds(cell.tenths), cell.error or "ok"

    def try_rule(self, rule: Rule, say: Say = print) -> None:
        """Put the rule into the sink and let it live through the three stories. A rule that is
        not written yet, or that raises, starts no Spark."""
        try:
            answers = [call_rule(rule, (progress, batch)) for progress, batch, _ in PAIRS]
            trouble = "" if any(answers) else str(NOT_WRITTEN)
        except RuleError as raised:
            trouble = str(raised)
        if trouble:
            say(trouble)
            return
        for story in STORIES:
            say(f"— {story.title}")
            cell = self._live(story, rule, lambda line: None)
            error = f" ({cell.error})" if cell.error else ""
            if cell.stopped:
                say("  your rule stopped the job: sink and checkpoint disagree")
            else:
                say(f"  income {pounds(cell.tenths)}, should be {self.expected}{error}")
            say(f"  asked after the kill: {', '.join(map(_call, cell.asked)) or 'nothing'}")

    def _live(self, story: Story, rule: Rule, say: Say) -> Cell:
        """A story on the real job: the crash by kill -9, the others by an exception."""
        from ..spark import crashes, job
        from ..spark.cuts import Plan
        from ..spark.kills import Point

        if story.play is crash:
            return self.kill("exactly-once", Point.COMMITTED, rule, say)
        ground = self._prepare(say)
        target = crashes.target_of(ground, self._name())
        job.create_topics(target)
        crashes.kill_soft(ground, target, "exactly-once", Point.COMMITTED, rule)
        if story.play is lost_checkpoint:
            target = replace(target, checkpoint=target.checkpoint.with_name(f"{target.query}-new"))
            ground = replace(ground, plan=Plan(minutes=HOUR))
        else:
            fresh = crashes.target_of(ground, self._name())
            job.create_topics(fresh)
            target = replace(fresh, checkpoint=target.checkpoint)
        return crashes.restart(ground, target, "exactly-once", Point.COMMITTED, rule)

    def stop(self) -> None:
        """End the process that waits to be killed."""
        if self._ground is not None:
            self._ground.victims.stop()
        self._folder.cleanup()

    def _prepare(self, say: Say) -> Ground:
        from ..spark import IncomeError, connector
        from ..spark.crashes import prepare
        from ..spark.session import session

        if self._ground is None:
            say("Spark starts, twice: in this notebook, and where it will be killed")
            with suppress(IncomeError):  # without it only Spark's own sink cannot be tried
                connector.fetch()
            self._ground = prepare(
                self.address, lunch(), Path(self._folder.name), KILLED, None, HALF_HOUR, "lunch"
            )
            self._ground.victims.start()
            session()
        return self._ground

    def _name(self) -> str:
        """A number that no earlier bench at this broker has used."""
        from ..spark import topics

        self._number += 1
        while topics.partitions_of(self.address, f"Income-{self._number}"):
            self._number += 1
        return str(self._number)


def _call(asked: tuple[int, int, str]) -> str:
    progress, batch, answer = asked
    return f"decide({progress}, {batch}) = {answer}"
