"""The execution in which a rule of lab 11 goes wrong, played by the engine.

    system sink producers=job:income-job,again:income-job last=again calls=4 owed=12:00=5015,…
    run job: init
    run job: begin, send income-0 12:00=5015, commit
    kill job
    run again: init
    run again: begin, send income-0 12:30=1621, commit

One transaction per batch; a batch's record is a half hour and its income in pounds. *Money in =
money out*: a reader of committed data gets no half hour twice, and once the process `last` has
made its `calls` and nothing is open, it gets each half hour that is pending.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

from ...kafka.claims import reads
from ...kafka.messages import READ_COMMITTED
from ...kafka.picture.view import read_world
from ...kafka.states import COMPLETED
from ...kernel import Money, Property, Run, Snapshot, Text, Words, World
from ...kernel.options import FREE
from ...kernel.world import NodeState
from ...registry import run_scenario
from ..kafka.systems.ruled import AskingSystem

MONEY = Words("money in = money out: each half hour is counted once")
ORDERED = Words("ordered", context="money")
ADDED_UP = Words("added up by accounting")


@dataclass(frozen=True)
class SinkSystem(AskingSystem):
    """`asking` with the topic `income`, the light `money`, and the money itself. `owed`: the half
    hours with their income; `last`: the process after whose so many calls they must be there."""

    topic: str = "income"
    partitions: int = 1
    owed: Annotated[tuple[str, ...], FREE] = ()
    last: str = ""
    calls: int = 1

    name = "sink"

    @property
    def needs(self) -> tuple[str, ...]:
        return (f"{self.topic}-0",)

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        money = Property("money", MONEY(), self._balanced, "always", self._money_reads)
        return (money, *super()._properties)

    def snapshot(self, world: World) -> Snapshot:
        got = self._got(world)
        due = {find_half(record): find_pence(record) for record in (*got, *self.owed)}
        seen = sum(map(find_pence, got))
        money = Money(
            sum(due.values()),
            seen,
            ORDERED(),
            ADDED_UP(),
            missing=sum(due[half] for half in self._missing(world)),
            extra=seen - sum(due[half] for half in {*map(find_half, got)}),
        )
        return replace(super().snapshot(world), money=money)

    def _balanced(self, world: World) -> bool:
        got = [*map(find_half, self._got(world))]
        return len(got) == len(set(got)) and not self._missing(world)

    def _got(self, world: World) -> list[str]:
        """What accounting, a reader of committed data, is given."""
        shown = read_world(self.cluster, world).list_readable(f"{self.topic}-0", READ_COMMITTED)
        return [value for batch, _ in shown for value in batch.records]

    def _missing(self, world: World) -> set[str]:
        """The half hours that must be there by now, and are not."""
        if any(t.state not in COMPLETED for t in read_world(self.cluster, world).list_txns()):
            return set()
        if not self._is_over(world.nodes.get(self.last)):
            return set()
        return {*map(find_half, self.owed)} - {*map(find_half, self._got(world))}

    def _is_over(self, node: NodeState | None) -> bool:
        """Whether a process has made its last call."""
        return node is not None and node.app is not None and len(node.app.results) >= self.calls

    def _money_reads(self, name: str, node: NodeState) -> Hashable:
        return reads(self.cluster, name, node), name == self.last and self._is_over(node)


def find_half(record: str) -> str:
    """The 12:30 of `12:30=1621`."""
    return record.partition("=")[0]


def find_pence(record: str) -> int:
    """The 1621 of `12:30=1621`, in pence."""
    amount = record.partition("=")[2]
    return 100 * int(amount) if amount.isdecimal() else 0


def play_job(attempts: Sequence[Sequence[Sequence[str]]], owed: Sequence[str], why: Text) -> Run:
    """Run one or two processes of the job, the first killed before the second starts. An attempt is
    the transactions that one process commits, each a list of records; `owed`: the records that must
    be there at the end; `why`: the sentence above the scenario."""
    # a single attempt is that of the second process
    names = ("job", "again")[-len(attempts) :]
    # of the last process: init, then begin, the records and commit of each transaction
    call_count = 1 + sum(2 + len(records) for records in attempts[-1])
    lines = [
        f"# {why.en}",
        f"system sink producers={','.join(f'{name}:income-job' for name in names)} "
        f"owed={','.join(owed)} last={names[-1]} calls={call_count}",
    ]
    for name, batches in zip(names, attempts, strict=True):
        lines.append(f"run {name}: init")
        for records in batches:  # a line each: the next begins when this one is complete
            calls = ["begin", *(f"send income-0 {record}" for record in records), "commit"]
            lines.append(f"run {name}: {', '.join(calls)}")
        if name != names[-1]:
            lines.append(f"kill {name}")
    return run_scenario("\n".join(lines))
