"""The whole job against a broker: totals, dead letters, late orders, restarts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mqlab.serve.kafka import serve
from mqlab.spark import IncomeError, income
from mqlab.spark.files import DAY, read, read_lines
from mqlab.spark.orders import MINUTE_MS, pounds
from mqlab.spark.session import choose_sockets

pytestmark = pytest.mark.needs("java")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def day(broker_address: str, spark: Any) -> Any:
    return income(broker_address)


@pytest.fixture(scope="module")
def late(broker_address: str, spark: Any) -> Any:
    """Three lines of the first hour are sent at the end; Spark drops them without a word."""
    lines = read_lines(DAY)[:1200]
    return income(broker_address, lines[3:] + lines[:3], minutes_per_batch=60)


@pytest.fixture(scope="module")
def ended(broker_address: str, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A job that has come to its end: its checkpoint, its lines and its result."""
    folder, lines = tmp_path_factory.mktemp("ended"), read_lines(DAY)[:100]
    return folder, lines, income(broker_address, lines, checkpoint=folder, minutes_per_batch=30)


def test_the_day_is_exact(day: Any) -> None:
    assert day.total == day.expected == "£57,751.32"
    assert day.right
    assert day.batches == 9, "8 batches of orders and one that closes the last minutes"
    assert [(row.minute, row.tenths) for row in day.rows] == list(day.truth.tenths().items())


def test_the_account_of_the_day_balances(day: Any) -> None:
    account = day.reconciliation
    assert (account.read, account.counted, account.dead) == (5_331, 5_331, 0)
    assert (account.unaccounted, account.late, account.open) == (0, 0, 0)


def test_the_table_shows_every_minute(day: Any) -> None:
    lines = day.table.splitlines()
    assert len(lines) == 1 + 137
    assert lines[1].split() == ["2011-12-05", "08:38", "£316.78", "8"]


def test_dead_letters_carry_their_reason(broker_address: str, spark: Any) -> None:
    lines = read_lines(DAY)[:60]
    lines[10] = lines[10] | {"Quantity": "a dozen"}
    lines[20] = lines[20] | {"UnitPrice": "free"}
    lines[30] = {name: text for name, text in lines[30].items() if name != "UnitPrice"}
    lines[40] = lines[40] | {"InvoiceDate": "yesterday"}
    result = income(broker_address, lines, minutes_per_batch=20)
    assert sorted(letter["reason"] for letter in result.dead) == [
        "InvoiceDate 'yesterday' is not a time like 2011-12-05 08:38:00",
        "Quantity 'a dozen' is not a whole number of at most 9 digits, like 12",
        "UnitPrice 'free' is not a price with at most three decimals, like 3.39",
        "UnitPrice is missing or not text",
    ]
    kept = {letter["value"] for letter in result.dead}
    assert json.dumps(lines[10], ensure_ascii=False) in kept, "the message as it came"
    assert result.right and result.total == result.expected
    assert (result.reconciliation.counted, result.reconciliation.dead) == (56, 4)


def test_late_orders_are_counted_without_spark(late: Any) -> None:
    result, moved = late, read_lines(DAY)[:3]
    account = result.reconciliation
    assert (account.late, account.unaccounted, account.open) == (3, 3, 0)
    assert account.balanced and account.counted == 1197
    assert not result.right, "a sum that differs is not right, even where it is known why"
    assert result.explained
    gone = sum(int(line["Quantity"]) * round(float(line["UnitPrice"]) * 1000) for line in moved)
    assert result.verdict == f"the 3 late lines are missing, {pounds(gone)}"
    assert result.truth.total_tenths - result.tenths == gone


def test_late_lines_excuse_nothing_but_themselves(late: Any) -> None:
    """A late line, and a row that is in topic Income twice: the account alone was not enough."""
    doubled = replace(late, rows=[*late.rows, late.rows[0]])
    assert not doubled.explained and doubled.verdict == "NOT EQUAL"


def test_a_bad_date_first_loses_nothing(broker_address: str, spark: Any) -> None:
    lines = read_lines(DAY)[:400]
    lines[0] = lines[0] | {"InvoiceDate": "05/12/2011 08:10"}
    result = income(broker_address, lines, minutes_per_batch=30)
    account = result.reconciliation
    assert (account.fed, account.read, account.counted, account.dead) == (400, 400, 399, 1)
    assert result.right


