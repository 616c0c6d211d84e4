"""Lab 11, order → income: the sink's rule `decide`, and the order of the sink's steps.

The sink has fenced its older self and read the *progress record*, the number of the last batch
whose transaction committed. `decide(progress, batch)` says what to do with this batch: "write",
"skip" or "stop".

A rule is judged twice. `DECIDE` plays three crashes with the real amounts of two hours of
orders, in plain Python: that takes milliseconds, so it is what is graded; what a wrong rule wrote
is played by the engine (sink_runs.py). `Bench.try_rule` (kill_bench.py) puts the same rule into
the sink of a Spark job, kills it with -9, and must find the same sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from mqlab_widgets import Compare

from ...kernel import Run, Text, Words, tr
from ...registry.tables import table
from ...registry.ways import join
from ...spark.files import DAY, read_lines
from ...spark.orders import MINUTE_MS, encode, floor_minute, income_of, pounds, time_ms
from ..beside import put_beside
from ..check import Belief, Hinted, RuleError, call_rule, list_beliefs
from ..exercises import read_hints
from ..parsons import Order, Parsons, Piece
from ..verdict import NOT_WRITTEN, Verdict

NONE = -1
KILLED = 3  # the batch
HALF_HOUR, HOUR = 30, 60  # minutes of a batch; the latter after the checkpoint was lost
HALVES = ("12:00", "12:30", "13:00", "13:30")
SINCE, UNTIL = "2011-12-05 12:00", "2011-12-05 14:00"
Rule = Callable[[int, int], str]
Pair = tuple[int, int, str]  # progress, batch, and the right answer
Say = Callable[[str], None]


# --- the orders, and what each batch writes ----------------------------------------------------


@cache
def lunch() -> tuple[dict[str, str], ...]:
    """The order lines of two hours, without a large cancellation among them."""
    return tuple(dict(x) for x in read_lines(DAY) if SINCE <= x["InvoiceDate"] < UNTIL)


@cache
def amounts_of_batches(minutes: int) -> tuple[int, ...]:
    """The income in tenths of a penny that each batch writes, by its number, where the orders are
    cut into batches of so many minutes.

    A batch writes the minutes that are before the latest one of the batches before it (the
    watermark). So the first writes nothing, and each other one the minutes of the batch before it
    without the last, which is the first that the next one writes. After the orders a closing record
    lets one more batch write the rest.
    """
    income: dict[int, int] = {}  # start of the minute → tenths
    for line in lunch():
        at = time_ms(line["InvoiceDate"])
        start = floor_minute(at)
        income[start] = income.get(start, 0) + income_of(encode(line), at)
    first_start, step = min(income), minutes * MINUTE_MS
    last_start: dict[int, int] = {}  # batch → its last minute
    for start in income:
        batch = (start - first_start) // step
        last_start[batch] = max(last_start.get(batch, 0), start)
    last_start[max(last_start)] += MINUTE_MS  # the closing record is in the last batch of orders
    amounts, closed = [], 0
    # The first batch follows none: the watermark is 0, and it writes nothing.
    for _, seen in [(NONE, 0), *sorted(last_start.items())]:
        amounts.append(sum(tenths for at, tenths in income.items() if closed <= at < seen))
        closed = max(closed, seen)
    return tuple(amounts)


def records_of(minutes: int, batch: int) -> list[str]:
    """What the picture shows for the rows of a batch: each half hour with its pounds.

    Batches of an hour write the half hours of two smaller ones.
    """
    if minutes == HOUR:
        return [one for half in (2 * batch - 1, 2 * batch) for one in records_of(HALF_HOUR, half)]
    if batch < 1:
        return []  # the first batch closes no minute yet
    return [f"{HALVES[batch - 1]}={round(amounts_of_batches(HALF_HOUR)[batch] / 1000)}"]


def list_owed(batch: int) -> list[str]:
    """What the batches from this one on have to write."""
    return [r for b in range(batch, len(HALVES) + 1) for r in records_of(HALF_HOUR, b)]


# --- three stories ------------------------------------------------------------------------------


IS_RIGHT = Words("the income is {income}, which is right")
IS_WRONG = Words("the income is {income} instead of {should} ({error:+.1f} %)")
STOPPED = Words("the job stopped, and {sum}")


@dataclass
class Outcome:
    """What a rule did in a story: the sum in topic Income, whether it stopped the job, each
    question with its answer, and for each attempt of the job the records of each transaction.
    `tenths`: that sum, in tenths of a penny; `progress`: the progress record;
    `decisions`: the questions with their answers; `attempts`: the records."""

    tenths: int = 0
    progress: int = NONE
    stopped: bool = False
    decisions: list[tuple[int, int, object]] = field(default_factory=list)
    attempts: list[list[list[str]]] = field(default_factory=list)

    def hand_over(self, rule: Rule, minutes: int, since: int, until: int = 0) -> None:
        """Spark hands batches `since` to `until - 1` to the sink, each of so many minutes."""
        batches = amounts_of_batches(minutes)
        self.attempts.append([])
        for batch in range(since, until or len(batches)):
            if self.stopped:
                return
            answer = rule(self.progress, batch)
            self.decisions.append((self.progress, batch, answer))
            if answer == "write":
                self.tenths += batches[batch]
                self.attempts[-1].append(records_of(minutes, batch))
                self.progress = batch
            self.stopped = answer not in ("write", "skip")

    @property
    def sum(self) -> Text:
        """In words, beside what it should be."""
        should, came = sum(amounts_of_batches(HALF_HOUR)), pounds(self.tenths)
        if self.tenths == should:
            return IS_RIGHT(income=came)
        error = (self.tenths - should) / should * 100
        return IS_WRONG(income=came, should=pounds(should), error=error)

    @property
    def end(self) -> Text:
        """How it ended: the sum, and whether the job stopped."""
        return STOPPED(sum=self.sum) if self.stopped else self.sum


def crash(rule: Rule) -> Outcome:
    """Killed after the commit of batch 3 and before commits/3; started again."""
    outcome = Outcome()
    outcome.hand_over(rule, HALF_HOUR, 0, KILLED + 1)
    outcome.hand_over(rule, HALF_HOUR, KILLED)
    return outcome


def lose_checkpoint(rule: Rule) -> Outcome:
    """The same kill; then the checkpoint is deleted, and the job starts with larger batches."""
    outcome = Outcome()
    outcome.hand_over(rule, HALF_HOUR, 0, KILLED + 1)
    outcome.hand_over(rule, HOUR, 0)
    return outcome


def new_topic(rule: Rule) -> Outcome:
    """The same kill; then topic Income is created again, empty, and the checkpoint is kept."""
    outcome = Outcome()
    outcome.hand_over(rule, HALF_HOUR, KILLED)
    return outcome


@dataclass(frozen=True, slots=True)
class Story:
    """`stop`: whether stopping is right; else every order must be counted once. `play`: runs it
    with a rule; `why`: the reason for what is right."""

    title: Text
    play: Callable[[Rule], Outcome]
    stop: bool
    why: Text

    def refutes(self, outcome: Outcome) -> bool:
        return outcome.stopped != self.stop or not (
            self.stop or outcome.tenths == sum(amounts_of_batches(HALF_HOUR))
        )

    def run(self, outcome: Outcome) -> Run:
        """The same transactions, played by the engine."""
        from .sink_runs import play_job

        return play_job(outcome.attempts, list_owed(1), self.title)


STORIES = (
    Story(tr("killed after the commit of batch 3, before commits/3"), crash, False,
          tr("batch 3 is handed over again: the progress record says that it is in")),
    Story(tr("killed, and the checkpoint was deleted"), lose_checkpoint, True,
          tr("the numbers begin again at 0 and mean other orders: no answer but “stop” is right")),
    Story(tr("killed, and topic Income was created again"), new_topic, True,
          tr("the batches before this one are not in the topic, and will not be written again")),
)  # fmt: skip

PAIRS: tuple[Pair, ...] = (
    (NONE, 0, "write"), (4, 5, "write"), (5, 5, "skip"), (0, 0, "skip"), (7, 0, "stop"),
    (7, 3, "stop"), (4, 6, "stop"), (NONE, 6, "stop"),
)  # fmt: skip
UNSEEN: tuple[Pair, ...] = (
    (41, 42, "write"), (0, 1, "write"), (12, 12, "skip"), (9, 2, "stop"), (3, 8, "stop"),
    (NONE, 1, "stop"),
)  # fmt: skip

BELIEFS = list_beliefs(
    "11 decide",
    {
        "a transaction alone is exactly once": lambda progress, batch: "write",
        "batch ≤ progress means done": lambda progress, batch: (
            "skip" if batch <= progress else "write"
        ),
        "a gap does not matter": lambda progress, batch: (
            "skip" if batch == progress else "write" if batch > progress else "stop"
        ),
    },
)


def right_answer(progress: int, batch: int) -> str:
    from ...spark.sinks import decide

    return decide(progress, batch)


HINTS = read_hints("11 decide")


RIGHT = tr("every crash ends with each order counted once, or with a stop")
REMEMBER = Words("{message}. Remember: {belief}")
GAVE = Words('{call} gave "{answer}", not "{right}"')
ODD = Words("{call} gave {answer}; the answers are {answers}")
STORY = Words("{title}: {did}; {ended}. Here {why}")


@dataclass(frozen=True)
class Deciding(Hinted):
    """The exercise: three stories, pairs that tell rules apart, more of them that only grading
    tries, and hints. `unseen`: those that only grading tries."""

    stories: tuple[Story, ...]
    pairs: tuple[Pair, ...]
    unseen: tuple[Pair, ...]
    hints: tuple[Text, ...] = HINTS

    def check(self, decide: Rule, graded: bool = False) -> Verdict:
        """Judge a learner's rule: first by the money that comes out of each scenario with it, then
        by what it answers for pairs of batch numbers (progress, batch); `graded`: for the unseen
        ones too. What is wrong first is reported."""
        rule = Remembered(decide)
        try:
            if all(rule(progress, batch) is None for progress, batch, _ in self.pairs):
                return Verdict(False, NOT_WRITTEN)
            for story in self.stories:
                outcome = story.play(rule)
                if story.refutes(outcome):
                    return self._named(rule, _describe_story(story, outcome), story.run(outcome))
            for progress, batch, expected in (*self.pairs, *(self.unseen if graded else ())):
                if (answer := rule(progress, batch)) != expected:
                    return self._named(rule, _describe_answer(progress, batch, answer, expected))
        except RuleError as error:
            return Verdict(False, error.args[0])
        return Verdict(True, RIGHT)

    def _named(self, rule: Rule, message: Text, run: Run | None = None) -> Verdict:
        """With the belief behind the rule, where it acts as a known one does, and the trace that
        shows what it did."""
        name, message = remember(BELIEFS, rule, [pair[:2] for pair in self.pairs], message)
        if run is None:
            return Verdict(False, message, name)
        schedule = tuple(map(str, run.choices))
        return Verdict(False, message, name, schedule, run.system, light="money")


def remember(
    beliefs: Sequence[Belief], rule: Rule, pairs: Sequence[tuple[int, int]], message: Text
) -> tuple[str, Text]:
    """The last of the beliefs that answers all pairs as the rule does, and what is wrong, with what
    its holder should remember; "" and the message alone where it acts as none of them."""
    for belief in reversed(beliefs):
        if all(rule(*pair) == belief.rule(*pair) for pair in pairs):
            return belief.name, REMEMBER(message=message, belief=belief.message)
    return "", message


class Remembered:
    """A rule that is asked each question once, within its time. Raises RuleError."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.known: dict[tuple[int, int], str] = {}

    def __call__(self, progress: int, batch: int) -> str:
        pair = progress, batch
        if pair not in self.known:
            self.known[pair] = call_rule(self.rule, pair)
        return self.known[pair]


