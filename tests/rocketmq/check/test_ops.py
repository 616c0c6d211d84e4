"""Op records: what they say, when they are written, and what a kill takes."""

from __future__ import annotations

import pytest

from mqlab.kernel import CancelTimer, MemoryDisk, SetTimer, replace
from mqlab.rocketmq.check import OP_BATCH, build_op, parse_op, record_end, write_batch
from mqlab.rocketmq.log import Writer
from tests.rocketmq.driven import drive, queue
from tests.rocketmq.queues import OP, apply_all, in_queue, make_config, put, words_in

NEW, OLD = make_config(), make_config(release="4.9")


@pytest.mark.parametrize(
    ("body", "named"),
    [("0", (0,)), ("0,1,5,", (0, 1, 5)), ("", ()), ("x,3,", (3,)), (b"4,7,", (4, 7))],
)
def test_a_body_names_queue_offsets_of_halves(body, named):
    op = build_op("", NEW, 0)
    disk = put(MemoryDisk(), op)
    (stored,) = in_queue(disk, OP)
    assert parse_op(replace(stored, message=replace(op, body=body))) == named


def test_a_foreign_tag_names_nothing():
    disk = put(MemoryDisk(), build_op("0", NEW, 0).put(("TAGS", "x")))
    assert parse_op(in_queue(disk, OP)[0]) == ()


def test_4_9_writes_each_end_at_once():
    writer = Writer(MemoryDisk(), 0)
    assert record_end(OLD, (), 7, writer, 0, 0) == ()
    assert words_in(apply_all(MemoryDisk(), writer.effects), OP) == ["7"]


@pytest.mark.parametrize(
    ("at_ms", "since_ms", "after_ms"),
    [(0, 0, 3_000), (1_000, 0, 2_000), (2_999, 0, 1), (7_100, 7_100, 3_000), (9_000, 1_000, 1_000)],
)
def test_5_5_lets_ends_wait_until_the_service_comes_round(at_ms, since_ms, after_ms):
    """At intervals from the first end on, not from a round number of the clock."""
    writer = Writer(MemoryDisk(), at_ms)
    assert record_end(NEW, (), 7, writer, at_ms, since_ms) == (7,)
    assert writer.effects == (SetTimer(OP_BATCH, after_ms),)
    second = Writer(MemoryDisk(), at_ms)
    assert record_end(NEW, (7,), 8, second, at_ms, since_ms) == (7, 8)
    assert second.effects == ()


def test_a_full_record_is_not_waited_for():
    config = make_config(op_batch_chars=4)
    writer = Writer(MemoryDisk(), 0)
    assert record_end(config, (1,), 2, writer, 0, 0) == ()
    assert CancelTimer(OP_BATCH) in writer.effects
    assert words_in(apply_all(MemoryDisk(), writer.effects), OP) == ["1,2,"]


def test_an_end_does_not_look_at_those_that_wait():
    """Two thousand may wait, and a busy broker notes an end each half of a millisecond."""

    class Looked(int):
        def __gt__(self, other: int) -> bool:
            raise AssertionError("looked at")

        __lt__ = __str__ = __gt__  # type: ignore[assignment]

    waiting = tuple(map(Looked, range(100)))
    assert len(record_end(NEW, waiting, 100, Writer(MemoryDisk(), 0), 0, 0)) == 101


def test_a_record_takes_only_so_many():
    config = make_config(op_batch_chars=4)
    writer = Writer(MemoryDisk(), 0)
    assert write_batch(config, (1, 2, 3, 44, 5), writer, 0) == ()
    assert words_in(apply_all(MemoryDisk(), writer.effects), OP) == ["1,2,", "3,44,", "5,"]


@pytest.mark.parametrize(("release", "delivered"), [("4.9", ["o1"]), ("5.5", ["o1", "o1 (1)"])])
def test_a_kill_takes_what_waits(release, delivered):
    run = drive(f"""\
system rocketmq release={release} early=on check_interval_ms=7000
run app: send-in-transaction orders-0 o1
kill broker
restart broker
fire app heartbeat
at 7000
fire broker check""")
    assert queue(run, "orders-0") == delivered
