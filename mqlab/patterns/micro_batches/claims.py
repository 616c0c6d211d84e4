"""The safeguards of micro-batches, and what is true: a batch that is done is in the output once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from ...kernel import Text, Words, World, tr
from ...kernel.claims import claim
from ...kernel.world import NodeState
from ..claims import reads_disks, reads_running
from .roles import (
    DRIVER,
    SINK,
    Planned,
    count_done,
    find_planned,
    find_progress,
    list_orders,
    list_planned,
    list_seen,
)

SAFEGUARDS: dict[str, Text] = {
    "offsets_first": tr("what a batch consists of is on disk before the batch runs"),
    "one_transaction": tr("rows and progress record are written in one transaction"),
    "reads_progress": tr("the sink looks at the progress record before it writes"),
    "producer_fencing": tr("the store refuses what a process sends that has been replaced"),
    "commits_last": tr("a batch is noted as done only after the sink has committed it"),
}


class Query(Protocol):
    """What a claim must know: the partitions that are read."""

    @property
    def sources(self) -> tuple[str, ...]: ...


def list_written(world: World) -> list[str]:
    return [row for row, _ in list_seen(world.disk(SINK))]


def reads_output(query: Query, name: str, node: NodeState) -> Hashable:
    return node.disk if name == SINK else None


@claim("written once", Words("no order is in the output twice"), reads=reads_output)
def is_written_once(query: Query, world: World) -> bool:
    written = list_written(world)
    return len(written) == len({*written})


def list_before(query: Query, world: World, batch: Planned | None) -> set[str]:
    """The orders before the end of a batch."""
    ends = dict(batch.ends) if batch else {}
    orders = (list_orders(world.disk(name))[: ends.get(name, 0)] for name in query.sources)
    return {order for some in orders for order in some}


@claim("done is written", Words("a batch that is done is in the output"), reads=reads_disks)
def is_done_written(query: Query, world: World) -> bool:
    last = find_planned(world.disk(DRIVER), count_done(world.disk(DRIVER)) - 1)
    return list_before(query, world, last) <= {*list_written(world)}


@claim(
    "arrives",
    Words("a batch that is planned can still be in the output"),
    "can_always",
    reads=reads_running,
)
def arrives(query: Query, world: World) -> bool:
    running = all(world.nodes[name].up for name in (DRIVER, SINK, *query.sources))
    last = next(reversed(list_planned(world.disk(DRIVER))), None)
    return running and list_before(query, world, last) == {*list_written(world)}


@claim(
    "known at once",
    Words("the checkpoint knows every batch that is in the output"),
    reads=reads_disks,
)
def is_known(query: Query, world: World) -> bool:
    return find_progress(world.disk(SINK)) < count_done(world.disk(DRIVER))


@claim("commits", Words("a batch can be committed"), "sometimes", reads=reads_output)
def can_commit(query: Query, world: World) -> bool:
    return bool(list_written(world))


KEPT = (is_written_once, is_done_written, arrives, can_commit)
UNKEPT = (is_known,)
