"""What the pictures say about Kafka, in both languages."""

from __future__ import annotations

from ...kernel import Text, Words, tr
from ...kernel.reasons import read_sentences
from ..errors import Error
from ..messages import READ_COMMITTED, READ_UNCOMMITTED

PRODUCER = Words("producer")
WORKER = Words("worker")
TXN_LOG = Words("transaction log")
TXN_LOGS = Words("transaction log {logs}")
GROUP = Words("group coordinator")
LEADER = Words("leader")
FOLLOWER = Words("follower")
READER = Words("consumer")
ADMIN = Words("administrator")
CONTROLLER = Words("who leads what")
GRAPH = Words("Coordinator: where transaction {txn} is")
GRAPH_IDLE = Words("Coordinator: no transaction yet")
STATE_TABLE = Words("__transaction_state, latest of each key")
INDEX_TABLE = Words(".txnindex: aborted transactions")
OFFSETS_TABLE = Words("__consumer_offsets")
MEMBERS_TABLE = Words("groups and their members")

TORN = Words("half of {txn}: {where} does not show its part yet")
WAITS = Words("{where} waits until {txn} ends here")
UNDECIDED = Words("{txn} is not decided yet")
ABORTED_READ = Words("{txn} was aborted")

WHY_EMPTY = Words(
    "The producer has its id and epoch; a producer with an older epoch is a zombie now."
)
WHY_ONGOING = Words(
    "The coordinator now knows which partitions will need markers; the timeout's clock runs."
)
WHY_DEAD = Words("Nobody used this id for too long: it is forgotten, and its old holder with it.")
WHY_TOMBSTONE = Words("From here on the log says that these positions, or the group, are no more.")
WHY_DELETED = Words("The topic is deleted, with all that was in it, decided or not.")
WHY_PREPARE_COMMIT = Words("The decision: once this record is safe, {txn} commits whatever dies.")
WHY_PREPARE_ABORT = Words("The decision: once this record is safe, {txn} is aborted whatever dies.")
WHY_ANSWERED = Words(
    "The client is answered before any marker is written: readers may see nothing yet."
)
WHY_ENDED = Words("No marker is missing: the transaction has ended already, or was empty.")
WHY_UNVERIFIED = Words(
    "Nothing is stored: too few copies are in sync, or the coordinator could not be asked just now."
)
WHY_DATA = Words(
    "In the log at once, among everything else: only an open transaction makes readers wait."
)
WHY_MARKER = Words("A marker is a record like any other: it takes one offset in this partition.")
WHY_LSO = Words("read_committed may read up to the LSO, {lso}; the high watermark is {hw}.")
WHY_FETCHED = Words("This partition's LSO is {lso} and its HW {hw}; every partition has its own.")
WHY_COMPLETE = Words("The coordinator waits for no partition any more: it has no marker to send.")
WHY_GENERATION = Words(
    "A generation: who is in the group and what each reads; members of older ones may not commit."
)
WHY_NOBODY = Words(
    "Nobody is in this generation: the group's positions stay, and who is no member may commit."
)
WHY_OFFSETS = Words("These positions count at once.")
WHY_PENDING = Words("Positions as part of the transaction: pending until its marker.")
WHY_UNSTABLE = Words("A transaction holds a newer position that may or may not count: wait for it.")
WHY_FENCED = Words(
    "{error}: it is no member of the current generation; its work may be another one's now."
)
WHY_REFUSED = Words("Refused: {error}.")

SAME_OUTCOME = Words("all partitions hold the same outcome of a transaction")
CLEAN_READ = Words("no record of an open or aborted transaction is read committed")
REPLICATED_READ = Words("nothing above the high watermark is read")
DECIDED_FIRST = Words("the decision is durable before any marker")
COMMITS = Words("a transaction can commit")
READ_BACK = Words("a committed record can be read")
CLOSED_EVERYWHERE = Words("a transaction that is complete is open in no partition")
LSO_WAITS = Words("the LSO never passes an open transaction")
FENCED_OUT = Words("nothing written by a fenced producer is read committed")
OFFSETS_WITH_OUTPUT = Words("positions count only together with the output of their transaction")
ONCE = Words("a record sent once is read once")
NO_LOST_WRITE = Words("what a successful commit has sent can be read in the end")
AS_ASKED = Words("nothing is read committed before its application asks to commit")
DECIDED_AS_ASKED = Words("no transaction is committed before its application asks")
IN_GENERATION = Words("a member adds positions only in the generation it signs for")
REPLICATED_POSITIONS = Words("a position that a consumer gets is replicated")
ENDS = Words("every transaction can still end")
WHOLE_READ = Words("a reader gets all of a committed transaction or nothing of it")


