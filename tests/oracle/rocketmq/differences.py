"""Where this project's server answers otherwise than a real RocketMQ, and why that stands.

The table is the whole of it; the page datasets/recordings/DIFFERENCES-rocketmq.md is made from it.
A difference that is found is fixed, or gets a row here with a reason one can argue about.
"""

from __future__ import annotations

from mqlab.places import RECORDINGS
from mqlab.real.differences import Listed, write_page
from mqlab.rocketmq.remoting.unserved import UNSERVED

PAGE = RECORDINGS / "DIFFERENCES-rocketmq.md"

#: what is not compared, and why
IGNORED = (
    ("commit log offsets", "are bytes in a real broker and records in the engine: a committed "
     "message is said to point to the half message it was made from"),
    ("timestamps, addresses and ids of messages", "are told by what they refer to, field by field, "
     "in every-field-*: a time is the sender's or not before that of the record it was made from, "
     "an id names a record or is the message's own key, an address is the sender's or the "
     "broker's. Elsewhere they are left out, except an age that a program brings about itself"),
    ("names", "of topics, groups and clients are the program's own; on the wire each execution "
     "gives them a prefix"),
    ("the order of the checks", "that one round sends is not RocketMQ's to promise, since a pool "
     "of threads sends them: they are noted by their half message"),
    ("how far the round of the last check comes", "is not noted: whether it finds the copy that it "
     "has just put back, and sets it aside, is a race in a real broker; the round after it is "
     "noted"),
    ("how Java words a null pointer", "becomes NullPointerException; a remark loses the exception "
     "it came as and the place in the source"),
    ("the time until a timer", "is not waited for: a check round, a batch of op records and the "
     "writing of offsets happen when the program asks for them"),
)  # fmt: skip

TABLE: tuple[Listed, ...] = (
    *(
        Listed(
            "4.9/java-mqadmin-groups",
            command,
            "the group, of which no consumer listens, does not exist",
            "REQUEST_CODE_NOT_SUPPORTED and a sentence",
            "4.9.7 pushes a reset to the group's consumers, which is not served here",
            "*CODE: 3 DESC: a reset is served as 5.5 does it*",
        )
        for command in (
            "resetOffsetByTime -g * -t orders -s 0",
            "skipAccumulatedMessage -g *",
        )
    ),
    Listed("*/delay-never-comes", "*",
           "the half message is put among the delayed messages, which overwrites where it came "
           "from: it never comes into the half topic, and no end delivers it",
           "a half message like any other",
           "no client sends one: 4.9's takes the delay level away, 5.5's refuses the message "
           "(java-delay-level)"),
    Listed("*/end-of-what-is-no-half", "EndTransaction COMMIT p1",
           "SYSTEM_ERROR NullPointerException", "SYSTEM_ERROR The producer group wrong",
           "a plain message has no producer group to compare with; refused in both, and nothing is "
           "written",
           "SYSTEM_ERROR The producer group wrong"),
    Listed("5.5/end-of-what-is-no-half", "EndTransaction ROLLBACK o1",
           "SYSTEM_ERROR NullPointerException", "ok",
           "a committed message of 5.5.0 has lost REAL_TOPIC, by which the broker counts its open "
           "half messages; it stumbles over that and writes nothing, and nothing is written here",
           "ok"),
    Listed("*/administration-topics", "UPDATE_AND_CREATE_TOPIC topic=many", "ok",
           "refused: a topic has from 1 to 1024 queues here, not 0",
           "nobody could read a topic of no queues, or write to it",
           "* a topic has from 1 to 1024 queues here, not 0"),
    Listed("5.5/batch-with-a-time", "*TIMER_DELAY_SEC=3600 of the request",
           "SEND_OK: the whole batch goes to the timer's topic", "MESSAGE_ILLEGAL",
           "no client sends one (MessageBatch#generateFromList); a delay level in that place is "
           "refused in both",
           "MESSAGE_ILLEGAL"),
    Listed("5.5/java-example-send", "is refused",
           "1 accurate timer message is not enabled, timerWheelEnable is false", "no",
           "the recordings run with timerWheelEnable=false, which spares a small machine 100 MB; "
           "with RocketMQ's own default a real 5.5.0 takes them as well",
           "no"),
    Listed("5.5/every-field-*", "SendMessage *: plain 0", "SYSTEM_ERROR NullPointerException",
           "SYSTEM_ERROR the message body is empty",
           "5.5.0 stumbles over a message without a body, which its clients refuse to send; "
           "refused in both, here with a reason",
           "SYSTEM_ERROR the message body is empty"),
)  # fmt: skip

