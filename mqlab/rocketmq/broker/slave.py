"""A slave: a copy of the commit log, and nothing more.

It connects to its master and says how far its copy goes; the master sends what follows, and again
whenever something is written. It ends no transaction and makes no check round: both are the
master's. When the master is gone, nobody else takes its place (a slave that *acts* as master is
left out, and so is the controller that would elect one).

Sources: DefaultHAClient, DefaultHAConnection, EndTransactionProcessor (5.5.0).
"""

from __future__ import annotations

from ...kernel import (
    Append,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Flush,
    Quiet,
    Reply,
    Request,
    Send,
    frozen,
)
from ..config import RocketMQConfig
from ..errors import ResponseCode
from ..log import COMMIT_LOG, Stored
from ..log.store import build_entry, find_undispatched
from ..messages import EndTransaction, EndTransactionResponse, HaReport, HaTransfer


@frozen
class Slave(Quiet):
    config: RocketMQConfig

    def step(self, event: Event, disk: Disk) -> tuple[Slave, Effects]:
        match event:
            case Request(body=HaTransfer(records=records)):
                return self, self._copy(records, disk)
            case Request(caller=caller, body=EndTransaction(oneway=oneway)):
                refusal = EndTransactionResponse(ResponseCode.SLAVE_NOT_AVAILABLE)
                return self, () if oneway else (Reply(caller, refusal),)
            case ConnectionLost():
                return self, (self._report(disk.log(COMMIT_LOG).end),)
        # It has no timers, and asks for nothing that is answered.
        return self, ()

    def _copy(self, records: tuple[Stored, ...], disk: Disk) -> Effects:
        """What it has already, it does not write again; nothing new: the master has said hello."""
        end = disk.log(COMMIT_LOG).end
        new = [stored for stored in records if stored.base >= end]
        written = [e for s in new for e in (Append(COMMIT_LOG, s, notify=False), build_entry(s))]
        return (*written, Flush(), self._report(new[-1].base + 1)) if new else ()

    def _report(self, end: int) -> Send:
        return Send(self.config.broker, HaReport(end))

    @classmethod
    def recover(cls, config: RocketMQConfig, disk: Disk, at_ms: int) -> tuple[Slave, Effects]:
        new = cls(config)
        return new, (*find_undispatched(disk), new._report(disk.log(COMMIT_LOG).end))