def _describe_answer(progress: object, batch: object, answer: object, right: str) -> Text:
    call = f"decide({progress}, {batch})"
    if answer not in ("write", "skip", "stop"):
        return ODD(call=call, answer=repr(answer), answers='"write", "skip", "stop"')
    return GAVE(call=call, answer=answer, right=right)


def _describe_story(story: Story, outcome: Outcome) -> Text:
    """What the rule did, what sum came out, and why that is wrong."""
    did = next(
        _describe_answer(progress, batch, answer, right)
        for progress, batch, answer in outcome.decisions
        if answer != (right := right_answer(progress, batch))
    )
    return STORY(title=story.title, did=did, ended=outcome.end, why=story.why)


DECIDE = Deciding(STORIES, PAIRS, UNSEEN)


# --- the order of the five steps ---------------------------------------------------------------

PIECES = (
    Piece("read", tr("read the progress record")),
    Piece("commit", tr("commit the transaction")),
    Piece("fence", tr("fence: initialise the producer")),
    Piece("write", tr("write the rows and the progress record")),
    Piece("decide", tr("decide: write, skip or stop")),
)
LATE = tr(
    "a driver that was only slow commits its batch after you have read the progress record: the "
    "batch is in twice. Fence it first, then nothing can change any more"
)
BLIND = tr("the batch is written before the progress was checked: it may be in twice")
UNREAD = tr("there is nothing to decide on before the progress record is read")
OPEN = tr("what is written after the commit is outside the transaction: nothing makes it whole")
UNFENCED = tr("a producer must be initialised before it can write: there is no transaction yet")


