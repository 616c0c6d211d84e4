"""The live Snapshot, as plain JSON values, of which only what has changed is made anew."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from ....kernel import Cell, Frontier, Log, escape_unseen
from ....kernel.trace import plain_of as plain
from ....rocketmq.log.offsets import HALF_KEY, OP_KEY
from ....rocketmq.log.store import HALF_QUEUE, OP_QUEUE
from ...trace.lanes import Lanes
from ...trace.texts import cut
from .model import Model, Strip, label

CURSORS = {HALF_QUEUE: ("check cursor", HALF_KEY), OP_QUEUE: ("op cursor", OP_KEY)}


class Picture:
    """`now()` is the Snapshot of the model and the lanes as they are. `broker`: the engine's role
    after the step that was taken last."""

    def __init__(self, model: Model, lanes: Lanes) -> None:
        self.model = model
        self.lanes = lanes
        self.broker: Any = None
        self._made: dict[str, tuple[Hashable, Any]] = {}

    def now(self) -> dict[str, Any]:
        logs = [
            self._part(f"log {name}", (strip.changes, self._at(name)), partial(self._log, name))
            for name, strip in sorted(self.model.strips.items(), key=_place)
        ]
        return {
            "lanes": self._part("lanes", self.lanes.changes, lambda: plain(self.lanes.draw())),
            "logs": logs,
        }

    def _part(self, name: str, version: Hashable, make: Callable[[], Any]) -> Any:
        old = self._made.get(name)
        if old is None or old[0] != version:
            self._made[name] = old = (version, make())
        return old[1]

    def _at(self, queue: str) -> int:
        """Where the check has come to in this queue."""
        if queue not in CURSORS or self.broker is None:
            return 0
        found: int = self.broker.offsets.get(CURSORS[queue][1], 0)
        return found

    def _log(self, queue: str) -> Any:
        strip: Strip = self.model.strips[queue]
        cells = tuple(
            Cell(
                stored.queue_offset,
                escape_unseen(label(stored)),
                "control" if stored.kind == "op" else "data",
                readable=stored.kind == "message",
            )
            for stored in strip.cells
        )
        at, start = self._at(queue), cells[0].offset if cells else 0
        known = queue in CURSORS and at >= start
        frontiers = (Frontier(CURSORS[queue][0], at),) if known else ()
        ends = _name(HALF_QUEUE) if queue == OP_QUEUE else ""
        return plain(Log(_name(queue), cells, frontiers, start, ends))


def _name(queue: str) -> str:
    """A queue of the check by its topic, which has only this one; any other by its own name."""
    return cut(queue.removesuffix("-0") if queue in CURSORS else queue)


def _place(item: tuple[str, Strip]) -> tuple[bool, bool, str]:
    """The half topic first, then the op topic, then the others by name."""
    return item[0] != HALF_QUEUE, item[0] != OP_QUEUE, item[0]
