"""What recordings of a real Kafka, and articles about Kafka, say of a trace."""

from __future__ import annotations

import re

from ..kernel import FactKind, Made, Outcome, tr
from ..recordings.evidence import Contradiction, Witness
from .clients.calls import Begin
from .errors import Error
from .log import Batch
from .log.role import FRONTIERS
from .messages import AddPartitionsToTxn, EndTxn, EndTxnResponse, Fetch

VERSION = "4.3.1"
#: a coordinator or a leader: what they ask is not visible from outside
BROKERS = re.compile(r"^coordinator(@|$)|-\d+(@\d+)?$")
#: producer ids: a broker hands out blocks of 1,000, so they are never the same twice
IDS = re.compile(r"\bpid=(-?\d+)")


def _has_two_frontiers(change: object) -> bool:
    """HW and LSO have moved, and not to the same place."""
    if not isinstance(change, Made) or change.words != FRONTIERS:
        return False
    return bool(change.values["hw"] != change.values["lso"])


CONTRADICTIONS = (
    Contradiction(
        FactKind.APPEND,
        lambda entry: isinstance(entry, Batch) and entry.control != "",
        tr("control messages are written by the client"),
    ),
    Contradiction(
        FactKind.CHANGE, _has_two_frontiers, tr("the control message advances the high watermark")
    ),
    Contradiction(
        FactKind.REPLY,
        lambda reply: (
            isinstance(reply, EndTxnResponse) and reply.error is Error.NONE and reply.epoch >= 0
        ),
        tr("the epoch marks each rebirth of a producer"),
        r"^coordinator$",
    ),
    Contradiction(
        FactKind.RETURN,
        lambda value: isinstance(value, Outcome) and value.ok and isinstance(value.call, Begin),
        tr("opening a transaction sends a request"),
    ),
    Contradiction(
        FactKind.SEND,
        lambda request: isinstance(request, EndTxn),
        tr("the producer writes its commit message into __transaction_state"),
    ),
    Contradiction(
        FactKind.SEND,
        lambda request: isinstance(request, AddPartitionsToTxn) and not request.verify_only,
        tr("the producer adds partitions before it sends"),
        r"-\d+$",
    ),
    Contradiction(
        FactKind.SEND,
        lambda request: isinstance(request, Fetch),
        tr("the coordinator pushes markers to consumers"),
    ),
)


def profile_of(system: str) -> str:
    """The folder of recordings for a system line."""
    words = system.split()
    if "transaction_version=0" in words:
        return "tv0"
    return "tv2-legacy" if "client=legacy" in words else "tv2"


def is_seen(node: str) -> bool:
    """Whether a client asked."""
    return BROKERS.search(node) is None


def role_of(node: str) -> str:
    """As recordings call it. Of several replicas of a role ("orders-0@1") the role; every
    partition of __consumer_offsets is the group coordinator."""
    role = node.partition("@")[0]
    if role == "coordinator":
        return "tc"
    return "gc" if role.startswith("__consumer_offsets") else role


WITNESS = Witness(
    broker="Kafka",
    version=VERSION,
    profile_of=profile_of,
    is_seen=is_seen,
    role_of=role_of,
    ids=IDS,
    contradictions=CONTRADICTIONS,
)
