"""The live Snapshot, as plain JSON values, of which only what has changed is made again."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

from ....kernel import Log, Map, Reader, Table, replace
from ....kernel.trace import plain_of as plain
from ....rocketmq.broker import Broker
from ....rocketmq.broker.checking import read_progress
from ....rocketmq.config import DISCARD_TOPIC
from ....rocketmq.group.producers import Producers
from ....rocketmq.log.store import DISCARD_QUEUE, HALF_QUEUE, OP_QUEUE
from ....rocketmq.picture.graph import draw_graph
from ....rocketmq.picture.strips import draw_halves, draw_ops, draw_queue
from ....rocketmq.picture.tables import draw_group, draw_waiting
from ...trace.lanes import Lanes
from ...trace.parts import Parts
from ...trace.texts import cut
from .lights import Lights
from .model import Model, label_op

ROWS = 10  # of a table
FIRST = (HALF_QUEUE, OP_QUEUE)


class Picture:
    """`now()` is the Snapshot of the model and the lanes as they are. `broker`: the engine's role
    after the step that was taken last."""

    def __init__(self, model: Model, lanes: Lanes) -> None:
        self.model = model
        self.lanes = lanes
        self.lights = Lights(model)
        self.broker: Broker | None = None
        self._part = Parts().make

    def now(self) -> dict[str, Any]:
        model, broker = self.model, self.broker
        versions = {name: self._version(name) for name in self._names()}
        logs = [
            self._part(f"log {n}", version, partial(self._log, n))
            for n, version in versions.items()
        ]
        producers = broker.producers if broker is not None else Producers()
        tables = [self._part("group", producers, partial(self._group, producers))]
        if broker is not None and broker.ops:
            waiting = partial(self._waiting, broker.ops)
            tables.append(self._part("waiting", (model.changes, broker.ops), waiting))
        return {
            "lanes": self._part("lanes", self.lanes.changes, lambda: plain(self.lanes.draw())),
            "logs": self._part("logs", tuple(versions.items()), lambda: logs),
            "readers": self._part("readers", model.changes, self._readers),
            "graphs": self._part("graph", model.changes, self._graph),
            "tables": tables,
            "lights": self._part("lights", self.lights.red, self.lights.draw),
        }

    # -- parts -------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        """The half topic first, then the op topic, then the others by name."""
        return sorted(self.model.strips, key=lambda n: (n != HALF_QUEUE, n != OP_QUEUE, n))

    def _version(self, queue: str) -> Hashable:
        """A transaction's end changes cells that are there already."""
        ends = self.model.changes if queue == HALF_QUEUE else self.model.strips[queue].changes
        return (ends, self._at(queue))

    def _at(self, queue: str) -> int:
        """Where the check has come to in this queue."""
        if queue not in FIRST or self.broker is None:
            return 0
        return read_progress(self.broker.offsets)[FIRST.index(queue)]

    def _log(self, queue: str) -> Any:
        cells, book, at = list(self.model.strips[queue].cells), self.model.book, self._at(queue)
        if queue == HALF_QUEUE:
            log = draw_halves(cells, book, at)
        elif queue == OP_QUEUE:
            log = draw_ops(cells, book, at)
            named = zip(log.cells, cells, strict=True)
            log = replace(log, cells=tuple(replace(c, label=label_op(op)) for c, op in named))
        else:
            name = DISCARD_TOPIC if queue == DISCARD_QUEUE else cut(queue)
            log = draw_queue(name, cells, book)
        return plain(_from_window(log))

    def _readers(self) -> Any:
        rows = []
        for conn, got in self.model.readers.items():
            rows.append(Reader(self.lanes.find(conn), tuple(got)))
        return plain(tuple(rows))

    def _graph(self) -> Any:
        most = self.broker.config.check_max if self.broker is not None else 0
        return plain((draw_graph(self.model.book.txns.values(), most),))

    def _group(self, there: Producers) -> Any:
        shown = Map((cut(group), clients) for group, clients in there.groups.items())
        return plain(_first_rows(draw_group(replace(there, groups=shown))))

    def _waiting(self, ops: tuple[int, ...]) -> Any:
        return plain(_first_rows(draw_waiting(ops, self.model.book)))


def _first_rows(table: Table) -> Table:
    return replace(table, rows=table.rows[:ROWS])


def _from_window(log: Log) -> Log:
    """A long queue is drawn from its last cells on; a flag that stands before them is not."""
    start = log.cells[0].offset if log.cells else 0
    flags = tuple(flag for flag in log.frontiers if flag.at >= start)
    return replace(log, start=start, frontiers=flags)
