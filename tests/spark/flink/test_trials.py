"""What a trial stands on, without Flink: half of the orders, what they close, what is doubled."""

from __future__ import annotations

import json
import uuid

import pytest

from mqlab.spark import feeder, job, topics
from mqlab.spark.errors import IncomeError
from mqlab.spark.files import read
from mqlab.spark.flink import trials
from mqlab.spark.flink.job import ends_of
from mqlab.spark.orders import CLOSING
from mqlab.spark.truth import truth_of

LINE = {
    "InvoiceNo": "1", "StockCode": "A", "Description": "", "Quantity": "2",
    "InvoiceDate": "2011-12-05 08:00:00", "UnitPrice": "1.50", "CustomerID": "", "Country": "",
}  # fmt: skip
#: two invoices that go to different partitions
LEFT, RIGHT = "1", next(
    str(n) for n in range(2, 99)
    if topics.partition_of(str(n), 2) != topics.partition_of("1", 2)
)  # fmt: skip


def line(invoice: str, time: str, quantity: str = "2") -> dict[str, str]:
    return {
        **LINE, "InvoiceNo": invoice, "InvoiceDate": f"2011-12-05 {time}:00", "Quantity": quantity,
    }  # fmt: skip


LINES = [line(LEFT, "08:00"), line(RIGHT, "08:00"), line(LEFT, "08:05"), line(RIGHT, "08:03")]


def test_a_minute_closes_when_the_slower_partition_is_past_it() -> None:
    minutes = list(truth_of(LINES).lines)
    assert minutes == ["2011-12-05 08:00", "2011-12-05 08:05", "2011-12-05 08:03"]
    records = feeder.records_of(read(LINES))
    assert trials.closed_minutes(records, minutes) == ["2011-12-05 08:00"]
    later = feeder.records_of(read([*LINES, line(RIGHT, "08:04")]))
    assert trials.closed_minutes(later, minutes) == ["2011-12-05 08:00", "2011-12-05 08:03"]


def test_half_of_the_orders_leave_the_topic_open_for_the_others(broker_address: str) -> None:
    topic, records = f"Order-{uuid.uuid4().hex[:8]}", feeder.records_of(read(LINES))
    assert feeder.feed(broker_address, topic, records, only=2) == 2
    assert CLOSING not in topics.read_values(broker_address, topic)
    assert feeder.feed(broker_address, topic, records) == 2 + 2, "the others, and two that close"
    values = topics.read_values(broker_address, topic)
    assert len(values) == sum(ends_of(records)) == 6 and values.count(CLOSING) == 2


def test_what_a_trial_comes_to_is_read_from_the_topic(broker_address: str) -> None:
    """One minute of two is there once and one twice; of the latter once more, uncommitted."""
    name = uuid.uuid4().hex[:8]
    topics.create(broker_address, name, 1)
    client = topics.producer(broker_address, **{"transactional.id": name})
    client.init_transactions(10)
    for minutes in (["08:00", "08:05", "08:05"], ["08:00"]):
        client.begin_transaction()
        for minute in minutes:
            row = {"minute": f"2011-12-05 {minute}", "income_tenths": 6000, "lines": 2}
            client.produce(name, json.dumps(row).encode())
        if len(minutes) > 1:
            client.commit_transaction(10)
    client.flush(10)
    assert len(job.read_rows(broker_address, name)) == 3
    found = trials.add_up(broker_address, name, truth_of(LINES[:3]))
    client.abort_transaction(10)
    # 2 × £6 and once more £6, where £6 and £3 are due
    assert found == ("+100.0 %", 1, 2)


def test_a_job_that_does_not_get_on_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "PATIENCE_S", 0.0)
    with pytest.raises(IncomeError, match="made no progress"):
        trials.wait_for(lambda: False)
