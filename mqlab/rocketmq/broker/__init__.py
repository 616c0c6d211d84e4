"""The broker: it stores halves, ends transactions, and lets the check service ask.

There is **no table of transactions** here. A half message is an ordinary message of another
topic; its end is a second message (the real one) and a record in a third topic. A reader who wants
to know how a transaction stands has to read them. So nothing forbids to end a transaction twice,
or with ROLLBACK first and COMMIT later: the message is delivered each time that COMMIT is said.

    send.py       a message arrives; a half goes to the half topic
    end.py        EndTransaction: look the half up, check it, write the message, record the end
    checking.py   when the check service makes its rounds (what a round does: `check/`)
    pull.py       consumers read, and report how far they have come
    back.py       what they could not process comes back by the retry topic, or is given up
    delay.py      delayed messages, by levels; timer.py: messages for a time of delivery
    groups.py     who is connected
    safety.py     when a message counts as stored: on the disk, on a slave
    slave.py      a copy of the commit log

*Durable*: the commit log. *Memory*: op records that wait to be written (5.1 and later), offsets
since they were last written, who is connected. *What can go wrong:* the broker dies between the
message and its op record, or before waiting op records were written; then the half is asked about
although it has ended, and a second COMMIT delivers the message twice. *Invariants:* a half is never
removed; a transactional message reaches its queue only by a COMMIT, and after its half.

*Left out:* several masters, access control, and the second implementation of 5.5 that keeps halves
in RocksDB (`transRocksDBEnable`, off by default).
Read on in BrokerController, SendMessageProcessor, EndTransactionProcessor,
TransactionalMessageCheckService, TransactionalOpBatchService (5.5.0).
"""

from __future__ import annotations

from typing import Any

from ...kernel import (
    Appended,
    Caller,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Flush,
    Request,
    Text,
    frozen,
    replace,
)
from ..check.ops import OP_BATCH, Pending, write_batch
from ..config import RocketMQConfig
from ..group import (
    ConsumerSendMsgBack,
    Members,
    Met,
    Producers,
    PullMessage,
    QueryConsumerOffset,
    UpdateConsumerOffset,
    close,
)
from ..log.offsets import PERSIST, Offsets, read_offsets, write_offsets
from ..log.store import Writer, find_undispatched
from ..messages import (
    EndTransaction,
    HaReport,
    ResumeCheckHalfMessage,
    SendBatchMessage,
    SendMessage,
)
from . import back, checking, delay, end, groups, pull, safety, send
from . import timer as timers
from .safety import Waiting
from .timer import Timed
from .words import tell_changes

__all__ = ["Broker"]


@frozen
class Broker:
    """`offsets`: how far every consumer group has come, the check service among them;
    `unwritten`: the table on the disk is older. `ops`: ends that are not recorded yet;
    `ops_since`: from when the passes that record them are counted, in ms; 0 before the first end.
    `producers`, `consumers`: who is connected. `copied`: where the slave's copy ends, None while
    it is not connected; `waiting`: answers that wait for it, or for the disk.
    `timed`: what waits for which second; `met`: by which connections clients have come."""

    config: RocketMQConfig
    offsets: Offsets = Offsets()
    unwritten: bool = False
    ops: Pending = ()
    ops_since: int = 0
    producers: Producers = Producers()
    consumers: Members = Members()
    copied: int | None = None
    waiting: tuple[Waiting, ...] = ()
    timed: Timed = Timed()
    met: Met = Met()

    def step(self, event: Event, disk: Disk) -> tuple[Broker, Effects]:
        new, effects = self._handle_event(event, disk)
        new.check_invariants()
        new, noted = pull.note_offsets(self, new, disk)
        later = (
            *checking.plan_round(new, event, effects, disk),
            *safety.plan_flush(new, effects),
            *safety.copy_records(new, effects),
        )
        return new, (*effects, *noted, *later)

    def check_invariants(self) -> None:
        """AssertionError where the oldest answer waits for what its record has already."""
        for oldest in self.waiting[:1]:
            copied = self.copied is not None and oldest.offset < self.copied
            assert oldest.flush or (oldest.copy and not copied), oldest

    def _handle_event(self, event: Event, disk: Disk) -> tuple[Broker, Effects]:
        match event:
            case Request(caller=caller, body=body, at_ms=at_ms):
                return self._handle_request(body, caller, disk, at_ms)
            case Fired(timer=timer, at_ms=at_ms):
                return self._handle_timer(timer, disk, at_ms)
            case Appended(end=end):
                return safety.flush_now(self, end)
            case ConnectionLost(peer=peer):
                return self._lose_client(peer), ()
        # What was asked of a client is one-way; nothing else comes here.
        return self, ()

    def _handle_request(
        self, body: Any, caller: Caller, disk: Disk, at_ms: int
    ) -> tuple[Broker, Effects]:
        match body:
            case SendMessage():
                return send.store_message(self, body, caller, disk, at_ms)
            case SendBatchMessage():
                return send.store_batch(self, body, caller, disk, at_ms)
            case EndTransaction():
                return end.end_transaction(self, body, caller, disk, at_ms)
            case ResumeCheckHalfMessage():
                return checking.resume(self, body, caller, disk, at_ms)
            case PullMessage():
                return pull.pull(self, body, caller, disk)
            case QueryConsumerOffset():
                return pull.query_offset(self, body, caller, disk)
            case UpdateConsumerOffset():
                return pull.update_offset(self, body)
            case ConsumerSendMsgBack():
                return back.take_back(self, body, caller, disk, at_ms)
            case HaReport():
                return safety.take_report(self, body, caller, disk)
        return groups.handle_request(self, body, caller)

    def _lose_client(self, client: str) -> Broker:
        met, named = close(self.met, client)
        new = replace(self, met=met)
        if named is None:
            return new
        if client == self.config.slave:
            return safety.lose_slave(new)
        return groups.forget_client(new, client, named)

    def _handle_timer(self, timer: str, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
        if timer == checking.CHECK:
            return checking.make_round(self, disk, at_ms)
        if timer == OP_BATCH:
            writer = Writer(disk, at_ms)
            ops = write_batch(self.config, self.ops, writer, at_ms)
            return replace(self, ops=ops), writer.effects
        if timer == PERSIST:
            return replace(self, unwritten=False), write_offsets(self.offsets, disk)
        if timer == safety.FLUSH:
            return self, (Flush(),)
        if timer.startswith(safety.ACKNOWLEDGE):
            return safety.give_up(self, timer)
        if timer.startswith(timers.TIMED):
            return timers.deliver_second(self, timer, disk, at_ms)
        return delay.deliver_level(self, timer, disk, at_ms)

    def describe_changes(self, old: Broker | None) -> tuple[Text, ...]:
        return tell_changes(old, self)

    @classmethod
    def recover(cls, config: RocketMQConfig, disk: Disk, at_ms: int) -> tuple[Broker, Effects]:
        """Queue entries that a stop cut off are written; offsets are as the table says; nobody is
        connected, and no op record waits."""
        new, timed = timers.schedule_all(cls(config, offsets=read_offsets(disk)), disk, at_ms)
        missing = find_undispatched(disk)
        rounds = checking.resume_rounds(new, missing, disk, at_ms)
        return new, (*missing, *rounds, *delay.schedule_all(new, disk, at_ms), *timed)
