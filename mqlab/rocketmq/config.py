"""What the roles of one RocketMQ cluster agree on. Defaults are 5.5's, single master."""

from __future__ import annotations

from ..kernel import Config, Text, frozen, tr

#: TopicValidator: where an undecided message is, where its end is recorded, where it is set aside
HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
DISCARD_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
#: a delayed message waits here, one queue a level
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
#: topics to which no client may send (TopicValidator#isNotAllowedSendTopic)
NOT_ALLOWED_TO_SEND = frozenset({HALF_TOPIC, OP_TOPIC, DISCARD_TOPIC, SCHEDULE_TOPIC})
#: the internal consumer group that holds both progress offsets (MixAll)
TRANS_GROUP = "CID_RMQ_SYS_TRANS"
RETRY_PREFIX = "%RETRY%"
DLQ_PREFIX = "%DLQ%"
#: messageDelayLevel: level 1 is the first of these 18
TIMER_TOPIC = "rmq_sys_wheel_timer"
DELAY_LEVELS_S = (1, 5, 10, 30, *range(60, 601, 60), 1_200, 1_800, 3_600, 7_200)

SAFEGUARDS: dict[str, Text] = {
    "half_topic": tr("an undecided message is in the half topic, to which no consumer subscribes"),
    "op_topic": tr(
        "every commit and rollback is recorded in the op topic, and the check passes over it"
    ),
    "check_back": tr("the broker checks every half message that has not been ended"),
    "check_limit": tr(
        "a half message is checked transactionCheckMax times at most, and then set aside"
    ),
    "immunity": tr("a half message younger than transactionTimeOut is not checked"),
    "put_back": tr("a half message that is checked is written again at the end of the half topic"),
    "any_producer": tr("a check goes to any live producer of the group, not only to the sender"),
    "message_before_op": tr("a commit writes the message first and its op record second"),
    "end_validation": tr(
        "the end of a transaction must name its producer group and both offsets of its half message"
    ),
    "half_before_execute": tr(
        "the local transaction runs only once the half message is stored (SEND_OK)"
    ),
    "exception_is_unknown": tr(
        "an exception in the local transaction means UNKNOW, so that the broker checks later"
    ),
    "consumer_retry": tr(
        "a message that failed comes back through its consumer group's retry topic"
    ),
    "idempotent_consumer": tr("the consumer looks up an order's key before it applies the order"),
}


@frozen
class RocketMQConfig(Config):
    """`release` "5.5" or "4.9": batched or synchronous op records, and what else differs.
    `timeout_ms` is transactionTimeOut, `check_interval_ms` transactionCheckInterval (4.9: 60 s),
    `check_max` transactionCheckMax. A search has no clock: every age is 0 there, and with
    `timeout_ms` 0 a half message may be asked about as soon as the check timer fires.
    `op_batch_ms`, `op_batch_chars`: transactionOpBatchInterval, transactionOpMsgMaxSize.
    `persist_ms`: flushConsumerOffsetInterval; 0: offsets are on the disk at once, which spares
    a search the timer. `reserved_hours`: fileReservedTime. `same_round`: a half message that is put
    back is seen by the same round, as a quick dispatch allows. `topics`: what consumers may
    read, as "orders-0". `retry_max`: a group's retryMaxTimes.
    `flush`: "async" acknowledges what the operating system holds, "sync" what is on the disk;
    `flush_ms`: with "async", how long after a write the disk has it; 0: never by itself, so that a
    lesson without power cuts has no timer for it. `in_sync`: how many copies must have a message
    before it is acknowledged: 1, the master's own, or 2, that of the node `slave` as well
    (brokerRole=SYNC_MASTER; 5.5: inSyncReplicas too). `name_server`: the node that knows which
    brokers are there, with a slave from which consumers read (slaveReadEnable); "" for none."""

    release: str = "5.5"
    broker: str = "broker"
    database: str = "db"
    timeout_ms: int = 6_000
    check_interval_ms: int = 30_000
    check_max: int = 15
    op_batch_ms: int = 3_000
    op_batch_chars: int = 4_096
    persist_ms: int = 5_000
    reserved_hours: int = 72
    same_round: int = 0
    topics: tuple[str, ...] = ()
    retry_max: int = 16
    flush: str = "async"
    flush_ms: int = 0
    in_sync: int = 1
    slave: str = "slave"
    name_server: str = ""

    @property
    def batches_ops(self) -> bool:
        """Since 5.1.0 op records wait in memory and leave together."""
        return self.release != "4.9"

    @property
    def synchronize_ms(self) -> int:
        """How often a slave asks for the offsets (BrokerController, handleSlaveSynchronize)."""
        return 10_000 if self.release == "4.9" else 60_000

    def order_of(self, step: str, *parts: str) -> tuple[str, ...]:
        """The parts of a step as written, or as `order` says; what it leaves out is not done."""
        return dict(self.order).get(step, parts)
