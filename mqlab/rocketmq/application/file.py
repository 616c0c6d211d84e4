"""The order service's table in an SQLite file, for a process that is really killed.

Inside the engine the table is a value on the database's disk (`database.py`). A listener that was
written for it runs unchanged against a file: `execute(order, Db(OrderFile(path).run), memory)`.
No role of the engine uses this; a lesson's database may (`mqlab/lessons/rocketmq/systems.py`), and
tests run the same stories and schedules on both and compare the rows.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ..messages import Statement

TABLE = "CREATE TABLE IF NOT EXISTS orders (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
COMMANDS = {
    "get": "SELECT value FROM orders WHERE key = :key",
    "put": "INSERT OR REPLACE INTO orders VALUES (:key, :value)",
    "insert": "INSERT OR IGNORE INTO orders VALUES (:key, :value)",
    "delete": "DELETE FROM orders WHERE key = :key",
}


class OrderFile:
    """A table in a file. Every statement has a connection and a commit of its own, so that nothing
    is left open when its process dies."""

    def __init__(self, path: Path | str) -> None:
        self._path = str(path)
        with closing(sqlite3.connect(self._path)) as connection:
            connection.execute(TABLE)
            connection.commit()

    def run(self, statement: Statement) -> str | None:
        """Run a statement and commit it; the value that was read, if one was."""
        names = {"key": statement.key, "value": statement.value}
        with closing(sqlite3.connect(self._path)) as connection:
            row = connection.execute(COMMANDS[statement.verb], names).fetchone()
            if statement.verb == "insert":
                row = connection.execute(COMMANDS["get"], names).fetchone()
            connection.commit()
        return None if row is None else str(row[0])

    def read_rows(self) -> dict[str, str]:
        """All rows, by key."""
        with closing(sqlite3.connect(self._path)) as connection:
            return dict(connection.execute("SELECT key, value FROM orders ORDER BY key"))