class Steps(Parsons):
    """The sink's five steps. An order is judged by what it makes possible, step by step."""

    def judge(self, order: Order) -> Verdict:
        if sorted(order) != sorted(piece.key for piece in self.pieces):
            return Verdict(False, tr("use each of the five steps once"))
        for name, why in self.messages.items():
            then, first = name.split(" before ")
            if order.index(first) > order.index(then):
                return Verdict(False, why, name)
        return Verdict(True, tr("fence → read the progress → decide → write → commit"))


STEPS = Steps(
    name="steps",
    question=tr("What does the sink do with a batch, from first to last?"),
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

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"steps": (STEPS, "value"), "decide": (DECIDE, "rule")}


# ---- Lab 11: Flink's order of the steps beside Spark's, on one clock, with the same crash
#
# Both jobs read the same two orders, and in both the process dies that writes to the store: Flink's
# sink task, Spark's driver. Each step towards the output is a moment of its own, so the two are
# side by side at each: nothing written, written but hidden, decided.

NOTHING, HIDDEN, DECIDED = "before anything is written", "written, not decided", "decided"
#: what may die when, in the order of the steps: what is held back on the left and on the right
MOMENTS = {
    NOTHING: ("sum→sink Barrier#1", "driver→sink Write#1"),
    HIDDEN: ("sink→jm Acknowledge#1", "driver→sink Commit#1"),
    DECIDED: ("jm→sink Complete#1", "driver→sink ⇒Commit#1"),
}
RULE = "as they are"
EARLY = "Flink's commits at the barrier, Spark's does not read its progress"
#: what is switched off on the left and on the right
COMMIT_RULES = {RULE: ("", ""), EARLY: ("off commit_after_checkpoint", "off reads_progress")}