#: where 4.9.7 itself cannot do what it is asked
TABLE += (
    *(
        Listed(
            "4.9/limit-properties-batch",
            asked,
            "SUCCESS: CLUSTER makes the properties too long, which 4.9.7 writes all the same; the "
            "queue can never be read past that",
            "MESSAGE_ILLEGAL, and the queue is read",
            "a record that cannot be read must not hide those after it",
            ours,
        )
        for asked, ours in (("*of 3276[67] bytes", "MESSAGE_ILLEGAL"), ("Pull @3", "*"))
    ),
    Listed(
        "4.9/limit-properties-dead",
        "ConsumerSendMsgBack 32768 level=-1",
        "SYSTEM_ERROR MESSAGE_ILLEGAL",
        "SYSTEM_ERROR PROPERTIES_SIZE_EXCEEDED",
        "4.9.7 measures twice, with a word of its own each time; refused in both",
        "SYSTEM_ERROR PROPERTIES_SIZE_EXCEEDED",
    ),
    *(
        Listed(
            "4.9/limit-queries",
            asked,
            real,
            "as many as one answer holds",
            "4.9.7 makes room for that many first, and has none; no client asks for so many",
            ours,
        )
        for asked, real, ours in (
            ("QueryMessage at most 2147483647", "0 messages", "64 messages"),
            ("PullMessage at most -*", "SYSTEM_ERROR Illegal Capacity", "ok, 1 messages, next 1"),
            ("PullMessage at most 2147483647", "OutOfMemoryError", "ok, 32 messages, next 32"),
        )
    ),
)

#: scenarios that are recorded and not compared, and those that are not recorded
OTHERS = (
    ("young-half, head-of-line, immunity-shorter, check-limit-of-one",
     "recorded with rounds of different transactionTimeOuts or transactionCheckMax; the server "
     "has the same for all its rounds. Scenarios and tests of the engine"),
    ("stop-in-each-state",
     "recorded: a stop by SIGTERM wakes the check service of a real broker, which makes one "
     "more round; where the store still takes it (5.5.0), each pending half message has used a "
     "check. The server's stop makes none"),
    ("java-slave-not-available, slave-timeout",
     "recorded on 4.9.7 and on 5.5.0 with brokerRole=SYNC_MASTER, which the server does not "
     "take; the engine tells them as scenarios (in_sync=2)"),
    ("a batch of more than 32,767 messages",
     "not recorded: 5.5.0 counts them in 16 bits, so that offsets of the queue are given away "
     "twice or fall below 0; 4.9.7 counts them as they are, and so does the server"),
    ("a heartbeat with 40,000 consumer groups",
     "not recorded: a real broker creates their retry topics one by one, with the whole file of "
     "topics each time, and has not answered after 100 s; the server refuses more than 4,000 of "
     "them at once, and a body of more than 1 MiB of JSON"),
    ("FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT",
     "not recorded: a client cannot make a disk or a slave slow. Scenarios of the engine"),
    ("the metric of open half messages (TransactionMetrics)",
     "not recorded: it is an exporter's, and goes below zero when a half message is ended twice"),
    ("the proxy and its gRPC clients",
     "not recorded and not modelled: its table of transactions is another one than the broker's"),
    ("slave-reads",
     "recorded with a master and its slave; the server has no slave, and the engine tells it as a "
     "scenario (slave=read)"),
    ("a slave that acts as master (enableSlaveActingMaster)",
     "not recorded and not modelled: an acting master of 5.5.0 checks no half message, it moves "
     "each to another master"),
    ("half messages in RocksDB (transRocksDBEnable)",
     "not recorded and not modelled: off by default in 5.5.0"),
)  # fmt: skip


#: answered, but not as a real broker answers, and not asked by the recorded programs
OTHERWISE = (
    ("statsAll", "shows 0 for what a real broker counts"),
    ("topicList", "lists the topics that there are here; topics of a real broker's own that have "
     "no meaning here (BenchmarkTest, OFFSET_MOVED_EVENT and others) are not among them"),
    ("commitLogMaxOffset and the like", "count records, not bytes"),
    ("resetOffsetByTime with --release 4.9", "is refused: a real 4.9.7 pushes the reset to the "
     "consumers, which is not served here"),
    ("deleteTopic", "of a real 5.5.0 fails with a null pointer where timerWheelEnable is false; "
     "here it deletes"),
    ("timed messages", "have no recallHandle in their answer, since they cannot be taken back; "
     "nobody may send to rmq_sys_wheel_timer"),
    ("a half message with a time of delivery",
     "is a half message like any other; a real broker loses it"),
    ("a second port for urgent clients", "(the broker's port less two), which clients before 4.5.1 "
     "use by default, is not served: they reach this broker with "
     "-Dcom.rocketmq.sendMessageWithVIPChannel=false"),
    ("codes that no table names", "are refused by their number, as in a real broker that does not "
     "know them"),
)  # fmt: skip


def list_refused() -> list[str]:
    """Markdown: every request that the server refuses with a sentence."""
    lines = ["", "## Requests that are refused", ""]
    lines += ["With REQUEST_CODE_NOT_SUPPORTED, the request's name and what stands here.", ""]
    lines += ["| code | request | asked by | answer |", "| --- | --- | --- | --- |"]
    for code, one in sorted(UNSERVED.items()):
        lines.append(f"| {code} | {one.name} | {one.asked_by} | {one.why} |")
    lines += ["", "## Answered otherwise, beyond the recordings", ""]
    return lines + [f"- **{what}** {how}." for what, how in OTHERWISE]


def page() -> str:
    """DIFFERENCES-rocketmq.md: the recordings' part, and what mqadmin and others meet besides."""
    source = (
        "Made by `mqlab real rocketmq compare --page` from `tests/oracle/rocketmq/differences.py`."
    )
    recorded = write_page("RocketMQ", source, TABLE, IGNORED, OTHERS)
    return recorded + "\n".join(list_refused()) + "\n"
