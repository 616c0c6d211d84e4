"""What recordings of a real Kafka, and articles about Kafka, say of a trace."""

from __future__ import annotations

import re

from ..kernel import FactKind, Made, Outcome, Text
from ..recordings.evidence import Contradiction, Witness
from .clients.calls import Begin
from .errors import Error
from .log import Batch
from .log.role import FRONTIERS
from .messages import AddPartitionsToTxn, EndTxn, EndTxnResponse, Fetch

VERSION = "4.3.1"
#: a coordinator or a leader: nobody sees from outside what they ask
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
        Text("control messages are written by the client", "控制消息由客户端写入"),
    ),
    Contradiction(
        FactKind.CHANGE,
        _has_two_frontiers,
        Text("the control message advances the high watermark", "控制消息推进高水位"),
    ),
    Contradiction(
        FactKind.REPLY,
        lambda reply: (
            isinstance(reply, EndTxnResponse) and reply.error is Error.NONE and reply.epoch >= 0
        ),
        Text("the epoch marks each rebirth of a producer", "epoch 标志着生产者的每一次重生"),
        r"^coordinator$",
    ),
    Contradiction(
        FactKind.RETURN,
        lambda value: isinstance(value, Outcome) and value.ok and isinstance(value.call, Begin),
        Text("opening a transaction sends a request", "开启事务会发送请求"),
    ),
    Contradiction(
        FactKind.SEND,
        lambda request: isinstance(request, EndTxn),
        Text(
            "the producer writes its commit message into __transaction_state",
            "生产者把提交消息写入 __transaction_state",
        ),
    ),
    Contradiction(
        FactKind.SEND,
        lambda request: isinstance(request, AddPartitionsToTxn) and not request.verify_only,
        Text("the producer adds partitions before it sends", "生产者在发送之前添加分区"),
        r"-\d+$",
    ),
    Contradiction(
        FactKind.SEND,
        lambda request: isinstance(request, Fetch),
        Text("the coordinator pushes markers to consumers", "协调者把控制消息推送给消费者"),
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
