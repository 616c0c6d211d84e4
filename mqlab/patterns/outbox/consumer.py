"""A consumer with an inbox: effect, id and follow-up in one local transaction, then the position.

    message → id in the inbox? else `applied` (one write) → acknowledged → next

A kill between write and acknowledgement brings the message again, and so does a relay that was
killed before it marked the row; in both cases the inbox knows it. The follow-up's row is written
with the effect, so there is one for each effect and none without, however often a message comes.
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
    Request,
    Response,
    Send,
    SetTimer,
    frozen,
    replace,
)
from ..records import Record, force, read_records
from .messages import Acknowledge, AcknowledgeResponse, Poll, PollResponse
from .table import LOG, PLACE, Table, commit, read_mark

APPLIED = "applied"
RETRY, RETRY_MS = "retry", 1_000


@frozen
class Consumer(Quiet):
    """`group`: by which name the broker keeps its position. `follows_up`: whether an effect has a
    message of its own."""

    config: Config
    broker: str
    group: str
    follows_up: bool = False
    table: Table = Table()

    @staticmethod
    def recover(
        config: Config, broker: str, group: str, follows_up: bool, disk: Disk, at_ms: int
    ) -> tuple[Consumer, Effects]:
        return Consumer(config, broker, group, follows_up), (Send(broker, Poll(group)),)

    def step(self, event: Event, disk: Disk) -> tuple[Consumer, Effects]:
        match event:
            case Response(body=PollResponse(txn, offset)):
                table, written, replies = self._apply(disk, txn, offset)
                acknowledged = Send(self.broker, Acknowledge(self.group, txn, offset))
                done = replace(self, table=table)
                if "effect_before_ack" in self.config.on:
                    return done, (*written, *replies, acknowledged)
                return done, (acknowledged, *written, *replies)
            case Response(body=AcknowledgeResponse()) | Fired():
                return self, (Send(self.broker, Poll(self.group)),)
            case ConnectionLost(peer=peer) if peer == self.broker:
                return self, (SetTimer(RETRY, RETRY_MS),)
            case Request(caller=caller, body=body):
                table, effects = self.table.serve(caller, body, disk)
                return replace(self, table=table), effects
        return self, ()

    def _apply(self, disk: Disk, txn: str, offset: int) -> tuple[Table, Effects, Effects]:
        """The table afterwards, what is written, and which relay is told."""
        applied = [record for record in read_records(disk, LOG) if record.what == APPLIED]
        if "inbox" in self.config.on and self._knows(applied, txn, offset):
            return self.table, (), ()
        place = f"{PLACE}{offset}"
        if not self.follows_up:
            return self.table, force(disk, LOG, APPLIED, txn, place), ()
        together = "row_with_message" in self.config.on
        written = commit(disk, APPLIED, txn, len(applied), together, place)
        table, replies = self.table.wake(written)
        return table, written, replies

    def _knows(self, applied: list[Record], txn: str, offset: int) -> bool:
        if "id_of_the_row" in self.config.on:
            return any(record.txn == txn for record in applied)
        return any(read_mark(record, PLACE) == offset for record in applied)
