"""What lab 11 shows of isolation levels."""

from __future__ import annotations

from ...registry.tables import columns
from ...spark.pipeline import read_first


def tabulate_levels(address: str) -> str:
    """As a table: what a consumer of librdkafka gets first of an aborted and a committed record, by
    the isolation.level that it sets."""
    rows = [(level or "nothing", first) for level, first in read_first(address).items()]
    return columns([("isolation.level is set to", "the first record is"), *rows])
