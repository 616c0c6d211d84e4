"""What is true of barrier snapshots: a picture that could have been, and output by it alone."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from ...kernel import World
from ...kernel.claims import Claim
from ...kernel.world import NodeState
from ..claims import reads_disks
from . import words
from .config import JM, SINK, SUM
from .manager import Completed, find_latest, list_completed
from .sink import COMMITTED, list_committed, list_outputs


class Job(Protocol):
    """What a claim must know: the sources and their records."""

    @property
    def sources(self) -> tuple[str, ...]: ...

    def list_rows(self, source: str) -> tuple[str, ...]: ...


def list_before(job: Job, checkpoint: Completed | None) -> list[str]:
    """The records before a checkpoint's barriers."""
    states = dict(checkpoint.states) if checkpoint else {}
    rows = (job.list_rows(name)[: states.get(name, 0)] for name in job.sources)
    return [row for some in rows for row in some]


def is_consistent_cut(job: Job, world: World) -> bool:
    return all(
        dict(done.states)[SUM] == len(list_before(job, done))
        for done in list_completed(world.disk(JM))
    )


def is_written_once(job: Job, world: World) -> bool:
    written = list(list_committed(world.disk(SINK)))
    return len(written) == len({*written})


def is_completed_first(job: Job, world: World) -> bool:
    complete = {done.number for done in list_completed(world.disk(JM))}
    return all(o.number in complete for o in list_outputs(world.disk(SINK)) if o.what == COMMITTED)


def is_written(job: Job, world: World) -> bool:
    """All that is before the latest complete checkpoint, and nothing else."""
    before = list_before(job, find_latest(world.disk(JM)))
    return sorted(list_committed(world.disk(SINK))) == sorted(before)


def arrives(job: Job, world: World) -> bool:
    running = all(world.nodes[name].up for name in (JM, SUM, SINK, *job.sources))
    return running and is_written(job, world)


def can_commit(job: Job, world: World) -> bool:
    return any(True for _ in list_committed(world.disk(SINK)))


def reads_running(job: Job, name: str, node: NodeState) -> Hashable:
    return node.up, node.disk if name in (JM, SINK) else None


def reads_logs(job: Job, name: str, node: NodeState) -> Hashable:
    return reads_disks(job, name, node) if name in (JM, SINK) else None


KEPT = (
    Claim("consistent cut", words.CONSISTENT_CUT, is_consistent_cut, reads=reads_logs),
    Claim("written once", words.WRITTEN_ONCE, is_written_once, reads=reads_logs),
    Claim("completed first", words.COMPLETED_FIRST, is_completed_first, reads=reads_logs),
)
ARRIVES = Claim("complete is written", words.ARRIVES, arrives, "can_always", reads_running)
COMMITS = Claim("commits", words.COMMITS, can_commit, "sometimes", reads_logs)
UNKEPT = (Claim("written at once", words.AT_ONCE, is_written, reads=reads_logs),)
