"""Order → income per minute, exactly once, over the Kafka protocol, with Spark.

    from mqlab.spark import income

    result = income("127.0.0.1:9092")        # the committed day of real orders
    print(result.table, result.total, result.reconciliation, sep="\\n")

Read the files in this order; each is one idea:

    orders.py    a line, its money, and what makes it a dead letter
    files.py     CSV and Parquet, read once; the forms of time that they come with
    topics.py    what is asked of a broker
    feeder.py    a file into topic Order, killed and started again without doubling
    cuts.py      where a batch ends, and why at the same minute everywhere
    source.py    topic Order as a Spark stream
    columns.py   the same rules for many lines at once
    pipeline.py  the query
    sinks.py     at least once; transactions; exactly once; two phases, in Flink's order; a database
                 in place of Kafka. The heart of it
    runs.py      a run's folder: its name, and who works in it
    kills.py     seven instants to die at
    truth.py     the same files read again, by other code: the answer without Spark, what was fed
                 and read, and where every line of the file is
    job.py       one run from file to checked result, and where its time goes
    crashes.py   three sinks x seven kill points
    victim.py    the process that is killed
    session.py   Spark, quiet and quick to start
    home.py      a path that stays, for what Spark keeps on this machine
    classes.py   Spark's classes, made ready once per machine
    warm.py      a first batch of nothing
    errors.py    what can go wrong that a person can fix
    flink/       the same job on Flink, and both killed at the same instants
    search/      the search of `mqlab/explore` on many machines

Importing this package needs neither Spark nor Java; the first call does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import IncomeError, need
from .files import DAY, YEAR, Orders
from .kills import Point

if TYPE_CHECKING:
    from .crashes import Table
    from .job import Result

__all__ = ["DAY", "YEAR", "IncomeError", "Point", "chaos", "income", "need"]


def income(address: str, orders: Orders = DAY, **options: Any) -> Result:
    """Feed the orders to the broker at `address` and compute their income per minute.

    `address` is `host:port`; `orders` a .csv or .parquet file, or lines (dicts of text, with the
    columns of such a file). The result has `.table` (text); `.rows` (minute, income in tenths of a
    penny, number of order lines; `.pounds` for a chart); `.total` and `.expected` (texts, the
    second computed without Spark); `.right`; `.account` (every line of the file, and what was
    rejected), `.reconciliation` (the lines that were fed, compared with those counted and those
    rejected), and `.dead` (the dead letters, each with its reason).
    Options: `checkpoint` (folder: keep the run, or go on with it), `sink` (`at-least-once`,
    `transactions`, `exactly-once`), `name` (of the run and its topics), `minutes_per_batch` or
    `orders_per_batch`, `master` (Spark's address), `say` (called with a line of progress).
    Raises IncomeError, whose text says what to do next.
    """
    need()
    from . import job

    return job.income(address, orders, **options)


def chaos(
    address: str,
    sinks: Sequence[str] | None = None,
    points: Sequence[Point] | None = None,
    **options: Any,
) -> Table:
    """Kill the job at each point under each sink, restart it, and compare with the truth.

    All three sinks and seven points unless others are named; print the result. Options: `orders`,
    `hard` (True: kill -9 of JVM and driver in a process of its own; False: the same outcome by an
    exception, much quicker), `batch` (which one dies, 3), `master`, `say`.
    Raises IncomeError, whose text says what to do next.
    """
    need()
    from . import crashes

    return crashes.chaos(address, sinks, points, **options)
