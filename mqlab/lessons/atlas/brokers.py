"""Where three brokers keep what: nodes, topics, internal topics, logs, files, memory.

Facts of Kafka 4.3 (KRaft), RocketMQ 5.3 and Pulsar 4.x with default settings. A name is
the real system's; `part` marks what takes part in a transaction. `map_panel` draws these
tables and prints them; nothing is said twice.
"""

from __future__ import annotations

from dataclasses import dataclass

#: a place where nothing is kept, and one might have thought so
NOTHING = "nothing"

#: what an item is → how it is shown to a reader
KINDS = {
    "memory": "in memory: gone when the process is killed",
    "topic": "your topic",
    "internal": "internal topic",
    "log": "log that is no topic",
    "file": "on disk",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One thing a node keeps. `part`: it takes part in a transaction."""

    kind: str
    name: str
    holds: str
    part: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A process, and what goes between it and the node below it: (arrow, words)."""

    name: str
    role: str
    items: tuple[Item, ...]
    below: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Broker:
    """`left_out`: what a real installation has besides."""

    name: str
    version: str
    nodes: tuple[Node, ...]
    left_out: str


KAFKA = Broker(
    "Kafka",
    "4.x: KRaft, no ZooKeeper",
    (Node("clients", "producer, consumer",
          (Item("memory", "producer id, epoch", "and sequence numbers", True),
           Item("memory", "position", "next offset to read of a partition")),
          (("down", "Produce, Fetch, EndTxn: to the broker that leads the partition"),)),
     Node("broker", "several; each leads some partitions",
          (Item("memory", "partition leader", "high watermark, LSO, open transactions", True),
           Item("memory", "transaction coordinator", "state of each transactional id", True),
           Item("memory", "group coordinator", "offsets, those of open transactions too", True),
           Item("topic", "orders", "records and markers, open ones among the rest", True),
           Item("internal", "__transaction_state", "decisions; 50 partitions, compacted", True),
           Item("internal", "__consumer_offsets", "groups' offsets; 50, compacted", True),
           Item("file", "orders-0/….log", "the same; flushed after the answer", True),
           Item("file", "orders-0/….txnindex", "aborted transactions", True),
           Item("file", "orders-0/….snapshot", "producer ids, epochs, sequences", True),
           Item("file", "orders-0/….index", "offset → place; also ….timeindex"),
           Item("file", "replication-offset-checkpoint", "high watermarks")),
          (("down", "register, heartbeat"), ("up", "metadata log, blocks of 1000 producer ids"))),
     Node("controller", "its own nodes: three or five, a Raft quorum",
          (Item("memory", "metadata", "who leads which partition"),
           Item("internal", "__cluster_metadata", "topics, leaders, producer-id blocks"),
           Item("file", "__cluster_metadata-0/….log", "the same; ….checkpoint, quorum-state")))),
    "replicas on the other brokers, share groups, tiered storage",
)  # fmt: skip

ROCKETMQ = Broker(
    "RocketMQ",
    "5.x",
    (Node("your services", "producer group, consumer group",
          (Item("memory", "transaction listener", "runs, and later checks, the local work", True),
           Item("memory", "queue positions", "sent to the broker every 5 s"),
           Item("file", "your database", "the order's row: what a check looks up", True)),
          (("down", "half message, END_TRANSACTION (one-way), pull"),
           ("up", "check-back: commit or rollback?"))),
     Node("broker", "a master, its slaves",
          (Item("memory", "registered producers", "of each group, by heartbeat", True),
           Item("memory", "unwritten op records", "up to 3 s, since 5.1.0", True),
           Item("topic", "orders", "only what is committed", True),
           Item("internal", "RMQ_SYS_TRANS_HALF_TOPIC", "half messages, one queue", True),
           Item("internal", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "which half messages ended", True),
           Item("internal", "TRANS_CHECK_MAX_TIME_TOPIC", "set aside after 15 checks", True),
           Item("internal", "%RETRY%group  %DLQ%group", "redelivery, dead letters"),
           Item("file", "commitlog/", "all topics; flushed after the answer", True),
           Item("file", "consumequeue/topic/queue/", "places in the commit log"),
           Item("file", "index/", "keys → places"),
           Item("file", "config/consumerOffset.json", "groups' positions, the check's too", True),
           Item("file", "config/topics.json", "topics and their queues")),
          (("down", "brokers register, heartbeat"), ("up", "clients ask for routes"))),
     Node("NameServer", "several, unaware of each other",
          (Item("memory", "routes", "topic → brokers and queues"),
           Item("file", NOTHING, "brokers register again")))),
    "the 5.x proxy, the controller that elects masters, delayed messages",
)  # fmt: skip

PULSAR = Broker(
    "Pulsar",
    "4.x: storage apart from compute",
    (Node("clients", "producer, consumer",
          (Item("memory", "transaction object", "its TxnID and state", True),
           Item("memory", "receive queue", "messages not yet acknowledged")),
          (("down", "send, acknowledge, END_TXN: to the broker that owns the topic"),)),
     Node("broker", "several; no data of its own",
         (Item("memory", "transaction coordinator", "open transactions, their timeouts", True),
          Item("memory", "transaction buffer", "open and aborted ids, maxReadPosition", True),
          Item("memory", "pending acks", "acks of open transactions", True),
          Item("topic", "orders", "messages and markers, open ones among the rest", True),
          Item("internal", "__transaction_buffer_snapshot", "aborted ids; one per namespace", True),
          Item("internal", "transaction_coordinator_assign", "places coordinators; no data", True),
          Item("log", "__transaction_log_0", "decisions, one log per coordinator", True),
          Item("log", "…__transaction_pending_ack", "one log per subscription", True),
          Item("log", "cursor", "what a subscription has acknowledged"),
          Item("file", NOTHING, "the bookies keep it")),
         (("down", "each topic or log is a chain of ledgers, written to several bookies"),)),
     Node("bookie", "several: BookKeeper",
          (Item("memory", "write cache", "entries not yet in an entry log"),
           Item("log", "ledgers", "entries of all the topics and logs above", True),
           Item("file", "journal/current/….txn", "flushed before the answer", True),
           Item("file", "ledgers/current/….log", "entries, many ledgers in one file", True),
           Item("file", "ledgers/current/locations", "entry → place")),
          (("down", "bookies and brokers register"), ("up", "who owns a topic, which ledgers"))),
     Node("metadata store", "ZooKeeper, etcd, Oxia …",
          (Item("file", "managed ledgers", "which ledgers a topic has; who owns it"),))),
    "tenants and namespaces above the topic, geo-replication, tiered storage",
)  # fmt: skip

BROKERS = {"kafka": KAFKA, "rocketmq": ROCKETMQ, "pulsar": PULSAR}
