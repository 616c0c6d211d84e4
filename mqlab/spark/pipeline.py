"""The two streaming queries, in Spark's words.

    Order ──► reason is null ──► watermark (delay 0) ──► window of 1 minute ──► topic Income
      └─────► reason is there ─────────────────────────────────────────────────► topic Dead

Append mode: a minute comes out once, when the watermark has passed its end, and never changes
again. That is what makes a doubled batch visible: with running totals (update mode) the second
copy of a row hides behind the first.

The watermark may follow with no delay because every batch ends at one minute in all partitions
(cuts.py). An order that comes later than that is dropped by Spark without a word, so each row
says how many lines it sums and reconcile.py counts the rest.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .cuts import Plan
from .kills import NEVER, Kill
from .orders import minute_text
from .sinks import Out, Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def orders_stream(
    spark: SparkSession, address: str, topic: str, plan: Plan, kill: Kill = NEVER
) -> DataFrame:
    """Topic Order as rows (source.py has the columns)."""
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


def income(orders: DataFrame) -> DataFrame:
    """One row a minute: start_ms, tenths, lines."""
    from pyspark.sql import functions as f

    return (
        orders.where("reason is null")
        .withWatermark("time", "0 seconds")
        .groupBy(f.window("time", "1 minute"))
        .agg(f.sum("tenths").alias("tenths"), f.sum("lines").alias("lines"))
        .select(f.unix_millis("window.start").alias("start_ms"), "tenths", "lines")
    )


def dead_letters(orders: DataFrame) -> DataFrame:
    """One row a line that is no order, with the reason and the place it stands."""
    return orders.where("reason is not null").selectExpr(
        "unix_millis(time) as stamp_ms", "partition", "offset", "reason", "value"
    )


def encode_income(row: Any) -> Out:
    """Topic Income: the minute as key; income in tenths of a penny, and how many lines it sums."""
    minute = minute_text(row.start_ms)
    value = {"minute": minute, "income_tenths": row.tenths, "lines": row.lines}
    return Out(minute, json.dumps(value).encode(), row.start_ms)


def encode_dead(row: Any) -> Out:
    """Topic Dead: why, where it stands in topic Order, and the message as it came."""
    value = {
        "reason": row.reason,
        "partition": row.partition,
        "offset": row.offset,
        "value": bytes(row.value).decode(errors="replace"),
    }
    return Out(f"{row.partition}-{row.offset}", json.dumps(value).encode(), row.stamp_ms)


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
