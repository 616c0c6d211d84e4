"""One order by way of Kafka, RocketMQ, Pulsar and an outbox: stories and victims. Data only.

What follows a kill is what a careful team would do: a twin of the dead process takes over, and it
does the work again only where nothing was decided. In Kafka and Pulsar the position or the
acknowledgement says so, in RocketMQ the row, in the outbox the answer that did not come.
"""

from __future__ import annotations

from ..ways import Victim, Way

KAFKA = Way(
    "kafka/one-order",
    sender=Victim(
        "app",
        undecided=2,
        again="run twin: init\nfire twin retry\nrun twin: begin, send orders-0 T1, "
        "send shipments-0 T1, send-offsets order-service paid-0@1, commit",
        then="run twin: init",
    ),
    keeper=Victim(
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
    keeper=Victim(
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
    keeper=Victim(
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
    keeper=Victim(
        "relay", undecided=2, again="fire shop commit T1\nrestart relay", then="restart relay"
    ),
    reads="",
    reader="stock",
    log="stock",
)

#: in the order of the matrix
ORDER = {"kafka": KAFKA, "rocketmq": ROCKETMQ, "pulsar": PULSAR, "outbox": OUTBOX}
