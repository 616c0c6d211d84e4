"""What the pictures say about RocketMQ, in both languages."""

from __future__ import annotations

from ...kernel import Words

PRODUCER = Words("producer")
DATABASE = Words("database")
BROKER = Words("broker")
MASTER = Words("master")
SLAVE = Words("slave")
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
DEAD = Words("{order} is in the dead letter queue")

ROW_WITH_MESSAGE = Words("each committed row's message is delivered, or its half is open or parked")
MESSAGE_WITH_ROW = Words("no message can be read whose row is not committed")
ROW_COMES = Words("each message that can be read has its row in the end")
CLEAN_READ = Words("no undecided message lies where consumers read")
NO_HALF_LOST = Words("each half message is open, ended or parked")
ENDS = Words("each half message can still end")
CAN_BE_ASKED = Words(
    "each committed row's message is delivered, or somebody can still be asked about its half"
)
DELIVERED_ONCE = Words("no message is delivered twice")
PASSED_OVER = Words("a message that was delivered is not delivered again because of a later check")
FINAL = Words("a message that was rolled back is never delivered")
PARKED_OR_DELIVERED = Words("no message is both parked and delivered")
ROW_DELIVERED = Words("each committed row's message is delivered or its half is open")
APPLIED_ONCE = Words("no consumer applies an order twice")
APPLIED_OR_KEPT = Words(
    "what a group has passed over is applied, or comes again, or is in its dead letter queue"
)
ENDED_FOR_GOOD = Words("no copy is made of a half whose end was recorded before")
DELIVERED_WHOLE = Words(
    "a delivered message has every field and property of its half, and the topic that it was sent "
    "to"
)
NAMES_THE_COPY = Words("a question names the copy of the half that was put back for it")
ASKS_THE_LIVING = Words("no producer is asked of which the broker has heard that it is gone")
PROGRESS_KEPT = Words("how far each group has come is on the disk, or about to be written")
PARKED_WHEN_SPENT = Words("no half is parked before it was asked about as often as is allowed")
COMMITS = Words("a message can be committed")
