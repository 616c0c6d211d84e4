"""A story told by the binary protocol, and everything that an administrator asks meanwhile.

The same requests go to a real Pulsar (`make real`) and to this project's server (`make test`,
beside what the real one has answered).
"""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mqlab.pulsar.messages import TxnID
from tests.serve.pulsar.raw import ABORT, COMMIT, Raw, bits

ASSIGN = "persistent://pulsar/system/transaction_coordinator_assign-partition-0"
V2, TXN = "/admin/v2", "/admin/v3/transactions"
END = "4102444800000"  # a moment that is far away
PATIENCE_S = 600


class Told:
    """What was asked and answered, in order."""

    def __init__(self, address: str, admin: str) -> None:
        self.address, self.admin = address, admin.removeprefix("http://")
        self.raw = Raw(address)
        self.sequence = 0
        self.rows: list[tuple[str, int, Any]] = []
        self.sent: list[tuple[int, int]] = []
        self.txn = TxnID(0, 0)

    # -- clients ---------------------------------------------------------------------------

    def look_up(self, topic: str) -> None:
        self.raw.ask("PARTITIONED_METADATA", topic=topic)
        self.raw.ask("LOOKUP", topic=topic)

    def send(self, number: int, text: str, txn: TxnID | None = None) -> tuple[int, int]:
        """(ledger, entry) of what was sent."""
        self.sequence += 1
        fields = bits(txn) if txn is not None else {}
        heard = self.raw.send(text, number, self.sequence, **fields)
        assert heard.name == "SEND_RECEIPT", heard.body
        return heard.body.message_id.ledgerId, heard.body.message_id.entryId

    # -- the administrator -----------------------------------------------------------------

    def http(self, method: str, path: str, body: Any = None) -> tuple[int, Any, dict[str, str]]:
        line = http.client.HTTPConnection(self.admin, timeout=PATIENCE_S)
        data = None if body is None else json.dumps(body)
        kind = {"Content-Type": "application/json"} if data is not None else {}
        line.request(method, path, data, kind)
        answer = line.getresponse()
        text = answer.read()
        line.close()
        headers = {k: v for k, v in answer.getheaders() if k.startswith("X-Pulsar")}
        try:
            told = json.loads(text) if text else None
        except ValueError:
            told = text.decode(errors="replace")
        return answer.status, told, headers

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        status, told, headers = self.http(method, path, body)
        self.rows.append((f"{method} {path}", status, [told, headers] if headers else told))
        return told

    def wait(self, path: str, is_it: Any) -> None:
        until = time.monotonic() + PATIENCE_S
        while not is_it(self.http("GET", path)[1]):
            assert time.monotonic() < until, f"{path}: {self.http('GET', path)}"
            time.sleep(0.05)


# ---- the story -----------------------------------------------------------------------------


def name_everywhere(name: str) -> tuple[str, str, str]:
    """A topic's path for an administrator, its whole name, its name in paths of transactions."""
    at = f"public/default/{name}"
    return f"{V2}/persistent/{at}", f"persistent://{at}", at


def before_all(it: Told, name: str) -> None:
    topic = f"persistent/public/default/{name}"
    for path in (
        "namespaces/public/default/topics", "persistent/public/nowhere", f"{topic}/stats",
        f"{topic}/internalStats", f"{topic}/partitions", f"{topic}/subscriptions",
    ):  # fmt: skip
        it.ask("GET", f"{V2}/{path}")
    for path in (
        "coordinators", "coordinatorStats", "coordinatorStats?coordinatorId=0",
        "coordinatorStats?coordinatorId=7", "slowTransactions/0", "transactionMetadata/0/0",
        "transactionMetadata/9/0", "coordinatorInternalStats/0", "coordinatorInternalStats/3",
        f"transactionBufferStats/public/default/{name}",
        f"pendingAckStats/public/default/{name}/s",
    ):  # fmt: skip
        it.ask("GET", f"{TXN}/{path}")
    it.ask("POST", f"{TXN}/abortTransaction/0/0")
    it.ask("POST", f"{TXN}/abortTransaction/9/0")


