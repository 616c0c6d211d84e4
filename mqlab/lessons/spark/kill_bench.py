"""The bench of lab 11: two hours of real orders at a broker, and a job that is killed with -9.

Every method starts the real Spark job, kills it, starts it again with the same checkpoint and
adds up what it has written. What must come out is known beforehand, from lab11.py and
two_phase.py, which compute the same without Spark.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

from ...kernel import NOTHING, Money, Text, Words, tr
from ...spark import IncomeError, Point, crashes, files, job, topics
from ...spark.crashes import Cell, Setup
from ...spark.cuts import Plan
from ...spark.job import Row
from ...spark.orders import pounds
from ...spark.session import session
from ...spark.sinks import BUILT_IN, Target
from ..check import RuleError, call_rule
from ..verdict import NOT_WRITTEN
from .decide import (
    HALF_HOUR,
    HOUR,
    KILLED,
    PAIRS,
    STORIES,
    Rule,
    Say,
    Story,
    amounts_of_batches,
    crash,
    lose_checkpoint,
    lunch,
)
from .sink_runs import ADDED_UP, ORDERED
from .two_phase import DEATHS, Death
from .two_phase import PAIRS as OPEN

KEPT, GONE = "kept", "deleted once delivered"

DISAGREE = tr("your rule stopped the job: sink and checkpoint disagree")
STUCK = Words("{error}, and the job cannot go on")
INCOME = Words("income {income}, should be {should}{error}")
ERROR = Words(" ({error})")
ASKED = Words("called after the crash: {calls}")
NOT_ASKED = tr("nothing", "asked")
REDONE = Words("done after the crash: of batch {batch}, {ended}, and {again}")
ENDED = {
    "commit": tr("its transaction was committed"),
    "abort": tr("its transaction was aborted"),
    "": tr("nothing to end"),
}
AGAIN = {True: tr("its rows were written again"), False: tr("no row was written again")}
STARTS = tr("Spark starts, twice: in this notebook, and where it will be killed")
DELETED = tr("the source has deleted what it had delivered; starting the job again")


class Bench:
    """Two hours of real orders at a broker, and a job that is killed with -9.

    The notebook's own Spark starts once. The job that dies runs in a process of its own; the next
    such process gets ready while the restarted job is still at work.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._folder = tempfile.TemporaryDirectory(prefix="mqlab-", ignore_cleanup_errors=True)
        self._ground: Setup | None = None
        self._number = 0

    @property
    def expected(self) -> str:
        """The income of the two hours, computed without Spark."""
        return pounds(self._due)

    @property
    def _due(self) -> int:
        return sum(amounts_of_batches(HALF_HOUR))

    def kill(
        self,
        sink: str,
        point: str,
        rule: Rule | None = None,
        say: Say = print,
        show: Show | None = None,
    ) -> Cell:
        """Kill the job once with -9 at `point` of batch 3, start it again, and return what its
        output adds up to. `point` is the value of a `Point`; `rule` stands in for the sink's own
        `decide` or `resume`; `show`, where given, is called with the money every second while the
        job runs.

        Raises IncomeError, whose text says what to do next.
        """
        setup = self._prepare(say)
        if sink == BUILT_IN:
            topics.fetch()  # raises what is missing
        name = self._name()
        with self._watching(sink, crashes.target_of(setup, name), show):
            cell = crashes.run_cell(
                setup, sink, Point(point), hard=True, name=name, rule=rule, more=True, say=say
            )
        self._sum_up(cell, show)
        return cell

    def trial(
        self, sink: str, point: str, *, say: Say, show: Show | None = None
    ) -> tuple[str, str]:
        """The same, as the row of a table: the income and its error."""
        cell = self.kill(sink, point, say=say, show=show)
        return pounds(cell.tenths), cell.error or "ok"

    def _watching(
        self, sink: str, target: Target, show: Show | None
    ) -> AbstractContextManager[None]:
        """Show the money of this output while a job writes it."""

        def read() -> list[Row]:
            with topics.broker_errors(self.address):
                return job.read_output(sink, target)

        return nullcontext() if show is None else watch_money(read, self._due, show)

    def _sum_up(self, cell: Cell, show: Show | None) -> None:
        """The money when all is over."""
        if show is not None:
            show(add_up(cell.rows, self._due, over=True))

    def try_rule(self, rule: Rule, say: Say = print) -> None:
        """Put the rule into the sink and let it live through the three stories. A rule that is
        not written yet, or that raises, starts no Spark."""
        if trouble := _trouble(rule, [(progress, batch) for progress, batch, _ in PAIRS]):
            say(trouble)
            return
        for story in STORIES:
            say(f"— {story.title}")
            cell = self._live(story, rule, lambda line: None)
            say(f"  {DISAGREE if cell.stopped else self._income(cell)}")
            calls = ", ".join(map(_call, cell.asked)) or NOT_ASKED
            say(f"  {ASKED(calls=calls)}")

    def _live(self, story: Story, rule: Rule, say: Say) -> Cell:
        """Play a scenario of the lab on the real job, with the learner's `rule`, and return the
        table's cell. The crash is by kill -9, in the others an exception ends the job, and it is
        restarted without its checkpoint and with batches of an hour, or with its checkpoint and an
        empty output."""
        if story.play is crash:
            return self.kill("exactly-once", Point.COMMITTED, rule, say)
        setup = self._prepare(say)
        target = crashes.target_of(setup, self._name())
        job.create_topics(target)
        crashes.kill_soft(setup, target, "exactly-once", Point.COMMITTED, rule)
        # without the checkpoint the batches are numbered from 0 again, and the larger ones have
        # other rows under these numbers than those that were committed
        if story.play is lose_checkpoint:
            target = replace(target, checkpoint=target.checkpoint.with_name(f"{target.query}-new"))
            setup = replace(setup, plan=Plan(minutes=HOUR))
        else:
            new_target = crashes.target_of(setup, self._name())
            job.create_topics(new_target)
            target = replace(new_target, checkpoint=target.checkpoint)
        return crashes.restart(setup, target, "exactly-once", Point.COMMITTED, rule)

    def try_ends(
        self, source: str, sink: str, point: str, *, say: Say, show: Show | None = None
    ) -> tuple[str, str]:
        """Kill a job with another source or sink once, at `point` of batch 3, and start it again;
        returns its row of the table: the income, and its error.

        `source` "kept" is topic Order. With "deleted once delivered" the broker deletes
        (DeleteRecords) what the job had been handed when it was killed, as a queue would that
        forgets what it has delivered. `show`, where given, is called with the money while the job
        runs. Raises IncomeError.
        """
        if source == KEPT:
            return self.trial(sink, point, say=say, show=show)
        setup = self._fed(f"queue-{self._name()}", say)
        target = crashes.target_of(setup, self._name())
        job.create_topics(target)
        with self._watching(sink, target, show):
            crashes.kill_hard(setup, target, sink, Point(point), say=say)
            self._ready()
            handed_over = files.cut_of(target.checkpoint, KILLED).offsets  # the end, by partition
            topics.delete_before(self.address, setup.source, handed_over)
            say(str(DELETED))
            cell = crashes.restart(setup, target, sink, Point(point))
        self._sum_up(cell, show)
        error = cell.error or "ok"
        return pounds(cell.tenths), str(STUCK(error=error)) if cell.stopped else error

    def try_resume(self, rule: Rule, say: Say = print) -> None:
        """Put the learner's rule into the two-phase sink, kill the real job in the three ways of
        DEATHS, and `say` what the rule was asked and what came out. A rule that raises an error, or
        returns nothing for every pair of the lab, starts no Spark."""
        if reason := _trouble(rule, OPEN):
            say(reason)
            return
        for death in DEATHS:
            say(f"— {death.title}")
            cell = self._die(death, rule)
            for prepared, committed, answer in cell.asked:
                say(f"  {ASKED(calls=f'resume({prepared}, {committed}) = {answer}')}")
            if cell.stopped:
                say(f"  {DISAGREE}")
                continue
            say(f"  {_redone(cell)}")
            say(f"  {self._income(cell)}")

    def _income(self, cell: Cell) -> Text:
        error = ERROR(error=cell.error) if cell.error else NOTHING
        return INCOME(income=pounds(cell.tenths), should=self.expected, error=error)

    def _die(self, death: Death, rule: Rule) -> Cell:
        """Repeat a crash of the model on a real Spark job, and restart it with the learner's rule.
        The checkpoint must then have `death.checkpoint` as its last batch: a crash leaves the
        killed batch there or the one before; an older one is made by hand, after kill -9 and before
        the restart."""

        def quiet(line: str) -> None: ...

        if death.checkpoint >= KILLED - 1:
            point = Point.NEXT if death.checkpoint == KILLED else Point.COMMITTED
            return self.kill("two-phase", point, rule, quiet)
        setup = self._prepare(quiet)
        target = crashes.target_of(setup, self._name())
        job.create_topics(target)
        crashes.kill_hard(setup, target, "two-phase", Point.COMMITTED, rule, quiet)
        self._ready()
        set_back(target.checkpoint, death.checkpoint)
        return crashes.restart(setup, target, "two-phase", Point.COMMITTED, rule)

    def stop(self) -> None:
        """End the process that waits to be killed."""
        if self._ground is not None:
            self._ground.victims.stop()
        self._folder.cleanup()

    def _prepare(self, say: Say) -> Setup:
        if self._ground is None:
            say(str(STARTS))
            with suppress(IncomeError):  # without it only Spark's own sink cannot be tried
                topics.fetch()
            self._ground = self._feed("lunch")
            self._ready()
            session()
        return self._ground

    def _feed(self, run: str) -> Setup:
        folder = Path(self._folder.name)
        return crashes.prepare(self.address, lunch(), folder, KILLED, minutes=HALF_HOUR, run=run)

    def _fed(self, run: str, say: Say) -> Setup:
        """The same orders in a topic of their own, for a trial that spoils it."""
        return replace(self._feed(run), victims=self._prepare(say).victims)

    def _ready(self) -> None:
        """Have the next process that can be killed get ready."""
        assert self._ground is not None
        self._ground.victims.start()

    def _name(self) -> str:
        """A number that no earlier bench at this broker has used."""
        self._number += 1
        while topics.partitions_of(self.address, f"Income-{self._number}"):
            self._number += 1
        return str(self._number)


