"""The admin interface: what an operator asks and does by HTTP, at the address of the broker itself.

A real broker has a second port for it (webServicePort). Here is the part of it that is about
transactions, topics and namespaces; anything else is 404. What it changes goes the same way as what
a client changes: it asks the same roles.

    unload         a topic or the coordinators: the role ends and begins anew from what is durable,
                   and its clients, who are told, come back
    delete         a topic, a subscription
    create         a namespace, a topic with partitions
    abort          a transaction

Source: org.apache.pulsar.broker.admin.v2.PersistentTopics, Namespaces, admin.v3.Transactions (4.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ....kernel import Caller, Disk, Effects, Put, Reply, Send, replace
from ....pulsar.config import name_coordinator
from ....pulsar.messages import (
    AckPosition,
    Answer,
    CreateNamespace,
    DeleteTopic,
    EndTxn,
    TxnID,
    Unsubscribe,
)
from ....pulsar.states import TxnAction
from ..wire.asks import AdminAnswer, AdminAsk, Handed
from . import inspecting
from .hosting import Inspect, close_told
from .inspecting import MISSING, NO_CONTENT, OK
from .schemas import SCHEMAS
from .topics import (
    NAMESPACES,
    PARTITIONED,
    TOPICS,
    Refusal,
    TopicRow,
    find_namespace,
    find_row,
    list_topics,
    open_topic,
    read_name,
)

if TYPE_CHECKING:
    from . import Front

COORDINATORS = "coordinators"
CONFLICT, BAD = 409, 400
MOST_PARTITIONS = 1_000
Result = tuple["Front", Effects]


def answer(front: Front, caller: Caller, ask: AdminAsk, disk: Disk) -> Result:
    """The path in its parts, decoded after it was cut, since a name may hold a slash."""
    path, _, query = ask.path.partition("?")
    for method, pattern, handler in ROUTES:
        found = pattern.fullmatch(path) if method == ask.method else None
        if found is not None:
            parts = tuple(unquote(part) for part in found.groups() if part is not None)
            try:
                return handler(Call(front, caller, ask, disk, query), *parts)
            except Refusal:
                break
    return front, (Reply(caller, MISSING),)


class Call:
    """One request, with what answers it."""

    def __init__(self, front: Front, caller: Caller, ask: AdminAsk, disk: Disk, query: str) -> None:
        self.front, self.caller, self.ask, self.disk = front, caller, ask, disk
        self.query = query

    def say(self, status: int, body: Any = "", *effects: Any) -> Result:
        return self.front, (*effects, Reply(self.caller, AdminAnswer(status, body)))

    def inspect(self, role: str, read: Callable[[Any, Disk], AdminAnswer]) -> Result:
        return self.front, (Send(role, Handed(self.caller, Inspect(read))),)

    def at_topic(self, name: str, read: Callable[[Any, Disk, int], AdminAnswer]) -> Result:
        row = find_row(self.disk, name)
        if row is None:
            return self.say(inspecting.NOT_FOUND)
        return self.inspect(name, lambda role, disk: read(role, disk, row.number))

    def at_coordinator(self, most: int, read: Callable[[Any, Disk], AdminAnswer]) -> Result:
        if not 0 <= most < self.front.config.coordinators:
            return self.say(inspecting.NOT_FOUND)
        return self.inspect(name_coordinator(most), read)

    def hand(self, role: str, body: Any) -> Result:
        return self.front, (Send(role, Handed(self.caller, body)),)


def _name(tenant: str, namespace: str, topic: str) -> str:
    return read_name(f"persistent://{tenant}/{namespace}/{topic}")


# ---- topics --------------------------------------------------------------------------------


def _internal(call: Call, *name: str) -> Result:
    return call.at_topic(
        _name(*name), lambda topic, _, ledger: inspecting.tell_internal(topic, ledger)
    )


def _stats(call: Call, *name: str) -> Result:
    return call.at_topic(_name(*name), lambda topic, *_: inspecting.tell_stats(topic))


def _entry(call: Call, tenant: str, space: str, topic: str, ledger: str, entry: str) -> Result:
    return call.at_topic(
        _name(tenant, space, topic),
        lambda role, disk, number: (
            inspecting.tell_entry(role, disk, int(entry)) if int(ledger) == number else MISSING
        ),
    )


def _unload(call: Call, *name: str) -> Result:
    """Its clients are told to look it up again."""
    topic = _name(*name)
    row = find_row(call.disk, topic)
    if row is None:
        return call.say(inspecting.NOT_FOUND)
    told: Effects = ()
    sessions = call.front.sessions
    for kind, conn, number in sessions.using(topic):
        told = (*told, Send(conn, close_told(kind, number)))
        drop = sessions.drop_producer if kind == "producer" else sessions.drop_consumer
        sessions = drop(conn, number)
    anew = Put(TOPICS, topic, replace(row, loads=row.loads + 1))
    front = replace(call.front, sessions=sessions)
    return front, (anew, *told, Reply(call.caller, AdminAnswer(NO_CONTENT)))


def _delete(call: Call, *name: str) -> Result:
    topic = _name(*name)
    if topic not in list_topics(call.disk):
        return call.say(inspecting.NOT_FOUND)
    front, effects = _unload(call, *name)
    forget = Put(SCHEMAS, topic, None)
    return front, (*effects[:-1], forget, Send(topic, Handed(call.caller, DeleteTopic(topic))))


def _unsubscribe(call: Call, tenant: str, space: str, topic: str, name: str) -> Result:
    where = _name(tenant, space, topic)
    if find_row(call.disk, where) is None:
        return call.say(inspecting.NOT_FOUND)
    return call.hand(where, Unsubscribe(where, name))


def _backlog(call: Call, tenant: str, space: str, topic: str, name: str) -> Result:
    return call.at_topic(
        _name(tenant, space, topic),
        lambda role, disk, _: inspecting.tell_backlog(role, disk, name),
    )


def _create_partitions(call: Call, *name: str) -> Result:
    topic, text = _name(*name), call.ask.body.strip()
    if not re.fullmatch(rb"\d{1,6}", text) or not 1 <= int(text) <= MOST_PARTITIONS:
        return call.say(BAD)
    if topic in call.disk.table(PARTITIONED) or find_row(call.disk, topic) is not None:
        return call.say(CONFLICT)
    open_topic(call.disk, topic)  # refused where there is no namespace
    return call.say(NO_CONTENT, "", Put(PARTITIONED, topic, int(text)))


def _create(call: Call, *name: str) -> Result:
    topic = _name(*name)
    effects = open_topic(call.disk, topic)
    return call.say(NO_CONTENT if effects else CONFLICT, "", *effects)


def _list(call: Call, tenant: str, space: str) -> Result:
    names = [n for n in list_topics(call.disk) if find_namespace(n) == f"{tenant}/{space}"]
    return call.say(OK, names)


# ---- namespaces and coordinators -----------------------------------------------------------


def _create_namespace(call: Call, tenant: str, space: str) -> Result:
    """Topics that somebody has named before can be served now."""
    name = f"{tenant}/{space}"
    if name in call.disk.table(NAMESPACES):
        return call.say(CONFLICT)
    nobody = Caller("")
    rows: tuple[TopicRow, ...] = tuple(call.disk.table(TOPICS).values())
    told = [
        Send(row.name, Handed(nobody, CreateNamespace(row.name)))
        for row in rows
        if row.missing and find_namespace(row.name) == name
    ]
    return call.say(NO_CONTENT, "", Put(NAMESPACES, name, True), *told)


def _unload_coordinators(call: Call) -> Result:
    loads = call.disk.table(COORDINATORS)
    ids = range(call.front.config.coordinators)
    puts = (
        Put(COORDINATORS, name_coordinator(n), loads.get(name_coordinator(n), 0) + 1) for n in ids
    )
    return call.say(NO_CONTENT, "", *puts)


def _coordinators(call: Call) -> Result:
    return call.say(OK, [{"id": n} for n in range(call.front.config.coordinators)])


# ---- transactions --------------------------------------------------------------------------


def _txn(most: str, least: str) -> TxnID:
    return TxnID(int(most), int(least))


def _metadata(call: Call, most: str, least: str) -> Result:
    return call.at_coordinator(
        int(most), lambda tc, _: inspecting.tell_transaction(tc, _txn(most, least))
    )


def _coordinator(call: Call) -> Result:
    found = re.fullmatch(r"coordinatorId=(\d+)", call.query)
    return call.at_coordinator(
        int(found[1]) if found else 0, lambda tc, _: inspecting.tell_coordinator(tc)
    )


def _transaction_log(call: Call, most: str) -> Result:
    return call.at_coordinator(int(most), inspecting.tell_transaction_log)


def _slow(call: Call, timeout_ms: str) -> Result:
    return call.at_coordinator(0, lambda tc, _: inspecting.tell_slow(tc, int(timeout_ms)))


def _abort(call: Call, most: str, least: str) -> Result:
    if not int(most) < call.front.config.coordinators:
        return call.say(inspecting.NOT_FOUND)
    return call.hand(name_coordinator(int(most)), EndTxn(_txn(most, least), TxnAction.ABORT))


def _buffer(call: Call, *name: str) -> Result:
    return call.at_topic(_name(*name), inspecting.tell_buffer)


def _in_buffer(call: Call, tenant: str, space: str, topic: str, most: str, least: str) -> Result:
    txn = _txn(most, least)
    return call.at_topic(
        _name(tenant, space, topic),
        lambda role, disk, ledger: inspecting.tell_in_buffer(role, disk, txn, ledger),
    )


def _pending(call: Call, tenant: str, space: str, topic: str, name: str) -> Result:
    return call.at_topic(
        _name(tenant, space, topic),
        lambda role, disk, _: inspecting.tell_pending(role, disk, name),
    )


def _in_pending(
    call: Call, tenant: str, space: str, topic: str, name: str, most: str, least: str
) -> Result:
    txn = _txn(most, least)
    return call.at_topic(
        _name(tenant, space, topic),
        lambda role, _, ledger: inspecting.tell_in_pending(role, name, txn, ledger),
    )


def _position(
    call: Call, tenant: str, space: str, topic: str, name: str, ledger: str, entry: str
) -> Result:
    found = re.fullmatch(r"batchIndex=(\d+)", call.query)
    position = AckPosition(int(entry), int(found[1]) if found else -1)
    return call.at_topic(
        _name(tenant, space, topic),
        lambda role, disk, _: inspecting.tell_position(role, disk, name, position),
    )


# ---- what can be asked ---------------------------------------------------------------------

PART, NUMBER = "([^/]+)", r"(\d{1,18})"
TOPIC_PATH = f"/admin/v2/persistent/{PART}/{PART}/{PART}"
TXN = "/admin/v3/transactions"
AT_TOPIC = f"/{PART}/{PART}/{PART}"
ROUTES: tuple[tuple[str, re.Pattern[str], Callable[..., Result]], ...] = tuple(
    (method, re.compile(path), handler)
    for method, path, handler in (
        ("GET", f"{TOPIC_PATH}/internalStats", _internal),
        ("GET", f"{TOPIC_PATH}/stats", _stats),
        ("GET", f"{TOPIC_PATH}/ledger/{NUMBER}/entry/{NUMBER}", _entry),
        ("PUT", f"{TOPIC_PATH}/unload", _unload),
        ("PUT", f"{TOPIC_PATH}/partitions", _create_partitions),
        ("PUT", TOPIC_PATH, _create),
        ("DELETE", TOPIC_PATH, _delete),
        ("DELETE", f"{TOPIC_PATH}/subscription/{PART}", _unsubscribe),
        ("POST", f"{TOPIC_PATH}/subscription/{PART}/analyzeBacklog", _backlog),
        ("GET", f"/admin/v2/persistent/{PART}/{PART}", _list),
        ("PUT", "/admin/v2/namespaces/pulsar/system/unload", _unload_coordinators),
        ("PUT", f"/admin/v2/namespaces/{PART}/{PART}", _create_namespace),
        ("GET", f"{TXN}/coordinators", _coordinators),
        ("GET", f"{TXN}/transactionMetadata/{NUMBER}/{NUMBER}", _metadata),
        ("GET", f"{TXN}/coordinatorStats", _coordinator),
        ("GET", f"{TXN}/coordinatorInternalStats/{NUMBER}", _transaction_log),
        ("GET", f"{TXN}/slowTransactions/{NUMBER}", _slow),
        ("POST", f"{TXN}/abortTransaction/{NUMBER}/{NUMBER}", _abort),
        ("GET", f"{TXN}/transactionBufferStats{AT_TOPIC}", _buffer),
        ("GET", f"{TXN}/transactionInBufferStats{AT_TOPIC}/{NUMBER}/{NUMBER}", _in_buffer),
        ("GET", f"{TXN}/pendingAckStats{AT_TOPIC}/{PART}", _pending),
        (
            "GET",
            f"{TXN}/transactionInPendingAckStats{AT_TOPIC}/{PART}/{NUMBER}/{NUMBER}",
            _in_pending,
        ),
        (
            "GET",
            f"{TXN}/positionStatsInPendingAck{AT_TOPIC}/{PART}/{NUMBER}/{NUMBER}",
            _position,
        ),
    )
)


def write_status(said: Answer) -> AdminAnswer:
    """What a role answers to an administrator who has changed something."""
    return AdminAnswer(NO_CONTENT if said.ok else inspecting.BROKEN)
