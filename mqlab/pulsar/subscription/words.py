"""What a step has changed in a subscription's memory, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...kernel import Text, Words
from ..states import SubType
from .consumers import find_active

if TYPE_CHECKING:
    from . import Subscription

PENDING = Words("{sub}: pending for {txn}: {positions}")
UP_TO = Words("{sub}: pending for {txn}: up to {position}")
OVER = Words("{sub}: nothing pending for {txn}")
CONSUMERS = Words("{sub}: consumers: {names}")
ACTIVE = Words("{sub}: {client} is the active consumer")
NOBODY = "–"


def tell_subscription(old: Subscription | None, new: Subscription) -> tuple[Text, ...]:
    """What became pending or is so no more, and who is served. The cursor tells itself, by what
    it writes to the disk."""
    return (*_tell_pending(old, new), *_tell_consumers(old, new))


def _tell_consumers(old: Subscription | None, new: Subscription) -> Iterator[Text]:
    before = () if old is None else tuple(c.client for c in old.consumers)
    names = tuple(c.client for c in new.consumers)
    if names != before:
        yield CONSUMERS(sub=new.name, names=", ".join(names) or NOBODY)
    chosen = new.sub_type is SubType.FAILOVER and len(names) > 1
    if chosen and (old is None or find_active(new) != find_active(old)):
        yield ACTIVE(sub=new.name, client=find_active(new))


def _tell_pending(old: Subscription | None, new: Subscription) -> Iterator[Text]:
    before = dict(old.pending.of_txn) if old is not None else {}
    after = dict(new.pending.of_txn)
    for txn in after:
        if after[txn] != before.get(txn):
            positions = ", ".join(map(str, after[txn]))
            yield PENDING(sub=new.name, txn=txn, positions=positions)
    for txn in before:
        if txn not in after:
            yield OVER(sub=new.name, txn=txn)
    slot = old.pending.slot if old is not None else None
    if new.pending.slot is not None and new.pending.slot != slot:
        yield UP_TO(sub=new.name, txn=new.pending.slot[0], position=new.pending.slot[1])
    elif new.pending.slot is None and slot is not None:
        yield OVER(sub=new.name, txn=slot[0])
