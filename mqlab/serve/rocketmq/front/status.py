"""How the broker itself stands, as mqadmin asks for it: its settings, its figures.

Only what holds here is said. A real broker's settings number hundreds, of which these are the ones
that have a meaning here, under their own names; its figures come from samples that it takes every
ten seconds, these from when the messages of the log were stored. The log is counted in records.

Source: AdminBrokerProcessor#getBrokerConfig, #prepareRuntimeInfo, #viewBrokerStatsData (5.5.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....kernel import Caller, Disk, Effects, Reply
from ....rocketmq.config import DELAY_LEVELS_S
from ....rocketmq.log import COMMIT_LOG
from ....rocketmq.remoting import ResponseCode, encode_json
from ....rocketmq.remoting.unserved import COUNTED, UNCOUNTED
from ..wire import admin
from ..wire.answers import FrontAnswer
from ..wire.asks import Ask
from .admin import count_stored, refuse, say
from .sending import LARGEST
from .topic import AUTO_QUEUES, CLUSTER
from .topics import BROKER_NAME, find_topic

if TYPE_CHECKING:
    from . import Front

NO_STATS = "The stats <{name}> <{key}> not exist"
SPANS_S = {"statsMinute": 60, "statsHour": 3_600, "statsDay": 86_400}
TPS_S = (10, 60, 600)
Result = tuple["Front", Effects]


def answer_config(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    config = front.config.rocketmq
    settings: dict[str, object] = {
        "autoCreateTopicEnable": str(front.config.auto_create).lower(),
        "brokerClusterName": CLUSTER,
        "brokerIP1": ask.here[0],
        "brokerId": 0,
        "brokerName": BROKER_NAME,
        "brokerRole": "ASYNC_MASTER",
        "defaultTopicQueueNums": AUTO_QUEUES,
        "fileReservedTime": config.reserved_hours,
        "flushConsumerOffsetInterval": config.persist_ms,
        "flushDiskType": "ASYNC_FLUSH",
        "listenPort": ask.here[1],
        "maxMessageSize": LARGEST,
        "messageDelayLevel": " ".join(f"{seconds}s" for seconds in DELAY_LEVELS_S),
        "transactionCheckInterval": config.check_interval_ms,
        "transactionCheckMax": config.check_max,
        "transactionTimeOut": config.timeout_ms,
    }
    if config.batches_ops:
        settings["transactionOpBatchInterval"] = config.op_batch_ms
    text = "".join(f"{name}={value}\n" for name, value in sorted(settings.items()))
    return say(front, caller, text.encode())


def answer_figures(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    """`brokerVersionDesc` says what this is: no release of RocketMQ."""
    log = disk.log(COMMIT_LOG)
    puts = [(log.end - _first_since(disk, at_ms - seconds * 1_000)) / seconds for seconds in TPS_S]
    earliest = next((stored.store_ms for stored in log.read(log.start, log.start + 1)), -1)
    table = {
        "bootTimestamp": front.since_ms,
        "brokerVersionDesc": f"mqlab as {front.config.rocketmq.release}",
        "commitLogMaxOffset": log.end,
        "commitLogMinOffset": log.start,
        "earliestMessageTimeStamp": earliest,
        "putTps": " ".join(str(tps) for tps in puts),
        "runtime": _write_span(at_ms - front.since_ms),
    }
    if not front.is_older:
        table["brokerActive"] = "true"
    texts = {name: str(value) for name, value in table.items()}
    return say(front, caller, encode_json({"table": texts}))


def _first_since(disk: Disk, since_ms: int) -> int:
    """The first record of the log that was stored then or later."""
    log = disk.log(COMMIT_LOG)
    low, high = log.start, log.end
    while low < high:
        middle = (low + high) // 2
        if next(iter(log.read(middle, middle + 1))).store_ms < since_ms:
            low = middle + 1
        else:
            high = middle
    return low


def _write_span(span_ms: int) -> str:
    minutes, seconds = divmod(span_ms // 1_000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"


def answer_statistics(front: Front, caller: Caller, ask: Ask, at_ms: int, disk: Disk) -> Result:
    body: admin.ViewBrokerStatsData = ask.body
    if body.name != COUNTED:
        remark = UNCOUNTED.format(name=body.name, counted=COUNTED)
        return refuse(front, caller, ResponseCode.SYSTEM_ERROR, remark)
    topic = find_topic(disk, body.key)
    if topic is None:
        remark = NO_STATS.format(name=body.name, key=body.key)
        return refuse(front, caller, ResponseCode.SYSTEM_ERROR, remark)
    data = {}
    for name, seconds in SPANS_S.items():
        stored = count_stored(disk, topic, at_ms - seconds * 1_000)
        data[name] = {"avgpt": 1.0 if stored else 0.0, "sum": stored, "tps": stored / seconds}
    return front, (Reply(caller, FrontAnswer(body=encode_json(data))),)
