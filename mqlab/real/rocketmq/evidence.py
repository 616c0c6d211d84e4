"""What recordings of a real RocketMQ, and articles about RocketMQ, say of a trace."""

from __future__ import annotations

import re

from ...kernel import FactKind, Outcome, Text
from ...rocketmq.log import Stored
from ...rocketmq.messages import CheckTransactionState
from ..evidence import Contradiction, Witness
from .hosts import VERSIONS

#: ids of messages: an address, a port and an offset, or a client's own counter
IDS = re.compile(r"\bmsgId=([0-9A-F]{32})")
#: requests that nobody answers, in either direction. A heartbeat is answered; a trace tells the
#: answer as the first word of the broker's own direction
ONE_WAY = re.compile(
    r"^(EndTransaction \w+ \S+( from check)?|CheckTransactionState .*|Heartbeat .*"
    r"|UpdateConsumerOffset .*)$"
)

CONTRADICTIONS = (
    Contradiction(
        FactKind.APPEND,
        lambda entry: (
            isinstance(entry, Stored) and entry.kind == "half" and not entry.message.check_times
        ),
        Text(
            "the half message is stored as PREPARED, which is why consumers do not see it",
            "半消息以 PREPARED 状态存储，所以消费者看不到",
        ),
    ),
    Contradiction(
        FactKind.APPEND,
        lambda entry: isinstance(entry, Stored) and entry.kind == "discard",
        Text(
            "after the last check the message is rolled back",
            "回查次数用尽之后消息会被回滚",
        ),
    ),
    Contradiction(
        FactKind.SEND,
        lambda asked: isinstance(asked, CheckTransactionState) and asked.message.check_times != 1,
        Text("the broker asks without limit", "broker 会无限次回查"),
    ),
    Contradiction(
        FactKind.RETURN,
        lambda said: isinstance(said, Outcome) and said.detail.endswith("SEND_OK UNKNOW"),
        Text(
            "if the local transaction throws, the message is rolled back",
            "本地事务抛出异常时消息会被回滚",
        ),
    ),
)


def profile_of(system: str) -> str:
    """The release line of a system line."""
    return "4.9" if "release=4.9" in system.split() else "5.5"


def is_seen(node: str) -> bool:
    """Whether a client's connection carries what this node asks: a producer's end of it, or the
    broker's."""
    return node != "db"


def role_of(role: str) -> str:
    """Nodes are called alike in recordings and in scenarios."""
    return role


WITNESS = Witness(
    broker="RocketMQ",
    version=VERSIONS["5.5"],
    profile_of=profile_of,
    is_seen=is_seen,
    role_of=role_of,
    ids=IDS,
    contradictions=CONTRADICTIONS,
    one_way=ONE_WAY,
    other_versions=tuple(VERSIONS.items()),
)
