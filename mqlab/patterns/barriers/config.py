"""The safeguards of barrier snapshots and of a sink that commits by them."""

from __future__ import annotations

from ...kernel import Config, frozen
from ..model import name_safeguards

SAFEGUARDS = name_safeguards(
    {
        "alignment": (
            "an input whose barrier has come waits until all inputs have theirs",
            "屏障已到的输入要等到所有输入的屏障都到",
        ),
        "pre_commit": (
            "the sink writes its output, hidden, before it acknowledges the barrier",
            "sink 在确认屏障之前先写入输出，但不可见",
        ),
        "commit_after_checkpoint": (
            "the sink commits only what belongs to a complete checkpoint",
            "sink 只提交属于已完成检查点的输出",
        ),
        "complete_on_disk": (
            "a checkpoint is complete on disk before the sink hears of it",
            "检查点先在磁盘上完成，sink 才得知",
        ),
        "recover_and_commit": (
            "after a restart the sink commits what is pending for the restored checkpoint",
            "重启后 sink 提交所恢复检查点的待提交输出",
        ),
        "attempt_fencing": (
            "a task refuses what an earlier attempt has sent",
            "任务拒绝更早尝试发来的内容",
        ),
    }
)

JM, SUM, SINK = "jm", "sum", "sink"


@frozen
class JobConfig(Config):
    """`sources`: their names. `expires`: the store gives up what stays pending too long."""

    sources: tuple[str, ...] = ()
    expires: bool = False

    @property
    def tasks(self) -> tuple[str, ...]:
        """From the end of the line to its beginning, the order in which they are deployed."""
        return (SINK, SUM, *self.sources)
