"""The warehouse: it applies each message once, and says so afterwards.

    message → already applied? else `applied`, effect included (one write) → acknowledged → next

A crash between the write and the acknowledgement brings the message again; the write is what it
is recognised by. A message that cannot be applied is not acknowledged: it comes again, and nothing
behind it comes before.
"""

from __future__ import annotations

from ...kernel import (
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Quiet,
    Response,
    Send,
    SetTimer,
    frozen,
)
from ..records import force, read_latest
from .messages import Acknowledge, AcknowledgeResponse, Poll, PollResponse

LOG = "applied"
APPLIED = "applied"
RETRY, RETRY_MS = "retry", 1_000


@frozen
class Consumer(Quiet):
    """`refuses`: its local transaction fails every time: the goods do not exist."""

    config: Config
    queue: str
    refuses: bool = False

    @staticmethod
    def recover(
        config: Config, queue: str, refuses: bool, disk: Disk, at_ms: int
    ) -> tuple[Consumer, Effects]:
        return Consumer(config, queue, refuses), (Send(queue, Poll()),)

    def step(self, event: Event, disk: Disk) -> tuple[Consumer, Effects]:
        match event:
            case Response(body=PollResponse(txn, offset)):
                return self, self._apply(disk, txn, offset)
            case Response(body=AcknowledgeResponse()) | Fired():
                return self, (Send(self.queue, Poll()),)
            case ConnectionLost():
                return self, (SetTimer(RETRY, RETRY_MS),)
        return self, ()

    def _apply(self, disk: Disk, txn: str, offset: int) -> Effects:
        if self.refuses:
            return (SetTimer(RETRY, RETRY_MS),)
        known = txn in read_latest(disk, LOG) and "applies_once" in self.config.on
        applied = () if known else force(disk, LOG, APPLIED, txn)
        acknowledged = (Send(self.queue, Acknowledge(txn, offset)),)
        if "acknowledge_last" in self.config.on:
            return (*applied, *acknowledged)
        return (*acknowledged, *applied)
