"""What an error means to the one who gets it: the rule that refused, one sentence each."""

from __future__ import annotations

from ...kernel import Text, Words
from ..errors import Error
from . import words

RULES: dict[Error, Words] = {
    Error.PRODUCER_FENCED: Words(
        "A newer instance holds this transactional id: its epoch is higher, and the older one is "
        "shut out for good."
    ),
    Error.INVALID_PRODUCER_EPOCH: Words(
        "The epoch is older than the newest that was seen here: the producer of this has been "
        "replaced or timed out."
    ),
    Error.INVALID_TXN_STATE: Words(
        "The state of this transaction does not allow it: what is decided is not decided again."
    ),
    Error.INVALID_PRODUCER_ID_MAPPING: Words(
        "The coordinator does not know this producer id under this name: it was forgotten, or "
        "somebody else has the name."
    ),
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: Words(
        "A number is missing before this one: to store it now would change the order for good."
    ),
    Error.UNKNOWN_PRODUCER_ID: Words(
        "The leader has forgotten this producer, so it cannot tell a repeat from a new record."
    ),
    Error.TRANSACTION_ABORTABLE: Words(
        "This transaction cannot go on, but its producer can: it aborts and begins the next."
    ),
    Error.CONCURRENT_TRANSACTIONS: Words(
        "The end of the last transaction is not finished yet: ask again in a moment."
    ),
    Error.TRANSACTION_COORDINATOR_FENCED: Words(
        "A newer coordinator has written here: what the older one sends no longer counts."
    ),
    Error.NOT_COORDINATOR: Words(
        "Another broker leads this part of the coordinator's log: the client looks it up again."
    ),
    Error.COORDINATOR_LOAD_IN_PROGRESS: Words(
        "It still reads its log: before it knows all that was decided, it answers nobody."
    ),
    Error.COORDINATOR_NOT_AVAILABLE: Words(
        "Nobody can decide just now: the record would not be safe, or nobody leads the log."
    ),
    Error.NOT_LEADER_OR_FOLLOWER: Words(
        "This node does not lead the partition any more: the client must ask who does."
    ),
    Error.FENCED_LEADER_EPOCH: Words(
        "It speaks for an older leadership: the controller has named another leader since."
    ),
    Error.NOT_ENOUGH_REPLICAS: Words(
        "Fewer copies are in sync than min.insync.replicas asks for: nothing is stored."
    ),
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Words(
        "It is in the leader's log, but too few copies hold it: nobody promises that it stays."
    ),
    Error.REBALANCE_IN_PROGRESS: Words(
        "The group shares its partitions out again: every member must join again first."
    ),
    **dict.fromkeys(
        (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.FENCED_INSTANCE_ID),
        words.WHY_FENCED,
    ),
}


def explain_error(error: Error) -> Text:
    """One sentence; only the error's name where there is no rule to tell."""
    return RULES.get(error, words.WHY_REFUSED)(error=error.name)
