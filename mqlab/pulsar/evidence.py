"""What recordings of a real Pulsar, and articles about Pulsar, say of a trace."""

from __future__ import annotations

import re

from ..kernel import FactKind, tr
from ..recordings.evidence import NEVER, Contradiction, Witness
from .config import COORDINATOR
from .errors import ServerError, name_exception
from .messages import LedgerEntry, NewTxnResponse, PendingAckEntry
from .states import MarkerType

#: the release that each profile is recorded on
VERSIONS = {"4.2": "4.2.4"}
#: how a recording calls whom a client asks
BROKER = "broker"
#: none: positions and transaction ids are counted from a scenario's first before they are noted
IDS = NEVER
#: what has no answer, in either direction, or what is answered over another connection
ONE_WAY = re.compile(
    r"^((Message|Subscribed?|OpenProducer|ProducerOpened|Flow|Redeliver|CloseConsumer) .*"
    r"|Ack(?!.* in \().*)$",
    re.DOTALL,
)

CONTRADICTIONS = (
    Contradiction(
        FactKind.APPEND,
        lambda entry: isinstance(entry, LedgerEntry) and entry.marker is MarkerType.TXN_ABORT,
        tr("when a transaction aborts, its messages in the buffer are discarded"),
    ),
    Contradiction(
        FactKind.APPEND,
        lambda entry: isinstance(entry, PendingAckEntry) and entry.op == "ACK",
        tr(
            "Pulsar leaves the state of what is not acknowledged to the client, and relies on the "
            "transaction's timeout"
        ),
    ),
    Contradiction(
        FactKind.REPLY,
        lambda response: isinstance(response, NewTxnResponse) and response.ok,
        tr("the highest 16 bits of a transaction's 128-bit id are its coordinator's number"),
    ),
)


def profile_of(system: str) -> str:
    """The folder of recordings for a system line."""
    return "4.2"


def is_seen(node: str) -> bool:
    """Whether a client's connection carries what this node asks: a client's end of it, or a
    partition's. What coordinators and partitions say to each other stays inside the broker."""
    return not node.startswith(COORDINATOR)


def role_of(node: str) -> str:
    """A recording's clients and a scenario's are called otherwise; from outside, the coordinator
    is the broker."""
    if node.startswith(COORDINATOR) or node == BROKER:
        return BROKER
    return node if re.search(r"-\d+$", node) else "client"


def note_answer(answer: str) -> str:
    """Of an error only the exception's class is noted, not what it says."""
    error = answer.partition(" ")[0]
    return name_exception(ServerError[error]) if error in ServerError.__members__ else answer


WITNESS = Witness(
    broker="Pulsar",
    version=VERSIONS["4.2"],
    profile_of=profile_of,
    is_seen=is_seen,
    role_of=role_of,
    ids=IDS,
    contradictions=CONTRADICTIONS,
    one_way=ONE_WAY,
    note_answer=note_answer,
)
