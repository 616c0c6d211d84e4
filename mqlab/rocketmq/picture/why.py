"""One sentence why for stops, starts, timers, calls that return and changes in memory; those for
messages and records are in `words.py`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import UnionType

from ...kernel import Fact, FactKind, Outcome, Text, Words
from ...kernel.reasons import LATE, POWER_CUT, Changes, Reasons, Timers, Unguarded
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
    Kind.NAME_SERVER: Words("A client that asks for brokers waits; those it knew register again."),
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
    Kind.NAME_SERVER: Words("It keeps nothing: brokers register again."),
    Kind.CONSUMER: Words(
        "It goes on from the offset that the broker knows; what came after it is delivered again."
    ),
}
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
    "Half messages before this place are not looked at again: they have ended, or a copy of "
    "them is further on."
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

UNGUARDED: Unguarded = {
    "half_topic": {
        words.TOLD_HALF: Words("the message is where consumers read, decided or not."),
        words.HALF: Words(
            "the message goes to the broker first, and consumers can read it at once."
        ),
        words.UNDECIDED_RECORD: Words("the message is where consumers read, decided or not."),
    },
    "op_topic": {
        ROUND: Words(
            "a round of the check begins, and no op record says which half messages have ended."
        ),
        words.DELIVERED: Words(
            "the message is written into its own topic, and nothing records that its half "
            "message has ended."
        ),
        words.DELIVERED_AGAIN: Words(
            "the same message is written again, for nothing says that its half message has ended."
        ),
        words.CHECK_ROLLBACK: Words(
            "the answer names the copy that was put back, and is recorded nowhere."
        ),
        words.END_ROLLBACK: Words("a rollback is sent one-way, and is recorded nowhere."),
    },
    "check_back": {
        words.HALF_RECORD: Words(
            "it is where no consumer reads, and nobody will ask what became of it."
        ),
        words.END_COMMIT: Words("the end is sent one-way, and nothing makes a lost one good."),
        words.END_ROLLBACK: Words(
            "a rollback is sent one-way too; without it the half message would stay there for ever."
        ),
        words.END_UNKNOW: Words("UNKNOW decides nothing, and nobody will ask later."),
        words.HEARTBEAT: Words(
            "the broker knows by heartbeats whom it could ask, and asks nobody."
        ),
        REGISTERED: Words(
            "each process registered here could be asked about any half message of the group, and "
            "nobody is."
        ),
        STOPPED[Kind.PRODUCER]: Words(
            "its memory is gone, and nobody else will be asked what became of its half message "
            "messages."
        ),
    },
    "check_limit": {
        words.COPY: Words(
            "the half message is written once more with the number of checks raised, however "
            "high that is."
        ),
        words.CHECK_UNKNOW: Words(
            "the process asked cannot tell yet, and is asked again without end."
        ),
    },
    "immunity": {
        ROUND: Words("a round of the check begins, and no half message is too young to be checked.")
    },
    "put_back": {
        MOVED_ON: Words(
            "half messages before this place are not looked at again, whether they have ended "
            "or not."
        ),
        words.QUESTION: Words(
            "the half message is asked about and not written again, so nobody will ask once more."
        ),
        words.CHECK_COMMIT: Words(
            "the answer names the half message itself, and commits as the sender's own end "
            "would have."
        ),
        words.CHECK_ROLLBACK: Words("the answer names the half message itself, and ends it."),
        words.CHECK_UNKNOW: Words("the process asked cannot tell yet, and nobody will ask again."),
    },
    "any_producer": {
        words.QUESTION: Words(
            "the broker asks the producer that sent the half message, and nobody else."
        ),
        REGISTERED: Words(
            "each process registered here can be asked about its own half messages only."
        ),
        STOPPED[Kind.PRODUCER]: Words(
            "its memory is gone and its connection closes: the broker can ask nobody about its "
            "half messages."
        ),
    },
    "message_before_op": {
        words.OP_RECORD: Words(
            "the op record is written first, and from now on the check passes over a half "
            "message whose message may never be written."
        )
    },
    "end_validation": {
        words.DELIVERED: Words(
            "anyone who names a half message ends it, and from here on consumers can read the "
            "message."
        ),
        words.RAW_ANSWER: Words("no end is refused for naming the wrong group or place."),
    },
    "half_before_execute": {
        words.STATEMENT_PUT: Words(
            "the local transaction runs, and no half message is stored yet."
        ),
        words.HALF: Words("the message goes to the broker when the order may be written already."),
        words.HALF_STORED: Words(
            "the half message is stored, and the local transaction has begun without it."
        ),
        words.HALF_DOUBTFUL: Words(
            "the half message is not stored as safely as was asked for, and the local "
            "transaction has begun already."
        ),
        FAILURE: Words("the half message was not stored, but the local transaction may have run."),
    },
    "exception_is_unknown": {
        words.END_ROLLBACK: Words(
            "this rollback may stand for an exception, and the row may still come."
        )
    },
    "consumer_retry": {
        CONSUMED: Words("the turn is over, and what could not be processed is dropped.")
    },
    "idempotent_consumer": {
        words.APPLIED: Words(
            "the consumer does its work and notes the order's key, which nobody will look up."
        ),
        words.APPLIED_AGAIN: Words(
            "the same order is applied once more, for nobody looks its key up."
        ),
    },
}
