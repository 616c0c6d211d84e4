"""One sentence why for stops, starts, timers, calls that return and changes in memory; those for
messages and records stand in `sentences.py`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import UnionType

from ...kernel import Fact, FactKind, Outcome, Text, Words
from ...kernel.reasons import LATE, POWER_CUT, Changes, Reasons, Timers
from ..broker.checking import CHECK
from ..broker.delay import LEVEL
from ..broker.safety import ACKNOWLEDGE, FLUSH
from ..broker.timer import TIMED
from ..broker.words import CONSUMERS, NONE_WAITS, PRODUCERS, PROGRESS, REPORTED, WAITING
from ..check.ops import OP_BATCH
from ..consumer.calls import Consume
from ..log.offsets import PERSIST
from ..messages import EndTransaction
from ..producer import HEARTBEAT
from ..producer.calls import End, Resume, SendInTransaction, SendPlain
from ..states import LocalTransactionState, SendStatus
from . import sentences


class Kind(Enum):
    """What a node is, as far as a stop or a start of it means something else."""

    PRODUCER = auto()
    DATABASE = auto()
    BROKER = auto()
    SLAVE = auto()
    CONSUMER = auto()


# ---- stops, starts, timers -------------------------------------------------------------

STOPPED: dict[Kind, Words] = {
    Kind.PRODUCER: Words(
        "Its memory is gone and its connection closes: the broker can ask it no more, but any "
        "other producer of the group."
    ),
    Kind.DATABASE: Words(
        "Rows that were committed stay; a process that waits for an answer gets an exception."
    ),
    Kind.BROKER: Words(
        "The commit log stays; op records that waited, offsets since their last write and the "
        "list of producers are gone."
    ),
    Kind.SLAVE: Words("The copy stays; a master that must wait for it cannot say SEND_OK now."),
    Kind.CONSUMER: Words(
        "What it had not acknowledged will come again, to it or to another of its group."
    ),
}
RECOVERED: dict[Kind, Words] = {
    Kind.PRODUCER: Words(
        "It knows nothing of its last life; once it has registered it can be asked about orders "
        "that it does not remember."
    ),
    Kind.DATABASE: Words("Every row that was committed is there."),
    Kind.BROKER: Words(
        "The check goes on from the offsets on the disk, which may be old: what it did since then "
        "is done once more."
    ),
    Kind.SLAVE: Words("It says where its copy ends, and gets what follows."),
    Kind.CONSUMER: Words(
        "It goes on from the offset that the broker knows; what came after it is delivered again."
    ),
}
BROKEN = Words(
    "Requests under way may still arrive, answers never do; one-way messages are not sent again."
)
ROUND = Words("A round of the check begins: it looks at every half that no op record names.")
TIMERS: Timers = (
    (CHECK, ROUND),
    (
        OP_BATCH,
        Words("Ends that have waited in memory are written down together."),
    ),
    (
        PERSIST,
        Words(
            "How far each group has come is written to the disk; a kill before this turns it back."
        ),
    ),
    (HEARTBEAT, sentences.HEARTBEAT),
    (
        FLUSH,
        Words(
            "Messages reach the disk some time after they were acknowledged; a power cut takes the "
            "rest."
        ),
    ),
    (
        ACKNOWLEDGE,
        Words(
            "The disk or the slave has not answered in time: the message is stored, but the sender "
            "is told that it is not safe."
        ),
    ),
    (
        LEVEL,
        Words("A delay is over: what waited is written once more, to its own topic."),
    ),
    (
        TIMED,
        Words(
            "The time that the sender has asked for has come: what waited is written once more, to "
            "its own topic."
        ),
    ),
)
REGISTERED = Words(
    "Each process registered here can be asked about any half of the group, and nobody else."
)
MOVED_ON = Words(
    "Halves before this place are not looked at again: they have ended, or a copy of them "
    "lies further on."
)
#: what has changed in the broker's memory
CHANGES: Changes = {
    WAITING: Words(
        "The half has ended, but that is known in memory only until the next batch is written."
    ),
    NONE_WAITS: Words("Nothing that a kill could forget is left."),
    PRODUCERS: REGISTERED,
    CONSUMERS: Words("Queues are shared out again among those who are there."),
    REPORTED: Words("The next reader of the group begins here."),
    PROGRESS: MOVED_ON,
}
#: what the call returns where the half is safe, by what the local transaction came to
RETURNS: Mapping[object, Words] = {
    (SendStatus.SEND_OK, LocalTransactionState.COMMIT_MESSAGE): Words(
        "The call says how the half was stored and what the local transaction came to; what "
        "the broker made of it nobody says."
    ),
    (SendStatus.SEND_OK, LocalTransactionState.UNKNOW): Words(
        "SEND_OK is about the half only; whether the order counts is still open."
    ),
    (SendStatus.SEND_OK, LocalTransactionState.ROLLBACK_MESSAGE): Words(
        "Also after a rollback the call returns SEND_OK: it is about the half."
    ),
}
NOT_SAFE = Words("The half is stored, but not as safely as it should be: it may still be lost.")
GOES_ON = Words("The application goes on.")
CONSUMED = Words("The turn is over: what was processed, what was known already, what went back.")
FAILURE = Words("Nothing happened: the half was not stored, so the local transaction was not run.")
#: what failed, by the call; the last is of all others
FAILURES: tuple[tuple[type | UnionType, Words], ...] = (
    (SendInTransaction, FAILURE),
    (
        SendPlain,
        Words("Nothing happened: the message was not stored."),
    ),
    (
        End | Resume,
        Words("The broker refuses the request and writes nothing."),
    ),
    (object, Words("Nothing happened.")),
)
NOTHING_DONE = Words("The broker looks at it and writes nothing: the half stays as it is.")


def explain_fact(fact: Fact, kind: Kind) -> Text:
    """One sentence why, of what is no message and no record; nothing where none is known. `kind`:
    of the fact's node."""
    if fact.kind is FactKind.IDLE and isinstance(fact.body, EndTransaction):
        return NOTHING_DONE()
    return REASONS.explain(fact, kind)


def _explain_success(outcome: Outcome) -> Text:
    if isinstance(outcome.call, SendInTransaction):
        return RETURNS.get(outcome.meaning, NOT_SAFE)()
    return CONSUMED() if isinstance(outcome.call, Consume) else GOES_ON()


def _explain_failure(outcome: Outcome) -> Text:
    return next(why() for call, why in FAILURES if isinstance(outcome.call, call))


REASONS = Reasons(
    stopped=STOPPED,
    recovered=RECOVERED,
    timers=TIMERS,
    changes=CHANGES,
    alone={FactKind.POWER_CUT: POWER_CUT, FactKind.BREAK: BROKEN, FactKind.LATE: LATE},
    explain_success=_explain_success,
    explain_failure=_explain_failure,
)
