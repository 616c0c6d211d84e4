"""Where this project's server answers otherwise than a real Kafka, and why that stays.

The table is the whole of it; the page datasets/recordings/DIFFERENCES.md is made from it.
A difference that is found is fixed, or gets a row here with a reason one can argue about.
"""

from __future__ import annotations

from ...kafka.unserved import FROM_BROKERS, NO_SUCH_CONFIGS, NOT_PLACED, ONLY_VERIFICATION, UNSERVED
from ...places import RECORDINGS
from ..differences import Listed, write_page, write_table

PAGE = RECORDINGS / "DIFFERENCES.md"


#: what is not compared, and why
IGNORED = (
    ("producer ids", "become P, Q, R … in the order in which a program meets them: a broker "
     "hands out blocks of 1,000, and a restart begins a new one"),
    ("timestamps", "are left out, except where a program set them itself"),
    ("names", "of topics, groups, transactional ids and members are the program's own; on the "
     "wire each execution gives them a prefix, so that programs do not meet"),
    ("the number of CONCURRENT_TRANSACTIONS", "a question is asked again until its answer is "
     "another, and only that one is noted; where the first answer itself is the point, the "
     "program notes it"),
    ("PrepareAbort or CompleteAbort", "right after the first InitProducerId of a fence: both are "
     "right, the markers may have been faster than the question; the program waits for the second"),
    ("the order of partitions", "in the lists a broker gives back: they are sorted"),
    ("the time until a timeout abort", "is not noted: the sweep comes when it comes"),
    ("error messages in words", "only the error's name is noted"),
)  # fmt: skip


TABLE: tuple[Listed, ...] = (
    Listed("*/segments", "Fetch @0 read_committed", "the records of the first segment",
           "those of all segments",
           "the server keeps a log in one piece; a client asks again from where it is"),
    Listed("*/claimed-in-compressed", "Produce a record of *, gzip", "ok", "INVALID_RECORD",
           "a real broker steps over the fields of compressed records and compares no length with "
           "them; it keeps what no reader can step over. Uncompressed it refuses the same records",
           "INVALID_RECORD"),
    Listed("*/claimed-in-compressed", "Produce an offset delta -1, gzip", "UNKNOWN_SERVER_ERROR",
           "ok",
           "a real broker wants to number the records again and has stepped over what it would "
           "need for it; uncompressed it keeps the same record, as the server does both",
           "ok @0"),
    *(
        Listed("*/requests-offered", f"request {key} *", "offered", "not offered", why.en, "not *")
        for key, (_, why) in UNSERVED.items()
    ),
    *(Listed("*/tools-cluster", f"*({key})", "usable", "UNSUPPORTED", why.en, "UNSUPPORTED")
      for key, (_, why) in UNSERVED.items()),
    Listed("*/requests-offered", "request 24 *", "v0…v5", "v0…v3", FROM_BROKERS, "v0…v3"),
    Listed("*/tools-cluster", "*(24)", "0 to 5", "0 to 3", FROM_BROKERS, "0 to 3 [[]usable: 3[]]"),
    Listed("*/tools-records", "--describe --topic-list *", "the size of each partition",
           "the tool says that DescribeLogDirs is not supported", UNSERVED[35][1].en),
    *(
        Listed(f"*/{name}", f"{asked} on *", "the topic, or what is wrong with these brokers",
               "refused with a sentence", NOT_PLACED, f"INVALID_REPLICA_ASSIGNMENT: {NOT_PLACED}")
        for name, asked in (("topics-refused", "CreateTopics placed *"),
                            ("create-partitions", "CreatePartitions orders *"))
    ),
    Listed("*/topic-configs", "DescribeConfigs kind * *",
           "INVALID_REQUEST and what is wrong with this kind's name",
           "INVALID_REQUEST and a sentence", NO_SUCH_CONFIGS, "INVALID_REQUEST: *"),
    Listed("*/tools-topics", "--describe *: LastKnownElr", "Elr: LastKnownElr:",
           "Elr: N/A LastKnownElr: N/A",
           "DescribeTopicPartitions is not offered; one broker never has eligible leader replicas",
           "Topic: * Partition: * Leader: 1 Replicas: 1 Isr: 1 Elr: N/A LastKnownElr: N/A"),
)  # fmt: skip


