"""An order service whose process dies at each of its steps, over a real SQLite file.

    for death in die_everywhere(listener, "580538", folder): …

The process is killed before each choice of an undisturbed run. Its twin, another process of the
same producer group, is then asked by the broker, until nobody asks any more. The same schedule
runs twice: with the database as a value, as the explorer has it, and as a file that any tool can
open. Both must hold the same rows, or what is found in the one would not be true of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...kernel import Run
from ...rocketmq.application.database import REFUSED, TABLE
from ...rocketmq.application.file import OrderFile
from ...rocketmq.broker.checking import CHECK
from ...rocketmq.check.ops import OP_BATCH
from ...rocketmq.picture.view import read_world
from ..rehearsal import go, plain, timers
from ..steps import is_kill
from .systems import OrderServiceSystem

SENDER = "app"
#: rounds of the check after a death; the systems here ask no more often
ROUNDS = 4


@dataclass(frozen=True)
class Death:
    """`after`: the last thing that was done before the process died, "" for nothing; `rows`: what
    the file holds in the end; `delivered`: the orders whose message consumers may read."""

    after: str
    run: Run
    rows: dict[str, str]
    delivered: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether each order in the file has its message, and each message its order."""
        orders = {order for order, value in self.rows.items() if value != REFUSED}
        return orders == set(self.delivered)


def die_everywhere(system: OrderServiceSystem, folder: Path) -> Iterator[Death]:
    """Every death of the sender, and last the run in which nobody dies."""
    choices = plain(system).choices
    for at in range(len(choices) + 1):
        kill = [f"kill {SENDER}"] if at < len(choices) else []
        yield _die(system, [*choices[:at], *kill], folder / f"{at}.db")


def _die(system: OrderServiceSystem, choices: list[str], path: Path) -> Death:
    run = _run(system, choices)
    _ask_to_the_end(run)
    file = run_on_file(system, run.choices, path)
    table = dict(run.world.disk(system.config.database).table(TABLE).items())
    if file != table:
        raise RuntimeError(f"the file holds {file}, the table {table}, after {run.choices}")
    seen = read_world(system.cluster, run.world)
    delivered = {txn.order for txn in seen.book.txns.values() if txn.delivered}
    return Death(_last(run), run, file, tuple(sorted(delivered)))


def run_on_file(system: OrderServiceSystem, choices: Iterable[str], path: Path) -> dict[str, str]:
    """The rows that a schedule leaves in an SQLite file."""
    _run(replace(system, file=str(path)), choices)
    return OrderFile(path).read_rows()


def _run(system: OrderServiceSystem, choices: Iterable[str]) -> Run:
    run = Run(system)
    for choice in choices:
        run.do(choice)
    return run


def _ask_to_the_end(run: Run) -> None:
    """What is under way arrives; then the broker writes its op records and asks, round by round."""
    go(run)
    for _ in range(ROUNDS):
        for wanted in (OP_BATCH, CHECK):
            for node, timer in timers(run):
                if timer == wanted:
                    run.do(f"fire {node} {timer}")
            go(run)


def _last(run: Run) -> str:
    """What the run had come to when the process died, in the words of its narration."""
    dead = (f.index for f in run.trace if is_kill(f) and f.node == SENDER)
    killed = next(dead, len(run.trace) + 1)
    before = [fact.line() for fact in run.trace if fact.index < killed]
    return before[-1] if before else ""
