"""Namespaces, what topics are in them, and the coordinators of a standalone broker.

`public` and `pulsar` are the tenants that there are. A topic of a namespace that is not there is
refused, and a transaction that names one freezes until the namespace is made.

Source: NamespacesBase, PersistentTopicsBase (4.2).
"""

from __future__ import annotations

from typing import Any

from ....kernel import Caller, Disk, Put, Send
from ....pulsar.messages import CreateNamespace
from ..wire.answers import Handed
from .asking import PART, Call, Result
from .inspecting import NO_CONTENT, NOT_FOUND, OK
from .topics import BUILT_IN, NAMESPACES, PARTITIONED, TOPICS, TopicRow, find_namespace, list_topics

COORDINATORS, TENANTS = "coordinators", "tenants"
CONFLICT, BAD, NOT_ACCEPTABLE, NOT_IMPLEMENTED, IN_USE = 409, 400, 406, 501, 412
NO_NAMESPACE = "Namespace does not exist"


def list_tenants(disk: Disk) -> set[str]:
    """Those of a namespace that is there, and those that an earlier version of this server made."""
    names = (*disk.table(TENANTS), *BUILT_IN, *disk.table(NAMESPACES))
    return {name.partition("/")[0] for name in names}


def has_space(call: Call, name: str) -> bool:
    return name in BUILT_IN or name in call.disk.table(NAMESPACES)


def _create_namespace(call: Call, tenant: str, space: str) -> Result:
    """Topics that were named before can be served now."""
    name, table = f"{tenant}/{space}", call.disk.table(TOPICS)
    if tenant not in list_tenants(call.disk):
        return call.refuse(NOT_FOUND, "Tenant does not exist")
    if has_space(call, name):
        return call.refuse(CONFLICT, "Namespace already exists")
    nobody = Caller("")
    rows: tuple[TopicRow, ...] = tuple(table.values())
    creations = [
        Send(row.name, Handed(nobody, CreateNamespace(row.name)))
        for row in rows
        if row.missing and find_namespace(row.name) == name
    ]
    return call.say(NO_CONTENT, "", Put(NAMESPACES, name, True), *creations)


def _topics(call: Call, tenant: str, space: str) -> Result:
    name = f"{tenant}/{space}"
    if not has_space(call, name):
        return call.refuse(NOT_FOUND, NO_NAMESPACE)
    return call.say(OK, sorted(n for n in list_topics(call.disk) if find_namespace(n) == name))


def _partitioned(call: Call, tenant: str, space: str) -> Result:
    name = f"{tenant}/{space}"
    if not has_space(call, name):
        return call.refuse(NOT_FOUND, NO_NAMESPACE)
    names: list[Any] = [n for n in call.disk.table(PARTITIONED) if find_namespace(n) == name]
    return call.say(OK, sorted(names))


def _unload_coordinators(call: Call) -> Result:
    loads = call.disk.table(COORDINATORS)
    puts = (Put(COORDINATORS, name, loads.get(name, 0) + 1) for name in call.coordinators())
    return call.say(NO_CONTENT, "", *puts)


ROUTES = (
    ("PUT", "/namespaces/pulsar/system/unload", _unload_coordinators),
    ("PUT", f"/namespaces/{PART}/{PART}", _create_namespace),
    ("GET", f"/namespaces/{PART}/{PART}/topics", _topics),
    ("GET", f"/persistent/{PART}/{PART}", _topics),
    ("GET", f"/persistent/{PART}/{PART}/partitioned", _partitioned),
)
