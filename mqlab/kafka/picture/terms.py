"""Kafka's own words that a picture shows, one sentence each: the source of its tooltips, and of
the glossary's entries about Kafka (`mqlab/lessons/atlas/glossary.py`)."""

from __future__ import annotations

from ...kernel import Text, tr
from ..messages import READ_COMMITTED, READ_UNCOMMITTED
from . import words

TERMS: tuple[tuple[Text, Text], ...] = (
    (
        Text("coordinator"),
        tr("The broker that keeps a transaction's state and decides it; it sends the markers."),
    ),
    (
        words.GROUP(),
        tr("The broker that keeps a consumer group's members and its committed positions."),
    ),
    (
        words.LEADER(),
        tr("The broker that all clients write to and read from for one partition."),
    ),
    (
        words.FOLLOWER(),
        tr("A broker that copies a partition from its leader and may lead it next."),
    ),
    (
        tr("marker"),
        tr(
            "A record that says how a transaction ended here; the broker writes it, and it takes "
            "an offset."
        ),
    ),
    (
        Text("HW"),
        tr("The end of what all in-sync replicas hold; it says nothing about transactions."),
    ),
    (
        Text("LSO"),
        tr("Everything below it is decided; readers of committed data stop here."),
    ),
    (
        Text(READ_COMMITTED),
        tr("Reading only what is decided and was not aborted."),
    ),
    (
        Text(READ_UNCOMMITTED),
        tr("Reading everything up to the high watermark, decided or not."),
    ),
    (
        Text("transactionalId"),
        tr(
            "The lasting name of a producer, not of one transaction; one that comes back with it "
            "shuts out its predecessor."
        ),
    ),
    (
        Text("pid"),
        tr(
            "The producer id: the number that the coordinator gives a producer; each of its "
            "records carries it."
        ),
    ),
    (
        Text("epoch"),
        tr(
            "Rises when a producer begins again or is aborted by its coordinator, with "
            "transaction.version 2 and a v2 client at every end; older ones are refused."
        ),
    ),
    (
        Text("PrepareCommit"),
        tr("The decision to commit is on disk; markers are still owed."),
    ),
    (
        Text("PrepareAbort"),
        tr("The decision to abort is on disk; markers are still owed."),
    ),
    (
        words.STATE_TABLE(),
        tr(
            "The coordinator's own log: the newest record of each transactional id says where "
            "its transaction is."
        ),
    ),
    (
        words.INDEX_TABLE(),
        tr("A partition's list of aborted transactions; with it a reader skips their records."),
    ),
    (
        words.OFFSETS_TABLE(),
        tr("The log in which a group coordinator keeps how far each group has read."),
    ),
)
#: the sentence of a term, by its English name
MEANS = {name.en: means for name, means in TERMS}
