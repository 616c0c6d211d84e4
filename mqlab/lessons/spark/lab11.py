"""Lab 11, order → income: what its cells import."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from mqlab_widgets import Player

from ...kernel import Trace, Words, tr
from ...registry import run_scenario
from ...registry.tables import columns, in_words
from ...serve.kafka import serve as serve
from ...spark import Point as Point
from ...spark import crashes, job, topics
from ...spark.flink.statements import RECORDING, Table
from ...spark.job import Say
from ...spark.kills import NEVER, Kill
from ...spark.orders import pounds as pounds
from ...spark.pipeline import read_first
from ...spark.session import session
from ...spark.topics import consumer as consumer
from ...spark.topics import fetch_offsets as fetch_offsets
from .decide import COMMIT_RULES as COMMIT_RULES
from .decide import DECIDE as DECIDE
from .decide import HALF_HOUR as HALF_HOUR
from .decide import KILLED as KILLED
from .decide import MOMENTS as MOMENTS
from .decide import STEPS as STEPS
from .decide import amounts_of_batches as amounts_of_batches
from .decide import compare_outputs as compare_outputs
from .decide import list_owed, lunch, records_of
from .decide import play_both as play_both
from .kill_bench import GONE as GONE
from .kill_bench import KEPT as KEPT
from .kill_bench import Bench as Bench
from .kill_bench import bestsellers as bestsellers
from .kill_bench import copies as copies
from .two_phase import RESUME as RESUME

# ---- Lab 11: the broker is killed with -9 while the Spark job runs, and started again on its
# folder
#
# The job is not touched, and does not wait: its next call meets a broker that is not there. Its
# clients lose their connections in the middle of a transaction, find the broker again, and go on:
# the transaction's state, its records and the group's offsets are on the broker's disk. Each death
# is at a chosen arrow of a chosen batch, where a random one would hardly ever be.

DEATHS = ((1, Point.HALF), (2, Point.COMMITTED), (3, Point.OUT))


@dataclass(frozen=True, slots=True)
class BrokerKill(Kill):
    """No process of the job dies; `strike` is called where the broker is to die."""

    deaths: tuple[tuple[int, Point], ...] = ()
    strike: Callable[[int, Point], None] = lambda batch, point: None

    def at(self, point: Point, batch: int) -> None:
        if (batch, point) in self.deaths:
            self.strike(batch, point)

    def to_json(self) -> str:
        """The source, in a process of its own, has nothing to do with it."""
        return NEVER.to_json()


@dataclass(frozen=True, slots=True)
class Survived:
    """What came out: `tenths` of a penny, the `error` ("" where each minute is there once and
    exact), and the broker's process ids, one after the other."""

    tenths: int
    error: str
    pids: tuple[int, ...]


BROKER_KILLED = Words("kill -9 of the broker, batch {batch}: {point}")


def kill_broker(
    sink: str = "exactly-once",
    deaths: tuple[tuple[int, Point], ...] = DEATHS,
    say: Say = lambda line: None,
) -> Survived:
    """Run the income job over two hours of orders at a broker of its own that is killed at each of
    `deaths` (batch, point) and started again. `sink`: how the job writes. Returns the income, its
    error and the broker's process ids."""
    with (
        tempfile.TemporaryDirectory(prefix="mqlab-") as name,
        serve(data_dir=Path(name) / "broker") as broker,
        topics.broker_errors(broker.address),
    ):
        folder = Path(name)
        # KILLED is not used: `deaths` say where the broker is killed. None: the default master;
        # then the minutes of a batch, and the name of the topics
        setup = crashes.prepare(broker.address, lunch(), folder, KILLED, None, HALF_HOUR, "lunch")
        target = crashes.target_of(setup, "lunch")
        job.create_topics(target)
        pids = [broker.pid]
        restarts: list[threading.Thread] = []

        def start_again() -> None:
            broker.restart()
            pids.append(broker.pid)

        # The job goes on beside the restart, which must be over before the next kill.
        def kill_once(batch: int, point: Point) -> None:
            for thread in restarts:
                thread.join()
            broker.kill()
            say(str(BROKER_KILLED(batch=batch, point=in_words(point))))
            restarts.append(threading.Thread(target=start_again))
            restarts[-1].start()

        kill = BrokerKill(deaths=deaths, strike=kill_once)
        try:
            job.run_income(session(), target, sink, setup.plan, kill)
        finally:
            for thread in restarts:
                thread.join()
        rows = job.read_output(sink, target)
        error = job.error_of(rows, setup.true)
        return Survived(sum(row.tenths for row in rows), error, tuple(pids))


