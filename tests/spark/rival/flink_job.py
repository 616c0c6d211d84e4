"""Order → income per minute in PyFlink's Table API, exactly once; run by the rival's own Python.

    flink_job.py ADDRESS ORDER_TOPIC INCOME_TOPIC CONNECTOR_JAR

Prints one JSON object: seconds since the epoch when the environment was up and when the last
transaction was committed.
"""

import json
import sys
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

address, orders, income, jar = sys.argv[1:]
tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
for key, value in {
    "pipeline.jars": Path(jar).resolve().as_uri(),
    "parallelism.default": "2",
    "execution.checkpointing.interval": "1 s",
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "table.local-time-zone": "UTC",
}.items():
    tables.get_config().set(key, value)
up = time.time()
tables.execute_sql(f"""
    CREATE TABLE orders (
        Quantity STRING, UnitPrice STRING,
        stamp TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR stamp AS stamp
    ) WITH (
        'connector' = 'kafka', 'topic' = '{orders}', 'format' = 'json',
        'properties.bootstrap.servers' = '{address}',
        'properties.isolation.level' = 'read_committed',
        'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'
    )""")
tables.execute_sql(f"""
    CREATE TABLE income (minute_ms BIGINT, income_tenths BIGINT, lines BIGINT) WITH (
        'connector' = 'kafka', 'topic' = '{income}', 'format' = 'json',
        'properties.bootstrap.servers' = '{address}',
        'properties.transaction.timeout.ms' = '600000',
        'sink.delivery-guarantee' = 'exactly-once',
        'sink.transactional-id-prefix' = 'flink-{income}',
        'sink.transaction-naming-strategy' = 'POOLING'
    )""")
tables.execute_sql("""
    INSERT INTO income
    SELECT UNIX_TIMESTAMP(CAST(window_start AS STRING)) * 1000,
           SUM(CAST(Quantity AS BIGINT) * CAST(CAST(UnitPrice AS DECIMAL(14, 3)) * 1000 AS BIGINT)),
           COUNT(*)
    FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(stamp), INTERVAL '1' MINUTE))
    WHERE Quantity IS NOT NULL
    GROUP BY window_start, window_end""").wait()
print(json.dumps({"up": up, "done": time.time()}))
