"""Pulsar's own words that a picture shows, one sentence each: the source of its tooltips."""

from __future__ import annotations

from ...kernel import Text, tr
from ..config import name_transaction_log
from ..states import TxnStatus
from . import words
from .strips import MAX_READ

TERMS: tuple[tuple[Text, Text], ...] = (
    (
        words.COORDINATOR(),
        tr(
            "Gives out transaction ids, logs the decision and tells every participant; which "
            "coordinator it is, the first half of an id says."
        ),
    ),
    (
        words.PARTITION(),
        tr(
            "Keeps the messages of a topic, its transaction buffer, and the cursor and the pending "
            "acknowledgements of each subscription."
        ),
    ),
    (
        Text(MAX_READ),
        tr(
            "Behind the last entry that consumers may be sent: the one before the first message of "
            "the oldest open transaction."
        ),
    ),
    (
        Text(name_transaction_log(0)),
        tr(
            "The coordinator's log: what transactions there are, who takes part, what was decided; "
            "no messages."
        ),
    ),
    (
        words.BUFFER_TABLE(),
        tr(
            "What a partition knows of transactions; no message is in a buffer, all of them lie in "
            "the topic."
        ),
    ),
    (
        Text("ongoing"),
        tr("Open transactions, each with the position of its first message here."),
    ),
    (
        Text("aborts"),
        tr("Aborted transactions, whose messages the dispatcher leaves out."),
    ),
    (
        words.PENDING_TABLE(),
        tr(
            "What open transactions have acknowledged in a subscription: final with their commit, "
            "free again with their abort."
        ),
    ),
    (
        Text("topic epoch"),
        tr(
            "How often a producer has got the topic for itself; one that knows an older epoch "
            "writes here no more."
        ),
    ),
    (
        Text(TxnStatus.COMMITTING),
        tr(
            "The commit is in the log and stands, whatever stops; not every participant has "
            "answered."
        ),
    ),
    (
        Text(TxnStatus.ABORTING),
        tr("The abort is in the log and stands; not every participant has answered."),
    ),
)
