"""The safeguards of micro-batches and of a sink with a progress record."""

from __future__ import annotations

from ...kernel import Config, frozen
from ..model import name_safeguards

SAFEGUARDS = name_safeguards(
    {
        "offsets_first": (
            "what a batch consists of is on disk before the batch runs",
            "批次由什么组成，在运行之前先写入磁盘",
        ),
        "one_transaction": (
            "rows and progress record are written in one transaction",
            "各行与进度记录在同一个事务里写入",
        ),
        "reads_progress": (
            "the sink looks at the progress record before it writes",
            "sink 写入之前先看进度记录",
        ),
        "producer_fencing": (
            "the store refuses what a process sends that has been replaced",
            "存储拒绝已被取代的进程发来的内容",
        ),
        "commits_last": (
            "a batch is noted as done only after the sink has committed it",
            "sink 提交之后，批次才记为完成",
        ),
    }
)

DRIVER, SINK = "driver", "sink"


@frozen
class QueryConfig(Config):
    """`sources`: the partitions that are read."""

    sources: tuple[str, ...] = ()
