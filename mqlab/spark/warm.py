"""A first batch of nothing, so that the first real one is quick.

The first micro-batch of a session takes seconds: classes are loaded, code is generated and
compiled, and half a dozen Python processes start. None of that depends on the orders. So while
the orders are still being fed, or a process waits to be killed, the very query of pipeline.py
runs once over a source without a record, into a sink without a topic.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from . import pipeline
from .source import ARROW, SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Nothing(DataSource):
    """`spark.readStream.format("nothing")`: one batch of two empty partitions."""

    @classmethod
    def name(cls) -> str:
        return "nothing"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> NothingReader:
        return NothingReader()


class NothingReader(DataSourceStreamReader):
    def initialOffset(self) -> dict[str, int]:
        return {"batches": 0}

    def latestOffset(self, start: Any, limit: Any) -> dict[str, int]:
        return {"batches": 1}

    def partitions(self, start: Any, end: Any) -> list[InputPartition]:
        return [InputPartition(0), InputPartition(1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist([], schema=ARROW)


def warm_up(spark: SparkSession) -> None:
    """Run an empty query to its end, so that Spark's workers run before the first real batch. Where
    a busy machine fails to start them in time, that is passed over: then the first real batch is
    slower, or fails with its own error."""
    from pyspark.errors import StreamingQueryException

    spark.dataSource.register(Nothing)
    rows = pipeline.results(spark.readStream.format("nothing").load())
    with tempfile.TemporaryDirectory(prefix="mqlab-warm-", ignore_cleanup_errors=True) as folder:
        query = (
            rows.writeStream.outputMode("append")
            .option("checkpointLocation", folder)
            .trigger(availableNow=True)
            # the batch is computed and fetched as the sinks do it, and then dropped
            .foreachBatch(lambda batch, number: batch.toArrow())
            .start()
        )
        try:
            with suppress(StreamingQueryException):
                query.awaitTermination()
        finally:
            query.stop()
