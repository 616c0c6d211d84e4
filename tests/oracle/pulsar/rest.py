"""The engine's answers where a program asks the admin interface: from the requests that an
administrator has in the engine, and from the world where a real broker reads its own ledgers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mqlab.pulsar.config import TRANSACTION_CURSOR, name_coordinator, name_transaction_log
from mqlab.real.program import NotOffered

from .driver import Thrown
from .engine import MISSING

if TYPE_CHECKING:
    from .played import PlayedDriver

OK, NOTHING, NOT_FOUND, IN_USE, BROKEN = 200, 204, 404, 412, 500
TOPICS = ("orders-0", "payments-0", "stock-0", "income-0")
#: what an exception of the administration is as a status
STATUS = {
    "TransactionNotFoundException": NOT_FOUND,
    "CoordinatorNotFoundException": NOT_FOUND,
    "ConsumerBusyException": IN_USE,
}

Answer = dict[str, Any]


def name_topic(url: str) -> str:
    """The engine's name of a topic on the wire."""
    if "elsewhere" in url:
        return MISSING
    if url.endswith(".dead"):
        return "dead-0"
    return next(name for name in TOPICS if url.endswith(name))


def answer_http(driver: PlayedDriver, method: str, path: str) -> Answer:
    """Raises NotOffered for what the engine has not."""
    for pattern, find in ROUTES:
        if match := re.fullmatch(pattern, f"{method} {path}"):
            try:
                return find(driver, *match.groups())
            except Thrown as thrown:
                return _say(STATUS.get(str(thrown), BROKEN))
    raise NotOffered(f"{method} {path}")


def _say(status: int, body: object = "", headers: dict[str, str] | None = None) -> Answer:
    text = body if isinstance(body, str) else json.dumps(body)
    return {"status": status, "headers": headers or {}, "body": text}


# ---- topics ------------------------------------------------------------------------------


def _internal(driver: PlayedDriver, topic: str) -> Answer:
    role = driver.engine.role(name_topic(topic))
    if not role.exists:
        return _say(NOT_FOUND)
    cursors = {name: _cursor(sub.cursor) for name, sub in role.subs.items()}
    ledgers = [{"ledgerId": 0, "entries": 0}]
    last = {"lastConfirmedEntry": f"0:{role.lac}", "ledgers": ledgers, "cursors": cursors}
    return _say(OK, last)


def _cursor(cursor: Any) -> dict[str, str]:
    ranges = ",".join(f"(0:{first - 1}..0:{last}]" for first, last in cursor.individual)
    marked = f"0:{cursor.mark_delete}"
    return {"markDeletePosition": marked, "individuallyDeletedMessages": f"[{ranges}]"}


def _stats(driver: PlayedDriver, topic: str) -> Answer:
    role = driver.engine.role(name_topic(topic))
    subs = {name: {"consumers": list(map(str, sub.consumers))} for name, sub in role.subs.items()}
    return _say(OK, {"subscriptions": subs})


def _entry(driver: PlayedDriver, topic: str, ledger: str, entry: str) -> Answer:
    name = name_topic(topic)
    role, at = driver.engine.role(name), int(entry)
    (stored,) = driver.engine.world.nodes[name].disk.log(name).read(at, at + 1)
    headers = {}
    if stored.txn is not None:
        headers["txnid-most-bits"] = str(stored.txn.most)
        headers["txnid-least-bits"] = str(stored.txn.least)
        headers["txn-aborted"] = str(stored.txn in role.buffer.aborts).lower()
    if stored.marker is not None:
        headers["marker-type"] = str(int(stored.marker))
    if len(stored.values) > 1:
        headers["num-batch-message"] = str(len(stored.values))
    headers["txn-uncommitted"] = str(at > role.buffer.readable).lower()
    return _say(OK, ", ".join(map(str, stored.values)), headers)


def _unload(driver: PlayedDriver, topic: str) -> Answer:
    driver.engine.reload(name_topic(topic))
    return _say(NOTHING)


def _delete(driver: PlayedDriver, topic: str) -> Answer:
    driver.engine.call(f"delete-topic {name_topic(topic)}")
    return _say(NOTHING)


def _unsubscribe(driver: PlayedDriver, topic: str, subscription: str) -> Answer:
    driver.engine.call(f"unsubscribe {name_topic(topic)} {subscription}")
    return _say(NOTHING)


# ---- transactions --------------------------------------------------------------------------


def _facts(driver: PlayedDriver, call: str) -> dict[str, str]:
    line = driver.engine.call(call)
    return dict(re.findall(r"(\w+)=(\{[^}]*\}|\S+)", line))


def _set(text: str) -> list[str]:
    return [name for name in text.strip("{}").split(", ") if name]


def _metadata(driver: PlayedDriver, most: str, least: str) -> Answer:
    facts: dict[str, Any] = _facts(driver, f"transaction-metadata {most}/{least}")
    if MISSING in facts["producedPartitions"]:
        raise NotOffered("transactionMetadata where a namespace is missing")
    acked: dict[str, dict[str, str]] = {}
    for topic, _, name in (where.partition("/") for where in _set(facts["ackedPartitions"])):
        acked.setdefault(topic, {})[name] = ""
    produced = dict.fromkeys(_set(facts["producedPartitions"]), "")
    return _say(OK, {**facts, "producedPartitions": produced, "ackedPartitions": acked})


