"""Two SQLite files as resource managers, and a coordinator that is killed at any effect.

An order needs a row in `orders.db` and a piece less in `stock.db`. Each file is a database with
real transactions, and knows nothing of the other. What XA asks of a database, that it can
promise to commit, is done here with what every database has: `prepare` writes into the database
itself, in one local transaction, which order it has promised, and the row of that promise is the
lock.

    python -m mqlab.lessons.patterns.two_files FOLDER 3 prepare:orders prepare:stock …

does the first three effects in a process of its own, which then kills itself with SIGKILL. Each
effect is a committed transaction of one file, so a kill can only fall between two of them.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ...kernel import tr

TABLES = """
    CREATE TABLE IF NOT EXISTS stock (item TEXT PRIMARY KEY, pieces INTEGER CHECK (pieces >= 0));
    CREATE TABLE IF NOT EXISTS orders (number TEXT PRIMARY KEY, pence INTEGER);
    CREATE TABLE IF NOT EXISTS prepared (number TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS decisions (number TEXT PRIMARY KEY);
"""
CHANGES = {
    "orders": "INSERT INTO orders VALUES ('580538', 31678)",
    "stock": "UPDATE stock SET pieces = pieces - 1 WHERE item = 'night light'",
}
ORDER = "580538"
PIECES = 48
#: the effects of the coordinator in both programs
ONE_PHASE = ("write:orders", "write:stock")
TWO_PHASES = ("prepare:orders", "prepare:stock", "decide", "commit:orders", "commit:stock")


class TwoFiles:
    """The two databases in a folder, and the coordinator's own file beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in (*CHANGES, "coordinator"):
            with closing(self._open(name)) as db:
                db.executescript(TABLES)
                if name == "stock":
                    db.execute("INSERT OR IGNORE INTO stock VALUES ('night light', ?)", (PIECES,))

    def _open(self, name: str) -> sqlite3.Connection:
        db = sqlite3.connect(self.folder / f"{name}.db", isolation_level=None)
        # What was handed to the operating system survives a kill; only a power cut needs more.
        db.execute("PRAGMA synchronous = OFF")
        return db

    def _change(self, name: str, *statements: str) -> None:
        """Several statements in one local transaction of one file."""
        with closing(self._open(name)) as db:
            db.execute("BEGIN IMMEDIATE")
            for statement in statements:
                db.execute(statement)
            db.execute("COMMIT")

    def _holds(self, name: str, table: str) -> bool:
        with closing(self._open(name)) as db:
            return bool(db.execute(f"SELECT 1 FROM {table} WHERE number = ?", (ORDER,)).fetchall())

    # -- effects of the coordinator ----------------------------------------------------------

    def do(self, effect: str) -> None:
        """One effect: `write:orders`, `prepare:stock`, `decide`, `commit:orders` …"""
        what, _, name = effect.partition(":")
        if what == "write":
            self._change(name, CHANGES[name])
        elif what == "prepare":
            self._change(name, f"INSERT INTO prepared VALUES ('{ORDER}')")
        elif what == "decide":
            self._change("coordinator", f"INSERT INTO decisions VALUES ('{ORDER}')")
        elif what == "commit" and self._holds(name, "prepared"):
            self._change(name, CHANGES[name], f"DELETE FROM prepared WHERE number = '{ORDER}'")

    def recover(self) -> None:
        """What a coordinator does that is started again: it reads its own file, and tells those who
        has promised. Where nothing is written nothing was decided: *presumed abort*."""
        decided = self._holds("coordinator", "decisions")
        for name in CHANGES:
            if decided:
                self.do(f"commit:{name}")
            else:
                self._change(name, f"DELETE FROM prepared WHERE number = '{ORDER}'")

    # -- what one sees -----------------------------------------------------------------------

    def is_done(self, name: str) -> bool:
        """Whether this file has its half of the order."""
        if name == "orders":
            return self._holds(name, "orders")
        with closing(self._open(name)) as db:
            ((pieces,),) = db.execute("SELECT pieces FROM stock").fetchall()
        return bool(pieces == PIECES - 1)

    def is_waiting(self, name: str) -> bool:
        """Whether it has promised, and does not know what was decided."""
        return self._holds(name, "prepared")

    def describe(self) -> str:
        """`orders done, stock waits` …"""
        states = []
        for name in CHANGES:
            done, waits = self.is_done(name), self.is_waiting(name)
            state = tr("done", "file") if done else tr("waits", "file") if waits else "–"
            states.append(f"{name} {state}")
        return ", ".join(states)


def kill_after(folder: Path, effects: Sequence[str], count: int) -> TwoFiles:
    """The files after a coordinator in another process has done so many effects and was killed
    with -9; with all of them done it lives. In a browser there are no processes: the effects are
    done in this one, which keeps nothing of them but the files."""
    files = TwoFiles(folder)
    if sys.platform == "emscripten":
        for effect in effects[:count]:
            files.do(effect)
        return files
    command = [sys.executable, "-m", __name__, str(folder), str(count), *effects]
    ended = subprocess.run(command, check=False).returncode
    assert ended == (0 if count == len(effects) else -signal.SIGKILL), ended
    return files


def main(folder: str, count: str, *effects: str) -> None:
    files = TwoFiles(Path(folder))
    for effect in effects[: int(count)]:
        files.do(effect)
    if int(count) < len(effects):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
