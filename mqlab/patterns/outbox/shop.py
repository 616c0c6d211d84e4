"""The shop: a local transaction writes an order and the row of its message.

    order asked for → number taken → committed: `ordered #number` (one write) → answered

A database gives a row its number when the row is inserted, and lets others see it when the
transaction commits. So a transaction that takes its time (`slow`) may commit behind one that took a
later number: numbers are no order of commits. A process that is killed before the commit has
written nothing, as a database rolls back what was not committed.
"""

from __future__ import annotations

from ...kernel import (
    FAILED,
    Caller,
    Config,
    Disk,
    Effects,
    Event,
    Fired,
    Quiet,
    Reply,
    Request,
    SetTimer,
    frozen,
    replace,
)
from ..client import Answer
from ..records import read_latest
from .messages import PlaceOrder
from .table import LOG, Table, commit, list_rows

ORDERED = "ordered"
COMMIT, WORK_MS = "commit", 1_000


@frozen
class Running:
    """A local transaction that has its row's number and has not committed."""

    txn: str
    number: int
    caller: Caller


@frozen
class Shop(Quiet):
    """`slow`: orders whose local transaction takes time; `following`: the next row's number."""

    config: Config
    slow: tuple[str, ...] = ()
    following: int = 0
    running: tuple[Running, ...] = ()
    table: Table = Table()

    @staticmethod
    def recover(
        config: Config, slow: tuple[str, ...], disk: Disk, at_ms: int
    ) -> tuple[Shop, Effects]:
        highest = max((row.number for row in list_rows(disk, unsent=False)), default=-1)
        return Shop(config, slow, highest + 1), ()

    def step(self, event: Event, disk: Disk) -> tuple[Shop, Effects]:
        match event:
            case Request(caller=caller, body=PlaceOrder(txn)):
                if txn in read_latest(disk, LOG) or any(txn == now.txn for now in self.running):
                    return self, (Reply(caller, Answer(txn, FAILED, "this order is known")),)
                begun = Running(txn, self.following, caller)
                after = replace(self, following=self.following + 1)
                if txn not in self.slow:
                    return after._commit(begun, disk)
                waits = SetTimer(f"{COMMIT} {txn}", WORK_MS)
                return replace(after, running=(*self.running, begun)), (waits,)
            case Fired(timer=timer):
                done = next(now for now in self.running if timer == f"{COMMIT} {now.txn}")
                others = tuple(now for now in self.running if now != done)
                return replace(self, running=others)._commit(done, disk)
            case Request(caller=caller, body=body):
                table, effects = self.table.serve(caller, body, disk)
                return replace(self, table=table), effects
        return self, ()

    def _commit(self, done: Running, disk: Disk) -> tuple[Shop, Effects]:
        together = "row_with_message" in self.config.on
        written = commit(disk, ORDERED, done.txn, done.number, together)
        table, replies = self.table.wake(written)
        return replace(self, table=table), (
            *written,
            Reply(done.caller, Answer(done.txn)),
            *replies,
        )
