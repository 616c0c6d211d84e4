"""What the pictures say about Pulsar, in both languages."""

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
BEHIND_THE_MARK = Words(
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
ANSWERED_IS_KEPT = Words("a message whose send was answered lies where the answer says")
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
