"""The safeguards of barrier snapshots, and what is true: a picture that could have been."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from ...kernel import Text, Words, World, tr
from ...kernel.claims import Claim
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
    Claim(
        "consistent cut",
        Words("a complete checkpoint has counted exactly what is before its barriers"),
        is_consistent_cut,
        reads=reads_logs,
    ),
    Claim(
        "written once",
        Words("no record is in the output twice"),
        is_written_once,
        reads=reads_logs,
    ),
    Claim(
        "completed first",
        Words("only output of a complete checkpoint is committed"),
        is_completed_first,
        reads=reads_logs,
    ),
)
ARRIVES = Claim(
    "complete is written",
    Words("what is before a complete checkpoint can still be in the output"),
    arrives,
    "can_always",
    reads_running,
)
COMMITS = Claim(
    "commits",
    Words("output can be committed"),
    can_commit,
    "sometimes",
    reads_logs,
)
UNKEPT = (
    Claim(
        "written at once",
        Words("what is before a complete checkpoint is in the output at once"),
        is_written,
        reads=reads_logs,
    ),
)