def set_back(checkpoint: Path, last: int) -> None:
    """Delete what the checkpoint has of the batches after `last`, as an operator does who wants
    them counted again."""
    for path in [*(checkpoint / "offsets").iterdir(), *(checkpoint / "commits").iterdir()]:
        number = path.name.removeprefix(".").removesuffix(".crc")
        if number.isdecimal() and int(number) > last:
            path.unlink()


def _call(call: tuple[int, int, str]) -> str:
    progress, batch, answer = call
    return f"decide({progress}, {batch}) = {answer}"


def _trouble(rule: Rule, pairs: Sequence[tuple[int, int]]) -> str:
    """Why a rule need not be tried; "" where it answers."""
    try:
        answers = [call_rule(rule, pair) for pair in pairs]
    except RuleError as raised:
        return str(raised)
    return "" if any(answers) else str(NOT_WRITTEN)


def _redone(cell: Cell) -> Text:
    """What the new process did for the batch that the old one died in."""
    answer = cell.asked[0][2] if cell.asked else ""
    again = AGAIN[KILLED in cell.redone]
    return REDONE(batch=KILLED, ended=ENDED.get(answer, answer), again=again)


# --- what two screens show of the same rows -----------------------------------------------------


def copies(rows: Collection[Row]) -> dict[str, int]:
    """Minute → how often its row is in topic Income."""
    return dict(sorted(Counter(row.minute for row in rows).items()))


