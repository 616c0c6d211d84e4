"""Three sinks x seven kill points: which of them computes the right income after a crash?

For each cell a fresh output topic and checkpoint; the job runs until it is killed in one chosen
batch, is started again, and its output is added up as any consumer would. "ok" means that every
minute is there once and exact. Anything else is printed as the error of the sum in percent.

What must come out is known beforehand, from the order of the steps alone:

- at least once is wrong when rows are out, some or all, and `commits/N` is not;
- transactions without a progress record only when the commit is done and `commits/N` is not;
- with the progress record in the transaction: never.

Nothing is ever lost in these windows, since the source can be read again. All errors are doubles,
also those below zero: batch 3 of the committed day holds two large cancellations, and a negative
income that is counted twice makes the sum too small.
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..kernel import Words, tr
from ..kernel.text import Said, count_columns
from . import feeder, job, topics
from .cuts import Plan
from .errors import CannotResume, IncomeError
from .files import DAY, Orders, read
from .job import INCOME_PARTITIONS, Row, Say, error_of, plan_of, read_output, run_income
from .kills import NEVER, Kill, Killed, Point
from .session import PROJECT, session
from .sinks import BUILT_IN, SINKS, TWO_PHASE, Rule, Target, decide, resume
from .truth import Truth, truth_of

WRONG = {
    "at-least-once": {Point.HALF, Point.OUT, Point.COMMITTED},
    "transactions": {Point.COMMITTED},
    "exactly-once": set(),
    BUILT_IN: {Point.HALF, Point.OUT, Point.COMMITTED},
    TWO_PHASE: set(),
    "a database": {Point.COMMITTED},
    "a database that overwrites": set(),
    "a database with the progress": set(),
}
AS_EXPECTED, UNEXPECTED = tr("as expected"), tr("cells marked ! are not as expected")
AGAIN = Words("killed in batch {}, started again: {}")
CAME = Words("{:14} killed {}: {}")
KILLED = Words("kill -9 of JVM and driver, batch {batch}: {point}")
HARD_S = 300  # where a core is free, a victim that has not died by then never will


@dataclass(frozen=True, slots=True)
class Cell:
    """One kill: `error` is empty where the income was exact, else like `+12.8 %`; `tenths` of a
    penny is the sum of the rows. `stopped` is why the restarted job refused to go on, if it did;
    `asked` what the sink's rule was asked and answered after the kill; `rows` the output, and
    `redone` the batches that were written after the kill. `point`: where in the batch it was
    killed."""

    sink: str
    point: Point
    error: str
    tenths: int = 0
    stopped: str = ""
    asked: tuple[tuple[int, int, str], ...] = ()
    rows: tuple[Row, ...] = ()
    redone: tuple[int, ...] = ()

    @property
    def as_expected(self) -> bool:
        return bool(self.error) == (self.point in WRONG[self.sink])


@dataclass(frozen=True, slots=True)
class Table:
    """All cells; prints as a table of `ok` or the error. `batch`: the one in which the job was
    killed."""

    cells: tuple[Cell, ...]
    batch: int

    @property
    def as_expected(self) -> bool:
        return all(cell.as_expected for cell in self.cells)

    def __str__(self) -> str:
        sinks = list(dict.fromkeys(cell.sink for cell in self.cells))
        points = list(dict.fromkeys(cell.point for cell in self.cells))
        cells = {(cell.sink, cell.point): cell for cell in self.cells}
        names = {point: Said(tr(point, "cell")) for point in points}
        width = max(map(count_columns, names.values()))
        lines = [" " * width + "".join(f"{sink:>16}" for sink in sinks)]
        for point in points:
            words = [_word(cells[sink, point]) for sink in sinks]
            lines.append(f"{names[point]:{width}}" + "".join(f"{word:>16}" for word in words))
        verdict = AS_EXPECTED if self.as_expected else UNEXPECTED
        lines.append(str(AGAIN(self.batch, verdict)))
        return "\n".join(lines)


def _word(cell: Cell) -> str:
    return (cell.error or "ok") + ("" if cell.as_expected else " !")


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup that all cells share: the fed topic Order, the plan of the batches, the truth.
    `run`: its name, part of every topic and folder; `true`: the truth; `batch`: the one in which
    jobs are killed; `master`: Spark's; `victims`: the processes to be killed."""

    address: str
    run: str
    source: str
    plan: Plan
    true: Truth
    folder: Path
    batch: int
    master: str | None
    victims: Victims


