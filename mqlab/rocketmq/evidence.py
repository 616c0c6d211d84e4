"""What recordings of a real RocketMQ, and articles about RocketMQ, say of a trace."""

from __future__ import annotations

import re

from ..kernel import FactKind, tr
from ..recordings.evidence import Contradiction, Witness
from .messages import CheckTransactionState

#: the release that each profile is recorded on
VERSIONS = {"5.5": "5.5.0", "4.9": "4.9.7"}
#: ids of messages: an address, a port and an offset, or a client's own counter
IDS = re.compile(r"\bmsgId=([0-9A-F]{32})")
#: requests without an answer, in either direction. A heartbeat is answered; a trace shows the
#: answer as the first word of the broker's own direction
ONE_WAY = re.compile(
    r"^(EndTransaction \w+ \S+( from check)?|CheckTransactionState .*|Heartbeat .*"
    r"|UpdateConsumerOffset .*)$"
)

CONTRADICTIONS = (
    Contradiction(
        FactKind.SEND,
        lambda check: isinstance(check, CheckTransactionState) and check.message.check_times != 1,
        tr("the broker asks without limit"),
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
