"""The live Snapshot, as plain JSON values, of which only what has changed is made again."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from itertools import islice
from typing import Any

from ....kernel import Progress, Reader, Table, replace
from ....kernel.trace import plain_of as plain
from ....pulsar.claims.invariants import ONE_HOLDER, has_one_holder
from ....pulsar.coordinator import Coordinator, TxnMeta
from ....pulsar.picture.acknowledged import draw_subscription
from ....pulsar.picture.graph import draw_graph
from ....pulsar.picture.strips import draw_ledger, draw_records
from ....pulsar.picture.tables import draw_buffers, draw_pending, draw_transactions
from ....pulsar.subscription import Subscription
from ....pulsar.topic import Topic
from ...trace.lanes import Lanes
from ...trace.parts import Parts, Same
from ...trace.texts import cut
from .lanes import COORDINATOR, name_shortly
from .model import TXNS, Model

ROWS = 10  # of a table
SUBSCRIPTIONS = 4  # of a topic, that are shown


class Picture:
    """`now()` is the Snapshot of the model and the lanes as they are. `roles`: the engine's roles
    after the step that was taken last, by name."""

    def __init__(self, model: Model, lanes: Lanes) -> None:
        self.model = model
        self.lanes = lanes
        self._judged: dict[str, list[Subscription]] = {}
        self.roles: dict[str, Any] = {}
        self._part = Parts().make
        self._subs: dict[str, tuple[Same, list[Subscription]]] = {}

    def now(self) -> dict[str, Any]:
        model, part = self.model, self._part
        names = sorted(model.strips)
        topics = [self.roles[name] for name in names if name in self.roles]
        logs = [part(f"log {n}", self._version(n), partial(self._topic, n)) for n in names] + [
            part(f"log {n}", (strip.changes, model.changes), partial(self._records, n))
            for n, strip in sorted(model.records.items())
        ]
        seen: tuple[Hashable, ...] = (model.changes, *map(self._see, topics))
        return {
            "lanes": part("lanes", self.lanes.changes, lambda: plain(self.lanes.draw())),
            "logs": part("logs", tuple(map(id, logs)), lambda: logs),
            "readers": part("readers", model.changes, self._readers),
            "graphs": part("graph", model.changes, lambda: plain((draw_graph(model.written),))),
            "lights": part(
                "lights", (seen, len(model.lights.red)), partial(self.draw_lights, topics)
            ),
            "tables": part("tables", (seen, *self._txns()), partial(self._tables, topics)),
        }

    # -- parts -------------------------------------------------------------------------------

    def _version(self, name: str) -> Hashable:
        """Which cells can be read, and which belong to what was aborted, the buffer says."""
        topic: Topic | None = self.roles.get(name)
        return (self.model.strips[name].changes, self.model.changes, self._see(topic))

    def _see(self, topic: Topic | None) -> Hashable:
        """What of a topic is drawn."""
        return None if topic is None else (Same(topic.buffer), topic.lac, Same(topic.subs))

    def _list_subs(self, topic: Topic) -> list[Subscription]:
        """Its subscriptions, listed again when one of them has changed."""
        version, (old, subs) = Same(topic.subs), self._subs.get(topic.name, (None, []))
        if version != old:
            subs = topic.subs.values()
            self._subs = {name: kept for name, kept in self._subs.items() if name in self.roles}
            self._subs[topic.name] = (version, subs)
        return subs

    def draw_lights(self, topics: list[Topic]) -> Any:
        """Who holds a pending message is looked up where a subscription has changed."""
        for topic in topics:
            before, subs = self._judged.get(topic.name, []), self._list_subs(topic)
            if subs is not before:
                held = {id(sub.pending) for sub in before}
                new = (sub for sub in subs if id(sub.pending) not in held)
                self.model.lights.judge(ONE_HOLDER, all(map(has_one_holder, new)))
        self._judged = {topic.name: self._list_subs(topic) for topic in topics}
        return plain(self.model.lights.draw())

    def _topic(self, name: str) -> Any:
        topic: Topic | None = self.roles.get(name)
        entries = list(self.model.strips[name].cells)
        rows: tuple[Progress, ...] = ()
        if topic is not None:
            durable = (sub for sub in self._list_subs(topic) if sub.durable)
            strip = range(entries[0].base if entries else 0, topic.lac + 1)
            rows = tuple(self._subscription(sub, strip) for sub in islice(durable, SUBSCRIPTIONS))
        return plain(draw_ledger(cut(name_shortly(name)), entries, topic, self.model.written, rows))

    def _subscription(self, sub: Subscription, strip: range) -> Progress:
        """Who was refused is not looked up in its log."""
        written = self.model.written
        return draw_subscription(cut(sub.name), sub.cursor, sub.pending, (), written, strip)

    def _records(self, name: str) -> Any:
        records = list(self.model.records[name].cells)
        return plain(draw_records(int(name.rpartition("-")[2]), records, self.model.written))

    def _readers(self) -> Any:
        rows = []
        for consumer, got in self.model.readers.items():
            conn, _, subscription = consumer.partition("/")
            rows.append(Reader(cut(f"{subscription} · {conn}"), tuple(got)))
        return plain(tuple(rows))

    def _coordinators(self) -> list[Coordinator]:
        names = self.lanes.list_names(COORDINATOR)
        return [self.roles[name] for name in names if name in self.roles]

    def _txns(self) -> tuple[Hashable, ...]:
        return tuple(Same(tc.txns) for tc in self._coordinators())

    def _live(self, tc: Coordinator) -> list[TxnMeta]:
        """Of many, those that began last and have a name."""
        if len(tc.txns) <= TXNS:
            return tc.txns.values()
        return [tc.txns[txn] for txn in self.model.written.begun if txn in tc.txns]

    def _tables(self, topics: list[Topic]) -> list[Any]:
        written = self.model.written
        short = [replace(topic, name=cut(name_shortly(topic.name))) for topic in topics]
        always = [
            draw_transactions(
                (meta for tc in self._coordinators() for meta in self._live(tc)[:ROWS]), written
            ),
            draw_buffers(short, written, ROWS),
        ]
        subs = (
            (cut(name_shortly(topic.name)), sub)
            for topic in topics
            for sub in self._list_subs(topic)
            if sub.pending.of_txn or sub.pending.slot
        )
        pending = draw_pending(islice(subs, ROWS), written, ROWS)
        return [plain(_clip_rows(t)) for t in (*always, *([pending] if pending.rows else []))]


def _clip_rows(table: Table) -> Table:
    """The first rows, whose cells may hold names that a client chose."""
    rows = tuple(tuple(cut(cell) for cell in row) for row in table.rows[:ROWS])
    return replace(table, rows=rows)
