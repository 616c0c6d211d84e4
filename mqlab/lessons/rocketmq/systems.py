"""The order service of the lessons: RocketMQ with a listener of one's choice, and a real database.

    system order_service service=hasty        a listener by its name in `SERVICES`

In a search and in a scenario the database is a table on a node's disk
(`mqlab/rocketmq/application.py`), a value like all others, so that a million worlds can hold it.
With `file` each statement is executed on an SQLite file as well, and what a listener reads comes
from there:

    Play(replace(system("order_service"), file="orders.db"))

That is for a single run, which a learner plays or a schedule repeats; the file is still there when
the producer has died, and any tool can open it. The two agree, statement by statement:
`tests/lessons/rocketmq/test_sqlite.py` runs the same schedules on both and compares the rows.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from ...kernel import Disk, Effects, Event, NodeSpec, Reply, Request, Snapshot, World
from ...kernel.options import UNWRITTEN
from ...kernel.text import say_unknown
from ...rocketmq import RocketMQSystem, application
from ...rocketmq.application import Database, Db, OrderFile, Rule
from ...rocketmq.messages import Statement, StatementResponse
from ...rocketmq.states import LocalTransactionState
from .takings import count_money

COMMIT, ROLLBACK, UNKNOWN = LocalTransactionState
Memory = MutableMapping[str, Any]


# ---- listeners ---------------------------------------------------------------------------


def check_hastily(order_id: str, db: Db, memory: Memory) -> LocalTransactionState:
    """No row is taken for a rollback, though the row may still come."""
    return ROLLBACK if db.get(order_id) is None else COMMIT


def execute_with_memory(order: str, db: Db, memory: Memory) -> LocalTransactionState:
    """Notes in the process what became of the order, as the official example does."""
    db.put(order)
    memory[order] = COMMIT
    return COMMIT


def check_memory(order_id: str, db: Db, memory: Memory) -> LocalTransactionState:
    """Another process of the group, or the same one restarted, remembers nothing."""
    return LocalTransactionState(memory.get(order_id, ROLLBACK))


def execute_catching(order: str, db: Db, memory: Memory) -> LocalTransactionState:
    """As an article shows it: whatever is raised is a rollback, also after the row was written."""
    try:
        db.put(order)
    except Exception:
        return ROLLBACK
    return COMMIT


def execute_refusing(order: str, db: Db, memory: Memory) -> LocalTransactionState:
    """An invoice whose number begins with C is a cancellation, and no order."""
    return ROLLBACK if order.startswith("C") else application.execute(order, db, memory)


#: what becomes of every third transaction in the official example
EXAMPLE = (UNKNOWN, COMMIT, ROLLBACK)


def execute_example(order: str, db: Db, memory: Memory) -> LocalTransactionState:
    """TransactionListenerImpl of the published rocketmq-example (5.5.0): what becomes of an order
    is noted in a map, and the answer is left to the check. The original writes to no database;
    here an order that it means to commit gets its row."""
    number = memory.get("transactionIndex", 0)
    memory["transactionIndex"] = number + 1
    memory[order] = EXAMPLE[number % 3]
    if memory[order] == COMMIT:
        db.put(order)
    return UNKNOWN


def check_example(order_id: str, db: Db, memory: Memory) -> LocalTransactionState:
    """It looks into its map, and commits what is not there."""
    status: LocalTransactionState = memory.get(order_id, COMMIT)
    return status


#: (execute, check) by name
SERVICES: dict[str, tuple[Rule, Rule]] = {
    "right": (application.execute, application.check),
    "refusing": (execute_refusing, application.check),
    "hasty": (application.execute, check_hastily),
    "memory": (execute_with_memory, check_memory),
    "catching": (execute_catching, application.check),
    "example": (execute_example, check_example),
}


@dataclass(frozen=True)
class OrderServiceSystem(RocketMQSystem):
    """`service`: which listener it has, unless rules are given. `file`: an SQLite file that the
    database keeps its rows in; "": none."""

    service: str = "right"
    file: Annotated[str, UNWRITTEN] = ""

    name = "order_service"

    def __post_init__(self) -> None:
        if self.service not in SERVICES:
            raise ValueError(say_unknown("service", self.service, SERVICES))
        super().__post_init__()

    def nodes(self) -> tuple[NodeSpec, ...]:
        if not self.rules:
            named = tuple(zip(("execute", "check"), SERVICES[self.service], strict=True))
            return replace(self, rules=named).nodes()
        specs = super().nodes()
        if not self.file:
            return specs
        name = self.config.database
        kept = NodeSpec(name, ((name, partial(FileDatabase.open, self.file)),))
        return tuple(kept if spec.name == name else spec for spec in specs)

    def snapshot(self, world: World) -> Snapshot:
        return replace(super().snapshot(world), money=count_money(self.cluster, world))


# ---- the database as a file ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FileDatabase(Database):
    """The database's role over a file: it tells what it does like the other, and answers what the
    file says. It has a side effect, which no role of the engine may have, so nothing can search
    it."""

    path: str = ""

    def step(self, event: Event, disk: Disk) -> tuple[FileDatabase, Effects]:
        _, effects = Database.step(self, event, disk)
        if isinstance(event, Request) and isinstance(event.body, Statement):
            result = OrderFile(self.path).run(event.body)
            effects = (*effects[:-1], Reply(event.caller, StatementResponse(result)))
        return self, effects

    @classmethod
    def open(cls, path: str, disk: Disk, at_ms: int) -> tuple[FileDatabase, Effects]:
        return cls(path), ()
