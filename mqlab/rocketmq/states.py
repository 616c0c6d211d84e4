"""The words for the state of a transaction, and the table of a half message's states.

One table, three uses: roles check against it, views draw it, lessons teach it. The broker has
no such table: **RocketMQ keeps no state for each transaction.** What the table says is read from
three queues, the half topic, the op topic and the topic of messages that are given up.
Sources: LocalTransactionState, SendStatus, MessageSysFlag (5.5.0).
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class LocalTransactionState(StrEnum):
    """What a transaction listener returns. UNKNOW is spelled so."""

    COMMIT_MESSAGE = "COMMIT_MESSAGE"
    ROLLBACK_MESSAGE = "ROLLBACK_MESSAGE"
    UNKNOW = "UNKNOW"


class SendStatus(StrEnum):
    """How well a message is stored. Only SEND_OK lets the local transaction run."""

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"


class TransactionType(IntEnum):
    """Bits 2 and 3 of a message's sysFlag, and the field commitOrRollback of EndTransaction.
    No record of a transaction has PREPARED or ROLLBACK: a half message is an ordinary message of
    another topic, and a rollback writes an op record only."""

    NOT_TYPE = 0
    PREPARED_TYPE = 4
    COMMIT_TYPE = 8
    ROLLBACK_TYPE = 12


def read_type(sys_flag: int) -> int:
    """The transaction's bits of a sysFlag; the others say how a body is compressed, say."""
    return sys_flag & TransactionType.ROLLBACK_TYPE


def set_type(sys_flag: int, kind: TransactionType) -> int:
    """A sysFlag with these transaction bits. **All others stay as they are**, or a compressed body
    comes to a consumer that does not know of it (MessageSysFlag#resetTransactionValue)."""
    return sys_flag - read_type(sys_flag) + kind


#: what a listener returns → what EndTransaction carries
END_OF: dict[LocalTransactionState, TransactionType] = {
    LocalTransactionState.COMMIT_MESSAGE: TransactionType.COMMIT_TYPE,
    LocalTransactionState.ROLLBACK_MESSAGE: TransactionType.ROLLBACK_TYPE,
    LocalTransactionState.UNKNOW: TransactionType.NOT_TYPE,
}


class HalfState(StrEnum):
    """The state of one transaction, as its records show."""

    HALF = "half"
    ASKED = "asked"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"
    DISCARDED = "discarded"


_H = HalfState

#: state → the states it may be entered from. Nothing forbids a second end, so the ends are no
#: ends: what was rolled back or discarded can still be committed, what was committed is asked
#: about where its op record is late or lost, and an operator takes a discarded half back.
PREVIOUS: dict[HalfState, frozenset[HalfState]] = {
    _H.HALF: frozenset({_H.DISCARDED}),
    _H.ASKED: frozenset({_H.HALF, _H.COMMITTED, _H.ROLLED_BACK}),
    _H.COMMITTED: frozenset({_H.HALF, _H.ASKED, _H.ROLLED_BACK, _H.DISCARDED}),
    _H.ROLLED_BACK: frozenset({_H.HALF, _H.ASKED, _H.DISCARDED}),
    _H.DISCARDED: frozenset({_H.HALF, _H.ASKED, _H.COMMITTED, _H.ROLLED_BACK}),
}
