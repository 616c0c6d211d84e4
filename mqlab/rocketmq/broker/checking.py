"""When the check service makes its rounds, and an operator's way back into the half topic.

Sources: TransactionalMessageCheckService, AdminBrokerProcessor#resumeCheckHalfMessage (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Append, Caller, Disk, Effects, Event, Fired, Reply, SetTimer, replace
from ..check import run_round
from ..check.halves import build_resumed
from ..errors import NOT_RESUMED, ResponseCode
from ..log.offsets import HALF_KEY, OP_KEY, Offsets
from ..log.store import HALF_QUEUE, OP_QUEUE, Writer, find_misfit, read_stored
from ..messages import ResumeCheckHalfMessage, ResumeCheckHalfMessageResponse

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]

CHECK = "check"


def read_progress(offsets: Offsets) -> tuple[int, int]:
    """Where the next round begins in the half topic and in the op topic."""
    return offsets.get(HALF_KEY, 0), offsets.get(OP_KEY, 0)


def make_round(broker: Broker, disk: Disk, at_ms: int) -> Result:
    """One round; how far it came is noted last."""
    half, op = read_progress(broker.offsets)
    result = run_round(broker.config, disk, at_ms, half, op, broker.producers)
    offsets = broker.offsets
    if result.half_offset != half:
        offsets = offsets.set(HALF_KEY, result.half_offset)
    if result.op_offset != op:
        offsets = offsets.set(OP_KEY, result.op_offset)
    return replace(broker, offsets=offsets, producers=result.producers), result.effects


def plan_round(broker: Broker, event: Event, effects: Effects, disk: Disk) -> Effects:
    """The service's rounds come at a fixed interval, whatever there is. Here none is waited for
    that would find nothing: the timer is set while one of the two topics has an unread end."""
    written = any(isinstance(e, Append) and e.log in (HALF_QUEUE, OP_QUEUE) for e in effects)
    if written or (isinstance(event, Fired) and event.timer == CHECK and _has_unread(broker, disk)):
        return _set_timer(broker, event.at_ms)
    return ()


def resume_rounds(broker: Broker, missing: Effects, disk: Disk, at_ms: int) -> Effects:
    """After a start: the next round, if there is something to read."""
    return _set_timer(broker, at_ms) if missing or _has_unread(broker, disk) else ()


def _has_unread(broker: Broker, disk: Disk) -> bool:
    half, op = read_progress(broker.offsets)
    return disk.log(HALF_QUEUE).end > half or disk.log(OP_QUEUE).end > op


def _set_timer(broker: Broker, at_ms: int) -> Effects:
    if "check_back" not in broker.config.on:
        return ()
    interval = broker.config.check_interval_ms
    return (SetTimer(CHECK, interval - at_ms % interval),)


def resume(
    broker: Broker, ask: ResumeCheckHalfMessage, caller: Caller, disk: Disk, at_ms: int
) -> Result:
    """A half that was given up goes to the half topic again, with all its checks before it."""
    stored = read_stored(disk, ask.commit_log_offset)
    if stored is None:
        refusal = ResumeCheckHalfMessageResponse(ResponseCode.SYSTEM_ERROR)
        return broker, (Reply(caller, refusal),)
    half, writer = build_resumed(stored), Writer(disk, at_ms)
    if find_misfit(half, broker.config.release):
        refusal = ResumeCheckHalfMessageResponse(ResponseCode.SYSTEM_ERROR, NOT_RESUMED)
        return broker, (Reply(caller, refusal),)
    writer.put(half)
    return broker, (*writer.effects, Reply(caller, ResumeCheckHalfMessageResponse()))