def bestsellers(rows: Collection[Row], most: int = 5) -> list[str]:
    """The best-selling products, by pieces sold, where an order line counts as often as the row
    of its minute."""
    times, pieces = copies(rows), Counter[str]()
    for line in lunch():
        minute = line["InvoiceDate"][:16]
        pieces[line["Description"].strip()] += int(line["Quantity"]) * times.get(minute, 0)
    return [name for name, _ in pieces.most_common(most)]


# ---- The money of a trial while it goes on: what the job should add up, and what it has so far
#
# Only who knows the orders can say this. To the broker amounts are bytes, so its live picture has
# no money; the bench asks the topic (or the database) as accounting would, again and again.

Show = Callable[[Money], None]
EVERY_S = 1.0


def add_up(rows: Collection[Row], due_tenths: int, over: bool = False) -> Money:
    """A minute that is there again is counted twice. A minute that is not there is missing once the
    job is `over`."""
    seen = sum(row.tenths for row in rows)
    once = sum({row.minute: row.tenths for row in rows}.values())
    return Money(
        _pence(due_tenths),
        _pence(seen),
        ORDERED(),
        ADDED_UP(),
        missing=_pence(max(due_tenths - once, 0)) if over else 0,
        extra=_pence(max(seen - once, 0)),
    )


def _pence(tenths: int) -> int:
    return round(tenths / 10)


@contextmanager
def watch_money(read: Callable[[], Collection[Row]], due_tenths: int, show: Show) -> Iterator[None]:
    """While the block runs, show every second what the rows that `read` finds add up to, beside the
    sum that is due (`due_tenths`, of a penny). What cannot be read yet is not shown."""
    ended = Event()

    def show_again() -> None:
        while not ended.wait(EVERY_S):
            # where nothing is there yet
            with suppress(IncomeError, OSError, sqlite3.Error):
                show(add_up(read(), due_tenths))

    thread = Thread(target=show_again, name="money", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
