"""The two requests of the newer protocol: a heartbeat that does everything, and a question.

Source: ConsumerGroupHeartbeatRequest.json, ConsumerGroupDescribeRequest.json (Kafka 4.3).
"""

from __future__ import annotations

from ....kernel import frozen, worded
from ...errors import Error
from ...messages import braces

JOIN, LEAVE, LEAVE_FOR_A_WHILE = 0, -1, -2  # member epochs that are wishes
UNCHANGED = -1


@frozen
class ConsumerGroupHeartbeat:
    """`epoch`: the member's, or JOIN, LEAVE, LEAVE_FOR_A_WHILE (a static member that comes
    back). What is None (`rebalance_ms`: UNCHANGED) is as it was. `owned`: partitions the
    member has at this moment."""

    group: str
    member: str
    epoch: int
    instance: str | None = None
    rack: str | None = None
    rebalance_ms: int = UNCHANGED
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: tuple[str, ...] | None = None
    client: str = ""
    host: str = ""
    version: int = 1

    @property
    def full(self) -> bool:
        """It says everything, so it is told everything."""
        says_all = self.rebalance_ms != UNCHANGED and self.owned is not None
        return self.epoch == JOIN or (says_all and (self.topics or self.regex) is not None)

    def __str__(self) -> str:
        wish = {JOIN: "join", LEAVE: "leave", LEAVE_FOR_A_WHILE: "leave for a while"}
        return f"ConsumerGroupHeartbeat {self.group} {wish.get(self.epoch, f'epoch={self.epoch}')}"


@frozen
class ConsumerGroupHeartbeatResponse:
    """`assignment`: the partitions to have from now on; None: as before. `message`: why not,
    in Kafka's words."""

    error: Error = Error.NONE
    message: str = ""
    member: str = ""
    epoch: int = 0
    heartbeat_ms: int = 0
    assignment: tuple[str, ...] | None = None

    def __str__(self) -> str:
        if self.error:
            return self.error.words
        given = "" if self.assignment is None else f" {braces(self.assignment)}"
        return f"ok epoch={self.epoch}{given}"


@worded("ConsumerGroupDescribe {group}")
class ConsumerGroupDescribe:
    group: str
