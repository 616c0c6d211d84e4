"""What the pictures say about Kafka, in both languages."""

from __future__ import annotations

from ...kernel import Words

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

TORN = Words("part of {txn}: torn until {where} has its marker")
WAITS = Words("{where} waits at its LSO behind {txn}")
UNDECIDED = Words("{txn} is not decided yet")
ABORTED_READ = Words("{txn} was aborted")

WHY_EMPTY = Words(
    "The producer has its id and epoch; a producer with an older epoch is a zombie now."
)
WHY_ONGOING = Words(
    "The coordinator now knows where it will owe markers; the timeout's clock runs."
)
WHY_DEAD = Words("Nobody used this id for too long: it is forgotten, and its old holder with it.")
WHY_PREPARE_COMMIT = Words("The decision: once this record is safe, {txn} commits whatever dies.")
WHY_PREPARE_ABORT = Words("The decision: once this record is safe, {txn} is aborted whatever dies.")
WHY_ANSWERED = Words(
    "The client is answered before any marker is written: readers may see nothing yet."
)
WHY_DATA = Words(
    "In the log at once, among everything else: only an open transaction makes readers wait."
)
WHY_MARKER = Words("A marker is a record like any other: it takes one offset in this partition.")
WHY_LSO = Words("read_committed may read up to the LSO, {lso}; the high watermark is {hw}.")
WHY_FETCHED = Words("This partition's LSO is {lso} and its HW {hw}; every partition has its own.")
WHY_COMPLETE = Words("Every partition has its marker: nothing is owed any more.")
WHY_GENERATION = Words(
    "A generation: who is in the group and what each reads; nobody else may commit now."
)
WHY_OFFSETS = Words("These positions count at once.")
WHY_PENDING = Words("Positions as part of the transaction: pending until its marker.")
WHY_UNSTABLE = Words("A transaction holds a newer position that may or may not count: wait for it.")
WHY_FENCED = Words(
    "{error}: it is no member of the current generation; somebody else has its work now."
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
REPLICATED_POSITIONS = Words("a position that a consumer is told is replicated")
ENDS = Words("every transaction can still end")
WHOLE_READ = Words("a reader gets all of a committed transaction or nothing of it")
