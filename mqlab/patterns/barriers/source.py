"""A source: it reads records by offset, and can go back to any offset.

That it can go back is what everything rests on: the queue keeps the records, and the offset is
part of the picture. It sends a barrier between two records, never holding them up.
"""

from __future__ import annotations

from ...kernel import ConnectionLost, Disk, Effects, Event, Quiet, Request, Send, frozen, replace
from .config import JM, SUM, JobConfig
from .messages import Acknowledge, Barrier, Deploy, Next, Register, Row, Trigger
from .task import report


@frozen
class Source(Quiet):
    """`rows`: what there is to read; `offset`: the next of it; `attempt`: 0 before the first.
    `cut`: its channel broke, so it sends nothing more in this attempt."""

    config: JobConfig
    name: str
    rows: tuple[str, ...]
    attempt: int = 0
    offset: int = 0
    cut: bool = False

    @staticmethod
    def recover(
        config: JobConfig, name: str, rows: tuple[str, ...], disk: Disk, at_ms: int
    ) -> tuple[Source, Effects]:
        return Source(config, name, rows), (Send(JM, Register()),)

    def step(self, event: Event, disk: Disk) -> tuple[Source, Effects]:
        match event:
            case Request(body=Deploy(attempt, _, state)) if attempt > self.attempt:
                role = replace(self, attempt=attempt, offset=state, cut=False)
                return role, role._next()
            case Request(body=Next(attempt)) if attempt == self.attempt and not self.cut:
                row = Send(SUM, Row(attempt, self.rows[self.offset]))
                role = replace(self, offset=self.offset + 1)
                return role, (row, *role._next())
            case Request(body=Trigger(attempt, number)) if attempt == self.attempt and not self.cut:
                return self, (
                    Send(SUM, Barrier(attempt, number)),
                    Send(JM, Acknowledge(attempt, number, self.offset)),
                )
            case ConnectionLost(peer="sum"):
                return replace(self, cut=True), report(self.attempt, event)
        return self, report(self.attempt, event)

    def _next(self) -> Effects:
        """There is more to read."""
        return (Send(self.name, Next(self.attempt)),) if self.offset < len(self.rows) else ()
