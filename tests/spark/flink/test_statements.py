"""The job as text: what it says of the orders, the broker and the guarantee."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mqlab.spark import orders
from mqlab.spark.flink.statements import Job, settings, statements

JOB = Job(
    "127.0.0.1:9092", "Order-1", "Income-1", (2607, 2726), "exactly-once", Path("/run/checkpoints"),
    Path("/jars/connector.jar"),
)  # fmt: skip


def sql(job: Job) -> str:
    return "\n".join(statements(job))


def test_the_source_ends_where_the_feeder_does() -> None:
    assert "'partition:0,offset:2607;partition:1,offset:2726'" in sql(JOB)


def test_no_watermark_waits_for_a_clock() -> None:
    assert "'scan.watermark.emit.strategy' = 'on-event'" in sql(JOB)


def test_the_rules_are_the_patterns_of_orders() -> None:
    for column, pattern in (
        ("Quantity", orders.QUANTITY), ("UnitPrice", orders.PRICE), ("InvoiceDate", orders.DATE),
    ):  # fmt: skip
        assert f"REGEXP({column}, '^(?:{pattern.pattern})$')" in sql(JOB)


def test_only_exactly_once_has_transactions() -> None:
    loose = sql(replace(JOB, guarantee="at-least-once"))
    assert "'sink.delivery-guarantee' = 'exactly-once'" in sql(JOB)
    assert "'sink.transactional-id-prefix' = 'flink-Income-1'" in sql(JOB)
    assert "'sink.delivery-guarantee' = 'at-least-once'" in loose
    assert "transaction" not in loose


def test_a_name_cannot_leave_its_quotation_marks() -> None:
    assert "'properties.bootstrap.servers' = 'a''b:1'" in sql(replace(JOB, address="a'b:1"))


def test_a_restored_job_names_its_checkpoint_and_a_new_one_names_none() -> None:
    place = "execution.state-recovery.path"
    assert place not in settings(JOB)
    again = replace(JOB, restored=Path("/run/checkpoints/ab/chk-7"))
    assert settings(again)[place] == "file:///run/checkpoints/ab/chk-7"