# ---- the story: the same for a reader who knows no protocol

ANY_COMMITTED = Words("committed data only")
ANY_READER = Words("everything")
TOLD_WRITTEN = Words("The log {at} holds {what}. It is not decided yet.")
TOLD_PLAIN = Words("The log {at} holds {what}, and all readers get it.")
TOLD_POSITION = Words(
    "The broker notes how far has been read. It is not decided yet if that counts."
)
TOLD_SHARED = Words("The broker notes who reads what from now on.")
TOLD_COUNTED = Words("The broker notes how far has been read.")
TOLD_COMMIT = Words("The broker decides: {txn} counts, all of it, whatever dies now.")
TOLD_ABORT = Words("The broker decides: nothing of {txn} counts.")
TOLD_SHOWN = Words("Readers get what {txn} wrote in the log {at}.")
TOLD_SKIPPED = Words("Readers of committed data are not shown what {txn} wrote in the log {at}.")
TOLD_FENCED = Words(
    "The broker turns {peer} away: this has ended by now, or a newer one works under its name."
)
TOLD_READ = Words("{node} has read {what}.")


# Kafka's own words that a picture shows, one sentence each: the source of its tooltips, and of
# the glossary's entries about Kafka (`mqlab/lessons/atlas/glossary.py`).

TERMS: dict[Text, Text] = {
    Text("coordinator"): tr(
        "The broker that keeps a transaction's state and decides it; it sends the markers."
    ),
    GROUP(): tr("The broker that keeps a consumer group's members and its committed positions."),
    LEADER(): tr("The broker that all clients write to and read from for one partition."),
    FOLLOWER(): tr("A broker that copies a partition from its leader and may lead it next."),
    tr("marker"): tr(
        "A record that says how a transaction ended here; the broker writes it, and it takes "
        "an offset."
    ),
    Text("HW"): tr(
        "The end of what all in-sync replicas hold; it says nothing about transactions."
    ),
    Text("LSO"): tr("Everything below it is decided; readers of committed data stop here."),
    Text(READ_COMMITTED): tr("Reading only what is decided and was not aborted."),
    Text(READ_UNCOMMITTED): tr("Reading everything up to the high watermark, decided or not."),
    Text("transactionalId"): tr(
        "The lasting name of a producer, not of one transaction; one that comes back with it "
        "shuts out its predecessor."
    ),
    Text("pid"): tr(
        "The producer id: the number that the coordinator gives a producer; each of its "
        "records carries it."
    ),
    Text("epoch"): tr(
        "Rises when a producer begins again or is aborted by its coordinator, with "
        "transaction.version 2 and a v2 client at every end; older ones are refused."
    ),
    Text("PrepareCommit"): tr("The decision to commit is on disk; markers are still pending."),
    Text("PrepareAbort"): tr("The decision to abort is on disk; markers are still pending."),
    STATE_TABLE(): tr(
        "The coordinator's own log: the newest record of each transactional id says where "
        "its transaction is."
    ),
    INDEX_TABLE(): tr(
        "A partition's list of aborted transactions; with it a reader skips their records."
    ),
    OFFSETS_TABLE(): tr("The log in which a group coordinator keeps how far each group has read."),
}
#: the sentence of a term, by its English name
MEANS = {name.en: means for name, means in TERMS.items()}


# What an error means to the one who gets it: the rule that refused, one sentence each

RULES: dict[Error, Words] = {
    **{Error[name]: rule for name, rule in read_sentences(__file__)["errors"].items()},
    **dict.fromkeys(
        (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.FENCED_INSTANCE_ID), WHY_FENCED
    ),
}


def explain_error(error: Error) -> Text:
    """One sentence; only the error's name where there is no rule to tell."""
    return RULES.get(error, WHY_REFUSED)(error=error.name)
