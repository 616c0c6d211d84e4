"""Micro-batches: a running computation cut into batches, and a sink that knows how far it is.

The same job as in `barriers/`, done as Spark's Structured Streaming does it. Orders arrive in
the partitions of a topic; the query reads them in **batches** and writes each batch into a store
with transactions. Any process may die and is then started again; an order must neither be lost
nor be written twice. Nothing flows between the batches, so there is nothing to photograph. Two
logs in the checkpoint folder say how far the query is:

    1. The driver asks each partition how far it goes and writes `offsets/N`: what batch N
       consists of. From now on the batch is the same, however often it is run.
    2. It reads these records and computes. (Here the result is the records themselves.)
    3. The sink: it **fences** (InitProducerId), reads the **progress record** of the store,
       decides, writes the rows into a transaction and commits. The progress record N is part of
       that very transaction.
    4. The driver writes `commits/N`: batch N is done. The next batch begins.

What is durable: the topic; `offsets/N` and `commits/N`; the store. After any failure the driver
looks at its two logs. A batch with `offsets/N` and without `commits/N` is in doubt and is run
again, with the same records. Whether its rows are in the store already, only the store knows.

So the decision is the store's own commit, with the progress record in it, and `commits/N` is no
more than a note; with barriers it is the other way round: the checkpoint decides, and the commit
follows. What this does not give: for a moment the output holds a batch that the checkpoint does
not know as done (`known at once`).

Left out: executors (the driver reads and computes itself, as in local mode), state and
watermarks, several queries, a lost checkpoint folder, a store that gives up an open transaction:
its batch is in doubt, and is run again.

Read on: Armbrust and others, "Structured Streaming: A Declarative API for Real-Time Applications
in Apache Spark", SIGMOD 2018; Spark: `MicroBatchExecution`, `OffsetSeqLog`, `CommitLog`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

from ...kernel import NodeSpec, tr
from ...kernel.options import Most
from ...kernel.text import BadValue
from ..model import Model
from ..picture import read_model
from .claims import KEPT, SAFEGUARDS, UNKEPT
from .picture import draw as draw_world
from .roles import DRIVER, SINK, Driver, Partition, QueryConfig, Store


@dataclass(frozen=True)
class MicroBatches(Model):
    """A small streaming query on nodes of its own.

        system micro_batches sources=s1,s2 rows=2

    `sources`: the partitions of topic Order; in each so many `rows` will arrive.
    """

    sources: tuple[str, ...] = ("s1", "s2")
    rows: Annotated[int, Most(20, tr("a picture has room for 20"))] = 2

    name = "micro_batches"
    retrying = ("retry",)
    title = tr("Micro-batches")
    guards = SAFEGUARDS
    kept = KEPT
    unkept = UNKEPT
    sentences = read_model(__file__)
    draw = draw_world

    @cached_property
    def config(self) -> QueryConfig:
        return QueryConfig(on=frozenset(self.guards) - {*self.off}, sources=self.sources)

    def list_rows(self, source: str) -> tuple[str, ...]:
        """The orders of a partition: a1, a2 … of the first, b1, b2 … of the second."""
        letter = chr(ord("a") + self.sources.index(source))
        return tuple(f"{letter}{n}" for n in range(1, self.rows + 1))

    def nodes(self) -> tuple[NodeSpec, ...]:
        roles: dict[str, Any] = {
            DRIVER: partial(Driver.recover, self.config),
            **{n: partial(Partition.recover, n, self.list_rows(n)) for n in self.sources},
            SINK: partial(Store.recover, self.config),
        }
        return tuple(NodeSpec(name, ((name, recover),)) for name, recover in roles.items())

    def call(self, words: tuple[str, ...]) -> Any:
        raise BadValue(
            "{!r} is not a call; expected none: this query runs by itself", " ".join(words)
        )