def test_the_last_order_leaves_room_for_the_closing_record(broker_address: str) -> None:
    """Of our server, as of Kafka: an hour after its own time, and not a moment more."""
    from mqlab.spark import feeder, topics

    before = time.time()
    span = topics.read_span(broker_address)
    assert (span.earliest_ms, span.after_ms) == (0, 3_600_000)
    last = span.latest_ms + 1 - MINUTE_MS
    assert last + MINUTE_MS <= (before + 3_601) * 1_000 < last + 3 * MINUTE_MS
    name = f"Order-{os.urandom(4).hex()}"
    record = feeder.Record(b"1", b"{}", span.latest_ms)
    assert feeder.feed(broker_address, name, [record]) == 3
    beyond = feeder.Record(b"1", b"{}", span.latest_ms + 5 * MINUTE_MS)
    with pytest.raises(IncomeError, match=r"accepts no record with such a time .*after\.max\.ms"):
        feeder.feed(broker_address, f"{name}-2", [beyond])


@pytest.mark.spread("mqlab/spark")
def test_a_topic_that_was_fed_twice_is_not_right(
    broker_address: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that come in behind the feeder's last look are read, and more than were fed."""
    from mqlab.spark import feeder, topics

    lines = read_lines(DAY)[:100]
    feed = feeder.feed

    def feed_twice(address: str, topic: str, found: Any, **options: Any) -> int:
        sent = feed(address, topic, found, **options)
        feeder._send(address, topic, feeder.split(found, 2), lambda n: None)
        return sent

    monkeypatch.setattr(feeder, "feed", feed_twice)
    result = income(broker_address, lines, minutes_per_batch=30)
    assert topics.partitions_of(broker_address, result.names.order) == 2
    assert result.reconciliation.read > result.reconciliation.fed == 100
    assert not result.right


def test_an_order_outside_the_calendar_is_a_dead_letter(broker_address: str, spark: Any) -> None:
    lines = read_lines(DAY)[:20]
    for number, year in enumerate(("0001", "1969", "9999")):
        lines[number] = lines[number] | {"InvoiceDate": f"{year}-12-31 23:59:00"}
    result = income(broker_address, lines, minutes_per_batch=30)
    assert result.right and result.reconciliation.dead == 3


def test_a_name_that_is_taken_gets_a_number(broker_address: str, tmp_path: Path) -> None:
    from mqlab.spark import feeder, job, topics

    records = feeder.records_of(read(read_lines(DAY)[:1]))
    name = f"shop-{os.urandom(4).hex()}"
    topics.create(broker_address, f"Order-{name}", 2)
    given = broker_address, tmp_path, records, "exactly-once", name
    assert job.run_name(*given) == f"{name}-2"
    topics.create(broker_address, f"Order-{name}-2", 2)
    assert job.run_name(*given) == f"{name}-2", "it stays"


def test_a_warm_up_leaves_nothing_behind(spark: Any) -> None:
    from mqlab.spark.warm import warm_up

    warm_up(spark)
    assert not spark.streams.active


def test_a_worker_imports_the_pyspark_that_is_installed(spark: Any) -> None:
    """Not the one in `pyspark.zip`, which every worker would compile again."""
    import pyspark

    one = spark.sparkContext.parallelize([0], 1)
    found = one.map(lambda _: __import__("pyspark").__file__).collect()
    assert found == [pyspark.__file__]


def test_no_stranger_can_ask_for_a_jobs_result(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port gives it to the first program that connects, whatever that one was looking for; a
    socket's file lies in a folder of this user's own."""
    import pyspark.core.rdd as rdd

    places: list[Any] = []
    load = rdd._load_from_socket

    def note(place: Any, serializer: Any) -> Any:
        places.append(place[0])
        return load(place, serializer)

    monkeypatch.setattr(rdd, "_load_from_socket", note)
    assert spark.sparkContext.parallelize([1, 2], 2).map(lambda n: n + 1).collect() == [2, 3]
    chosen = choose_sockets(Path(tempfile.gettempdir(), "mqlab-spark-12345678"), local=True)
    assert isinstance(places[0], str) == bool(chosen)
    for folder in [Path(place).parent for place in places if chosen]:
        assert folder.name.startswith("mqlab-spark-") and folder.stat().st_mode & 0o077 == 0


def test_sockets_are_files_where_their_path_is_short_enough() -> None:
    enabled = {"spark.python.unix.domain.socket.enabled": "true"}
    short, long = Path("mqlab-spark-12345678"), Path("x" * 61)
    assert choose_sockets(short, False) == enabled, "the folder is on this machine only"
    there = {"spark.python.unix.domain.socket.dir": str(short)}
    assert choose_sockets(short, True) == enabled | there
    assert choose_sockets(long, True) == choose_sockets(long, False) == {}


def test_where_the_time_went_adds_up(day: Any) -> None:
    steps = day.times.steps
    assert {"feed topic Order", "query: until its first batch is in"} <= set(steps)
    assert f"{sum(steps.values()):.1f} s" in str(day.times).splitlines()[-1]


@pytest.mark.spread("mqlab/spark")
def test_two_jobs_with_one_checkpoint_do_not_meet(
    broker_address: str, spark: Any, tmp_path: Path
) -> None:
    lines = read_lines(DAY)[:20]

    def second(line: str) -> None:
        with pytest.raises(IncomeError, match=f"process {os.getpid()} .* is using this"):
            income(broker_address, lines, checkpoint=tmp_path)

    result = income(broker_address, lines, checkpoint=tmp_path, minutes_per_batch=60, say=second)
    assert result.right


@pytest.mark.spread("mqlab/spark")
def test_a_full_checkpoint_disk_says_what_to_do(spark: Any, tmp_path: Path) -> None:
    """What Spark says of it is a plan; recorded from a run on a file system of 1 MB."""
    from mqlab.spark.job import _cause

    said = "java.io.IOException: No space left on device\n+- *(1) Project [time#0]"
    error = _cause(said, None, "127.0.0.1:1")
    assert isinstance(error, IncomeError) and "free some space" in str(error)


@pytest.mark.spread("mqlab/spark")
def test_workers_that_start_too_slowly_are_started_again(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark waits 10 seconds for a Python worker, which a busy machine may need."""
    from mqlab.spark import job
    from mqlab.spark.cuts import Plan
    from mqlab.spark.errors import SlowStart

    assert isinstance(job._cause("… Python worker failed to connect back.", None, ""), SlowStart)
    tries: list[int] = []

    def too_slow(query: Any, sink: Any, say: Any) -> None:
        tries.append(1)
        raise SlowStart("busy")

    monkeypatch.setattr(job, "wait", too_slow)
    monkeypatch.setattr(job.pipeline, "orders_stream", lambda *given: None)
    monkeypatch.setattr(job.pipeline, "results", lambda stream: None)
    monkeypatch.setattr(job.pipeline, "start", lambda *given: None)
    target = job.Names("x").target("127.0.0.1:1", Path("nowhere"))
    with pytest.raises(SlowStart):
        job.run_income(spark, target, "exactly-once", Plan(minutes=1))
    assert len(tries) == job.STARTS


@pytest.mark.parametrize("wrong", ["-1", "0", "x"])
def test_a_batch_of_no_minutes_is_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    from mqlab.cli import main

    with pytest.raises(SystemExit):
        main(["income", "--minutes-per-batch", wrong])
    assert "expected a whole number, 1 or more" in capsys.readouterr().err


@pytest.mark.spread("mqlab/spark")
@pytest.mark.parametrize("batch_of_the_late", [1, 2])
def test_late_is_judged_as_spark_does(
    broker_address: str, spark: Any, batch_of_the_late: int
) -> None:
    """Late is judged by the watermark of one batch before that which closes minutes (truth.py)."""
    line = read_lines(DAY)[0]
    minutes = [f"2011-12-05 {hour:02}:00:00" for hour in range(9, 14)]
    late = "2011-12-05 08:30:00"
    minutes.insert(batch_of_the_late + 1, late)
    result = income(
        broker_address,
        [line | {"InvoiceDate": at, "InvoiceNo": "1"} for at in minutes],
        minutes_per_batch=60,
    )
    account = result.reconciliation
    assert account.balanced, str(account)
    assert account.late == (0 if batch_of_the_late == 1 else 1)


def test_a_dead_line_moves_the_watermark_as_the_replay_says(
    broker_address: str, spark: Any
) -> None:
    """10:45 comes two batches after one that begins at 11:00 and holds nothing but a dead line."""
    good = read_lines(DAY)[0] | {"InvoiceNo": "1"}
    bad = good | {"Quantity": "?"}
    hours = [(good, "09:00"), (bad, "10:30"), (bad, "11:00"), (bad, "12:00"), (bad, "13:00")]
    lines = [line | {"InvoiceDate": f"2011-12-05 {at}:00"} for line, at in hours]
    lines.append(good | {"InvoiceDate": "2011-12-05 10:45:00"})
    result = income(broker_address, lines, minutes_per_batch=60)
    account = result.reconciliation
    assert (account.dead, account.late, account.unaccounted) == (4, 1, 1)
    assert result.explained and not result.right


def test_a_run_goes_on_with_its_checkpoint(broker_address: str, ended: Any) -> None:
    folder, lines, first = ended
    said: list[str] = []
    again = income(broker_address, lines, checkpoint=folder, minutes_per_batch=30, say=said.append)
    assert again.rows == first.rows and again.right
    assert not any("written" in line for line in said), "nothing was left to do"


def test_a_killed_feeder_doubles_nothing(broker_address: str) -> None:
    """What a feeder sent before it died is the beginning of each partition; the rest follows."""
    import uuid

    from mqlab.spark import feeder, topics

    topic = f"Order-{uuid.uuid4().hex[:8]}"
    found = feeder.records_of(read(read_lines(DAY)[:500]))
    topics.create(broker_address, topic, 2)
    died = topics.producer(broker_address, **{"enable.idempotence": True})
    for partition, part in enumerate(feeder.split(found, 2)):
        for key, value, stamp_ms in part[: 70 * (partition + 1)]:
            topics.send(died, topic, value, key, partition, stamp_ms, topics.Delivery())
    topics.flush(died)
    assert feeder.feed(broker_address, topic, found) == 502 - 210
    assert feeder.feed(broker_address, topic, found) == 0
    fed = topics.read_values(broker_address, topic)
    assert fed == [record.value for part in feeder.split(found, 2) for record in part]
    with pytest.raises(IncomeError, match="holds other records than these orders"):
        feeder.feed(broker_address, topic, found[:-1])


def test_other_orders_for_the_same_checkpoint_are_refused(broker_address: str, ended: Any) -> None:
    folder, lines, _ = ended
    with pytest.raises(IncomeError, match="a job with other orders: give those"):
        income(broker_address, lines[::-1], checkpoint=folder, minutes_per_batch=30)


def test_another_sink_for_the_same_checkpoint_is_refused(broker_address: str, ended: Any) -> None:
    folder, lines, _ = ended
    with pytest.raises(
        IncomeError, match="a job with --sink exactly-once: continue with that sink"
    ):
        income(broker_address, lines, checkpoint=folder, sink="at-least-once")


def test_a_lost_checkpoint_stops_the_job(broker_address: str, ended: Any, tmp_path: Path) -> None:
    """Without the third rule of `decide` every minute would be there twice, or be skipped."""
    folder, lines, _ = ended
    shutil.copy(folder / "run.json", tmp_path)
    with pytest.raises(IncomeError, match="sink and checkpoint disagree"):
        income(broker_address, lines, checkpoint=tmp_path, minutes_per_batch=30)


def test_nobody_at_the_address_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(IncomeError, match=r"127\.0\.0\.1:1 does not answer: restart it"):
        income("127.0.0.1:1", checkpoint=tmp_path)


def test_importing_needs_no_spark_and_no_client() -> None:
    code = (
        "import sys, mqlab.spark, mqlab.cli.income; "
        "print(sorted({'pyspark', 'pyarrow', 'confluent_kafka'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(IncomeError, match="needs confluent-kafka: run `make setup`"):
        income("127.0.0.1:1")


@pytest.mark.spread("mqlab/spark")
def test_the_broker_dies_and_the_job_says_what_to_do(spark: Any, tmp_path: Path) -> None:
    """kill -9 of our own server after a batch; started again, the job goes on and is exact."""
    lines = read_lines(DAY)[:1000]
    with serve(data_dir=tmp_path / "broker") as broker:

        def kill_after_batch_1(line: str) -> None:
            if "batch 1:" in line:
                broker.kill()

        run = {"checkpoint": tmp_path / "job", "minutes_per_batch": 30}
        wise = r"does not answer: restart it.*same --checkpoint"
        with pytest.raises(IncomeError, match=wise):
            income(broker.address, lines, say=kill_after_batch_1, **run)
        broker.restart()
        result = income(broker.address, lines, **run)
    assert result.right and result.total == result.expected


@pytest.mark.spread("mqlab/spark")
def test_an_empty_broker_is_not_the_one_the_checkpoint_knows(
    broker_address: str, spark: Any, tmp_path: Path
) -> None:
    lines = read_lines(DAY)[:20]
    income(broker_address, lines, checkpoint=tmp_path, minutes_per_batch=60)
    with serve() as other, pytest.raises(IncomeError, match="name the broker it used"):
        income(other.address, lines, checkpoint=tmp_path, minutes_per_batch=60)