# ---- Spark and Flink under kill -9, as really executed: for lab 11, which needs no Flink
#
# print(recorded_kills())


def recorded_kills(path: Path = RECORDING) -> str:
    """The table; where there is none to be read, a line that says how to make one."""
    try:
        return str(Table.from_json(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        return (
            f"there is no recorded table ({why}); `mqlab income flink --record` makes "
            "one (PyFlink, Java 17 and Maven)"
        )


# ---- What lab 11 shows of isolation levels -------------------------------------------


def tabulate_levels(address: str) -> str:
    """As a table: what a consumer of librdkafka gets first of an aborted and a committed record, by
    the isolation.level that it sets."""
    rows = [(level or "nothing", first) for level, first in read_first(address).items()]
    return columns([("isolation.level is set to", "the first record is"), *rows])


# ---- Lab 11, the quick route: one batch, a kill, and what accounting adds up, played by the engine
#
# The job dies in the batch 13:00, at one of the `KILL_MOMENTS`, and the restarted job is handed
# every batch that `commits` lacks. Three of the sinks of `mqlab.spark.sinks` differ in what they do
# with it. Records are half hours with their income, so the light *money in = money out* is that of
# sink_runs.py. `Bench.kill` (kill_bench.py) kills the real job; a test compares these executions
# with `mqlab.spark.crashes.WRONG`, as another does with the real kills.

PLAIN, TRANSACTION, NUMBERED = "no transaction", "a transaction", "a transaction with its number"
KILL_SINKS = (PLAIN, TRANSACTION, NUMBERED)
OUT, COMMITTED, NOTED = (
    "all rows sent, before the sink's commit",
    "after the sink's commit, before commits/3",
    "after commits/3",
)
KILL_MOMENTS = (OUT, COMMITTED, NOTED)
TITLE = Words("{sink}; killed: {killed}")


def play_sink(sink: str = TRANSACTION, killed: str = COMMITTED) -> Player:
    """A job with one of the KILL_SINKS, `killed` at one of the KILL_MOMENTS of batch 3 and started
    again; it opens at the kill."""
    trace = trace_of(sink, killed)
    return Player(trace, step=next(fact.index for fact in trace if fact.kind == "kill"))


def trace_of(sink: str, killed: str) -> Trace:
    """The trace of a job that is killed while it writes a batch, and started again: what
    `play_sink` shows. `sink`: how it writes, PLAIN, TRANSACTION or NUMBERED; `killed`: the moment
    of the kill, OUT, COMMITTED or NOTED."""
    (batch,), (following,) = records_of(HALF_HOUR, KILLED), records_of(HALF_HOUR, KILLED + 1)
    # Spark hands over what its folder `commits` lacks: the killed batch again, unless that is
    # noted; only a sink that has kept its number skips it then.
    is_skipped = killed == NOTED or (killed == COMMITTED and sink == NUMBERED)
    todo = [following] if is_skipped else [batch, following]
    # Calls of the second process, as `_write` has them: two a batch, or init and three a batch.
    first_call, calls = ("", 2 * len(todo)) if sink == PLAIN else ("init, ", 1 + 3 * len(todo))
    kind = "plain" if sink == PLAIN else "income-job"
    # `owed`: the income of each half hour that must be there when `last` has made its calls
    lines = [
        f"system sink producers=job:{kind},again:{kind} owed={','.join(list_owed(KILLED))} "
        f"last=again calls={calls}",
        f"run job: {first_call}{_write(sink, batch, ended=killed != OUT)}",
        "kill job",
    ]
    if first_call:
        lines.append("run again: init")
    if first_call and killed == OUT:
        lines.append("fire again")  # it asks again, once the old transaction is aborted
    lines += [f"run again: {_write(sink, record)}" for record in todo]
    title = TITLE(sink=tr(sink, "cell"), killed=tr(killed, "cell"))
    return replace(run_scenario("\n".join(lines)).trace, title=title)


def _write(sink: str, record: str, ended: bool = True) -> str:
    """The calls with which a sink writes a batch."""
    if sink == PLAIN:
        return f"send income-0 {record}, flush"
    return f"begin, send income-0 {record}, {'commit' if ended else 'flush'}"
