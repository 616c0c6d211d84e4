"""The live Snapshot, as plain JSON values, of which only what has changed is made again.

An answer holds a change for each of hundreds of facts. Parts that did not change stay the
same objects, which a comparison sees at once; so a fact costs what it changed.
"""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import Any

from ....kafka.log import COMMIT
from ....kafka.messages import READ_COMMITTED, READ_UNCOMMITTED
from ....kafka.picture.graph import draw_graph
from ....kafka.picture.strips import draw_cell, draw_frontiers
from ....kafka.picture.tables import draw_positions, draw_states
from ....kernel import Got, Log, Reader
from ....kernel.trace import plain_of as plain
from ...trace.lanes import Lanes
from ...trace.parts import Parts
from ...trace.texts import cut
from .lanes import GROUP, LEADER
from .lights import Lights
from .model import Model, Row, count_shown

POSITIONS = 10  # of a group coordinator, and of each open transaction
GOT = plain(Got("", ""))
STATE_GRAPH = plain(draw_graph((), begun=False))


def draw_cells(row: Row, readable: bool) -> list[Any]:
    """A batch's cells, made once for each way in which they can look: all alike but for their
    places and labels."""
    key = ("cells", readable, row.outcome)
    if key not in row.drawn:
        batch = row.batch
        limit = batch.last + 1 if readable else batch.base
        alike = plain(draw_cell(batch, 0, "", row.txn, row.outcome, limit))
        row.drawn[key] = [
            {**alike, "offset": batch.base + i, "label": row.label(i)}
            for i in range(batch.count - count_shown(batch), batch.count)
        ]
    return row.drawn[key]


def draw_given(row: Row, log: str) -> list[Any]:
    """What a reader has got of a batch."""
    key = (log, True, "")
    if key not in row.drawn:
        batch = row.batch
        places = range(batch.count - count_shown(batch), batch.count)
        alike = {**GOT, "log": log, "txn": row.txn}
        row.drawn[key] = [{**alike, "label": row.label(i)} for i in places]
    return row.drawn[key]


class Picture:
    """`now()` is the Snapshot of the model and the lanes as they are."""

    def __init__(self, model: Model, lanes: Lanes) -> None:
        self.model = model
        self.lanes = lanes
        self.lights = Lights(model)
        self._part = Parts().make

    def now(self) -> dict[str, Any]:
        model, lanes = self.model, self.lanes
        strips = (*lanes.list_names(LEADER), *lanes.list_names(GROUP))
        versions = {name: self._version(name) for name in strips}
        logs = [self._part(f"log {n}", versions[n], partial(self._log, n)) for n in strips]
        seen = (lanes.changes, tuple(versions.values()))
        tables = [self._part("states", model.changes, self._states)]
        for name in lanes.list_names(GROUP):
            offsets = self._part(f"offsets {name}", versions[name], partial(self._positions, name))
            tables.append(offsets)
        return {
            "lanes": self._part("lanes", lanes.changes, lambda: plain(lanes.draw())),
            "logs": self._part("logs", seen, lambda: logs),
            "readers": self._part("readers", seen, self._readers),
            "graphs": self._part("graphs", model.changes, lambda: [self._graph()]),
            "tables": tables,
            "lights": self._part(
                "lights", (seen, len(model.broken)), partial(self.lights.draw, strips)
            ),
        }

    def _version(self, name: str) -> tuple[int, int, int]:
        strip, part = self.model.strips.get(name), self.model.find_part(name)
        changes = strip.changes if strip is not None else 0
        return (changes, part.hw, part.lso) if part is not None else (changes, 0, 0)

    # -- parts -------------------------------------------------------------------------------

    def _rows(self, name: str) -> list[Row]:
        strip = self.model.strips.get(name)
        return list(strip.rows) if strip is not None else []

    def _log(self, name: str) -> Any:
        part = self.model.find_part(name)
        lso, hw = (part.lso, part.hw) if part is not None else (0, 0)
        drawn = [c for row in self._rows(name) for c in draw_cells(row, row.batch.last < lso)]
        start = drawn[0]["offset"] if drawn else 0
        return {**plain(Log(name, (), draw_frontiers(lso, hw), start)), "cells": drawn}

    def _readers(self) -> Any:
        names = self.lanes.list_names(LEADER)
        out = []
        for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
            given = [
                (row.turn, row, name) for name in names for row in self._given(name, isolation)
            ]
            given.sort(key=itemgetter(0))  # as they were written, whatever their partitions
            got = [g for _, row, name in given for g in draw_given(row, name)]
            out.append({**plain(Reader(isolation)), "got": got})
        return out

    def _given(self, name: str, isolation: str) -> list[Row]:
        part = self.model.find_part(name)
        if part is None:
            return []
        committed = isolation == READ_COMMITTED
        end = part.lso if committed else part.hw
        return [
            row
            for row in self._rows(name)
            if not row.batch.control and row.batch.last < end
            if row.outcome == COMMIT or not committed
        ]

    def _graph(self) -> Any:
        """States and edges are always the same: only what has changed is made plain."""
        graph = draw_graph(self.model.list_latest(), begun=bool(self.model.entries))
        changed = {"title": plain(graph.title), "path": list(graph.path), "txn": graph.txn}
        return {**STATE_GRAPH, **changed}

    def _states(self) -> Any:
        return plain(draw_states(self.model.entries.values(), cut))

    def _positions(self, name: str) -> Any:
        """What a group coordinator's committed positions are; the last few of them."""
        return plain(draw_positions(self.model.roles.get(name), POSITIONS, cut))