class Victims:
    """Processes in which Spark is up, waiting for what they will be killed in.

    The next one is started as soon as one is taken, beside the restart of the job, so that a kill
    need not wait for a JVM.
    """

    def __init__(self, folder: Path, master: str | None) -> None:
        self.folder, self.master = folder, master
        self.spare: subprocess.Popen | None = None

    def start(self) -> None:
        """Have one ready soon."""
        if self.spare is None:
            self.spare = subprocess.Popen(
                [sys.executable, "-m", "mqlab.spark.victim", json.dumps(self.master)],
                # Nothing tidies up after kill -9: its temporary files go where ours are tidied.
                env=os.environ | {"TMPDIR": str(self.folder)}, cwd=PROJECT, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def take(self) -> subprocess.Popen:
        self.start()
        taken, self.spare = self.spare, None
        assert taken is not None
        return taken

    def stop(self) -> None:
        """End the one that waits; its JVM goes with it, when the pipe between them breaks."""
        if self.spare is not None:
            self.spare.kill()
            self.spare.communicate()
            self.spare = None


def chaos(
    address: str,
    sinks: Sequence[str] | None = None,
    points: Sequence[Point] | None = None,
    *,
    orders: Orders = DAY,
    hard: bool = True,
    batch: int = 3,
    master: str | None = None,
    say: Say = lambda line: None,
) -> Table:
    """Kill the job at each point under each sink (by default at all points, under the sinks of
    SINKS), restart it, and return the table of what each output got wrong. `hard`: by kill -9 of a
    process, else by an exception, which is quicker; `batch`: the one to be killed in; `master`:
    Spark's address."""
    with tempfile.TemporaryDirectory(prefix="mqlab-chaos-") as folder:
        with topics.broker_errors(address):
            setup = prepare(address, orders, Path(folder), batch, master)
            wanted = [(s, p) for s in sinks or list(SINKS) for p in points or list(Point)]
            cells: list[Cell] = []
            for sink, point in wanted:
                another = len(cells) + 1 < len(wanted)  # whether a further cell follows
                cell = run_cell(setup, sink, point, hard, more=another)
                say(str(CAME(sink, tr(point, "cell"), cell.error or "ok")))
                cells.append(cell)
    return Table(tuple(cells), batch)


def prepare(
    address: str,
    orders: Orders,
    folder: Path,
    batch: int = 3,
    master: str | None = None,
    minutes: int = 0,
    run: str = "",
) -> Setup:
    """Feed the orders once, and return what all executions to be killed have in common: the topic
    they read, its division into batches, and the true income. `batch`: the number of the batch to
    be killed in; `master`: Spark's address (None: the default); `minutes`: of a batch (0: what
    suits the orders); `run`: part of all names, random by default."""
    span = topics.read_span(address)  # the timestamps that the broker accepts
    records = feeder.records_of(read(orders), span)
    run = run or uuid.uuid4().hex[:8]
    feeder.feed(address, f"Order-{run}", records)
    plan = plan_of(records, minutes, orders=0)  # 0: not asked for
    victims = Victims(folder, master)
    return Setup(
        address, run, f"Order-{run}", plan, truth_of(orders, span), folder, batch, master, victims
    )


def run_cell(
    setup: Setup,
    sink: str,
    point: Point,
    hard: bool,
    *,
    name: str = "",
    rule: Rule | None = None,
    more: bool = False,
    say: Say = lambda line: None,
) -> Cell:
    """Kill the job once at a point of the setup's batch, restart it, and return the cell of the
    table: what the sink's output then contains.

    `hard`: by kill -9 of a process of its own, else by an exception. `name`: part of the names of
    the query and its topics (by default made of the other arguments); `rule`: instead of the sink's
    own (see `restart`); `more`: another hard kill will follow, so its process may get ready now.
    """
    how = "hard" if hard else "soft"
    default_name = re.sub(r"[^\w.-]+", "-", f"{setup.run}-{sink}-{point.name.lower()}-{how}")
    target = target_of(setup, name or default_name)
    job.create_topics(target)
    if hard:
        kill_hard(setup, target, sink, point, rule, say)
        if more:
            setup.victims.start()
    else:
        kill_soft(setup, target, sink, point, rule)
    say(str(tr("starting the job again, with the same checkpoint")))
    return restart(setup, target, sink, point, rule)


def restart(
    setup: Setup, target: Target, sink: str, point: Point, rule: Rule | None = None
) -> Cell:
    """Restart the killed job, until it ends or refuses to resume. `target`: its topics and
    checkpoint; `point`: where it was killed. Returns the cell of the table: the income in its
    output compared with the truth, what the sink's rule (`rule`, or the sink's own `decide` or
    `resume`) was asked and answered, and the batches written after the kill."""
    # (the rule's two arguments, its answer); a sink without a rule leaves it empty
    answers: list[tuple[int, int, str]] = []
    judge = rule or (resume if sink == TWO_PHASE else decide)

    # The rule, with a list of what it was asked and answered: whether a batch is to be written or
    # skipped (its arguments: the last batch in the output, this one), or an open transaction
    # committed or aborted (its batch, the last one in the checkpoint).
    def note(known: int, other: int) -> str:
        answer = judge(known, other)
        answers.append((known, other, answer))
        return answer

    refusal = ""
    rewritten: tuple[int, ...] = ()
    try:
        finished = run_income(session(setup.master), target, sink, setup.plan, rule=note)
        rewritten = tuple(write.batch for write in finished.log if write.written)
    except CannotResume as error:
        refusal = str(error)
    rows = tuple(read_output(sink, target))
    tenths = sum(row.tenths for row in rows)
    wrong = error_of(rows, setup.true)
    return Cell(sink, point, wrong, tenths, refusal, tuple(answers), rows, rewritten)


def target_of(setup: Setup, name: str) -> Target:
    """An output topic, a query and a checkpoint of that name."""
    return Target(
        setup.address, f"income-{name}", setup.source, f"Income-{name}", INCOME_PARTITIONS,
        f"Dead-{name}", setup.folder / name,
    )  # fmt: skip


def kill_soft(
    setup: Setup, target: Target, sink: str, point: Point, rule: Rule | None = None
) -> None:
    """The exception at the kill point ends the query; the session lives on."""
    try:
        kill = Kill(point, setup.batch)
        run_income(session(setup.master), target, sink, setup.plan, kill, rule=rule)
    except Killed:
        return
    raise IncomeError("batch {} was never reached: give more orders", setup.batch)


def kill_hard(
    setup: Setup,
    target: Target,
    sink: str,
    point: Point,
    rule: Rule | None = None,
    say: Say = lambda line: None,
) -> None:
    """Run the job in a process of its own until `point` of the setup's batch, where it kills itself
    and its JVM with -9. Raises IncomeError where it ended otherwise. `rule`: as in `restart`."""
    victim = setup.victims.take()  # a process that has started already and waits for its job
    say(str(tr("the job runs, in a process of its own")))
    code, last_line = _run_job(victim, setup, target, sink, Kill(point, setup.batch), rule)
    if code != -signal.SIGKILL:
        raise IncomeError(
            "the process that was to be killed {} ended on its own (exit code {}); it printed: {}",
            point,
            code,
            last_line,
        )
    say(str(KILLED(batch=setup.batch, point=tr(point, "cell"))))


def run_apart(setup: Setup, target: Target, sink: str) -> None:
    """The same job in a process of its own, which is not killed. Raises IncomeError."""
    code, words = _run_job(setup.victims.take(), setup, target, sink)
    if code:
        raise IncomeError("the job's process ended with exit code {}; it printed: {}", code, words)


def _run_job(
    victim: subprocess.Popen,
    setup: Setup,
    target: Target,
    sink: str,
    kill: Kill = NEVER,
    rule: Rule | None = None,
) -> tuple[int, str]:
    """Hand the job to the waiting process `victim`, wait until it ends, and return its exit code,
    -9 where it killed itself, and the last line it printed. Raises IncomeError where it has not
    ended after HARD_S seconds, more where processes wait for a core; it is killed then."""
    from pyspark import cloudpickle

    # As Spark sends functions to its workers, for a learner's rule is one.
    task = base64.b64encode(cloudpickle.dumps((target, sink, setup.plan, kill, rule))).decode()
    seconds = round(HARD_S * max(1, os.getloadavg()[0] / (os.cpu_count() or 1)))
    try:
        output, _ = victim.communicate(task + "\n", timeout=seconds)
    except subprocess.TimeoutExpired as error:
        victim.kill()
        victim.communicate()
        raise IncomeError("the job's process has not ended after {} s", seconds) from error
    return victim.returncode, (output.strip().splitlines() or [""])[-1]
