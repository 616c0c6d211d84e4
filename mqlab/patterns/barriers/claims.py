"""The safeguards of barrier snapshots, and what is true: a picture that could have been."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from ...kernel import Text, Words, World, tr
from ...kernel.claims import claim
from ...kernel.world import NodeState
from ..claims import reads_disks
from .roles import (
    COMMITTED,
    JM,
    SINK,
    SUM,
    Completed,
    find_latest,
    list_committed,
    list_completed,
    list_outputs,
)

SAFEGUARDS: dict[str, Text] = {
    "alignment": tr("an input whose barrier has come waits until all inputs have theirs"),
    "pre_commit": tr("the sink writes its output, hidden, before it acknowledges the barrier"),
    "commit_after_checkpoint": tr("the sink commits only what belongs to a complete checkpoint"),
    "complete_on_disk": tr("a checkpoint is complete on disk before the sink hears of it"),
    "recover_and_commit": tr(
        "after a restart the sink commits what is pending for the restored checkpoint"
    ),
    "attempt_fencing": tr("a task refuses what an earlier attempt has sent"),
}


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


def reads_running(job: Job, name: str, node: NodeState) -> Hashable:
    return node.up, node.disk if name in (JM, SINK) else None


def reads_logs(job: Job, name: str, node: NodeState) -> Hashable:
    return reads_disks(job, name, node) if name in (JM, SINK) else None


@claim(
    "consistent cut",
    Words("a complete checkpoint has counted exactly what is before its barriers"),
    reads=reads_logs,
)
def is_consistent_cut(job: Job, world: World) -> bool:
    return all(
        dict(done.states)[SUM] == len(list_before(job, done))
        for done in list_completed(world.disk(JM))
    )


@claim("written once", Words("no record is in the output twice"), reads=reads_logs)
def is_written_once(job: Job, world: World) -> bool:
    written = list(list_committed(world.disk(SINK)))
    return len(written) == len({*written})


@claim(
    "completed first", Words("only output of a complete checkpoint is committed"), reads=reads_logs
)
def is_completed_first(job: Job, world: World) -> bool:
    complete = {done.number for done in list_completed(world.disk(JM))}
    return all(o.number in complete for o in list_outputs(world.disk(SINK)) if o.what == COMMITTED)


@claim(
    "written at once",
    Words("what is before a complete checkpoint is in the output at once"),
    reads=reads_logs,
)
def is_written(job: Job, world: World) -> bool:
    """All that is before the latest complete checkpoint, and nothing else."""
    before = list_before(job, find_latest(world.disk(JM)))
    return sorted(list_committed(world.disk(SINK))) == sorted(before)


@claim(
    "complete is written",
    Words("what is before a complete checkpoint can still be in the output"),
    "can_always",
    reads=reads_running,
)
def arrives(job: Job, world: World) -> bool:
    running = all(world.nodes[name].up for name in (JM, SUM, SINK, *job.sources))
    return running and is_written.holds(job, world)


@claim("commits", Words("output can be committed"), "sometimes", reads=reads_logs)
def can_commit(job: Job, world: World) -> bool:
    return any(True for _ in list_committed(world.disk(SINK)))


KEPT = (is_consistent_cut, is_written_once, is_completed_first)
UNKEPT = (is_written,)
