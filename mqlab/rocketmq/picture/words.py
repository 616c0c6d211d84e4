"""What the pictures say about RocketMQ, in both languages."""

from __future__ import annotations

from ...kernel import Words

PRODUCER = Words("producer")
DATABASE = Words("database")
BROKER = Words("broker")
MASTER = Words("master")
SLAVE = Words("slave")
NAME_SERVER = Words("name server")
CONSUMER = Words("consumer")

GRAPH = Words("Half message of {txn}")
GRAPH_ASKED = Words("Half message of {txn}: asked {times} of {most} times")
GRAPH_IDLE = Words("No half message yet")

DATABASE_TABLE = Words("Database of the producer group")
GROUP_TABLE = Words("Producer group: who can be asked")
TIMERS_TABLE = Words("Timers of the broker")
WAITING_TABLE = Words("Op records in memory only")
ASKED_NEXT = Words("asked next")

APPLIED_TWICE = Words("{order} was applied {times} times")
CAME_TWICE = Words("{order} came {times} times, applied once")
BACK = Words("{order} was sent back and will come again")
DEAD_LETTER = Words("{order} is in the dead letter queue")

ROW_WITH_MESSAGE = Words(
    "each committed row's message is delivered, or its half message is open or set aside"
)
MESSAGE_WITH_ROW = Words("no message can be read whose row is not committed")
ROW_COMES = Words("each message that can be read has its row in the end")
CLEAN_READ = Words("no undecided message is where consumers read")
NO_HALF_MESSAGE_LOST = Words("each half message is open, ended or set aside")
ENDS = Words("each half message can still end")
CAN_BE_ASKED = Words(
    "each committed row's message is delivered, or somebody can still be asked about its half "
    "message"
)
DELIVERED_ONCE = Words("no message is delivered twice")
PASSED_OVER = Words("a message that was delivered is not delivered again because of a later check")
FINAL = Words("a message that was rolled back is never delivered")
SET_ASIDE_OR_DELIVERED = Words("no message is both set aside and delivered")
ROW_DELIVERED = Words("each committed row's message is delivered or its half message is open")
APPLIED_ONCE = Words("no consumer applies an order twice")
APPLIED_OR_KEPT = Words(
    "what a group has passed over is applied, or comes again, or is in its dead letter queue"
)
ENDED_FOR_GOOD = Words("no copy is made of a half message whose end was recorded before")
DELIVERED_WHOLE = Words(
    "a delivered message has every field and property of its half message, and the topic that "
    "it was sent to"
)
NAMES_THE_COPY = Words("a question names the copy of the half message that was put back for it")
ASKS_THE_LIVING = Words("no producer is asked of which the broker has heard that it is gone")
PROGRESS_KEPT = Words("how far each group has come is on the disk, or about to be written")
NOT_SET_ASIDE_EARLY = Words(
    "no half message is set aside before it was checked as often as allowed"
)
COMMITS = Words("a message can be committed")


# One sentence why for each message and each record: what it means here, not what its line says
# again; and the short names that the chart has for them.

# ---- requests and answers --------------------------------------------------------------

HALF = Words(
    "The message goes to the broker first: if it cannot be stored, the order is not written either."
)
PLAIN = Words(
    "An ordinary message belongs to no transaction: consumers may read it as soon as it is stored."
)
END_WRONG = Words("No such end exists: the broker refuses it while it reads the header.")
ASKED = Words("check {order} ({times} of {most})")
QUESTION = Words(
    "The broker asks a live producer of the group, which need not be the one that sent the half "
    "message."
)
HEARTBEAT = Words("Only by heartbeats does the broker know whom it can ask.")
RESUME = Words(
    "An operator takes such a half message back into the half topic; its checks are counted again."
)
HALF_STORED = Words(
    "The half message is stored, so the local transaction may run now and not before."
)
HALF_DOUBTFUL = Words(
    "The half message is stored less safely than was asked for: the local transaction is not "
    "run, and the half message is rolled back."
)
PLAIN_STORED = Words("The message is stored; for an ordinary one that is all.")
ROW_READ = Words(
    "A row proves that the local transaction was committed; no row proves nothing, for it may "
    "still come."
)
ROW_INSERTED = Words("This is the row as it is now, no matter who wrote it.")
NO_ROW = Words("no row")
RAW_ANSWER = Words(
    "Real clients do not ask for this answer, so they never learn that an end was refused."
)