#: one order before the barrier, one after it; in the other job, one before the batch, one after
BARRIERS = """# As in Flink
system barriers sources=s1 rows=2
{off}
hold jm→s1 Deploy#1
do jm>s1
do s1.
do s1>sum
do sum>sink
---

do fire jm
do jm>s1
"""
BATCHES = """# As in Spark
system micro_batches sources=s1 rows=2
{off}
do s1.
---

do fire driver
do driver>s1
do driver<s1
"""


def play_both(killed: str = DECIDED, sinks: str = RULE) -> Compare:
    """Compare, side by side, the Flink and the Spark job, each `killed` at one of the MOMENTS and
    started again; the picture opens just before the crash. `sinks`: one of COMMIT_RULES."""
    # the moments up to the crash: each is a command of the scenarios
    held = list(MOMENTS)[: list(MOMENTS).index(killed) + 1]
    flink, spark = COMMIT_RULES[sinks]
    return put_beside(
        _write_story(
            BARRIERS.format(off=flink), [MOMENTS[m][0] for m in held], "sink", "fire jm checkpoint"
        ),
        _write_story(
            BATCHES.format(off=spark),
            [MOMENTS[m][1] for m in held],
            "driver",
            "fire driver trigger",
        ),
        at=1 + len(held),
    )


def compare_outputs(sinks: str) -> str:
    """As a table: what is in the output of both in the end, for each moment of the kill."""
    rows = []
    for killed in MOMENTS:
        pair = play_both(killed, sinks)
        ends = (player.trace.snapshot(-1).readers[0].got for player in pair.players)
        rows.append((killed, *(" ".join(got.label for got in end) for end in ends)))
    return table("killed | output of Flink's job | of Spark's", rows)


def _write_story(begin: str, held: Sequence[str], dies: str, again: str) -> str:
    """Up to the last of what is held back, one by one; then the kill, the restart, and the next
    checkpoint or batch."""
    first = [begin + "\n".join(f"hold {message}" for message in held)]
    steps = [f"release {message}" for message in held[:-1]]
    rest = [f"kill {dies}", f"restart {dies}", again]
    return join([*first, *steps, *rest])
