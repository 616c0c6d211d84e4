"""Sentences: what the pictures say about Pulsar, its messages, records and claims."""

from __future__ import annotations

from ...kernel import Words

CLIENT = Words("client")
COORDINATOR = Words("coordinator")
PARTITION = Words("partition")

GRAPH = Words("Transaction {txn} {id}")
GRAPH_IDLE = Words("No transaction yet")
TXN_TABLE = Words("Live transactions of the coordinator")
BUFFER_TABLE = Words("Transaction buffers")
PENDING_TABLE = Words("Pending acknowledgements")
PRODUCER_TABLE = Words("Producers of their own topic")
TIMERS_TABLE = Words("Timers of the coordinator")
IN_QUEUE = Words("{count} in its queue, not received yet")

CLEAN_READ = Words("no consumer is sent a message of a transaction whose commit is not decided")
IDS_GROW = Words("a coordinator gives each id once, and a higher one each time")
AS_DECIDED = Words(
    "a partition or a subscription commits only what the coordinator's log says is COMMITTING"
)
TOLD_TO_ALL = Words(
    "a transaction is COMMITTED only when each partition it wrote to has its marker, and each "
    "subscription its COMMIT"
)
MAX_READ_POSITION_CORRECT = Words(
    "maxReadPosition is the entry before the first one of the oldest open transaction, also after "
    "a restart"
)
ONE_HOLDER = Words("a message is pending for at most one transaction")
PENDING_KEPT = Words("a restart finds the pending acknowledgements that were answered")
PENDING_WITHHELD = Words("no consumer is sent a message that an open transaction has acknowledged")
NOTHING_PASSED_OVER = Words(
    "what a shared subscription has passed over is acknowledged, pending or held by a consumer"
)
ENDS = Words("every transaction can still end")
UNBLOCKED = Words("each open transaction of a partition can still be ended by its coordinator")
PLAIN_AT_ONCE = Words("a message without a transaction can be read as soon as it is stored")
ONE_MARKER = Words("a transaction has at most one marker in each partition")
STORED_ONCE = Words("no two messages that can be read have the same value")
STATE_TELLS = Words("a client that sees ERROR has not committed its transaction")
COMMITTED_STAYS = Words("what was committed is not taken for aborted later")
ANSWERED_IS_KEPT = Words("a message whose send was answered is where the answer says")
COMMITTED_ACKS_KEPT = Words(
    "what a committed transaction has acknowledged is acknowledged for good"
)
ACKED_IS_LET_GO = Words(
    "no consumer of a shared subscription is sent a message that was acknowledged"
)
BUFFER_KEPT = Words("a restart finds what the buffer knows: what is open, and what was aborted")
ONE_WRITER = Words(
    "while a producer has a partition for itself, every message that comes is its own"
)
COMMITS = Words("a transaction can commit")


# One sentence why for each message and each record: what it means here, not what its line says
# again.

# ---- client → coordinator --------------------------------------------------------------

COMMIT = Words(
    "The caller is answered after every participant: when a commit returns, all markers are "
    "written."
)
ABORT = Words("An abort is sent to the same participants in the same way.")
ENDED = Words(
    "Every participant has answered and the end is in the log; the coordinator has forgotten the "
    "transaction."
)
ENDED_BADLY = Words(
    "The transaction has ended and is forgotten, or somebody else is ending it; whether it was "
    "committed, the answer does not say."
)
REFUSED = Words("Nothing was done: the client connects and asks again, or tells its application.")
BEGUN = Words(
    "The id holds the coordinator's number and a count of its own; it is never used again."
)

# ---- coordinator → participants --------------------------------------------------------

TELL_COMMIT = Words("The decision is written, so it can be sent now, to all participants at once.")
TELL_ABORT = Words("The partition keeps the messages and learns that nobody may read them.")
ANSWERED = Words("One participant fewer has to answer; the caller is answered after the last.")
NOT_ANSWERED = Words(
    "One participant could not do it: a second later all of them get it again, without limit."
)

# ---- messages --------------------------------------------------------------------------