PULL = Words("A push consumer pulls: it requests what comes after the offset that it has reached.")
PULLED = Words("Messages stay in the queue when they are read; only the offset moves on.")
SENT_BACK = Words("{order} back")
SEND_BACK = Words(
    "The listener could not process it: the broker keeps a copy for later, and the producer hears "
    "nothing of it."
)
NOT_TAKEN_BACK = Words("Nothing is written: no copy waits in the retry topic.")
UPDATE_OFFSET = Words(
    "It reports how far it has come after its work, so a stop in between brings the message again."
)
WHO_READS = Words("The members of a group share the queues; each works out its own part.")
COPIED = Words("The master sends its slave what follows in the commit log.")
HA_REPORT = Words("From where the copy ends the master knows what the slave has.")
REGISTER = Words("A name server tells clients which brokers are registered; a crash takes one out.")
ROUTE = Words("A client goes to the master, and only while none is registered to its slave.")
UNREADABLE = Words(
    "The slave of 5.5.0 cannot read this once a consumer has pulled; it keeps its own offsets."
)
ASK_OFFSETS = Words("A slave copies how far the groups have come. A master never asks its slave.")

# ---- records and rows ------------------------------------------------------------------

HALF_RECORD = Words(
    "It is in another topic, to which no consumer subscribes: stored, and invisible."
)
COPY = Words(
    "A log cannot be changed, so the half message is written once more at its end, with the "
    "number of checks raised; a check is about the newest copy."
)
OP_RECORD = Words(
    "It names places in the half topic that the check may pass over; the half messages "
    "themselves stay."
)
PARKED = Words(
    "It was checked as often as allowed, or is too old: the half message is set aside for an "
    "operator. This is no rollback, and a commit may have come before or may still come."
)
DELIVERED = Words(
    "A commit writes the message once more, complete, into its own topic: from here on consumers "
    "can read it."
)
DELIVERED_AGAIN = Words(
    "The same message is written again: the broker keeps no list of what it has delivered."
)
UNDECIDED_RECORD = Words(
    "Without a half topic the message is where consumers read, decided or not."
)
PLAIN_RECORD = Words("Consumers may read it at once.")
RETRIED = Words(
    "What a consumer could not process waits in its group's retry topic and comes again."
)
DELAYED = Words("It waits under a topic of its own until its delay is over.")
COMES_AGAIN = Words(
    "The delay is over: the copy is in the group's retry topic, which every consumer of the "
    "group reads."
)
APPLIES = Words("{order} applied (×{times})")
APPLIED = Words("The consumer does its work and notes the order's key in the same statement.")
APPLIED_AGAIN = Words("The same order is applied once more: nobody looked it up before.")
DEAD = Words(
    "After all its retries the message is left here for a person; the producer's transaction is "
    "not touched."
)
ROW = Words("row {order} = {value}")
ROW_GONE = Words("row {order} removed")
WRITTEN = Words(
    "The row is committed and the message is not visible: until the half message is committed, "
    "database and topic disagree."
)
REMOVED = Words("The row is gone; what was said to the broker about it does not change.")

# ---- the story: the same for a reader who knows no protocol --------------------------

TOLD_HALF = Words("The broker holds {what} and shows it to nobody yet.")
TOLD_UNDECIDED = Words("{what} is where consumers read. It is not decided yet.")
TOLD_ROW = Words("{node} holds order {what}. That is the decision.")
TOLD_NO_ROW = Words("{node} has removed order {what}.")
TOLD_COMMIT = Words("{node} tells the broker: {what} counts.")
TOLD_ROLLBACK = Words("{node} tells the broker: {what} does not count.")
TOLD_UNKNOW = Words("{node} tells the broker: {what} is not decided yet.")
TOLD_QUESTION = Words("The broker asks {peer} what has become of {what}.")
TOLD_SHOWN = Words("{what} is in its topic: consumers get it.")
TOLD_AGAIN = Words("{what} is in its topic once more: consumers get it again.")
TOLD_PARKED = Words("The broker asks no more: {what} is put aside.")
TOLD_DEAD = Words("{what} has failed too often. It is put aside for a person.")
TOLD_APPLIED = Words("{node} has done its work for {what}.")
TOLD_APPLIED_AGAIN = Words("{node} has done its work for {what} once more.")
