"""A run written by hand, for looking at: a coordinator dies between its two markers.

Kafka's words, but no broker is behind it. `sample()` is the picture the player is judged
by; `long_trace(n)` repeats transactions until there are n facts, for measuring.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from mqlab.kernel.snapshot import (
    Cell,
    Frontier,
    Got,
    Graph,
    GraphState,
    Lane,
    Light,
    Log,
    Money,
    Reader,
    Snapshot,
    Table,
)
from mqlab.kernel.text import NOTHING, Text
from mqlab.kernel.trace import Fact, Trace

LANES = (
    Lane("app", Text("order service", "订单服务"), Text("producer", "生产者")),
    Lane("bill", Text("billing", "计费"), Text("producer", "生产者")),
    Lane("tc", Text("coordinator", "事务协调者"), Text("txn log 23")),
    Lane("o-0", Text("orders-0"), Text("leader")),
    Lane("o-1", Text("orders-1"), Text("leader")),
    Lane("reader", Text("reader", "读者"), Text("read_committed")),
)
STATES = (
    GraphState("Empty", 0, 0),
    GraphState("Ongoing", 1, 0),
    GraphState("PrepareCommit", 2, 0),
    GraphState("CompleteCommit", 3, 0),
    GraphState("PrepareAbort", 2, 1),
    GraphState("CompleteAbort", 3, 1),
)
EDGES = (
    ("Empty", "Ongoing"),
    ("Ongoing", "PrepareCommit"),
    ("PrepareCommit", "CompleteCommit"),
    ("Ongoing", "PrepareAbort"),
    ("PrepareAbort", "CompleteAbort"),
)
LIGHTS = (
    Light("money", Text("money in = money out", "进账 = 出账")),
    Light("open", Text("no record of an open transaction is read", "未结束事务的记录不会被读到")),
    Light("decision", Text("the decision is durable before any marker", "先落盘决定，再发标记")),
)


@dataclass
class Writer:
    """Facts and Snapshots, grown side by side."""

    lanes: tuple[Lane, ...] = LANES
    logs: dict[str, Log] = field(
        default_factory=lambda: {
            name: Log(name, (), (Frontier("LSO", 0), Frontier("HW", 0)))
            for name in ("orders-0", "orders-1")
        }
    )
    committed: tuple[Got, ...] = ()
    uncommitted: tuple[Got, ...] = ()
    note: Text = NOTHING
    path: tuple[str, ...] = ("Empty",)
    txn: str = "T1"
    rows: tuple[tuple[str, ...], ...] = ()
    table: bool = False
    facts: list[Fact] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)

    def shot(self) -> Snapshot:
        title = Text(
            f"Coordinator: where transaction {self.txn} is", f"协调者：事务 {self.txn} 走到哪一步"
        )
        return Snapshot(
            lanes=self.lanes,
            logs=tuple(self.logs.values()),
            readers=(
                Reader("read_committed", self.committed[-9:], self.note),
                Reader("read_uncommitted", self.uncommitted[-9:]),
            ),
            graphs=(Graph(title, STATES, EDGES, self.path, self.txn),),
            tables=(
                (
                    Table(
                        Text("__transaction_state"),
                        ("transactional.id", "state", "pid", "epoch"),
                        self.rows,
                    ),
                )
                if self.table
                else ()
            ),
            lights=LIGHTS,
            money=Money(
                500 * len(self.uncommitted),
                500 * len(self.committed),
                Text("ordered", "已下单"),
                Text("seen by readers", "读者看到"),
            ),
        )

    def say(self, line: str, why: str = "", txn: str = "", **more: Any) -> None:
        """A fact, as it is narrated: "tc ▮ disk PrepareCommit"; a crash has no other end."""
        node, glyph, rest = line.split(" ", 2)
        peer, _, text = rest.partition(" ") if glyph in "→▮⇒" else ("", "", rest)
        n, reason = len(self.facts) + 1, Text(why) if why else NOTHING
        self.facts.append(Fact(n, n, node, glyph, Text(text), peer, why=reason, txn=txn, **more))
        self.snapshots.append(self.shot())

    def up(self, name: str, up: bool) -> None:
        self.lanes = tuple(replace(x, up=up) if x.name == name else x for x in self.lanes)

    def append(self, log: str, label: str, txn: str, kind: str = "data", keep: int = 12) -> None:
        old = self.logs[log]
        end = old.cells[-1].offset + 1 if old.cells else 0
        cells = (*old.cells, Cell(end, label, kind, txn, readable=False))[-keep:]
        open_at = min(
            (c.offset for c in cells if not c.readable and c.kind == "data"), default=end + 1
        )
        self.logs[log] = Log(
            log, cells, (Frontier("LSO", open_at), Frontier("HW", end + 1)), cells[0].offset
        )
        if kind == "data":
            self.uncommitted += (Got(log, label, txn),)

    def settle(self, log: str, txn: str, until: int | None = None) -> None:
        """The marker is there: what stands before the first open record becomes readable."""
        old = self.logs[log]
        end = old.cells[-1].offset + 1
        others = [
            c.offset for c in old.cells if c.kind == "data" and not c.readable and c.txn != txn
        ]
        limit = min([end, *others] if until is None else [until])
        cells = tuple(replace(c, readable=c.readable or c.offset < limit) for c in old.cells)
        self.logs[log] = Log(log, cells, (Frontier("LSO", limit), Frontier("HW", end)), old.start)


def sample() -> Trace:
    """The picture: 23 facts, four of them folded."""
    w = Writer()
    w.snapshots.append(w.shot())
    _records(w)
    _decision(w)
    _after_the_crash(w)
    return Trace(
        system="kafka transaction_version=2 partitions=2",
        choices=(),
        facts=tuple(w.facts),
        snapshots=tuple(w.snapshots),
        title=Text("Commit survives a coordinator crash", "协调者崩溃，提交仍然生效"),
    )


def _records(w: Writer) -> None:
    w.say("app → tc InitProducerId", "The producer asks who it is.", "T1")
    w.say("tc ▮ disk Empty pid 0 epoch 0", "The identity outlives the coordinator.")
    w.say("tc ⇒ app pid 0 epoch 0", fold=True)
    w.say("app → o-0 Produce a", "Records go straight to the partition's leader.", "T1")
    w.path = ("Empty", "Ongoing")
    w.say("tc ▮ disk Ongoing {orders-0}", "The coordinator knows whom it must tell later.", "T1")
    w.append("orders-0", "a", "T1")
    w.say("o-0 ▮ disk a @0", "Durable, but nobody who reads committed data may see it.", "T1")
    w.say("o-0 ⇒ app ok", txn="T1", fold=True)
    w.say("bill → o-0 Produce x", "Another transaction writes to the same log.", "T2")
    w.append("orders-0", "x", "T2")
    w.say("o-0 ▮ disk x @1", "Two open transactions stand in one log.", "T2")
    w.say("o-0 ⇒ bill ok", txn="T2", fold=True)
    w.say("app → o-1 Produce b", txn="T1")
    w.append("orders-1", "b", "T1")
    w.say("o-1 ▮ disk b @0", "T1 now spans two partitions.", "T1")
    w.say("o-1 ⇒ app ok", txn="T1", fold=True)


def _decision(w: Writer) -> None:
    w.say("app → tc EndTxn commit", "From here on the coordinator decides.", "T1")
    w.path = ("Empty", "Ongoing", "PrepareCommit")
    w.say("tc ▮ disk PrepareCommit", "The decision. It is durable before any marker leaves.", "T1")
    w.say("tc ⇒ app ok", "The client is told before the markers are written.", "T1")
    w.say(
        "tc → o-0 WriteTxnMarkers commit",
        "One request for each leader.",
        "T1",
        label=Text("markers"),
    )


def _after_the_crash(w: Writer) -> None:
    w.up("tc", False)
    w.say("tc ✗ process killed: 1 of 2 markers had left", "What was written to disk stays.")
    w.append("orders-0", "C", "T1", "control")
    w.settle("orders-0", "T1")
    w.say("o-0 ▮ disk commit marker @2", "T1 is decided here; x of T2 still holds LSO at 1.", "T1")
    w.say("reader → o-0 Fetch", "The reader asks for what is committed.")
    w.committed = (Got("orders-0", "a", "T1"),)
    w.note = Text(
        "half of T1: torn until orders-1 has its marker", "T1 只读到一半：等 orders-1 的标记"
    )
    w.say(
        "o-0 ⇒ reader a (committed)",
        "orders-0 has its marker, orders-1 waits: the reader gets half of T1.",
        label=Text("a"),
    )
    w.up("tc", True)
    w.say("tc ↻ recovered: owes both markers", "PrepareCommit is on disk, so the work goes on.")
    w.say("tc → o-1 WriteTxnMarkers commit epoch=1", label=Text("WriteTxnMarkers"), txn="T1")


def long_trace(n: int = 2_000, lanes: int = 8) -> Trace:
    """`n` facts of transactions that follow and overlap each other."""
    extra = tuple(
        Lane(f"c-{i}", Text(f"consumer {i}"), Text("group g")) for i in range(lanes - len(LANES))
    )
    w = Writer(lanes=LANES + extra, table=True)
    w.logs["orders-2"] = Log("orders-2", (), (Frontier("LSO", 0), Frontier("HW", 0)))
    w.snapshots.append(w.shot())
    k = 0
    while len(w.facts) < n:
        k += 1
        _transaction(w, k)
    return Trace(
        "kafka transaction_version=2 partitions=3", (),
        tuple(w.facts[:n]), tuple(w.snapshots[: n + 1]), Text(f"{n} facts"),
    )  # fmt: skip


def _transaction(w: Writer, k: int) -> None:
    txn, who = f"T{k}", ("app", "bill")[k % 2]
    w.txn, w.path = txn, ("Empty", "Ongoing")
    log = f"orders-{k % 3}"
    leader = f"o-{k % 2}"
    w.say(f"{who} → {leader} Produce r{k}", "Records go straight to the leader.", txn)
    w.rows = (*w.rows[-5:], (f"app-{k}", "Ongoing", f"{k}", "0"))
    w.say(f"tc ▮ disk Ongoing {{{log}}}", txn=txn)
    w.append(log, f"r{k}", txn)
    w.say(f"{leader} ▮ disk r{k} written", txn=txn)
    w.say(f"{leader} ⇒ {who} ok", txn=txn)
    w.say(f"{who} → tc EndTxn commit", "From here on the coordinator decides.", txn)
    w.path += ("PrepareCommit",)
    w.rows = (*w.rows[:-1], (f"app-{k}", "PrepareCommit", f"{k}", "0"))
    w.say("tc ▮ disk PrepareCommit", txn=txn)
    if k % 9 == 0:
        w.up("tc", False)
        w.say("tc ✗ process killed", "What was written to disk stays.")
        w.up("tc", True)
        w.say("tc ↻ recovered")
    w.say(f"tc → {leader} WriteTxnMarkers commit", txn=txn)
    w.append(log, "C", txn, "control")
    w.settle(log, txn)
    w.say(f"{leader} ▮ disk commit marker", txn=txn)
    w.path += ("CompleteCommit",)
    w.rows = (*w.rows[:-1], (f"app-{k}", "CompleteCommit", f"{k}", "0"))
    w.say("tc ▮ disk CompleteCommit", txn=txn)
    w.committed += (Got(log, f"r{k}", txn),)
    w.say(f"{leader} ⇒ reader r{k}", txn=txn)
