"""The same job on Apache Flink: same orders, same broker, same rows in topic Income.

Flink decides in another order than Spark. A *barrier* travels through the job with the records;
what all operators hold when it has passed is one consistent snapshot, the checkpoint. The Kafka
sink leaves its rows in an open transaction at the barrier (pre-commit), the transaction's name
and epoch go into the checkpoint, and only when the checkpoint is durable the sink commits. After a
crash the new process commits the transactions that the checkpoint names and aborts the others.

Flink's Python needs older packages than Spark's, so it lives in a virtual environment of its own,
and nothing here imports it: the job is text, and another Python runs it.

The files, in the order of what happens:

    statements.py  the job, as settings and SQL
    program.py     what Flink's Python runs
    job.py         that Python, one process of it, and from a file of orders to a checked result
    relay.py       between job and broker; kills the job at a chosen request
    trials.py      Spark and Flink killed at the same instants, and the table of what came of it

Left out: a dead-letter topic. A line that is no order by the shop's rule is not counted, and the
result says how many there are.
"""
