"""A search on other machines: the levels of `mqlab/explore` as jobs of Spark.

    from mqlab.explore import explore
    from mqlab.spark.search import on_spark

    explore(system, budget, further=on_spark("spark://…:7077", folder))

The files, in the order of what happens:

    levels.py  the driver: a job for each level; handlers and claims run here
    table.py   what the driver sends to every process, and what a process does with some worlds
    store.py   the worlds as Parquet files in a folder that all machines see
    walks.py   random schedules, spread
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...explore import Search
    from .levels import SparkLevels

BUCKETS = 4  # of keys, for each core


def on_spark(master: str, folder: Path, buckets: int = BUCKETS) -> Callable[[Search], SparkLevels]:
    """What goes on with a search on the Spark at address `master`. `folder`: empty, and the same
    for every machine. Raises FileExistsError, and IncomeError where Spark is missing."""
    from ..session import session
    from .levels import SparkLevels

    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty: a search with Spark begins in a new folder")
    context = session(master).sparkContext
    return lambda search: SparkLevels(search, context, folder, buckets)
