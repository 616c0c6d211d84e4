"""A learner's coordinator behind real sockets: `mqlab serve kafka --coordinator FILE`.

The server starts it in place of the engine's, in a process of its own as in a search, and every
Kafka client of this machine commits through it. Two things differ from a search:

* A search comes back to each state, a server never does: only the newest one is kept there.
* Real clients ask more than the lab does. A producer without transactions asks for an id only, and
  gets one far from the coordinator's. What an administrator asks is answered from the log.

A coordinator whose code breaks says so once, on the server's standard error, and answers each
request with UNKNOWN_SERVER_ERROR from then on. What is in the log stays: fix the file, and start
the server again with the same `--data-dir`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from ...kafka.config import KafkaConfig, txn_logs
from ...kafka.coordinator.entry import StateRecord
from ...kafka.errors import Error
from ...kafka.messages import InitProducerId, InitProducerIdResponse
from ...kernel import Disk, Effects, Event, Map, Reply, Request, escape_unseen, replace
from ...kernel.disk import MemoryDisk, MemoryLog
from .api import entries_of
from .host import ANSWERS, Host, Hosted, read_file
from .speech import pack

log = logging.getLogger("mqlab.serve")

Recover = Callable[[KafkaConfig, Disk, int], tuple[Hosted, Effects]]


def read_coordinator(path: Path) -> Recover:
    """How a server starts the coordinator in a file. BuildError where it is none."""
    return ServedHost(read_file(path)).recover


class ServedHost(Host):
    """The process of a coordinator that is served."""

    last_pid = -1  # of those for producers without transactions

    def lead(self, config: KafkaConfig, disk: Disk, epoch: int) -> tuple[Hosted, Effects]:
        self.config, seen = config, latest(disk)
        reply = self._ask("recover", pack(config), pack(seen), 0, epoch)
        role = Hosted(-1, entries_of(seen), host=self)
        return self._log_break(role, *self._understand(reply, role, seen, config))

    def take(self, role: Hosted, event: Event, disk: Disk) -> tuple[Hosted, Effects]:
        """Let the learner's coordinator take one event of a broker behind a real socket, and return
        the role's new state and its effects. Requests of administrators, and of producers without a
        transactional id, are answered here, all else in the learner's process, which is given the
        event as its file knows it (`translate`) and the latest record of each id. A coordinator
        that is `broken` refuses every request."""
        if isinstance(event, Request):
            if described := self.describe(event, disk):
                return role, described
            if isinstance(event.body, InitProducerId) and event.body.txn_id is None:
                return role, (Reply(event.caller, self._introduce(event.at_ms)),)
        event = self.translate(event)
        if role.broken:  # it has failed: nothing but refusals comes from it
            return role, (refuse(event),) if isinstance(event, Request) else ()
        seen = latest(disk)
        reply = self._ask("serve", role.number, pack(event), pack(seen))
        # `hear`: the caller of a request waits from now on
        before = replace(role.hear(event), entries=entries_of(seen))
        new, effects = self._log_break(role, *self._understand(reply, before, seen, self.config))
        if new.broken and isinstance(event, Request):
            effects = (refuse(event),)
        return new, effects

    def _log_break(self, old: Hosted, new: Hosted, effects: Effects) -> tuple[Hosted, Effects]:
        if new.broken and not old.broken:
            log.error(
                "your coordinator does no more: %s. Correct it, check it (mqlab build check), and "
                "start the server again",
                escape_unseen(str(new.broken)),
            )
        return new, effects

    def _introduce(self, at_ms: int) -> InitProducerIdResponse:
        """The clock keeps ids apart that were given before a restart and after it."""
        self.last_pid = max(self.last_pid + 1, at_ms * 1_000)
        return InitProducerIdResponse(pid=self.last_pid, epoch=0)


def refuse(event: Request) -> Reply:
    """The answer of a server whose code has raised an exception."""
    return Reply(event.caller, ANSWERS[type(event.body)](Error.UNKNOWN_SERVER_ERROR))


def latest(disk: Disk) -> MemoryDisk:
    """The logs of `__transaction_state` as far as they count: the last record of each
    transactional id, and the last of each log, which says where it ends."""
    logs: dict[str, MemoryLog] = {}
    for name in txn_logs(disk):
        records: dict[str, StateRecord] = {}
        for record in disk.log(name).read(0):
            records.pop(record.entry.txn_id, None)
            records[record.entry.txn_id] = record
        logs[name] = MemoryLog(tuple(records.values()), start=disk.log(name).end)
    return MemoryDisk(Map(logs.items()))
