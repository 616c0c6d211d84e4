"""What an operator sees: a topic's log entry by entry, with its markers and what was aborted, the
buffer, the pending acks, cursors, the coordinator. Each is asked of the admin interface and noted
as one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mqlab.pulsar.evidence import BROKER

from .client import Lab
from .notebook import ADMIN, TRANSACTIONS, Txn

LOG, OPERATOR = "log", "operator"
COORDINATOR = f"{TRANSACTIONS}/coordinatorStats?coordinatorId=0"
MARKERS = {"21": "commit marker of", "22": "abort marker of"}


class Admin:
    """`lab`: whose admin interface."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def _note(self, to: str, question: str, answer: object) -> None:
        self.lab.note(OPERATOR, to, question, answer)

    def _told(self, path: str, say: Callable[[Any], object]) -> object:
        """What `say` makes of the interface's answer; its status where that says nothing."""
        stats = self.lab.json(path)
        return say(stats) if isinstance(stats, dict) else stats

    def _path(self, kind: str, *parts: str) -> str:
        topic, *rest = parts
        return "/".join([TRANSACTIONS, kind, "public/default", self.lab.wire(topic), *rest])

    # -- a topic ---------------------------------------------------------------------------

    def log(self, topic: str) -> None:
        """Every entry of its log, as it lies there."""
        lab = self.lab
        entries = lab.settle(lambda: list(lab.entries(topic)))
        for place, where in entries:
            lab.note(LOG, topic, f"entry {place}", self._entry(topic, place, where))
        if not entries:
            lab.note(LOG, topic, "entry 0", "nothing")

    def _entry(self, topic: str, place: int, where: str) -> str:
        ledger, _, entry = where.partition("/")
        path = f"{ADMIN}/{self.lab.wire(topic)}/ledger/{ledger}/entry/{entry}"
        return self._describe(self.lab.http("GET", path), place)

    def _describe(self, entry: Any, place: int) -> str:
        headers = entry["headers"]
        txn = ""
        if "txnid-least-bits" in headers:
            least = self.lab.least(int(headers["txnid-least-bits"]))
            txn = f"({headers['txnid-most-bits']},{least})"
        if marker := MARKERS.get(headers.get("marker-type", "")):
            return f"{marker} {txn} @{place}"
        batch = int(headers.get("num-batch-message", 0))
        text = f"batch of {batch}" if batch else entry["body"]
        flags = [flag for flag in ("aborted", "uncommitted") if headers.get(f"txn-{flag}")]
        flags = [flag for flag in flags if headers[f"txn-{flag}"] == "true"]
        return " ".join([text, *(["in", txn] if txn else []), f"@{place}", *flags])

    def markers(self, topic: str, action: str, count: int) -> None:
        """Wait for at least so many markers: each retry of an end appends one."""

        def marked() -> int:
            rows = (self._entry(topic, at, where) for at, where in self.lab.entries(topic))
            return sum(row.startswith(f"{action} marker") for row in rows)

        enough = self.lab.wait_until(lambda: marked() >= count)
        number = f"{count} or more" if enough else f"{marked()}"
        self.lab.note(LOG, topic, f"{action} markers", number)

    def unload(self, topic: str) -> None:
        """The broker closes the topic; the next that asks for it opens it again, with a new
        ledger, and its buffer and pending acks recover."""
        response = self.lab.http("PUT", f"{ADMIN}/{self.lab.wire(topic)}/unload")
        self._note(topic, "unload", response["status"])

    def producers(self, topic: str) -> None:
        """Who is open there, in which mode, and the topic epoch."""
        listing = self.lab.settle(lambda: self._producers(topic))
        self._note(topic, "stats: producers", listing)

    def _producers(self, topic: str) -> str:
        stats = self.lab.json(f"{ADMIN}/{self.lab.wire(topic)}/stats")
        names = sorted(f"{p['producerName']} {p['accessMode']}" for p in stats["publishers"])
        return f"{', '.join(names) or 'nobody'}, epoch {stats.get('topicEpoch')}"

    def compact(self, topic: str) -> None:
        """Once, to its end."""
        path = f"{ADMIN}/{self.lab.wire(topic)}/compaction"
        status = self.lab.http("PUT", path)["status"]
        self.lab.wait_until(lambda: self.lab.json(path).get("status") in ("SUCCESS", "ERROR"))
        self._note(topic, "compact", f"{status} {self.lab.json(path).get('status')}")

    def trim(self, topic: str) -> None:
        """Retention's work at once: ledgers that no subscription needs are deleted, all but the
        one that is written to."""
        deleted = self.lab.http("POST", f"{ADMIN}/{self.lab.wire(topic)}/trim")["status"]
        self.lab.wait_until(lambda: len(self.lab.stats(topic).get("ledgers", ())) == 1)
        left = len(self.lab.stats(topic).get("ledgers", ()))
        self._note(topic, "trim", f"{deleted}, ledgers left: {left}")

    def delete(self, topic: str) -> None:
        response = self.lab.http("DELETE", f"{ADMIN}/{self.lab.wire(topic)}?force=true")
        self._note(topic, "delete", response["status"])

    def buffer(self, topic: str) -> None:
        """Its transaction buffer."""
        self._note(topic, "transactionBufferStats", self.lab.settle(lambda: self._buffer(topic)))

    def buffer_state(self, topic: str) -> None:
        """The same without a position, where retries append more and more."""
        state = self.lab.settle(lambda: re.sub(r"maxReadPosition \d+, ", "", self._buffer(topic)))
        self._note(topic, "transactionBufferStats", state)

    def _buffer(self, topic: str) -> str:
        def say(stats: Any) -> str:
            state = f"{stats['state']}, maxReadPosition"
            state += f" {self.lab.place(topic, stats['maxReadPosition'])}, ongoing"
            return f"{state} {stats['ongoingTxnSize']}, aborted {stats['totalAbortedTransactions']}"

        return str(self._told(self._path("transactionBufferStats", topic), say))

    def in_buffer(self, topic: str, txn: Txn) -> None:
        """What the buffer knows of one transaction."""

        def say(stats: Any) -> str:
            start = stats.get("startPosition")
            place = "none" if start is None else self.lab.place(topic, start)
            return f"startPosition {place}" + (", aborted" if stats.get("aborted") else "")

        path = self._path("transactionInBufferStats", topic, str(txn.most), str(txn.least))
        question = f"transactionInBufferStats {self.lab.id(txn)}"
        self._note(topic, question, self._told(path, say))

    # -- a subscription --------------------------------------------------------------------

    def cursor(self, topic: str, subscription: str) -> None:
        """Up to where everything is acknowledged, and what is behind that."""
        position = self.lab.settle(lambda: self._cursor(topic, subscription))
        self._note(f"{topic}/{subscription}", "cursor", position)

    def _cursor(self, topic: str, subscription: str) -> str:
        lab = self.lab
        cursor = lab.stats(topic).get("cursors", {}).get(subscription)
        if cursor is None:
            return "nothing"
        mark = f"mark-delete {lab.place(topic, cursor['markDeletePosition'])}"
        behind = cursor.get("individuallyDeletedMessages", "[]").strip("[]")
        ranges = [part for part in behind.replace("(", "").split("]") if part.strip(", ")]
        rows = []
        for part in ranges:
            low, high = (lab.place(topic, end) for end in part.strip(", ").split(".."))
            rows.append(
                f"{int(low) + 1}" if int(low) + 1 == int(high) else f"{int(low) + 1}–{high}"
            )
        return mark + (f", acked {' '.join(rows)}" if rows else "")

    def pending(self, topic: str, subscription: str) -> None:
        """Its pending acks."""
        path = self._path("pendingAckStats", topic, subscription)
        state = self._told(path, lambda it: f"{it['state']}, ongoing {it['ongoingTxnSize']}")
        self._note(f"{topic}/{subscription}", "pendingAckStats", state)

    def in_pending(self, topic: str, subscription: str, txn: Txn) -> None:
        """Up to where one transaction has acknowledged cumulatively."""

        def say(stats: Any) -> str:
            position = stats.get("cumulativeAckPosition")
            return "none" if position is None else self.lab.place(topic, position)

        ids = str(txn.most), str(txn.least)
        path = self._path("transactionInPendingAckStats", topic, subscription, *ids)
        question = f"transactionInPendingAckStats {self.lab.id(txn)}"
        self._note(f"{topic}/{subscription}", question, self._told(path, say))

    def position(self, topic: str, subscription: str, wire: str) -> None:
        """What the subscription makes of one position."""
        ledger, entry, *index = wire.split(":")
        path = self._path("positionStatsInPendingAck", topic, subscription, ledger, entry)
        path += f"?batchIndex={index[0]}" if index else ""

        place = self.lab.place(topic, wire)
        state = self.lab.settle(lambda: self._told(path, lambda stats: stats["state"]))
        self._note(f"{topic}/{subscription}", f"positionStatsInPendingAck {place}", state)

    def unacked(self, topic: str, subscription: str) -> None:
        """How many messages its consumers hold and have not acknowledged."""
        self._note(
            f"{topic}/{subscription}",
            "stats: unackedMessages",
            self.lab.settle(lambda: self._unacked(topic, subscription)),
        )

    def _unacked(self, topic: str, subscription: str) -> int:
        stats = self.lab.json(f"{ADMIN}/{self.lab.wire(topic)}/stats?getPreciseBacklog=true")
        return int(stats["subscriptions"][subscription]["unackedMessages"])

    def consumers(self, topic: str, subscription: str) -> None:
        """How many are connected, and how many messages they may be sent now."""
        permits = self.lab.settle(lambda: self._permits(topic, subscription))
        self._note(f"{topic}/{subscription}", "stats: permits of consumers", permits or "nobody")

    def _permits(self, topic: str, subscription: str) -> str:
        stats = self.lab.json(f"{ADMIN}/{self.lab.wire(topic)}/stats")
        there = stats["subscriptions"][subscription]["consumers"]
        return ", ".join(str(one["availablePermits"]) for one in there)

    def list_ledgers(self, topic: str, subscription: str) -> list[int]:
        """The ids of the ledgers of its pending-ack log."""
        path = self._path("pendingAckInternalStats", topic, subscription) + "?metadata=true"
        log = self.lab.json(path)["pendingAckLogStats"]["managedLedgerInternalStats"]
        return [ledger["ledgerId"] for ledger in log["ledgers"]]

    def delete_subscription(self, topic: str, subscription: str, force: bool = False) -> None:
        path = f"{ADMIN}/{self.lab.wire(topic)}/subscription/{subscription}"
        response = self.lab.http("DELETE", path + ("?force=true" if force else ""))
        self._note(f"{topic}/{subscription}", "delete", response["status"])

    # -- the coordinator -------------------------------------------------------------------

    def transaction(self, txn: Txn) -> None:
        """What the coordinator knows of one transaction."""
        path = f"{TRANSACTIONS}/transactionMetadata/{txn.most}/{txn.least}"
        told = self._told(path, self._metadata)
        self._note(BROKER, f"transactionMetadata {self.lab.id(txn)}", told)

    def _metadata(self, metadata: Any) -> str:
        short = self._short
        produced = ", ".join(sorted(map(short, metadata.get("producedPartitions") or {})))
        acked = ", ".join(
            f"{short(topic)}/{name}"
            for topic, names in sorted((metadata.get("ackedPartitions") or {}).items())
            for name in sorted(names)
        )
        state = f"{metadata['status']}, timeoutAt {metadata['timeoutAt']}"
        return state + f", produced {{{produced}}}, acked {{{acked}}}"

    def _short(self, url: str) -> str:
        return url.rpartition("/")[2].removeprefix(self.lab.wire(""))

    def status(self, txn: Txn, status: str) -> None:
        """Wait until a transaction has this status, and note the one it has."""
        path = f"{TRANSACTIONS}/transactionMetadata/{txn.most}/{txn.least}"

        def read() -> object:
            return self._told(path, lambda metadata: metadata["status"])

        self.lab.wait_until(lambda: str(read()) == status)
        self._note(BROKER, f"status of {self.lab.id(txn)}", read())

    def coordinator(self) -> None:
        """Its last id and how many transactions are alive."""

        def say(stats: Any) -> str:
            last = self.lab.least(stats["leastSigBits"])
            return f"{stats['state']}, last id {last}, ongoing {stats['ongoingTxnSize']}"

        self._note(BROKER, "coordinatorStats", self._told(COORDINATOR, say))

    def idle(self) -> None:
        """Wait until the coordinator has no transaction any more. Unlike a question about one,
        this changes nothing."""

        def is_idle() -> bool:
            return self._told(COORDINATOR, lambda stats: stats["ongoingTxnSize"] == 0) is True

        self.lab.wait_until(is_idle)
        self.coordinator()

    def transaction_log(self) -> None:
        """How many records a fresh coordinator has written, and how many are still needed."""
        records = self.lab.settle(self._transaction_log)
        self._note(BROKER, "coordinatorInternalStats", records)

    def _transaction_log(self) -> object:
        def say(stats: Any) -> str:
            ledger = stats["transactionLogStats"]["managedLedgerInternalStats"]
            (cursor,) = ledger["cursors"].values()
            total = int(ledger["entriesAddedCounter"])
            return f"records {total}, needed {total - int(cursor['messagesConsumedCounter'])}"

        return self._told(f"{TRANSACTIONS}/coordinatorInternalStats/0", say)

    def abort(self, txn: Txn) -> None:
        """By an operator's hand."""
        response = self.lab.http("POST", f"{TRANSACTIONS}/abortTransaction/{txn.most}/{txn.least}")
        self._note(BROKER, f"abortTransaction {self.lab.id(txn)}", response["status"])

    def slow(self, timeout_ms: int) -> None:
        """Transactions whose timeout is longer."""
        transactions = self.lab.json(f"{TRANSACTIONS}/slowTransactions/{timeout_ms}")
        ids = sorted(map(int, (key.strip("()").split(",")[1] for key in transactions)))
        txns = ", ".join(f"(0,{self.lab.least(least)})" for least in ids) or "none"
        self._note(BROKER, f"slowTransactions {timeout_ms}", txns)

    def create_namespace(self, name: str) -> None:
        path = f"/admin/v2/namespaces/public/{self.lab.wire(name)}"
        self._note(BROKER, f"create namespace {name}", self.lab.http("PUT", path)["status"])

    def unload_coordinator(self) -> None:
        """Its store is closed; the next request of a client opens it again."""
        response = self.lab.http("PUT", "/admin/v2/namespaces/pulsar/system/unload")
        self._note(BROKER, "unload pulsar/system", response["status"])