SEND_IN_TXN = Words(
    "The message goes to its real partition at once; only the id of its transaction tells it from "
    "others."
)
SEND_PLAIN = Words(
    "A plain message is not held back by itself, but it may come after an open transaction."
)
STORED = Words("It is stored; whether it will ever be read is decided later.")
STORED_PLAIN = Words("It is stored, and can be read as soon as nothing open is before it.")
SWALLOWED = Words(
    "The broker recognises this sequence number and stores nothing; the producer gets a success."
)
STALE = Words("The low watermark says that this transaction has ended: its message is refused.")
OPENED = Words(
    "The epoch is on the disk, so the producer that had the topic before is fenced from now on."
)
OPENED_SHARED = Words("It shares the topic with others, or waits; no epoch was raised for it.")
FENCED = Words(
    "Another producer has the topic for itself, or has had it since: this one writes nothing more "
    "here. Transactions are not fenced by it."
)
NOT_OPEN = Words(
    "The topic does not know this producer (any more). A real broker closes the connection, and "
    "the client opens its producer again."
)
ACK = Words("A plain acknowledgement counts at once, whatever a transaction has pending there.")
ACK_IN_TXN = Words(
    "The message is taken out of the way until the transaction ends, and given back if it aborts."
)
ACKED = Words(
    "The record is safe: a restart of the broker finds the acknowledgement pending again."
)
CONFLICT = Words(
    "Somebody was first: the message is acknowledged or pending already, or the subscription's "
    "one cumulative acknowledgement is taken."
)
READER = Words(
    "A reader's subscription goes with the reader; where it begins, the reader says itself."
)
CLOSED = Words("The broker closes this consumer, and its client subscribes again.")
ADMIN = Words("An operator looks or acts; no consumer or producer takes part.")

# ---- what is written -------------------------------------------------------------------

MESSAGE_RECORD = Words(
    "It is among all other messages of the partition; maxReadPosition stays before the first "
    "one of the oldest open transaction."
)
LATE_RECORD = Words(
    "Its transaction has a marker here already: the broker stores it without asking, and what has "
    "ended is not decided again."
)
PLAIN_RECORD = Words("A plain message takes the next position like any other.")
COMMIT_MARKER = Words(
    "A marker takes a position of its own, is sent to nobody, and ends the transaction here."
)
ABORT_MARKER = Words(
    "The messages stay where they are; the marker says that dispatchers leave them out."
)
MARKER_AGAIN = Words("The same end once more: a second marker changes nothing.")
SNAPSHOT = Words(
    "The buffer notes maxReadPosition and the aborted transactions, so a load need not read the "
    "whole topic."
)
NEW_RECORD = Words(
    "With this record the transaction exists; its deadline counts from here, also over restarts."
)
ADD_RECORD = Words("Where the end must be sent is on disk now, and survives the coordinator.")
DECIDED_COMMIT = Words(
    "This is the commit: once the record is safe, the transaction will be committed, whatever "
    "stops."
)
DECIDED_ABORT = Words(
    "This is the abort: once the record is safe, the transaction cannot be committed any more."
)
DONE = Words("All participants have answered; the records of this transaction are deleted.")
PENDING_RECORD = Words(
    "The acknowledgement is written down before it is answered; the cursor does not move yet."
)
PENDING_COMMIT = Words("Once the record is safe, the cursor takes over what was pending.")
PENDING_ABORT = Words(
    "What was pending is free again. Messages that were acknowledged one by one are sent once "
    "more; after a cumulative acknowledgement nothing is, until the client asks for it."
)

# ---- the story: the same for a reader who knows no protocol --------------------------

TOLD_WRITTEN = Words("{at} holds {what}. It is not decided yet.")
TOLD_LATE = Words("{at} holds {what}, although it comes after the end of its transaction.")
TOLD_PLAIN = Words("{at} holds {what}. Consumers get it once all before it is decided.")
TOLD_COMMIT = Words("The broker decides: {txn} counts.")
TOLD_ABORT = Words("The broker decides: nothing of {txn} counts.")
TOLD_SHOWN = Words("Consumers of {at} get what {txn} wrote there.")
TOLD_SKIPPED = Words("Consumers of {at} are not given what {txn} wrote there.")
TOLD_PENDING = Words("{txn} has taken a message. It is not decided yet if that counts.")
TOLD_TAKEN = Words("What {txn} has taken counts as done.")
TOLD_GIVEN_BACK = Words("What {txn} had taken is free again.")
TOLD_CONFLICT = Words("{peer} is refused: the message is taken already.")
TOLD_READ = Words("{node} has got {what}.")