def a_topic(it: Told, name: str) -> None:
    """Made by the administrator, with two subscriptions; two plain messages."""
    path, url, at = name_everywhere(name)
    it.ask("PUT", path)
    it.ask("PUT", path)
    it.look_up(url)
    it.raw.produce(url, 1)
    it.wait(f"{TXN}/transactionBufferStats/{at}", lambda told: told["state"] == "NoSnapshot")
    it.ask("GET", f"{TXN}/transactionBufferStats/{at}?lowWaterMarks=true")
    it.ask("GET", f"{TXN}/pendingAckStats/{at}/s")
    earliest = {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
    it.ask("PUT", f"{path}/subscription/s", earliest)
    it.ask("PUT", f"{path}/subscription/s", earliest)
    it.ask("PUT", f"{path}/subscription/late")
    it.ask("GET", f"{path}/subscriptions")
    it.ask("GET", f"{TXN}/pendingAckStats/{at}/s?lowWaterMarks=true")
    it.sent = [it.send(1, text) for text in "ab"]


def a_transaction(it: Told, name: str) -> None:
    """Open: it has sent one message and acknowledged another."""
    path, url, at = name_everywhere(name)
    it.look_up(ASSIGN)
    it.raw.ask("TC_CLIENT_CONNECT_REQUEST", tc_id=0)
    for query in ("coordinatorStats", "coordinatorStats?coordinatorId=0"):
        it.ask("GET", f"{TXN}/{query}")
    it.ask("GET", f"{TXN}/coordinatorInternalStats/0")
    txn = it.txn = it.raw.begin(60_000)
    it.ask("GET", f"{TXN}/transactionMetadata/{txn.most}/{txn.least}")
    it.raw.ask("ADD_PARTITION_TO_TXN", partitions=[url], **bits(txn))
    it.sent.append(it.send(1, "c", txn))
    it.ask("GET", f"{TXN}/transactionBufferStats/{at}?lowWaterMarks=true")
    it.ask("GET", f"{TXN}/transactionInBufferStats/{at}/{txn.most}/{txn.least}")
    it.ask("GET", f"{TXN}/transactionInBufferStats/{at}/0/99")
    it.raw.subscribe(url, "s", 5, consumer_name="reader")
    assert len(it.raw.take(2)) == 2
    ledger, entry = it.sent[0]
    it.raw.ack_in(txn, url, {"ledgerId": ledger, "entryId": entry}, "s", 5)
    for query in (
        "slowTransactions/30000", "slowTransactions/70000", "slowTransactions/0?coordinatorId=0",
        "slowTransactions/0?coordinatorId=9", f"pendingAckStats/{at}/s?lowWaterMarks=true",
        f"transactionInPendingAckStats/{at}/s/{txn.most}/{txn.least}",
        f"positionStatsInPendingAck/{at}/s/{ledger}/{entry}",
        f"transactionMetadata/{txn.most}/{txn.least}",
    ):  # fmt: skip
        it.ask("GET", f"{TXN}/{query}")
    for query in ("stats", "internalStats"):
        it.ask("GET", f"{path}/{query}")


def both_ends(it: Told, name: str) -> None:
    """It commits, and another one aborts."""
    (path, url, at), first = name_everywhere(name), it.txn
    it.raw.end(first, COMMIT)
    txn = it.raw.begin(60_000)
    it.raw.ask("ADD_PARTITION_TO_TXN", partitions=[url], **bits(txn))
    it.send(1, "d", txn)
    it.raw.end(txn, ABORT)
    it.ask("GET", f"{TXN}/transactionInBufferStats/{at}/{txn.most}/{txn.least}")
    it.ask("GET", f"{TXN}/transactionMetadata/{first.most}/{first.least}")
    it.ask("POST", f"{TXN}/abortTransaction/{first.most}/{first.least}")
    it.ask("GET", f"{TXN}/coordinatorStats")
    it.ask("GET", f"{TXN}/transactionBufferStats/{at}?lowWaterMarks=true")
    it.ask("GET", f"{TXN}/pendingAckStats/{at}/s?lowWaterMarks=true")
    for entry in range(7):
        it.ask("GET", f"{path}/ledger/{it.sent[0][0]}/entry/{entry}")
    third = it.raw.begin(60_000)
    it.ask("POST", f"{TXN}/abortTransaction/{third.most}/{third.least}")


def subscriptions(it: Told, name: str) -> None:
    """Moved and deleted."""
    path, (ledger, entry) = f"{V2}/persistent/public/default/{name}", it.sent[0]
    late, nobody = f"{path}/subscription/late", f"{path}/subscription/nobody"
    it.ask("POST", f"{nobody}/resetcursor/0")
    it.ask("DELETE", nobody)
    for change in ("resetcursor", "resetcursor/0", "resetcursor/" + END):
        body = {"ledgerId": ledger, "entryId": entry} if change == "resetcursor" else None
        it.ask("POST", f"{late}/{change}", body)
        it.ask("GET", f"{path}/internalStats")
    it.ask("GET", f"{path}/stats")
    for gone in (late, nobody):
        it.ask("DELETE", gone)
        it.ask("DELETE", gone)
    it.ask("GET", f"{path}/subscriptions")


def places(it: Told, name: str) -> None:
    parts = f"{V2}/persistent/public/default/{name}-parts"
    spaces = f"{V2}/namespaces"
    it.ask("PUT", f"{parts}/partitions", 2)
    it.ask("PUT", f"{parts}/partitions", 2)
    it.ask("GET", f"{parts}/partitions")
    for none in (f"{parts}-partition-2", f"{parts}-none-partition-0"):
        it.ask("PUT", none)
        it.ask("PUT", f"{none}/subscription/s")
    it.ask("GET", f"{V2}/persistent/public/default")
    it.ask("GET", f"{V2}/persistent/public/default/partitioned")
    it.ask("DELETE", f"{parts}/partitions")
    it.ask("DELETE", f"{parts}/partitions")
    it.ask("GET", f"{parts}/partitions")
    for count in (0, -1, "²"):
        it.ask("PUT", f"{parts}/partitions", count)
    it.ask("DELETE", f"{V2}/persistent/public/default/{name}-none")
    for space in (f"public/{name}", f"public/{name}", f"nobody/{name}"):
        it.ask("PUT", f"{spaces}/{space}")
    it.ask("GET", f"{spaces}/public/{name}/topics")


def deletions(it: Told, name: str) -> None:
    """Of what is in use, without `force` and with it."""
    at, url = f"{V2}/persistent/public/default", "persistent://public/default"
    path, topic = f"{at}/{name}-gone", f"{url}/{name}-gone"
    it.ask("PUT", path)
    it.look_up(topic)
    it.raw.produce(topic, 11)
    it.ask("DELETE", path)
    it.raw.subscribe(topic, "s", 12)
    it.ask("DELETE", path)
    it.send(11, "backlog")
    it.raw.ask("CLOSE_PRODUCER", producer_id=11)
    it.ask("DELETE", f"{path}?force=false")
    it.ask("DELETE", f"{path}/subscription/s")
    it.ask("DELETE", f"{path}/subscription/s?force=true")
    it.ask("GET", f"{path}/subscriptions")
    it.raw.subscribe(topic, "s", 13)
    it.raw.ask("CLOSE_CONSUMER", consumer_id=13)
    for _ in range(2):  # a subscription that nobody uses, with a backlog, is no hindrance
        it.ask("DELETE", path)
    it.ask("DELETE", f"{path}?force=true")
    it.ask("PUT", path)
    it.raw.produce(topic, 14)
    it.raw.subscribe(topic, "s", 15)
    it.ask("DELETE", f"{path}?force=true")
    it.ask("GET", f"{path}/subscriptions")
    parts = f"{at}/{name}-split"
    it.ask("PUT", f"{parts}/partitions", 2)
    for number in (0, 1):
        it.look_up(f"{url}/{name}-split-partition-{number}")
    it.raw.produce(f"{url}/{name}-split-partition-1", 16)
    it.ask("DELETE", parts)
    it.ask("DELETE", f"{parts}/partitions")
    it.ask("GET", f"{parts}/partitions")
    it.ask("GET", f"{parts}-partition-0/subscriptions")
    it.ask("DELETE", f"{parts}-partition-0")
    it.ask("DELETE", f"{parts}-partition-1")
    it.ask("DELETE", f"{parts}/partitions?force=true")
    it.ask("GET", f"{parts}/partitions")


def comings(it: Told, name: str) -> None:
    """Consumers come to subscriptions, of which the first makes its topic; names of partitions."""
    path, topic, _ = name_everywhere(f"{name}-made")
    it.ask("PUT", f"{path}/subscription/x")
    it.look_up(topic)
    it.raw.produce(topic, 21)
    it.send(21, "a")
    for number, consumer in ((22, "a"), (23, "b")):
        it.raw.subscribe(topic, "s", number, consumer_name=consumer)
    (came,) = it.raw.take(1)
    it.raw.ask("UNSUBSCRIBE", consumer_id=22)
    it.ask("GET", f"{path}/stats")
    it.raw.ask("CLOSE_CONSUMER", consumer_id=23)
    it.raw.ask("SEEK", consumer_id=22, message_id=came.body.message_id)
    it.ask("GET", f"{path}/stats")
    it.raw.subscribe(topic, "s", 22, consumer_name="a")
    assert len(it.raw.take(1)) == 1
    it.ask("GET", f"{path}/stats")
    it.raw.ask("UNSUBSCRIBE", consumer_id=22)
    it.ask("PUT", f"{path}/subscription/s")
    it.raw.subscribe(topic, "x", 24, kind=0, consumer_name="alone")
    it.ask("GET", f"{path}/stats")
    it.ask("DELETE", f"{path}/partitions")
    it.ask("PUT", f"{path}-partition-1/partitions", 2)


PARTS = (before_all, a_topic, a_transaction, both_ends, subscriptions, places, deletions, comings)


def tell(address: str, admin: str, name: str = "told") -> list[list[Any]]:
    """(request, status, answer) of each request to a broker that nobody has used yet."""
    it = Told(address, admin)
    for part in PARTS:
        part(it, name)
    return [[asked, status, mask(told, it)] for asked, status, told in it.rows]


# ---- what is not the same in two runs ------------------------------------------------------


LEDGER = re.compile(r"\b\d+:(-?\d+)(?!\d)")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
READER = re.compile(r"reader-[0-9a-f]{10}$")
MASKED = {
    "ledgerId": "LEDGER", "cursorLedger": "LEDGER", "address": "CLIENT",
    # a dispatcher waits for more a moment after it has sent what there was
    "waitingReadOp": "SOON", "subscriptionHavePendingRead": "SOON", "waitingCursorsCount": "SOON",
    # a cursor is kept once a second at most (managedLedgerDefaultMarkDeleteRateLimit)
    "cursorLedgerLastEntry": "KEPT", "nonContiguousDeletedMessagesRangesSerializedSize": "KEPT",
}  # fmt: skip
NAMED = re.compile(r"standalone-0-\d+")


def mask(told: Any, it: Told) -> Any:
    """Without times, ports, ledger numbers, stack traces, and what is so a moment later."""
    if isinstance(told, dict):
        return {
            READER.sub("reader-", key): MASKED[key] if key in MASKED else mask(v, it)
            for key, v in told.items()
        }
    if isinstance(told, list):
        masked = [mask(value, it) for value in told]
        # names come in no order
        return sorted(masked) if all(isinstance(value, str) for value in told) else masked
    if isinstance(told, int) and not isinstance(told, bool) and told > 10**12:
        return "TIME"
    if not isinstance(told, str):
        return told
    for address in (it.admin, it.address):
        told = told.replace(address, "ADDRESS")
    told = told.partition("\n\nStacktrace")[0].strip()
    if not MOMENT.fullmatch(told):
        told = LEDGER.sub(r"LEDGER:\1", told)
    elif not told.startswith("1970"):
        told = "TIME"
    return NAMED.sub("NAMED", told)


# ---- the recording -------------------------------------------------------------------------

RECORDED = Path(__file__).with_name("administration.jsonl")


def read_rows(path: Path) -> list[list[Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_rows(path: Path, rows: Iterable[list[Any]]) -> None:
    lines = (json.dumps(row, ensure_ascii=False, sort_keys=True) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
