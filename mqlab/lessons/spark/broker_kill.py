"""Lab 11: the broker is killed with -9 while the Spark job runs, and started again on its folder.

The job is not touched, and does not wait: its next call meets a broker that is not there. Its
clients lose their connections in the middle of a transaction, find the broker again, and go on:
the transaction's state, its records and the group's offsets are on the broker's disk. Each death is
at a chosen arrow of a chosen batch, where a random one would hardly ever be.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...spark import crashes, job, topics
from ...spark.job import Say
from ...spark.kills import NEVER, Kill, Point
from ...spark.session import session
from .decide import HALF_HOUR, KILLED, lunch

DEATHS = ((1, Point.HALF), (2, Point.COMMITTED), (3, Point.OUT))


@dataclass(frozen=True, slots=True)
class BrokerKill(Kill):
    """Nobody of the job dies; `strike` is called where the broker is to."""

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


def kill_broker(
    sink: str = "exactly-once",
    deaths: tuple[tuple[int, Point], ...] = DEATHS,
    say: Say = lambda line: None,
) -> Survived:
    """Count two hours of orders at a broker of its own that is killed so many times."""
    from ...serve.kafka import serve

    with (
        tempfile.TemporaryDirectory(prefix="mqlab-") as name,
        serve(data_dir=Path(name) / "broker") as broker,
        topics.broker_errors(broker.address),
    ):
        folder = Path(name)
        ground = crashes.prepare(broker.address, lunch(), folder, KILLED, None, HALF_HOUR, "lunch")
        target = crashes.target_of(ground, "lunch")
        job.create_topics(target)
        pids = [broker.pid]
        coming: list[threading.Thread] = []

        def come_back() -> None:
            broker.restart()
            pids.append(broker.pid)

        def strike(batch: int, point: Point) -> None:
            for thread in coming:
                thread.join()
            broker.kill()
            say(f"kill -9 of the broker, batch {batch}: {point}")
            coming.append(threading.Thread(target=come_back))
            coming[-1].start()

        kill = BrokerKill(deaths=deaths, strike=strike)
        try:
            job.run_income(session(), target, sink, ground.plan, kill)
        finally:
            for thread in coming:
                thread.join()
        rows = job.read_output(sink, target)
        error = job.error_of(rows, ground.true)
        return Survived(sum(row.tenths for row in rows), error, tuple(pids))
