"""The run in which a rule of lab 11 goes wrong, played by the engine.

    system sink producers=job:income-job,again:income-job owed=12:00,12:30 last=again calls=4
    run job: init
    run job: begin, send income-0 12:00=5015, commit
    kill job
    run again: init
    run again: begin, send income-0 12:30=1621, commit

One transaction per batch; a batch's record is the half hour whose income it holds. *Money in =
money out*: a reader of committed data gets no half hour twice, and once the process `last` has
made its `calls` and nothing is open, it gets each half hour that is owed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...kafka.claims.invariants import reads
from ...kafka.messages import READ_COMMITTED
from ...kafka.picture.view import read_world
from ...kafka.states import COMPLETED
from ...kernel import Property, Run, Words, World
from ...kernel.world import NodeState
from ..kafka.systems.asking import AskingSystem
from ..registry import run_scenario

MONEY = Words(
    "money in = money out: each half hour is counted once", "进账 = 出账：每半小时只计入一次"
)


@dataclass(frozen=True)
class SinkSystem(AskingSystem):
    """`asking` with the topic `income` and the light `money`. `owed`: the half hours; `last`: the
    process after whose so many calls they must be there."""

    topic: str = "income"
    partitions: int = 1
    owed: tuple[str, ...] = ()
    last: str = ""
    calls: int = 1

    name = "sink"

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        money = Property("money", MONEY(), self._balanced, "always", self._money_reads)
        return (money, *super()._properties)

    def _balanced(self, world: World) -> bool:
        seen = read_world(self.cluster, world)
        got = [
            value.partition("=")[0]
            for batch, _ in seen.list_readable(f"{self.topic}-0", READ_COMMITTED)
            for value in batch.records
        ]
        if len(got) > len(set(got)):
            return False
        if any(txn.state not in COMPLETED for txn in seen.list_txns()):
            return True
        return not self._is_over(world.nodes.get(self.last)) or {*self.owed} <= {*got}

    def _is_over(self, node: NodeState | None) -> bool:
        """Whether a process has made its last call."""
        return node is not None and node.app is not None and len(node.app.results) >= self.calls

    def _money_reads(self, name: str, node: NodeState) -> Hashable:
        return reads(self.cluster, name, node), name == self.last and self._is_over(node)


def play_lives(lives: Sequence[Sequence[Sequence[str]]], owed: Sequence[str], why: str) -> Run:
    """One process after the other, each killed before the next starts. A life is the transactions
    that it commits, each with its records."""
    names = ("job", "again")[-len(lives) :]
    made = 1 + sum(2 + len(records) for records in lives[-1])
    lines = [
        f"# {why}",
        f"system sink producers={','.join(f'{name}:income-job' for name in names)} "
        f"owed={','.join(owed)} last={names[-1]} calls={made}",
    ]
    for name, batches in zip(names, lives, strict=True):
        lines.append(f"run {name}: init")
        for records in batches:  # a line each: the next begins when this one is complete
            calls = ["begin", *(f"send income-0 {record}" for record in records), "commit"]
            lines.append(f"run {name}: {', '.join(calls)}")
        if name != names[-1]:
            lines.append(f"kill {name}")
    return run_scenario("\n".join(lines))
