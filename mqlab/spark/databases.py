"""Sinks that write into a database: exactly once does not need Kafka at both ends.

What it needs of a sink is one of two things:

- *rows and progress in one transaction*, whosever transaction it is (`WithProgress`), or
- *writing that may be repeated*: a row has a key, and the second copy takes the place of the
  first (`Overwriting`). That serves only where a repeated batch has the same rows.

A database whose transaction holds the rows alone (`RowsOnly`) doubles a batch as Kafka's does.
SQLite here: one file beside the checkpoint, a transaction per batch, and after `kill -9` the next
process that opens the file takes an unfinished one back (its rollback journal).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from .errors import IncomeError
from .sinks import Sink, Target, decide, disagreement
from .topics import Out

TABLES = """
create table if not exists income (minute text{key}, tenths integer, lines integer);
create table if not exists dead (place text{key}, value text);
create table if not exists progress (batch integer);
"""


class RowsOnly(Sink):
    """Each batch in one transaction of the database, without its number: perhaps twice."""

    transactional = True
    key = ""

    def begin(self, batch: int) -> bool:
        if self.client is None:
            # Spark calls a sink from whatever thread it likes, one call at a time.
            path = path_of(self.target)
            self.client = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self.client.executescript(TABLES.format(key=self.key))
        self.client.execute("begin immediate")
        return True

    def write(self, out: Sequence[Out]) -> None:
        for row in out:
            if row.dead:
                self._put("dead", row.key, row.value.decode())
            else:
                value = json.loads(row.value)
                self._put("income", value["minute"], value["income_tenths"], value["lines"])

    def _put(self, table: str, *values: object) -> None:
        marks = ", ".join("?" for _ in values)
        self.client.execute(f"insert or replace into {table} values ({marks})", values)

    def commit(self, batch: int) -> None:
        self.client.execute("commit")

    def close(self) -> None:
        """As the end of the process does: the file is free, what was not committed is gone."""
        if self.client is not None:
            self.client.close()


class Overwriting(RowsOnly):
    """The minute is the key: a row that comes again takes the place of the first."""

    key = " primary key"


class WithProgress(RowsOnly):
    """The batch's number is in the transaction, and is looked at before anything is written."""

    def begin(self, batch: int) -> bool:
        super().begin(batch)
        (done,) = self.client.execute("select coalesce(max(batch), -1) from progress").fetchone()
        answer = decide(done, batch)
        if answer != "write":
            self.client.execute("rollback")
        if answer == "stop":
            raise IncomeError(disagreement(self.target, batch, done))
        return answer == "write"

    def commit(self, batch: int) -> None:
        self.client.execute("insert into progress values (?)", (batch,))
        super().commit(batch)


DATABASES: dict[str, type[RowsOnly]] = {
    "a database": RowsOnly,
    "a database that overwrites": Overwriting,
    "a database with the progress": WithProgress,
}


def path_of(target: Target) -> Path:
    """Beside the checkpoint, so that both are kept or thrown away together."""
    return target.checkpoint.with_name(f"{target.topic}.db")


def read_rows(target: Target) -> list[tuple[str, int, int]]:
    """(minute, tenths, lines) of every row that is committed, by minute."""
    with sqlite3.connect(path_of(target)) as client:
        return client.execute("select minute, tenths, lines from income order by minute").fetchall()
