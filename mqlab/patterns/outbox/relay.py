"""The relay: it takes the oldest row, publishes it, and marks it when the broker has stored it.

    ReadOutbox → row → Publish → stored → MarkSent → marked → ReadOutbox …

It has no memory that matters: after a kill it reads again, and what was published but not marked is
published a second time. One row is under way at a time, so messages stand in a topic in the order
of commits, apart from repetitions.

Without `marks_each_row` it remembers on its own disk the number of the last row it has published,
and reads behind it.
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
    replace,
)
from ..records import force, read_records
from .messages import Marked, MarkSent, OutboxRow, Publish, PublishResponse, ReadOutbox
from .table import NUMBER, read_mark

LOG = "cursor"
READ = "read"
RETRY, RETRY_MS = "retry", 1_000


@frozen
class Relay(Quiet):
    """From `service`'s outbox into `topic` of `broker`. `row`: what is being published; `peer`:
    whose answer it waits for."""

    config: Config
    service: str
    broker: str
    topic: str
    peer: str
    row: OutboxRow | None = None

    @staticmethod
    def recover(
        config: Config, service: str, broker: str, topic: str, disk: Disk, at_ms: int
    ) -> tuple[Relay, Effects]:
        relay = Relay(config, service, broker, topic, service)
        return relay, (relay._ask(disk),)

    def step(self, event: Event, disk: Disk) -> tuple[Relay, Effects]:
        match event:
            case Response(peer=peer) if peer != self.peer:
                return self, ()  # an answer on a connection that was given up
            case Response(body=OutboxRow() as row):
                publish = Send(self.broker, Publish(self.topic, row.txn))
                first = "marked_when_stored" not in self.config.on
                early = (Send(self.service, MarkSent(row.txn)),) if first else ()
                return replace(self, peer=self.broker, row=row), (*early, publish)
            case Response(body=PublishResponse()) if self.row is not None:
                done = replace(self, peer=self.service, row=None)
                return done, self._end(self.row, disk)
            case Response(body=Marked()):
                return self, (self._ask(disk),)
            case ConnectionLost(peer=peer) if peer == self.peer:
                return self, (SetTimer(RETRY, RETRY_MS),)
            case Fired():
                return replace(self, peer=self.service, row=None), (self._ask(disk),)
        return self, ()

    def _end(self, row: OutboxRow, disk: Disk) -> Effects:
        """The row is published: mark it, or remember its number."""
        if "marks_each_row" not in self.config.on:
            read = force(disk, LOG, READ, row.txn, f"{NUMBER}{row.number}")
            return *read, Send(self.service, ReadOutbox(row.number))
        if "marked_when_stored" not in self.config.on:
            return (self._ask(disk),)
        return (Send(self.service, MarkSent(row.txn)),)

    def _ask(self, disk: Disk) -> Send:
        last = None
        for record in read_records(disk, LOG):
            last = read_mark(record, NUMBER)
        return Send(self.service, ReadOutbox(-1 if last is None else last))
