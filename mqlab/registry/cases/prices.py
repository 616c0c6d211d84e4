"""m orders for n partitions by way of Kafka, RocketMQ, Pulsar and an outbox. Data only.

Kafka and Pulsar join the orders in one transaction; a Kafka client sends a request per order here,
and waits for each. In RocketMQ and with an outbox each order is a transaction of its own, so the
number of partitions costs nothing.
"""

from __future__ import annotations

from ...kernel import Fact, tr
from ..prices import Bulk, Formula
from ..ways import Victim, Way


def _kafka(n: int, m: int) -> tuple[str, str]:
    sends = ", ".join(f"send orders-{i % n} T{i + 1}, flush" for i in range(m))
    head = f"system kafka topic=orders partitions={n} producers=app readers=stock\nrun app: init"
    return head, f"run app: begin, {sends}, commit"


def _rocketmq(n: int, m: int) -> tuple[str, str]:
    sends = ", ".join(f"send-in-transaction orders-{i % n} T{i + 1}" for i in range(m))
    return f"system rocketmq queues={n} producers=app", f"run app: {sends}\nfire broker op batch"


def _pulsar(n: int, m: int) -> tuple[str, str]:
    topics = ",".join(f"orders{i}" for i in range(n))
    sends = ", ".join(f"send orders{i % n}-0 T{i + 1} txn=t1" for i in range(m))
    head = f"system pulsar topic={topics} clients=app"
    return head, f"run app: new-transaction t1, {sends}, commit t1"


def _outbox(n: int, m: int) -> tuple[str, str]:
    orders = "\n".join(f"run app: order T{i + 1}" for i in range(m))
    return "system outbox consumers=stock", orders


#: which log a real broker has for an entry of the engine, by the kind of entry
LOGS = {
    "StateRecord": "coordinator's log",
    "Batch": "partitions' logs",
    "TransactionMetadataEntry": "coordinator's log",
    "Cursor": "coordinator's cursor",
    "LedgerEntry": "topics' ledgers",
    "BufferSnapshot": "buffer snapshots",
    "half": "half topic",
    "op": "op topic",
    "message": "topics' queues",
}


def _log_of(fact: Fact) -> str:
    """RocketMQ's entries say themselves of which kind they are; a database is in no broker."""
    return LOGS.get(getattr(fact.body, "kind", type(fact.body).__name__), "")


READ_LOGS = ("partitions' logs", "topics' queues", "topics' ledgers")


def _shows(fact: Fact) -> bool:
    """Each is the log that readers read; the last entry there is a marker, or the message."""
    return _log_of(fact) in READ_LOGS


#: why a real broker's count differs
KAFKA_REASONS = {
    "SendMarkers": tr("within the coordinator's process the engine sends a message of its own"),
    "WriteTxnMarkers": tr(
        "the coordinator sends one request per broker, with all its partitions; here one broker "
        "leads them all"
    ),
}
PULSAR_REASONS = {
    "TcClientConnect": tr("part of making a client, which the real count leaves out"),
    "snapshot as a message": tr(
        "a topic sends its snapshot through a producer of its own, and its reader of snapshots is "
        "told; the engine writes the snapshot at once"
    ),
    "coordinator's cursor": tr("it moves once the client has been answered"),
    "flushes": tr(
        "a bookie flushes its journal before it answers, several entries at once where they come "
        "together; the engine does not model bookies"
    ),
}

