"""What a step has changed in the broker's memory, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...kernel import Text, Words
from ..config import TRANS_GROUP
from ..log.offsets import Offsets
from .checking import read_progress
from .delay import GROUP

if TYPE_CHECKING:
    from . import Broker

PROGRESS = Words("half offset {half}, op offset {op}")
WAITING = Words("ends that wait for their op record: {ops}")
NONE_WAITS = Words("ends that wait for their op record: –")
PRODUCERS = Words("producers of {group}: {names}")
CONSUMERS = Words("consumers of {group}: {names}")
REPORTED = Words("{group} reads on at {queue}@{offset}")
NOBODY = "–"


def tell_changes(old: Broker | None, new: Broker) -> tuple[Text, ...]:
    """After a start only how far the check service had come."""
    if old is None:
        return (_tell_progress(new.offsets),)
    return tuple(_tell(old, new))


def _tell_progress(offsets: Offsets) -> Text:
    half, op = read_progress(offsets)
    return PROGRESS(half=half, op=op)


def _tell(old: Broker, new: Broker) -> Iterator[Text]:
    if read_progress(new.offsets) != read_progress(old.offsets):
        yield _tell_progress(new.offsets)
    if new.ops != old.ops:
        yield WAITING(ops=", ".join(map(str, new.ops))) if new.ops else NONE_WAITS()
    for words, then, now in (
        (PRODUCERS, old.producers.groups, new.producers.groups),
        (CONSUMERS, old.consumers, new.consumers),
    ):
        if then is not now:
            for group in sorted({*then, *now}):
                if then.get(group) != now.get(group):
                    yield words(group=group, names=", ".join(now.get(group, ())) or NOBODY)
    if new.offsets is not old.offsets:
        yield from _tell_reported(old.offsets, new.offsets)


def _tell_reported(old: Offsets, new: Offsets) -> Iterator[Text]:
    for key, offset in new.items():
        queue, _, group = key.partition("@")
        if group not in (TRANS_GROUP, GROUP) and old.get(key) != offset:
            yield REPORTED(group=group, queue=queue, offset=offset)
