"""The broker: it stores halves, ends transactions, and lets the check service ask.

There is **no table of transactions** here. A half message is an ordinary message of another
topic; its end is a second message (the real one) and a record in a third topic. Whoever wants
to know how a transaction stands has to read them. So nothing forbids to end a transaction twice,
or with ROLLBACK first and COMMIT later: the message is delivered each time that COMMIT is said.

    send.py       a message arrives; a half goes to the half topic
    end.py        EndTransaction: look the half up, check it, write the message, record the end

*Durable*: the commit log. *Memory*: op records that wait to be written (5.1 and later), offsets
since they were last written, who is connected. *What can go wrong:* the broker dies between the
message and its op record, or before waiting op records were written; then the half is asked about
although it has ended, and a second COMMIT delivers the message twice. *Invariants:* a half is never
removed; a message reaches a real queue only by a COMMIT, and after its half.

*Left out:* several masters, the index, access control, and the second implementation of 5.5 that
keeps halves in RocksDB (`transRocksDBEnable`, off by default).
Read on in BrokerController, SendMessageProcessor, EndTransactionProcessor,
TransactionalMessageCheckService, TransactionalOpBatchService (5.5.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...kernel import (
    Append,
    Caller,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Reply,
    Request,
    Send,
    SetTimer,
    Text,
    Words,
    replace,
)
from ..check import run_round
from ..check.halves import build_resumed
from ..check.ops import OP_BATCH, Pending, write_batch
from ..config import RocketMQConfig
from ..errors import ResponseCode
from ..group.producers import Producers
from ..log.offsets import (
    HALF_KEY,
    OP_KEY,
    PERSIST,
    Offsets,
    note_offsets,
    read_offsets,
    write_offsets,
)
from ..log.store import HALF_QUEUE, OP_QUEUE, Writer, find_undispatched, read_stored
from ..messages import (
    EndTransaction,
    Heartbeat,
    HeartbeatResponse,
    ResumeCheckHalfMessage,
    ResumeCheckHalfMessageResponse,
    SendMessage,
)
from . import end, send

__all__ = ["Broker"]

CHECK = "check"
PROGRESS = Words("half offset {half}, op offset {op}", "半消息位点 {half}，op 位点 {op}")
WAITING = Words("op records waiting: {ops}", "等待写入的 op 记录：{ops}")


@dataclass(frozen=True, slots=True)
class Broker:
    """`offsets`: how far every consumer group has come, the check service among them. `ops`: ends
    that are not recorded yet. `producers`: who can be asked."""

    config: RocketMQConfig
    offsets: Offsets = Offsets()
    ops: Pending = ()
    producers: Producers = Producers()

    def step(self, event: Event, disk: Disk) -> tuple[Broker, Effects]:
        new, effects = self._handle_event(event, disk)
        noted = note_offsets(self.config, self.offsets, new.offsets, disk)
        return new, (*effects, *noted, *new._plan_round(event, effects, disk))

    def _handle_event(self, event: Event, disk: Disk) -> tuple[Broker, Effects]:
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self._handle_request(body, caller, disk, at_ms)
            case Fired(timer=timer, at_ms=at_ms) if timer == CHECK:
                return self._check(disk, at_ms)
            case Fired(timer=timer, at_ms=at_ms) if timer == OP_BATCH:
                writer = Writer(disk, at_ms)
                ops = write_batch(self.config, self.ops, writer, at_ms)
                return replace(self, ops=ops), writer.effects
            case Fired(timer=timer) if timer == PERSIST:
                return self, write_offsets(self.offsets, disk)
            case ConnectionLost(peer=peer):
                return replace(self, producers=self.producers.forget(peer)), ()
        # What was asked of a client is one-way; nothing else comes here.
        return self, ()

    def _handle_request(
        self, body: Any, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Broker, Effects]:
        match body:
            case SendMessage():
                return send.store_message(self, body, caller, disk, at_ms)
            case EndTransaction():
                return end.end_transaction(self, body, caller, disk, at_ms)
            case Heartbeat():
                return self._register(body, caller)
            case ResumeCheckHalfMessage(commit_log_offset=offset):
                return self._resume(offset, caller, disk, at_ms)
        raise TypeError(f"a broker is never sent {type(body).__name__}")

    # -- who is connected --------------------------------------------------------------------

    def _register(self, beat: Heartbeat, caller: Caller) -> tuple[Broker, Effects]:
        producers = self.producers
        for group in beat.producers:
            producers = producers.register(group, caller.name)
        answer = Send(caller.name, HeartbeatResponse())
        return replace(self, producers=producers), (answer,)

    # -- the check service -------------------------------------------------------------------

    def _plan_round(self, event: Event, effects: Effects, disk: Disk) -> Effects:
        """The service's rounds come at a fixed interval, whatever there is. Here none is waited
        for that would find nothing: the timer is set while either topic has an unread end."""
        written = any(isinstance(e, Append) and e.log in (HALF_QUEUE, OP_QUEUE) for e in effects)
        if written or (isinstance(event, Fired) and self._has_unread(disk)):
            return self._schedule_round(event.at_ms)
        return ()

    def _has_unread(self, disk: Disk) -> bool:
        half, op = self.progress
        return disk.log(HALF_QUEUE).end > half or disk.log(OP_QUEUE).end > op

    def _schedule_round(self, at_ms: int) -> Effects:
        if "check_back" not in self.config.on:
            return ()
        interval = self.config.check_interval_ms
        return (SetTimer(CHECK, interval - at_ms % interval),)

    @property
    def progress(self) -> tuple[int, int]:
        """Where the next round begins in the half topic and in the op topic."""
        return self.offsets.get(HALF_KEY, 0), self.offsets.get(OP_KEY, 0)

    def _check(self, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
        half, op = self.progress
        found = run_round(self.config, disk, at_ms, half, op, self.producers)
        offsets = self.offsets
        if found.half_offset != half:
            offsets = offsets.set(HALF_KEY, found.half_offset)
        if found.op_offset != op:
            offsets = offsets.set(OP_KEY, found.op_offset)
        new = replace(self, offsets=offsets, producers=found.producers)
        return new, found.effects

    def _resume(
        self, offset: int, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Broker, Effects]:
        stored = read_stored(disk, offset)
        if stored is None:
            refusal = ResumeCheckHalfMessageResponse(ResponseCode.SYSTEM_ERROR)
            return self, (Reply(caller, refusal),)
        writer = Writer(disk, at_ms)
        writer.put(build_resumed(stored))
        return self, (*writer.effects, Reply(caller, ResumeCheckHalfMessageResponse()))

    # -- memory ------------------------------------------------------------------------------

    def describe_changes(self, old: Broker | None) -> tuple[Text, ...]:
        if old is None:
            half, op = self.progress
            return (PROGRESS(half=half, op=op),)
        told = []
        if self.progress != old.progress:
            half, op = self.progress
            told.append(PROGRESS(half=half, op=op))
        if self.ops != old.ops:
            told.append(WAITING(ops=", ".join(map(str, self.ops)) or "–"))
        return tuple(told)

    @classmethod
    def recover(cls, config: RocketMQConfig, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
        """Queue entries that a stop cut off are written; offsets are as the table says; nobody is
        connected, and no op record waits."""
        new = cls(config, offsets=read_offsets(disk))
        missing = find_undispatched(disk)
        again = new._schedule_round(at_ms) if missing or new._has_unread(disk) else ()
        return new, (*missing, *again)
