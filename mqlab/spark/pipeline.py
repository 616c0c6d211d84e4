"""The streaming query, in Spark's words.

    Order ──► watermark (delay 0) ──► group by minute and dead letter ──┬─► topic Income
                                                                        └─► topic Dead

All orders of a minute share one group; a line that is no order is a group by itself. So income
and dead letters come out of one query, are handed to one sink, and go out in one transaction.

Append mode: a minute comes out once, when the watermark has passed its end, and never changes
again. That is what makes a doubled batch visible: with running totals (update mode) the second
copy of a row hides behind the first.

The watermark may follow with no delay because every batch ends at one minute in all partitions
(cuts.py). An order that comes later than that is dropped by Spark without a word, so each row
says how many lines it sums and `reconcile` (truth.py) counts the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, TopicPartition

from .cuts import Plan
from .kills import NEVER, Kill
from .orders import minute_text
from .sinks import Sink
from .topics import QUIET, TIMEOUT_S, Out, create, producer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def orders_stream(
    spark: SparkSession, address: str, topic: str, plan: Plan, kill: Kill = NEVER
) -> DataFrame:
    """The streaming DataFrame that reads `topic`, with order lines, in the batches of `plan`
    (source.py lists its columns). `kill`: where the job is killed; only at those points that are in
    the source. Options are texts."""
    from .source import OrderSource

    spark.dataSource.register(OrderSource)
    return (
        spark.readStream.format("orders")
        .option("address", address)
        .option("topic", topic)
        .option("minutes", plan.minutes)
        .option("orders", plan.orders)
        .option("kill", kill.to_json())
        .load()
    )


def results(orders: DataFrame) -> DataFrame:
    """One row per minute and one per dead letter: start_ms, tenths, lines, dead (null: income)."""
    from pyspark.sql import functions as f

    return (
        orders.withWatermark("time", "0 seconds")
        .groupBy(f.window("time", "1 minute"), "dead")
        .agg(f.sum("tenths").alias("tenths"), f.sum("lines").alias("lines"))
        .select(f.unix_millis("window.start").alias("start_ms"), "tenths", "lines", "dead")
    )


def encode(row: Mapping[str, Any]) -> Out:
    """Income: the minute as key; tenths of a penny, and how many lines they sum. Dead: why, where
    it is in topic Order, and the message as it came."""
    if (dead := row["dead"]) is not None:
        value = {name: dead[name] for name in ("reason", "partition", "offset")}
        value["value"] = bytes(dead["value"]).decode(errors="replace")
        place = f"{dead['partition']}-{dead['offset']}"
        # (as it came: escaped, a line of Chinese would be twice as long, and too long for Kafka)
        text = json.dumps(value, ensure_ascii=False)
        return Out(place, text.encode(), dead["stamp_ms"], dead=True)
    minute = minute_text(row["start_ms"])
    value = {"minute": minute, "income_tenths": row["tenths"], "lines": row["lines"]}
    return Out(minute, json.dumps(value).encode(), row["start_ms"])


def start(rows: DataFrame, name: str, sink: Sink) -> StreamingQuery:
    """Runs until everything that is in the topic now has been read."""
    return (
        rows.writeStream.queryName(name)
        .outputMode("append")
        .option("checkpointLocation", str(sink.target.checkpoint))
        .trigger(availableNow=True)
        .foreachBatch(sink)
        .start()
    )


# ---- The level at which a client reads that sets none: the installed librdkafka is asked

DROPPED, KEPT = "aborted", "committed"


def read_first(address: str, topic: str = "levels") -> dict[str, str]:
    """What a consumer gets first of an aborted and a committed record, by the isolation.level that
    it sets; "": by none. The topic must be new."""
    create(address, topic, 1)
    who = producer(address, **{"transactional.id": topic})
    who.init_transactions(TIMEOUT_S)
    for value, end in ((DROPPED, who.abort_transaction), (KEPT, who.commit_transaction)):
        who.begin_transaction()
        who.produce(topic, value)
        who.flush(TIMEOUT_S)
        end(TIMEOUT_S)
    return {
        level: _read(address, topic, level) for level in ("", "read_committed", "read_uncommitted")
    }


def _read(address: str, topic: str, level: str) -> str:
    config = QUIET | {"bootstrap.servers": address, "group.id": topic}
    reader = Consumer(config | ({"isolation.level": level} if level else {}))
    reader.assign([TopicPartition(topic, 0, 0)])
    record = reader.poll(TIMEOUT_S)
    reader.close()
    assert record is not None and record.error() is None, record
    return str((record.value() or b"").decode())
