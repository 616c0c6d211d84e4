"""What a correct broker keeps, watched on a server that goes on.

A lesson's lights compare rows with messages, and what consumers have applied. A server sees neither
a client's database nor what a consumer does, so its lights are the two claims about the broker
alone. They are judged when a step is over: in the midst of a check round the check's place may be
past a half whose copy is not written yet. A light that went red stays red: the claim was broken in
this run, whatever comes after.

*Left out:* transactions that have left the notes are judged no more.
"""

from __future__ import annotations

from typing import Any

from ....kernel import Light, frozen
from ....kernel.trace import plain_of as plain
from ....rocketmq.broker import Broker
from ....rocketmq.broker.checking import read_progress
from ....rocketmq.claims.invariants import CLEAN_READ, NO_HALF_LOST, SERVED
from ....rocketmq.claims.promises import is_lost
from .model import Model


@frozen
class Progress:
    """What the broker says of the check: see `mqlab.rocketmq.claims.promises`."""

    half_offset: int = 0
    ops: tuple[int, ...] = ()


class Lights:
    """`red`: the names of the claims that were broken."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.red: frozenset[str] = frozenset()
        self._last = Progress()

    def look(self, broker: Broker) -> None:
        """A step is over. A half can be lost only where the check goes on, or where ends that
        waited to be recorded wait no more: at other steps there is nothing to look at."""
        old, new = self._last, Progress(read_progress(broker.offsets)[0], broker.ops)
        self._last = new
        if self.model.undecided:
            self.red |= {CLEAN_READ.name}
        if new.half_offset == old.half_offset and len(new.ops) >= len(old.ops):
            return
        if any(is_lost(new, txn) for txn in self.model.book.txns.values()):
            self.red |= {NO_HALF_LOST.name}

    def draw(self) -> Any:
        return plain(tuple(Light(c.name, c.words(), c.name not in self.red) for c in SERVED))
