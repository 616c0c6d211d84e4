"""One sentence why for stops, starts, timers, calls that return and changes in memory; those for
messages and records are in `words.py`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import UnionType

from ...kernel import Fact, FactKind, Outcome, Text, Words
from ...kernel.reasons import (
    LATE,
    POWER_CUT,
    Changes,
    Reasons,
    Timers,
    Unguarded,
    find_unguarded,
    read_sentences,
)
from ..broker import (
    ACKNOWLEDGE,
    CONSUMERS,
    FLUSH,
    NONE_WAITS,
    PRODUCERS,
    PROGRESS,
    REPORTED,
    SYNCHRONIZE,
    WAITING,
)
from ..broker.timer import CHECK, LEVEL, TIMED
from ..check import OP_BATCH
from ..consumer import CLEAN, Consume
from ..log import PERSIST
from ..messages import EndTransaction
from ..producer import HEARTBEAT, End, Resume, SendInTransaction, SendPlain
from ..states import LocalTransactionState, SendStatus
from . import words


class Kind(Enum):
    """What a node is, as far as a stop or a start of it means something else."""

    PRODUCER = auto()
    DATABASE = auto()
    BROKER = auto()
    SLAVE = auto()
    NAME_SERVER = auto()
    CONSUMER = auto()


# ---- stops, starts, timers -------------------------------------------------------------

SENTENCES = read_sentences(__file__)
STOPPED: Mapping[Kind, Words] = {Kind[name]: why for name, why in SENTENCES["stopped"].items()}
RECOVERED: Mapping[Kind, Words] = {Kind[name]: why for name, why in SENTENCES["recovered"].items()}
BROKEN = Words(
    "Requests in flight may still arrive, answers never do; one-way messages are not sent again."
)
ROUND = Words(
    "A round of the check begins: it looks at every half message that no op record names."
)
TIMERS: Timers = {
    CHECK: ROUND,
    OP_BATCH: Words("Ends that have waited in memory are written down together."),
    PERSIST: Words(
        "How far each group has come is written to the disk; a crash before this turns it back."
    ),
    HEARTBEAT: words.HEARTBEAT,
    SYNCHRONIZE: words.ASK_OFFSETS,
    CLEAN: Words(
        "What a listener has not finished in consumeTimeout goes back; it is not stopped."
    ),
    FLUSH: Words(
        "Messages reach the disk some time after they were acknowledged; a power cut takes the "
        "rest."
    ),
    ACKNOWLEDGE: Words(
        "The disk or the slave has not answered in time: the message is stored, but the sender "
        "is told that it is not safe."
    ),
    LEVEL: Words("A delay is over: what waited is written once more, to its own topic."),
    TIMED: Words(
        "The time that the sender has asked for has come: what waited is written once more, to "
        "its own topic."
    ),
}
REGISTERED = Words(
    "Each process registered here can be asked about any half message of the group, and nobody "
    "else."
)
MOVED_ON = Words(
    "Half messages before this place are not looked at again: they have ended, were set aside, or "
    "a copy of them is further on."
)
#: what has changed in the broker's memory
CHANGES: Changes = {
    WAITING: Words(
        "The half message has ended, but that is known in memory only until the next batch is "
        "written."
    ),
    NONE_WAITS: Words("Nothing that a crash could lose is left."),
    PRODUCERS: REGISTERED,
    CONSUMERS: Words("Queues are shared out again among those who are there."),
    REPORTED: Words("The next reader of the group begins here."),
    PROGRESS: MOVED_ON,
}
#: what the call returns where the half is safe, by what the local transaction came to
RETURNS: Mapping[object, Words] = {
    (SendStatus.SEND_OK, LocalTransactionState.COMMIT_MESSAGE): Words(
        "The call says how the half message was stored and what the local transaction came to; "
        "it does not say what the broker made of it."
    ),
    (SendStatus.SEND_OK, LocalTransactionState.UNKNOW): Words(
        "SEND_OK is about the half message only; whether the order counts is still open."
    ),
    (SendStatus.SEND_OK, LocalTransactionState.ROLLBACK_MESSAGE): Words(
        "Also after a rollback the call returns SEND_OK: it is about the half message."
    ),
}
NOT_SAFE = Words(
    "The half message is stored, but not as safely as it should be: it may still be lost."
)
GOES_ON = Words("The application goes on.")
CONSUMED = Words("The turn is over: what was processed, what was known already, what went back.")
FAILURE = Words(
    "Nothing happened: the half message was not stored, so the local transaction was not run."
)
#: what failed, by the call; the last is of all others
FAILURES: tuple[tuple[type | UnionType, Words], ...] = (
    (SendInTransaction, FAILURE),
    (SendPlain, Words("Nothing happened: the message was not stored.")),
    (End | Resume, Words("The broker writes nothing.")),
    (object, Words("Nothing happened.")),
)
NOTHING_DONE = Words("The broker looks at it and writes nothing: the half message stays as it is.")


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


# What is true while a safeguard is off, in the place of the sentences that rest on it
UNGUARDED: Unguarded = find_unguarded(
    SENTENCES["unguarded"],
    {
        **vars(words),
        "ROUND": ROUND,
        "REGISTERED": REGISTERED,
        "MOVED_ON": MOVED_ON,
        "FAILURE": FAILURE,
        "CONSUMED": CONSUMED,
        **{
            f"{table} {name}": why
            for table in ("stopped", "recovered", "ends", "checks", "statements")
            for name, why in SENTENCES[table].items()
        },
    },
)
