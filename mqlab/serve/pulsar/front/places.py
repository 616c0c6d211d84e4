"""Clusters, tenants, namespaces, and the coordinators of a standalone broker.

There is one cluster, of one broker. A tenant is a name; `public` and `pulsar` are there from the
start, as their namespaces are.

Source: ClustersBase, TenantsBase, NamespacesBase, BrokersBase (4.2).
"""

from __future__ import annotations

from typing import Any

from ....kernel import Caller, Disk, Put, Send
from ....pulsar.messages import CreateNamespace
from ..wire.asks import Handed
from .asking import PART, Call, Result
from .inspecting import NO_CONTENT, NOT_FOUND, OK
from .topics import (
    BUILT_IN,
    NAMESPACES,
    PARTITIONED,
    TOPICS,
    TopicRow,
    find_namespace,
    list_topics,
)

CLUSTER, COORDINATORS, TENANTS = "standalone", "coordinators", "tenants"
CONFLICT, BAD, NOT_ACCEPTABLE, NOT_IMPLEMENTED = 409, 400, 406, 501
NOT_ALLOWED, IN_USE = 405, 412
NO_NAMESPACE = "Namespace does not exist"


def list_tenants(disk: Disk) -> list[str]:
    """Those that were made, and those that somebody's namespace belongs to."""
    names = (*disk.table(TENANTS), *BUILT_IN, *disk.table(NAMESPACES))
    return sorted({name.partition("/")[0] for name in names})


def list_namespaces(disk: Disk, tenant: str) -> list[str]:
    names = {*BUILT_IN, *disk.table(NAMESPACES)}
    return sorted(name for name in names if name.startswith(f"{tenant}/"))


# ---- the cluster -----------------------------------------------------------------------------


def _clusters(call: Call) -> Result:
    return call.say(OK, [CLUSTER])


def _cluster(call: Call, name: str) -> Result:
    if name != CLUSTER:
        return call.refuse(NOT_FOUND, "Cluster does not exist")
    here = _here(call)
    return call.say(OK, {"serviceUrl": f"http://{here}", "brokerServiceUrl": f"pulsar://{here}"})


def _brokers(call: Call) -> Result:
    return call.say(OK, [_here(call)])


def _here(call: Call) -> str:
    host, port = call.ask.here
    return f"{host}:{port}"


def _health(call: Call) -> Result:
    """An answer is all that it takes."""
    return call.say(OK, b"ok")


# ---- tenants and namespaces ------------------------------------------------------------------


def _tenants(call: Call) -> Result:
    return call.say(OK, list_tenants(call.disk))


def _tenant(call: Call, name: str) -> Result:
    if name not in list_tenants(call.disk):
        return call.refuse(NOT_FOUND, "Tenant does not exist")
    return call.say(OK, {"adminRoles": [], "allowedClusters": [CLUSTER]})


def _create_tenant(call: Call, name: str) -> Result:
    if name in list_tenants(call.disk):
        return call.refuse(CONFLICT, "Tenant already exist")
    return call.say(NO_CONTENT, "", Put(TENANTS, name, True))


def _delete_tenant(call: Call, name: str) -> Result:
    if name not in list_tenants(call.disk):
        return call.refuse(NOT_FOUND, f"Tenant '{name}' not found")
    if list_namespaces(call.disk, name):
        return call.refuse(CONFLICT, "The tenant still has active namespaces")
    return call.say(NO_CONTENT, "", Put(TENANTS, name, None))


def _namespaces(call: Call, tenant: str) -> Result:
    if tenant not in list_tenants(call.disk):
        return call.refuse(NOT_FOUND, "Tenant not found")
    return call.say(OK, list_namespaces(call.disk, tenant))


def has_space(call: Call, tenant: str, space: str) -> bool:
    return f"{tenant}/{space}" in list_namespaces(call.disk, tenant)


def _namespace(call: Call, tenant: str, space: str) -> Result:
    """Its policies: there are none but where it is."""
    if not has_space(call, tenant, space):
        return call.refuse(NOT_FOUND, NO_NAMESPACE)
    return call.say(OK, {"replication_clusters": [CLUSTER], "deleted": False})


def _create_namespace(call: Call, tenant: str, space: str) -> Result:
    """Topics that somebody has named before can be served now."""
    name, table = f"{tenant}/{space}", call.disk.table(TOPICS)
    if tenant not in list_tenants(call.disk):
        return call.refuse(NOT_FOUND, "Tenant does not exist")
    if has_space(call, tenant, space):
        return call.refuse(CONFLICT, "Namespace already exists")
    nobody = Caller("")
    rows: tuple[TopicRow, ...] = tuple(table.values())
    creations = [
        Send(row.name, Handed(nobody, CreateNamespace(row.name)))
        for row in rows
        if row.missing and find_namespace(row.name) == name
    ]
    return call.say(NO_CONTENT, "", Put(NAMESPACES, name, True), *creations)


def _delete_namespace(call: Call, tenant: str, space: str) -> Result:
    name = f"{tenant}/{space}"
    if not has_space(call, tenant, space):
        return call.refuse(NOT_FOUND, NO_NAMESPACE)
    if call.forced:  # forceDeleteNamespaceAllowed is false by default
        return call.refuse(NOT_ALLOWED, "Broker doesn't allow forced deletion of namespaces")
    if name in BUILT_IN or any(find_namespace(n) == name for n in list_topics(call.disk)):
        return call.refuse(CONFLICT, "Cannot delete non empty namespace")
    return call.say(NO_CONTENT, "", Put(NAMESPACES, name, None))


def _topics(call: Call, tenant: str, space: str) -> Result:
    name = f"{tenant}/{space}"
    if not has_space(call, tenant, space):
        return call.refuse(NOT_FOUND, NO_NAMESPACE)
    return call.say(OK, sorted(n for n in list_topics(call.disk) if find_namespace(n) == name))


def _partitioned(call: Call, tenant: str, space: str) -> Result:
    name = f"{tenant}/{space}"
    if not has_space(call, tenant, space):
        return call.refuse(NOT_FOUND, NO_NAMESPACE)
    names: list[Any] = [n for n in call.disk.table(PARTITIONED) if find_namespace(n) == name]
    return call.say(OK, sorted(names))


def _unload_coordinators(call: Call) -> Result:
    loads = call.disk.table(COORDINATORS)
    puts = (Put(COORDINATORS, name, loads.get(name, 0) + 1) for name in call.coordinators())
    return call.say(NO_CONTENT, "", *puts)


ROUTES = (
    ("GET", "/clusters", _clusters),
    ("GET", f"/clusters/{PART}", _cluster),
    ("GET", "/brokers/health", _health),
    ("GET", "/brokers/ready", _health),
    ("GET", f"/brokers/{CLUSTER}", _brokers),
    ("GET", "/tenants", _tenants),
    ("GET", f"/tenants/{PART}", _tenant),
    ("PUT", f"/tenants/{PART}", _create_tenant),
    ("DELETE", f"/tenants/{PART}", _delete_tenant),
    ("GET", f"/namespaces/{PART}", _namespaces),
    ("PUT", "/namespaces/pulsar/system/unload", _unload_coordinators),
    ("GET", f"/namespaces/{PART}/{PART}", _namespace),
    ("PUT", f"/namespaces/{PART}/{PART}", _create_namespace),
    ("DELETE", f"/namespaces/{PART}/{PART}", _delete_namespace),
    ("GET", f"/namespaces/{PART}/{PART}/topics", _topics),
    ("GET", f"/persistent/{PART}/{PART}", _topics),
    ("GET", f"/persistent/{PART}/{PART}/partitioned", _partitioned),
)
