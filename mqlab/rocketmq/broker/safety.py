"""Acknowledgements: when a message counts as stored, and what its sender is told.

By default a message is acknowledged as soon as it is in the commit log, which the operating system
writes to the disk later (ASYNC_FLUSH) and a slave copies later. Both can be waited for. Then the
sender may hear one of three words that are neither yes nor no:

    FLUSH_DISK_TIMEOUT     it was not on the disk in time
    FLUSH_SLAVE_TIMEOUT    the slave did not have it in time
    SLAVE_NOT_AVAILABLE    there is no slave to wait for, in 4.9; 5.5 waits for one all the same

In all three **the message is stored**, and consumers may get it. A transactional producer that
hears one of them does not run its local transaction.

Sources: CommitLog#asyncPutMessage, #handleDiskFlushAndHA, #handleHA, GroupCommitService,
DefaultHAService (4.9.8, 5.5.0). *Left out:* a slave that is connected and too far behind; reading
from a slave; that 5.5 stores nothing without its slaves where one of them may act as master
(enableSlaveActingMaster), or with a controller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import (
    Append,
    Caller,
    CancelTimer,
    Disk,
    Effects,
    Flush,
    Reply,
    Send,
    SetTimer,
    frozen,
    replace,
)
from ..errors import ResponseCode
from ..group import meet
from ..log import COMMIT_LOG, Stored
from ..messages import HaReport, HaTransfer, SendMessageResponse
from ..states import SendStatus

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]

ACKNOWLEDGE = "acknowledge"
FLUSH = "flush"
FLUSH_TIMEOUT_MS, SLAVE_TIMEOUT_MS = 5_000, 3_000


@frozen
class Waiting:
    """An answer that waits until the record at `offset` is on the disk, is copied, or both."""

    offset: int
    caller: Caller
    answer: SendMessageResponse
    flush: bool
    copy: bool

    @property
    def timer(self) -> str:
        return f"{ACKNOWLEDGE} {self.offset}"


def acknowledge(
    broker: Broker, stored: Stored, caller: Caller, answer: SendMessageResponse
) -> Result:
    """Answer now, or when the message is as safe as the configuration wants it."""
    flush, copy = broker.config.flush == "sync", broker.config.in_sync > 1
    if copy and broker.copied is None and broker.config.release == "4.9":
        answer, copy = _with_status(answer, SendStatus.SLAVE_NOT_AVAILABLE), False
    if not flush and not copy:
        return broker, (Reply(caller, answer),)
    waiting = Waiting(stored.base, caller, answer, flush, copy)
    timer = SetTimer(waiting.timer, FLUSH_TIMEOUT_MS if flush else SLAVE_TIMEOUT_MS)
    return replace(broker, waiting=(*broker.waiting, waiting)), (timer,)


def _with_status(answer: SendMessageResponse, status: SendStatus) -> SendMessageResponse:
    return replace(answer, status=status, code=ResponseCode[status])


def flush_now(broker: Broker, end: int) -> Result:
    """The flush service comes round: all that is written is on the disk now."""
    waiting = tuple(replace(w, flush=False) if w.offset < end else w for w in broker.waiting)
    new, replies = _answer_ready(replace(broker, waiting=waiting))
    return new, (Flush(), *replies)


def take_report(broker: Broker, report: HaReport, caller: Caller, disk: Disk) -> Result:
    """The slave says how far its copy goes. The first report of a connection is how it connects:
    it is sent what it does not have yet."""
    known, met = broker.met.get(caller.name), meet(broker.met, caller)
    if met is None:
        return broker, ()
    waiting = tuple(replace(w, copy=False) if w.offset < report.end else w for w in broker.waiting)
    new, replies = _answer_ready(replace(broker, waiting=waiting, copied=report.end, met=met))
    if broker.copied is not None and met.get(caller.name) == known:
        return new, replies
    missing = tuple(disk.log(COMMIT_LOG).read(report.end))
    return new, (*replies, Send(caller.name, HaTransfer(missing)))


def _answer_ready(broker: Broker) -> Result:
    ready = tuple(w for w in broker.waiting if not w.flush and not w.copy)
    replies = tuple(e for w in ready for e in (CancelTimer(w.timer), Reply(w.caller, w.answer)))
    left = tuple(w for w in broker.waiting if w.flush or w.copy)
    return replace(broker, waiting=left), replies


def give_up(broker: Broker, timer: str) -> Result:
    """It took too long: the sender is told what was missing. If both were, the slave is named."""
    (late,) = (w for w in broker.waiting if w.timer == timer)
    missing = SendStatus.FLUSH_SLAVE_TIMEOUT if late.copy else SendStatus.FLUSH_DISK_TIMEOUT
    left = tuple(w for w in broker.waiting if w is not late)
    return replace(broker, waiting=left), (Reply(late.caller, _with_status(late.answer, missing)),)


def copy_records(broker: Broker, effects: Effects) -> Effects:
    """What a step has written goes to the slave, if one is connected."""
    if broker.copied is None:
        return ()
    written = tuple(e.entry for e in effects if isinstance(e, Append) and e.log == COMMIT_LOG)
    if not written:
        return ()
    return (Send(broker.config.slave, HaTransfer(written)),)


def plan_flush(broker: Broker, effects: Effects) -> Effects:
    """With ASYNC_FLUSH: the next pass of the flush service, where a lesson has one."""
    if broker.config.flush != "async" or broker.config.flush_ms <= 0:
        return ()
    written = any(isinstance(e, Append) and e.log == COMMIT_LOG for e in effects)
    return (SetTimer(FLUSH, broker.config.flush_ms),) if written else ()


def lose_slave(broker: Broker) -> Broker:
    """Its connection closed. Who waits for it waits on, until the time is over."""
    return replace(broker, copied=None)
