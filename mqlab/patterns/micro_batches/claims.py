"""What is true of micro-batches: a batch that is done is in the output, and nothing is in twice."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from ...kernel import World
from ...kernel.claims import Claim
from ...kernel.world import NodeState
from ..claims import reads_disks, reads_running
from . import words
from .config import DRIVER, SINK
from .driver import Planned, count_done, find_planned, list_planned
from .partition import list_orders
from .store import find_progress, list_seen


class Query(Protocol):
    """What a claim must know: the partitions that are read."""

    @property
    def sources(self) -> tuple[str, ...]: ...


def list_written(world: World) -> list[str]:
    return [row for row, _ in list_seen(world.disk(SINK))]


def is_written_once(query: Query, world: World) -> bool:
    written = list_written(world)
    return len(written) == len({*written})


def list_before(query: Query, world: World, batch: Planned | None) -> set[str]:
    """The orders before the end of a batch."""
    ends = dict(batch.ends) if batch else {}
    orders = (list_orders(world.disk(name))[: ends.get(name, 0)] for name in query.sources)
    return {order for some in orders for order in some}


def is_done_written(query: Query, world: World) -> bool:
    last = find_planned(world.disk(DRIVER), count_done(world.disk(DRIVER)) - 1)
    return list_before(query, world, last) <= {*list_written(world)}


def arrives(query: Query, world: World) -> bool:
    running = all(world.nodes[name].up for name in (DRIVER, SINK, *query.sources))
    last = next(reversed(list_planned(world.disk(DRIVER))), None)
    return running and list_before(query, world, last) == {*list_written(world)}


def is_known(query: Query, world: World) -> bool:
    return find_progress(world.disk(SINK)) < count_done(world.disk(DRIVER))


def can_commit(query: Query, world: World) -> bool:
    return bool(list_written(world))


def reads_output(query: Query, name: str, node: NodeState) -> Hashable:
    return node.disk if name == SINK else None


KEPT = (
    Claim("written once", words.WRITTEN_ONCE, is_written_once, reads=reads_output),
    Claim("done is written", words.DONE_WRITTEN, is_done_written, reads=reads_disks),
    Claim("arrives", words.ARRIVES, arrives, "can_always", reads_running),
    Claim("commits", words.COMMITS, can_commit, "sometimes", reads_output),
)
UNKEPT = (Claim("known at once", words.KNOWN, is_known, reads=reads_disks),)
