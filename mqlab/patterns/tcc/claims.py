"""The safeguards of TCC, what is true of it, and what it gives up: isolation.

Two of the safeguards are the coordinator's, the others are what each service must know.
"""

from __future__ import annotations

from typing import Protocol

from ...kernel import FAILED, OK, Words, World
from ...kernel.claims import Claim
from ..claims import (
    LastWords,
    contradicts_outcomes,
    has_both,
    has_everywhere,
    read_last_words,
    reads_disks,
    reads_running,
    reads_told,
)
from ..model import name_safeguards
from ..records import read_records
from .roles import CANCELLED, CONFIRMED, EMPTY, LOG, TRIED, Balance, add_up

SAFEGUARDS = name_safeguards(
    {
        "begun_on_disk": (
            "the coordinator writes that a transaction has begun before any Try leaves",
            "协调者先写下事务已开始，然后才发出任何 Try",
        ),
        "decision_on_disk": (
            "the decision is on disk before any Confirm or Cancel leaves",
            "决定先写入磁盘，然后才发出任何 Confirm 或 Cancel",
        ),
        "until_acknowledged": (
            "Confirm and Cancel are repeated until they are acknowledged",
            "Confirm 和 Cancel 一直重复，直到得到确认",
        ),
        "idempotent_confirm": (
            "a second Confirm changes nothing",
            "第二次 Confirm 不改变任何东西",
        ),
        "idempotent_cancel": (
            "a second Cancel changes nothing",
            "第二次 Cancel 不改变任何东西",
        ),
        "empty_cancel": (
            "a Cancel whose Try never came succeeds and gives nothing back (empty cancel)",
            "Try 从未到达的 Cancel 成功返回，但什么也不退还（空回滚）",
        ),
        "suspended_try": (
            "a Try that comes after its Cancel is refused (suspended try)",
            "在 Cancel 之后到达的 Try 被拒绝（防悬挂）",
        ),
    }
)

TM = "tm"
START = 2  # pieces that each service has in the beginning


class Parties(Protocol):
    """The names a claim needs."""

    @property
    def services(self) -> tuple[str, ...]: ...


def read_ledgers(parties: Parties, world: World) -> LastWords:
    """transaction → service → the last entry of its ledger."""
    return read_last_words(world, ((name, LOG) for name in parties.services))


def read_balance(world: World, name: str) -> Balance:
    return add_up(read_records(world.disk(name), LOG), START)


def is_balanced(parties: Parties, world: World) -> bool:
    return all(read_balance(world, name).reserved >= 0 for name in parties.services)


def has_same_end(parties: Parties, world: World) -> bool:
    ledgers = read_ledgers(parties, world)
    return not has_both(ledgers, CONFIRMED, CANCELLED) and not has_both(ledgers, CONFIRMED, EMPTY)


def is_as_told(parties: Parties, world: World) -> bool:
    against = {OK: CANCELLED, FAILED: CONFIRMED}
    return not contradicts_outcomes(world, read_ledgers(parties, world), against)


def has_nothing_reserved(parties: Parties, world: World) -> bool:
    running = all(world.nodes[name].up for name in (TM, *parties.services))
    ledgers = read_ledgers(parties, world).values()
    return running and not any(TRIED in last.values() for last in ledgers)


def is_whole(parties: Parties, world: World) -> bool:
    used = {read_balance(world, name).used for name in parties.services}
    return len(used) == 1


def can_confirm(parties: Parties, world: World) -> bool:
    return has_everywhere(read_ledgers(parties, world), parties.services, CONFIRMED)


KEPT = (
    Claim(
        "balanced",
        Words(
            "nothing is used or given back that was not reserved", "没有预留过的，不会被使用或退还"
        ),
        is_balanced,
        reads=reads_disks,
    ),
    Claim(
        "same end",
        Words(
            "no service confirms what another cancels", "不会有一个服务确认了另一个服务取消的订单"
        ),
        has_same_end,
        reads=reads_disks,
    ),
    Claim(
        "as told",
        Words("what the application was told is what happens", "应用得到的应答就是实际的结局"),
        is_as_told,
        reads=reads_told,
    ),
    Claim(
        "nothing stays reserved",
        Words("nothing stays reserved for ever", "没有任何资源被永远预留"),
        has_nothing_reserved,
        "can_always",
        reads_running,
    ),
)
CONFIRMS = Claim(
    "confirms",
    Words("an order can be confirmed everywhere", "订单可以在各处确认"),
    can_confirm,
    "sometimes",
    reads_disks,
)
UNKEPT = (
    Claim(
        "whole order",
        Words(
            "a reader sees an order at every service or at none",
            "读者要么在每个服务都看到订单，要么都看不到",
        ),
        is_whole,
        reads=reads_disks,
    ),
)