def _coordinator(driver: PlayedDriver) -> Answer:
    facts: dict[str, Any] = _facts(driver, "coordinator-stats 0")
    for name in ("leastSigBits", "ongoingTxnSize"):
        facts[name] = int(facts[name])
    return _say(OK, facts)


def _transaction_log(driver: PlayedDriver) -> Answer:
    """What a real broker says of the managed ledger below the coordinator."""
    cursor = driver.engine.role(name_coordinator(0)).cursor
    written = driver.engine.world.nodes[name_coordinator(0)].disk.log(name_transaction_log(0)).end
    consumed = cursor.mark_delete + 1 + cursor.count_individual()
    stats = {
        "entriesAddedCounter": written,
        "cursors": {TRANSACTION_CURSOR: {"messagesConsumedCounter": consumed}},
    }
    return _say(OK, {"transactionLogStats": {"managedLedgerInternalStats": stats}})


def _slow(driver: PlayedDriver, timeout_ms: str) -> Answer:
    ids = driver.engine.call(f"slow-transactions 0 {timeout_ms}")
    return _say(OK, dict.fromkeys(re.findall(r"\(\d+,\d+\)", ids), ""))


def _abort(driver: PlayedDriver, most: str, least: str) -> Answer:
    """A real broker words no exception of this call."""
    try:
        driver.perform(f"end operator {most} {least} abort")
    except Thrown:
        return _say(BROKEN)
    return _say(NOTHING)


def _buffer(driver: PlayedDriver, topic: str) -> Answer:
    facts = _facts(driver, f"buffer-stats {name_topic(topic)}")
    return _say(OK, {**facts, "maxReadPosition": f"0:{facts['maxReadPosition']}"})


def _in_buffer(driver: PlayedDriver, topic: str, most: str, least: str) -> Answer:
    call = f"transaction-in-buffer {name_topic(topic)} {most}/{least}"
    facts: dict[str, Any] = _facts(driver, call)
    start = facts["startPosition"]
    facts["startPosition"] = None if start == "null" else f"0:{start}"
    return _say(OK, {**facts, "aborted": facts["aborted"] == "true"})


def _pending(driver: PlayedDriver, topic: str, subscription: str) -> Answer:
    return _say(OK, _facts(driver, f"pending-ack-stats {name_topic(topic)} {subscription}"))


def _in_pending(
    driver: PlayedDriver, topic: str, subscription: str, most: str, least: str
) -> Answer:
    slot = driver.engine.role(name_topic(topic)).subs[subscription].pending.slot
    held = slot is not None and (slot[0].most, slot[0].least) == (int(most), int(least))
    return _say(OK, {"cumulativeAckPosition": f"0:{slot[1]}" if held else None})


def _position(
    driver: PlayedDriver, topic: str, subscription: str, ledger: str, entry: str, index: str | None
) -> Answer:
    where = f"{name_topic(topic)}@{entry}" + ("" if index is None else f":{index}")
    return _say(OK, _facts(driver, f"position-stats {subscription} {where}"))


# ---- the rest ------------------------------------------------------------------------------


def _create(driver: PlayedDriver) -> Answer:
    driver.engine.call(f"create-namespace {MISSING}")
    return _say(NOTHING)


def _unload_coordinator(driver: PlayedDriver) -> Answer:
    driver.engine.reload(name_coordinator(0))
    return _say(NOTHING)


TOPIC = r"/admin/v2/persistent/public/default/([^/]+)"
TXN = "/admin/v3/transactions"
STATS = rf"GET {TXN}/%s/public/default/([^/]+)"
ROUTES: tuple[tuple[str, Callable[..., Answer]], ...] = (
    (rf"GET {TOPIC}/internalStats", _internal),
    (rf"GET {TOPIC}/stats", _stats),
    (rf"GET {TOPIC}/ledger/(\d+)/entry/(\d+)", _entry),
    (rf"PUT {TOPIC}/unload", _unload),
    (rf"DELETE {TOPIC}\?force=true", _delete),
    (rf"DELETE {TOPIC}/subscription/([^/]+)", _unsubscribe),
    (rf"GET {TXN}/transactionMetadata/(\d+)/(\d+)", _metadata),
    (rf"GET {TXN}/coordinatorStats\?coordinatorId=0", _coordinator),
    (rf"GET {TXN}/coordinatorInternalStats/0", _transaction_log),
    (rf"GET {TXN}/slowTransactions/(\d+)", _slow),
    (rf"POST {TXN}/abortTransaction/(\d+)/(\d+)", _abort),
    (STATS % "transactionBufferStats", _buffer),
    (STATS % "transactionInBufferStats" + r"/(\d+)/(\d+)", _in_buffer),
    (STATS % "pendingAckStats" + "/([^/]+)", _pending),
    (STATS % "transactionInPendingAckStats" + r"/([^/]+)/(\d+)/(\d+)", _in_pending),
    (
        STATS % "positionStatsInPendingAck" + r"/([^/]+)/(\d+)/(\d+)(?:\?batchIndex=(\d+))?",
        _position,
    ),
    (r"PUT /admin/v2/namespaces/public/.*elsewhere", _create),
    (r"PUT /admin/v2/namespaces/pulsar/system/unload", _unload_coordinator),
)
