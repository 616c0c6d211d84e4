"""Barrier snapshots: a picture of a running computation, and a sink that commits by it.

Two sources read orders, an operator counts them, a sink writes them out. All of it may die and is
then started again from an earlier state; what was written by then must be neither lost nor written
twice. So the whole is photographed now and then, without being stopped (Chandy and Lamport, 1985;
Flink's variant by Carbone and others, 2015):

    1. The job manager triggers checkpoint n at the sources. Each notes its offset and sends a
       **barrier** n down its channel, between its records.
    2. An operator with several inputs **aligns**: an input whose barrier has come waits until all
       have. Then its state holds exactly what is before the barriers; it notes it, sends the
       barrier on, and goes on.
    3. The sink **pre-commits** at the barrier: what it has received is on disk, and hidden.
    4. When all tasks have acknowledged, the checkpoint is complete; the job manager writes that
       down and says so, and the sink **commits**.

What is durable: the completed checkpoints; the sink's `pending` and `committed` output. Everything
else is memory. When any task fails, all are deployed again from the latest complete checkpoint,
under a new attempt number; sources go back to their noted offsets, and the sink commits what
belongs to that checkpoint (recoverAndCommit) and throws away what is newer (recoverAndAbort).

It is two-phase commit: the acknowledgement is the vote, the complete checkpoint the decision. What
it does not give: output is visible only after a checkpoint, some time after it was computed; and
if the store gives up a pending transaction before it is committed (`expires`: Kafka's transaction
timeout), output of a complete checkpoint is lost.

Left out: unaligned checkpoints, savepoints, several operators in a row, state larger than a
number. A failure here starts all tasks again; Flink may restart a region.

Read on: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 1985; Carbone and others,
"Lightweight Asynchronous Snapshots for Distributed Dataflows", 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

from ...kernel import NodeSpec, tr
from ...kernel.claims import Claim
from ...kernel.options import Most, fill
from ...kernel.text import BadValue
from ..model import Model
from ..picture import read_model
from .claims import KEPT, SAFEGUARDS, UNKEPT, arrives, can_commit
from .picture import draw as draw_world
from .roles import JM, SINK, SUM, JobConfig, JobManager, Operator, Sink, Source


@dataclass(frozen=True)
class Barriers(Model):
    """A small streaming job on nodes of its own.

        system barriers sources=s1,s2 rows=2

    `sources`: what the operator reads; each has `rows` records. `expires`: 1 where the store gives
    up output that stays pending too long.
    """

    sources: tuple[str, ...] = ("s1", "s2")
    rows: Annotated[int, Most(20, tr("a picture has room for 20"))] = 2
    expires: Annotated[int, Most(1, tr("expected 0 or 1"))] = 0

    name = "barriers"
    title = tr("Barrier snapshots")
    guards = SAFEGUARDS
    kept = (*KEPT, arrives, can_commit)
    unkept = UNKEPT
    sentences = read_model(__file__)
    draw = draw_world

    @cached_property
    def config(self) -> JobConfig:
        return fill(JobConfig, self, on=super().config.on, expires=bool(self.expires))

    def list_rows(self, source: str) -> tuple[str, ...]:
        """The records of a source: a1, a2 … of the first, b1, b2 … of the second."""
        letter = chr(ord("a") + self.sources.index(source))
        return tuple(f"{letter}{n}" for n in range(1, self.rows + 1))

    def nodes(self) -> tuple[NodeSpec, ...]:
        roles: dict[str, Any] = {
            JM: partial(JobManager.recover, self.config),
            **{n: partial(Source.recover, self.config, n, self.list_rows(n)) for n in self.sources},
            SUM: partial(Operator.recover, self.config),
            SINK: partial(Sink.recover, self.config),
        }
        return tuple(NodeSpec(name, ((name, recover),)) for name, recover in roles.items())

    def call(self, words: tuple[str, ...]) -> Any:
        raise BadValue(
            "{!r} is not a call; expected none: this job runs by itself", " ".join(words)
        )

    def chosen(self) -> tuple[Claim[Any], ...]:
        """A store that gives up may lose what is complete: ask for that claim by its name."""
        return (*KEPT, can_commit) if self.expires else self.kept
