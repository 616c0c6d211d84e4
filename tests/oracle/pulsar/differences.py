"""Where the engine answers otherwise than a real Pulsar, and why that stands.

The table is the whole of it; the page datasets/recordings/DIFFERENCES-pulsar.md is made from it.
A difference that is found is mended, or gets a row here with a reason one can argue about.
"""

from __future__ import annotations

from mqlab.places import RECORDINGS
from mqlab.pulsar.unserved import list_refusals
from mqlab.real.differences import HEAD, Listed, list_rows, write_page, write_table

PAGE = RECORDINGS / "DIFFERENCES-pulsar.md"

#: what is not compared, and why
IGNORED = (
    ("positions", "are a ledger's id and an entry's in a real broker; noted is an entry's place in "
     "its topic, counted over all its ledgers from 0"),
    ("transaction ids", "are counted from the first of a scenario, since a coordinator counts on "
     "through all of them; the coordinator's own number is 0, as a standalone broker has one"),
    ("names", "of topics and namespaces are the program's own; on the wire each run gives them a "
     "prefix"),
    ("timestamps, request ids, ports and ids of producers and consumers", "are left out"),
    ("what an exception says", "is left out, its class is noted"),
    ("how many markers", "a frozen end has written is not noted: a retry comes about once a "
     "second, and the program waits for some of them"),
    ("what a dispatcher does by the way", "is read when it no longer changes: a marker or an "
     "aborted message is acknowledged some time after it could be read"),
    ("the time until a timer", "is not noted: a deadline, a retry, a delayed message"),
)  # fmt: skip

NOT_MODELLED = "not modelled"

TABLE: tuple[Listed, ...] = (
    Listed(
        "*",
        "OpenProducer *",
        "who gets a topic for itself, who waits, who is fenced",
        NOT_MODELLED,
        "one client of the engine stands here for all of a program's, and has one producer; the "
        "scenario fencing-stops-sends has several and the same answers, as has the server",
    ),
    Listed(
        "*/ack-of-another-ledger",
        "Ack *",
        "an older one counts as acknowledged, a later one as not there yet",
        NOT_MODELLED,
        "a topic of the engine has one ledger; the server gives these answers",
    ),
    Listed(
        "*/batch-*beyond-the-end",
        "Ack *",
        "what is acknowledged of a batch before it is sent is left out of it later",
        NOT_MODELLED,
        "an application of the engine names messages of batches that it has received; the engine's "
        "subscription and the server do what the real one does",
    ),
    Listed(
        "*/unacked-of-a-batch",
        "*stats*",
        "how many messages a consumer holds; what an abort brings back is counted twice",
        NOT_MODELLED,
        "an operator's count, on which nothing depends; the server gives these answers",
    ),
    Listed(
        "*/aborts-forgotten",
        "*trim*",
        "the ledger of an abort marker is deleted, and the buffer forgets that transaction at its "
        "next end",
        NOT_MODELLED,
        "the engine's logs are not cut into ledgers, and retention deletes nothing from them",
    ),
    Listed(
        "*/compaction",
        "*compact*",
        "the compacted topic holds what may be read, and nothing that was aborted",
        NOT_MODELLED,
        "compaction reads as a subscription does, and adds nothing to transactions",
    ),
    Listed(
        "*/delayed",
        "[Ss]end *after*",
        "a shared subscription gets the message when it is due, counted from the send",
        NOT_MODELLED,
        "delayed delivery comes after the transaction's end and is decided without it",
    ),
    Listed(
        "*/deduplication-of-chunks",
        "*chunk*",
        "all chunks of a message are stored, in a transaction too, and it is received once",
        NOT_MODELLED,
        "a chunk is an entry like any other for the engine; the server counts the last one, and "
        "gives these answers",
    ),
    Listed(
        "*/every-field-*",
        "*everything*",
        "all that a consumer can see of a message: body, keys, properties, times, batch, schema",
        NOT_MODELLED,
        "the engine's messages are words; the server keeps a message as it came, and gives these "
        "answers",
    ),
    Listed(
        "*/failed-operation",
        "[Ss]end *size*",
        "the client refuses the message, and its commit becomes an abort",
        NOT_MODELLED,
        "nothing is too large for the engine; a conflict tells the same story "
        "(two-transactions-one-message)",
    ),
    Listed(
        "*/retry-of-two-topics",
        "*retry*",
        "what is to be retried comes back to the subscription of its own topic",
        NOT_MODELLED,
        "retry topics are the client's affair, names and all; the server gives these answers",
    ),
    Listed(
        "*/frozen-until-somebody-looks",
        "transactionMetadata *",
        "500, and the end that was frozen succeeds: the question loads the bundle of the missing "
        "namespace, which the coordinator then finds",
        "the question changes nothing",
        "a slip of the admin interface of 4.2.4 that no protocol promises; in the engine a freeze "
        "ends with the namespace",
    ),
)

#: where `mqlab serve pulsar` answers its Java client otherwise; nothing above excuses it
SERVED: tuple[Listed, ...] = ()

#: programs that are not run against `mqlab serve pulsar`, and why
UNSERVED = {
    "aborts-forgotten": "the server deletes no ledger",
    "compaction": "the server does not compact topics",
    "delayed": "the server does not delay messages",
    "ended-twice": "the server writes its log at once: the first end is over before the second",
    "frozen-until-somebody-looks": "to be asked for a transaction loads no topic on the server",
}

#: scenarios that are recorded and not compared, and those that are not recorded
OTHERS = (
    *((f"{name}, with --served", why) for name, why in UNSERVED.items()),
    (
        "a client that is built and has not begun a transaction",
        "not recorded: a real one connects to the coordinators, and so loads them, when it is "
        "built; the engine's when it begins its first transaction",
    ),
    (
        "the pending-ack log that is cut",
        "not recorded: a log's own index is not seen from outside",
    ),
    (
        "illegal transitions of the store, an end while the coordinator is loading",
        "not recorded: no client can ask so. Tests of the engine's roles",
    ),
    (
        "coordinators of several brokers, replication between clusters",
        "not recorded: a standalone is one broker with one coordinator",
    ),
    (
        "4.0.7, where one refused message makes every later one of its partition fail",
        "not recorded: a defect of that release, gone in 4.0.8 and 4.2.4",
    ),
)


def page() -> str:
    """DIFFERENCES-pulsar.md."""
    source = "Made by `mqlab real pulsar compare --page` from `tests/oracle/pulsar/differences.py`."
    text = write_page("Pulsar", source, TABLE, IGNORED, OTHERS)
    lines = ["", "## Where `mqlab serve pulsar` differs, asked by the Java client", ""]
    lines += ["Nothing of the table above excuses it (`compare --served`).", ""]
    lines += write_table(HEAD, list_rows(SERVED)) or ["Nowhere.", ""]
    lines += ["## What `mqlab serve pulsar` does not serve", ""]
    lines += ["It refuses by the same tables (`mqlab/pulsar/unserved.py`).", ""]
    lines += write_table(("what is asked for", "what is answered"), list_refusals())
    return text + "\n".join(lines).rstrip() + "\n"