#: scenarios that are recorded and not compared, and those that are not recorded
OTHERS = (
    ("coordinator-failover-ongoing, coordinator-failover-prepared, min-insync-replicas, "
     "lso-needs-high-watermark, not-coordinator",
     "recorded on three brokers; the server is one. The engine's system of several brokers "
     "tells them as scenarios (replicas=3)"),
    ("coordinators-in-parallel",
     "recorded on three brokers; a system of the engine has one coordinator at a time"),
    ("transactional-id-expires, producer-id-expires, java-expired",
     "recorded with short settings, which the server does not take; the engine tells them "
     "as scenarios (id_expiration_ms, pid_expiration_ms)"),
    ("skip-leaderless-marker, leaderless-marker",
     "recorded: 4.3.1 drops the markers of every partition that has no leader when they leave "
     "(KAFKA-20734; apache/kafka PR 22680), so an acknowledged commit is completed and never "
     "read. A coordinator killed in PrepareCommit meets that after its restart "
     "(skip-leaderless-marker); nothing need be killed, an ordinary outage of the partition at "
     "commit suffices (leaderless-marker). The engine keeps the marker until somebody leads, as "
     "Kafka is designed; its switch skip_leaderless_marker shows the loss"),
    ("timeout of a pending transaction, a timeout's or a fence's record that cannot be written "
     "(TransactionCoordinatorTest, TransactionsTest#testFailureToFenceEpoch)",
     "not recorded: a client cannot hold or fail one write inside a broker. Tests of the "
     "engine's roles"),
    ("batches of more than 1,000,000 records, or of more than 32 MiB when opened; more than "
     "10,000 partitions in all; answers to a Fetch beyond 16 MiB",
     "a real broker knows no such bounds, or higher ones. The server is one process that "
     "everybody in a classroom shares: it refuses the first (INVALID_RECORD, "
     "MESSAGE_TOO_LARGE) and the second (POLICY_VIOLATION), and sends the rest when it is "
     "asked again"),
    ("retention by time and by size, compaction of a topic's records",
     "configs are checked and shown, and nothing is deleted by itself: a log goes with "
     "DeleteRecords or with its topic. compression.type, max.message.bytes, the timestamp "
     "configs and the keys of compacted topics act when a record is produced"),
    ("a broker's configs beyond those by which the server does something, changes of configs; "
     "configs of loggers, groups and client metrics",
     "not shown, or refused with a sentence; transaction.partition.verification.enable can be "
     "changed, which a hanging transaction needs"),
    ("deletion of an internal topic",
     "INVALID_TOPIC_EXCEPTION: a lab should not lose its coordinators' logs"),
    ("kafka-features but for transaction.version",
     "the other features govern what the server does not have (a quorum's metadata, share and "
     "streams groups)"),
    ("WriteTxnMarkers to a partition of __transaction_state",
     "INVALID_TOPIC_EXCEPTION: that log holds the coordinator's records and nothing else. A "
     "real broker writes the marker there (probed on 4.3.1)"),
    ("configs in the answer to CreateTopics",
     "beyond 100 topics a request, the answer leaves them out"),
    ("requests of transaction.version 2 to a cluster of version 0, quotas, access rules, "
     "two-phase commit (KIP-939)",
     "not modelled"),
)  # fmt: skip


def page() -> str:
    """DIFFERENCES.md: the recordings' part, and what is not served."""
    source = "Made by `mqlab real kafka compare --page` from `mqlab/real/kafka/differences.py`."
    shown = [row for row in TABLE if row.scenario not in ("*/requests-offered", "*/tools-cluster")]
    recorded = write_page("Kafka", source, shown, IGNORED, OTHERS)
    lines = ["", "## Requests that are not served", ""]
    lines += [
        "ApiVersions does not name them, so a client says itself that they are not supported."
    ]
    lines += ["A change of configs is answered with POLICY_VIOLATION and a sentence.", ""]
    rows = [(str(key), name, why.en) for key, (name, why) in UNSERVED.items()]
    rows.append(("24", "AddPartitionsToTxn 4, 5", FROM_BROKERS))
    rows.append(("44", "IncrementalAlterConfigs", ONLY_VERIFICATION.en))
    lines += write_table(("key", "request", "why"), rows)
    return recorded + "\n".join(lines).rstrip() + "\n"
