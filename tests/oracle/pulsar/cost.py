"""What a transaction costs a real Pulsar: commands behind a proxy, and entries in its ledgers.

The broker tells the proxy's address to clients and to itself, so what the coordinator sends to
topics (END_TXN_ON_PARTITION) passes there as well, and so do snapshots, which a topic sends as a
producer does. Answers to END_TXN_ON_PARTITION are held until a reader has every order, which it
has before the client is told. Entries are those that the admin interface counts per managed
ledger: topics, the coordinator's log with its cursor, snapshots of transaction buffers. Before it
answers the client's end, a coordinator has done everything but move its cursor.

A standalone's bookie does not flush its journal before it answers (journalSyncData=false in
standalone.conf); a cluster's does by default (bookkeeper.conf), and so it does here. A topic that
has changed takes another snapshot every five seconds, for which nothing waits; here every ten
minutes.
"""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mqlab.real.pulsar.broker import RealPulsar
from mqlab.recordings.costs import FORGOTTEN, OTHERS, SEEN, TOLD

from ..counting import Flushes, Namer, Proxy
from ..measuring import NOBODY, Priced
from .driver import JavaDriver

#: BaseCommand.Type in PulsarApi.proto → what the engine calls it, requests and answers alike
NAMES = {
    6: "SendMessage", 7: "SendMessage", 50: "NewTxn", 51: "NewTxn", 52: "AddPartitionToTxn",
    53: "AddPartitionToTxn", 56: "EndTxn", 57: "EndTxn", 58: "EndTxnOnPartition",
    59: "EndTxnOnPartition", 62: "TcClientConnect", 63: "TcClientConnect",
}  # fmt: skip
TYPE = 0x08  # the tag of the first field
ON_PARTITION = NAMES[58]
SENDS, PUSHED, PINGS, CONNECT_TC, SUBSCRIBE = (6, 7), 9, (18, 19), 62, 4
#: a topic's own client: it sends a snapshot as a message, and one that reads snapshots is told
SNAPSHOT = "snapshot as a message"
#: connecting, asking where topics are, making producers
SET_UP = "set-up"
COORDINATOR, TOPICS, SNAPSHOTS = "coordinator's log", "topics' ledgers", "buffer snapshots"
CURSOR, JOURNAL = "coordinator's cursor", "bookie's journal"
SETTINGS = {"journalSyncData": "true", "transactionBufferSnapshotMinTimeInMillis": "600000"}
PERSISTENT = "persistent://public/default/"
STATS = "/admin/v2/persistent/public/default"
LOG = "/admin/v3/transactions/coordinatorInternalStats/0?metadata=true"
ORDERS = "orders"


def make_namer() -> Namer:
    """Names a command by the type in its first field. The broker's own client, which sends
    snapshots, never asks for a coordinator. What a reader of orders says does not count."""
    types: set[int] = set()
    reads: list[bool] = []

    def name(frame: bytes, up: bool) -> str:
        if len(frame) < 6 or frame[4] != TYPE:
            raise ValueError("a command begins with its type")
        kind = frame[5]
        types.add(kind)
        if reads or (kind == SUBSCRIBE and ORDERS.encode() in frame):
            reads.append(True)
            return ""
        if kind == PUSHED or (kind in SENDS and CONNECT_TC not in types):
            return SNAPSHOT
        return "" if kind in PINGS else NAMES.get(kind, SET_UP)

    return name


def place_of(path: str) -> str:
    return JOURNAL if path.endswith(".txn") else OTHERS


class PricedPulsar(Priced):
    def __init__(self, pulsar: RealPulsar, driver: JavaDriver, proxy: Proxy) -> None:
        super().__init__(proxy, f"pulsar-{pulsar.version}", SETTINGS)
        self.pulsar, self.driver = pulsar, driver
        self._topics: list[str] = []

    def watch(self) -> Flushes:
        return Flushes(self.pulsar.pid, place_of, self.pulsar.folder)

    def open(self, prefix: str, partitions: int) -> None:
        self._topics = [f"{prefix[:-1]}-{ORDERS}{i}" for i in range(partitions)]
        self.driver.perform("client app")
        self.driver.perform("client stock")
        for i, topic in enumerate(self._topics):
            self.driver.perform(f"producer p{i} app {PERSISTENT}{topic}")
            self.driver.perform(f"reader r{i} stock {PERSISTENT}{topic}")

    def perform(self, partitions: int, orders: int) -> Iterator[str]:
        self.driver.perform("begin t app 600000")
        for i in range(orders):
            self.driver.perform(f"send p{i % partitions} T{i + 1} txn=t")
        self.proxy.hold(ON_PARTITION, answers=True)
        self.driver.perform("later end commit t")
        for i in range(orders):
            if self.driver.perform(f"read r{i % partitions}") == "nothing":
                raise TimeoutError(NOBODY)
        yield SEEN
        self.proxy.hold()
        self.driver.perform("join end")
        yield TOLD
        self.settle()
        yield FORGOTTEN

    def writes(self) -> Counter[str]:
        log = self._get(LOG)["transactionLogStats"]["managedLedgerInternalStats"]
        entries = Counter({COORDINATOR: log["entriesAddedCounter"]})
        for topic in self._topics:
            entries[TOPICS] += self._get(f"{STATS}/{topic}/internalStats")["entriesAddedCounter"]
        snapshots = self._get(f"{STATS}/__transaction_buffer_snapshot/internalStats")
        entries[SNAPSHOTS] += snapshots["entriesAddedCounter"]
        for cursor in log["cursors"].values():
            entries[CURSOR] += cursor["cursorLedgerLastEntry"]
        return entries

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self.pulsar.admin + path, timeout=20) as answer:
            return json.load(answer)

    def close(self) -> None:
        self.driver.perform("forget")


@contextmanager
def open_priced(version: str) -> Iterator[PricedPulsar]:
    with (
        Proxy(make_namer) as proxy,
        RealPulsar(version, SETTINGS, proxy.front) as pulsar,
        JavaDriver(proxy.address, pulsar.admin, version) as driver,
    ):
        yield PricedPulsar(pulsar, driver, proxy)
