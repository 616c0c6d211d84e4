"""Leading: what a broker with replicas makes of the effects of the role inside.

What the role appends its followers fetch; what all in sync have is safe. A follower that
comes back counts from the moment the leader proposes it, not from the moment the controller
agrees (Partition's *maximal ISR*): else a record could be called safe that the newcomer
lacks, and the newcomer be elected.

Sources: Partition#appendRecordsToLeader, #maybeIncrementLeaderHW, #maybeExpandIsr (Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...kernel import (
    Append,
    Appended,
    AppendFailed,
    Caller,
    Disk,
    Effect,
    Effects,
    Event,
    Put,
    Reply,
    Response,
    Send,
)
from ..errors import Error
from ..messages import WriteTxnMarkers, WriteTxnMarkersResponse
from . import copying
from .messages import AlterPartition, FetchReplica, FetchReplicaResponse, Leadership

if TYPE_CHECKING:
    from .replica import Replica

Result = tuple["Replica", Effects]


def is_short(r: Replica) -> bool:
    """Too few replicas are in sync for anything to be appended."""
    return r.mine is not None and len(r.mine.isr) < r.config.min_isr


def step_inside(r: Replica, event: Event, disk: Disk) -> Result:
    """The role inside takes a step."""
    assert r.role is not None
    role, effects = r.role.step(event, disk)
    return do_effects(replace(r, role=role), effects, disk)


def do_effects(r: Replica, effects: Effects, disk: Disk) -> Result:
    """The role's effects, as a broker with replicas does them."""
    assert r.mine is not None
    alone = maximal_isr(r) == (r.config.number,)
    out: list[Effect] = []
    fresh: dict[str, list[Any]] = {}
    events: list[Event] = []
    for effect in effects:
        match effect:
            case Append(log=log, entry=entry) if log in r.config.logs and is_short(r):
                error = Error.NOT_ENOUGH_REPLICAS.name
                events.append(AppendFailed(log, entry.last + 1, error))
            case Append(log=log, entry=entry) if log in r.config.logs:
                out.append(replace(effect, notify=alone))
                fresh.setdefault(log, []).append(entry)
            case Send(to=to) if _leaderless(r, to):
                events += _skip_marker(r, to, effect.body)
            case Send(to=to):
                out.append(replace(effect, to=_address(r, to)))
            case _:
                out.append(effect)
    new, made = r, tuple(out)
    for event in events:
        new, more = step_inside(new, event, disk)
        made = (*made, *more)
    return answer_parked(new, copying.Ahead(disk, fresh), made) if fresh else (new, made)


def _leaderless(r: Replica, partition: str) -> bool:
    known: Leadership | None = r.led.get(partition)
    return known is not None and known.leader < 0


def _skip_marker(r: Replica, partition: str, body: object) -> tuple[Event, ...]:
    """Nothing can be sent to a partition that nobody leads just now. It is asked again when
    somebody does, for the news counts as a new connection. With the switch of 4.3.1 on a
    marker is taken for delivered instead, as to a deleted partition
    (TransactionMarkerChannelManager, "likely deleted already and hence can be skipped"): the
    transaction completes, and hangs where its marker is missing."""
    if not r.config.skip_leaderless_marker or not isinstance(body, WriteTxnMarkers):
        return ()
    return (
        Response(partition, 0, WriteTxnMarkersResponse(body.txn_id, body.pid, epoch=body.epoch)),
    )


def _address(r: Replica, partition: str) -> str:
    known: Leadership | None = r.led.get(partition)
    return known.role if known is not None else partition


# ---- followers -------------------------------------------------------------------------


def answer_parked(r: Replica, disk: copying.Ahead | Disk, effects: Effects) -> Result:
    """Every parked follower that there is something new for is answered."""
    new, out = r, list(effects)
    for number, (caller, ask) in r.parked.items():
        answer = copying.answer_follower(r, ask, disk)
        if answer is not None:
            new = replace(new, parked=new.parked.remove(number))
            out.append(Reply(caller, answer))
    return new, tuple(out)


def handle_fetch(r: Replica, ask: FetchReplica, caller: Caller, disk: Disk) -> Result:
    """A follower asks; where its copy ends says what it has."""
    mine = r.mine
    if mine is None or ask.epoch > mine.epoch:
        # The follower has heard of this leader before the leader has: it waits.
        return replace(r, parked=r.parked.set(ask.number, (caller, ask))), ()
    if not r.leads or ask.epoch != mine.epoch:
        return r, (Reply(caller, FetchReplicaResponse(error=Error.FENCED_LEADER_EPOCH)),)
    new = replace(r, parked=r.parked.set(ask.number, (caller, ask)))
    for log, end, last_epoch, _ in ask.logs:
        if copying.find_divergence(disk, log, end, last_epoch) < 0:
            new = replace(new, ends=new.ends.set((ask.number, log), end))
    new, effects = advance_hw(new, disk)
    new, replies = answer_parked(new, disk, ())
    new, proposal = _propose_isr(new, ask.number, disk)
    return new, (*effects, *replies, *proposal)


def _propose_isr(r: Replica, number: int, disk: Disk) -> Result:
    """A follower outside the ISR that has the whole log may come back in."""
    assert r.mine is not None
    whole = all(r.ends.get((number, g), -1) >= disk.log(g).end for g in r.config.logs)
    if number in maximal_isr(r) or not whole:
        return r, ()
    new = replace(r, joining=tuple(sorted((*r.joining, number))))
    ask = AlterPartition(r.mine.partition, r.mine.epoch, r.mine.isr, maximal_isr(new))
    return new, (Send(r.config.controller, ask),)


def maximal_isr(r: Replica) -> tuple[int, ...]:
    """Who must have a record before it is safe: the ISR, and who was proposed for it."""
    assert r.mine is not None
    return tuple(sorted({*r.mine.isr, *r.joining}))


def advance_hw(r: Replica, disk: Disk, at_ms: int = 0) -> Result:
    """The high watermark goes where the slowest replica that counts is; never back, and not
    at all while too few are in sync (KIP-966): what only they have must not be called safe."""
    new = r
    out: list[Effect] = []
    if not r.leads or is_short(r):
        return r, ()
    others = [n for n in maximal_isr(r) if n != r.config.number]
    for log in r.config.logs:
        hw = min([disk.log(log).end, *(r.ends.get((n, log), 0) for n in others)])
        if hw <= new.hw.get(log, 0):
            continue
        new = replace(new, hw=new.hw.set(log, hw))
        out.append(Put(copying.CHECKPOINT, log, hw))
        if new.role is not None:
            new, more = step_inside(new, Appended(log, hw, at_ms), disk)
            out += more
    new, replies = answer_parked(new, disk, ())
    return new, (*out, *replies)
