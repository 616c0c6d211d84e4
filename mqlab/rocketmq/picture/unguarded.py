"""What is true while a safeguard is off, in the place of the sentences that rest on it."""

from __future__ import annotations

from ...kernel import Words
from ...kernel.reasons import Unguarded
from . import sentences, why
from .why import Kind

UNGUARDED: Unguarded = {
    "half_topic": (
        (
            sentences.HALF,
            Words("the message goes to the broker first, and consumers can read it at once."),
        ),
        (
            sentences.UNDECIDED_RECORD,
            Words("the message lies where consumers read, decided or not."),
        ),
    ),
    "op_topic": (
        (
            why.ROUND,
            Words("a round of the check begins, and no op record says which halves have ended."),
        ),
        (
            sentences.DELIVERED,
            Words(
                "the message is written into its own topic, and nothing records that its half has "
                "ended."
            ),
        ),
        (
            sentences.DELIVERED_AGAIN,
            Words("the same message is written again, for nothing says that its half has ended."),
        ),
        (
            sentences.CHECK_ROLLBACK,
            Words("the answer names the copy that was put back, and is recorded nowhere."),
        ),
        (
            sentences.END_ROLLBACK,
            Words("a rollback is sent one-way, and is recorded nowhere."),
        ),
    ),
    "check_back": (
        (
            sentences.HALF_RECORD,
            Words("it lies where no consumer reads, and nobody will ask what became of it."),
        ),
        (
            sentences.END_COMMIT,
            Words("the end is sent one-way, and nothing makes a lost one good."),
        ),
        (
            sentences.END_ROLLBACK,
            Words("a rollback is sent one-way too; without it the half would lie there for ever."),
        ),
        (
            sentences.END_UNKNOW,
            Words("UNKNOW decides nothing, and nobody will ask later."),
        ),
        (
            sentences.HEARTBEAT,
            Words("the broker knows by heartbeats whom it could ask, and asks nobody."),
        ),
        (
            why.REGISTERED,
            Words(
                "each process registered here could be asked about any half of the group, and "
                "nobody is."
            ),
        ),
        (
            why.STOPPED[Kind.PRODUCER],
            Words("its memory is gone, and nobody else will be asked what became of its halves."),
        ),
    ),
    "check_limit": (
        (
            sentences.COPY,
            Words(
                "the half is written once more with the number of checks raised, however high "
                "that is."
            ),
        ),
        (
            sentences.CHECK_UNKNOW,
            Words("the process asked cannot tell yet, and is asked again without end."),
        ),
    ),
    "immunity": (
        (
            why.ROUND,
            Words("a round of the check begins, and no half is too young to be asked about."),
        ),
    ),
    "put_back": (
        (
            why.MOVED_ON,
            Words(
                "halves before this place are not looked at again, whether they have ended or not."
            ),
        ),
        (
            sentences.QUESTION,
            Words("the half is asked about and not written again, so nobody will ask once more."),
        ),
        (
            sentences.CHECK_COMMIT,
            Words(
                "the answer names the half itself, and commits as the sender's own end would have."
            ),
        ),
        (
            sentences.CHECK_ROLLBACK,
            Words("the answer names the half itself, and ends it."),
        ),
        (
            sentences.CHECK_UNKNOW,
            Words("the process asked cannot tell yet, and nobody will ask again."),
        ),
    ),
    "any_producer": (
        (
            sentences.QUESTION,
            Words("the broker asks the producer that sent the half, and nobody else."),
        ),
        (
            why.REGISTERED,
            Words("each process registered here can be asked about its own halves only."),
        ),
        (
            why.STOPPED[Kind.PRODUCER],
            Words(
                "its memory is gone and its connection closes: the broker can ask nobody about "
                "its halves."
            ),
        ),
    ),
    "message_before_op": (
        (
            sentences.OP_RECORD,
            Words(
                "the op record is written first, and from now on the check passes over a half "
                "whose message may never be written."
            ),
        ),
    ),
    "end_validation": (
        (
            sentences.DELIVERED,
            Words(
                "anyone who names a half ends it, and from here on consumers can read the message."
            ),
        ),
        (
            sentences.RAW_ANSWER,
            Words("no end is refused for naming the wrong group or place."),
        ),
    ),
    "half_before_execute": (
        (
            sentences.STATEMENT_PUT,
            Words("the local transaction runs, and no half message is stored yet."),
        ),
        (
            sentences.HALF,
            Words("the message goes to the broker when the order may be written already."),
        ),
        (
            sentences.HALF_STORED,
            Words("the half is stored, and the local transaction has begun without it."),
        ),
        (
            sentences.HALF_DOUBTFUL,
            Words(
                "the half is not stored as safely as was asked for, and the local transaction has "
                "begun already."
            ),
        ),
        (
            why.FAILURE,
            Words("the half was not stored, but the local transaction may have run."),
        ),
    ),
    "exception_is_unknown": (
        (
            sentences.END_ROLLBACK,
            Words("this rollback may stand for an exception, and the row may still come."),
        ),
    ),
    "consumer_retry": (
        (
            why.CONSUMED,
            Words("the turn is over, and what could not be processed is dropped."),
        ),
    ),
    "idempotent_consumer": (
        (
            sentences.APPLIED,
            Words(
                "the consumer does its work and notes the order's key, which nobody will look up."
            ),
        ),
        (
            sentences.APPLIED_AGAIN,
            Words("the same order is applied once more, for nobody looks its key up."),
        ),
    ),
}