NONE = Formula(0, 0, 0)
BULK = {
    "kafka": Bulk(
        _kafka,
        told=(Formula(3, 2, 2), Formula(1, 1, 1), NONE),
        seen=(Formula(3, 3, 2), Formula(1, 2, 1), NONE),
        forgotten=(Formula(3, 4, 2), Formula(2, 2, 1), NONE),
        joined=True,
        shows=_shows,
        log_of=_log_of,
        reasons=KAFKA_REASONS,
    ),
    "rocketmq": Bulk(
        _rocketmq,
        told=(Formula(2, 0, 5), Formula(-1, 0, 3), Formula(0, 0, 1)),
        seen=(Formula(2, 0, 5), Formula(0, 0, 3), Formula(0, 0, 1)),
        forgotten=(Formula(2, 0, 5), Formula(1, 0, 3), Formula(0, 0, 1)),
        joined=False,
        shows=_shows,
        log_of=_log_of,
    ),
    "pulsar": Bulk(
        _pulsar,
        told=(Formula(6, 4, 2), Formula(4, 3, 1), NONE),
        seen=(Formula(5, 3, 2), Formula(2, 3, 1), NONE),
        forgotten=(Formula(6, 4, 2), Formula(4, 3, 1), NONE),
        joined=True,
        shows=_shows,
        log_of=_log_of,
        reasons=PULSAR_REASONS,
    ),
    "outbox": Bulk(
        _outbox,
        told=(Formula(-9, 0, 12), Formula(-4, 0, 5), Formula(-4, 0, 5)),
        seen=(Formula(-8, 0, 12), Formula(-3, 0, 5), Formula(-4, 0, 5)),
        forgotten=(Formula(0, 0, 12), Formula(0, 0, 5), Formula(0, 0, 5)),
        joined=False,
        shows=lambda fact: fact.node == "broker" and str(fact.body).startswith("message"),
    ),
}


# ---- One order by way of Kafka, RocketMQ, Pulsar and an outbox: scenarios and crashes. Data only
#
# What follows a crash is what a careful team would do: a second instance takes over, and it
# does the work again only where nothing was decided. In Kafka and Pulsar the position or the
# acknowledgement says so, in RocketMQ the row, in the outbox the answer that did not come.

KAFKA = Way(
    "kafka/one-order",
    sender=Victim(
        "app",
        undecided=2,
        again="run twin: init\nfire twin retry\nrun twin: begin, send orders-0 T1, "
        "send shipments-0 T1, send-offsets order-service paid-0@1, commit",
        then="run twin: init",
    ),
    coordinator=Victim(
        "coordinator",
        undecided=1,
        again="restart coordinator\nfire app retry",
        then="restart coordinator",
        unsent="kill coordinator when=WriteTxnMarkers#1 after=0",
    ),
    reads="run stock: poll orders-0\nrun accounting: poll orders-0",
    reader="read_committed",
    log="orders-0",
)
ROCKETMQ = Way(
    "rocketmq/one-order",
    sender=Victim(
        "app",
        undecided=1,
        again="at 40000\nfire broker check\nrun twin: send-in-transaction orders-0 T1",
        then="at 40000\nfire broker check",
        unsent="kill app when=EndTransaction#1 after=0",
    ),
    coordinator=Victim(
        "broker",
        0,
        "",
        "restart broker\nfire app heartbeat\nfire twin heartbeat\nat 40000\nfire broker check",
    ),
    reads="run stock: consume\nrun accounting: consume",
    reader="stock",
    log="applied",
)
PULSAR = Way(
    "pulsar/one-order",
    sender=Victim(
        "app",
        undecided=2,
        again="at 60001\nfire tc-0\nrun twin: subscribe paid-0 order-service, "
        "receive order-service, new-transaction t1, send orders-0 T1 txn=t1, "
        "send shipments-0 T1 txn=t1, ack order-service txn=t1, commit t1",
        then="run twin: subscribe paid-0 order-service, receive order-service",
    ),
    coordinator=Victim(
        "tc-0",
        undecided=0,
        again="",
        then="restart tc-0",
        unsent="kill tc-0 when=EndTxnOnPartition#1 after=1",
    ),
    reads="run stock: receive stock\nrun accounting: receive accounting",
    reader="stock · stock",
    log="orders-0",
)
OUTBOX = Way(
    "patterns/outbox-one-order",
    sender=Victim(
        "shop",
        undecided=2,
        again="restart shop\nfire relay retry\nrun app: order T1\nfire shop",
        then="restart shop\nfire relay retry",
    ),
    coordinator=Victim(
        "relay", undecided=2, again="fire shop commit T1\nrestart relay", then="restart relay"
    ),
    reads="",
    reader="stock",
    log="stock",
)

#: in the order of the matrix
ORDER = {"kafka": KAFKA, "rocketmq": ROCKETMQ, "pulsar": PULSAR, "outbox": OUTBOX}
