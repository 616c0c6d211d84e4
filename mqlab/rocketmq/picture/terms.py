"""RocketMQ's own words that a picture shows, one sentence each: the source of its tooltips."""

from __future__ import annotations

from ...kernel import Text, tr
from ..config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC
from ..states import HalfState
from . import words
from .strips import CHECK_CURSOR, OP_CURSOR

TERMS: tuple[tuple[Text, Text], ...] = (
    (
        words.BROKER(),
        tr(
            "The server that stores messages; it keeps no table of transactions, only three "
            "topics that can be read side by side."
        ),
    ),
    (
        words.DATABASE(),
        tr(
            "The order service's own: what the processes of a producer group share, and what "
            "outlives each of them."
        ),
    ),
    (
        Text(HALF_TOPIC),
        tr(
            "Where a message lies while its transaction is undecided; no consumer subscribes to it."
        ),
    ),
    (
        Text(OP_TOPIC),
        tr("Which half messages have ended, by their places in the half topic; the halves stay."),
    ),
    (
        Text(DISCARD_TOPIC),
        tr(
            "Where a half message is parked that was asked about as often as allowed: reported, "
            "not rolled back."
        ),
    ),
    (
        Text(CHECK_CURSOR),
        tr("Where the next round of the check begins to read half messages."),
    ),
    (
        Text(OP_CURSOR),
        tr("Where the next round of the check begins to read op records."),
    ),
    (
        Text(HalfState.ASKED),
        tr(
            "A copy of the half was written at the end of the half topic, and a producer of the "
            "group was asked about it."
        ),
    ),
    (
        Text(HalfState.DISCARDED),
        tr(
            "Parked after as many checks as are allowed; a commit that comes now still delivers "
            "the message."
        ),
    ),
)
