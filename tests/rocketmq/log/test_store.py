"""One commit log, queues that point into it, and what a stop leaves."""

from __future__ import annotations

import pytest

from mqlab.kernel import MemoryDisk
from mqlab.rocketmq.log import (
    Writer,
    find_undispatched,
    list_queues,
    read_queue,
    read_stored,
    walk_queue,
)
from mqlab.rocketmq.messages import Message
from tests.rocketmq.driven import drive, queue
from tests.rocketmq.queues import HALF, apply_all, in_queue, put, words_in

MESSAGES = [Message("orders", 0, "a"), Message("orders", 1, "b"), Message("orders", 0, "c")]


def test_one_log_for_all_and_a_number_in_each_queue():
    disk = put(MemoryDisk(), *MESSAGES, at_ms=7)
    assert [(s.base, s.queue_offset, s.store_ms) for s in in_queue(disk, "orders-0")] == [
        (0, 0, 7),
        (2, 1, 7),
    ]
    assert words_in(disk, "orders-1") == ["b"]
    assert list_queues(disk, "orders") == ("orders-0", "orders-1")


def test_reading_from_an_offset():
    disk = put(MemoryDisk(), *MESSAGES)
    assert [s.message.body for s in read_queue(disk, "orders-0", 1)] == ["c"]
    assert [s.message.body for s in read_queue(disk, "orders-0", 0, 1)] == ["a"]
    assert read_queue(disk, "orders-0", 2) == [] == list(walk_queue(disk, "nothing-0"))
    assert read_stored(disk, 3) is None is read_stored(disk, -1)


@pytest.mark.parametrize("done", range(6))
def test_entries_that_a_stop_cut_off_are_written_at_the_start(done):
    """After any number of effects; what is in the commit log is then in its queue."""
    writer = Writer(MemoryDisk(), 0)
    for message in MESSAGES:
        writer.put(message)
    disk = apply_all(MemoryDisk(), writer.effects[:done])
    disk = apply_all(disk, find_undispatched(disk))
    bodies = [s.message.body for q in list_queues(disk, "orders") for s in read_queue(disk, q)]
    assert sorted(bodies) == ["a", "b", "c"][: (done + 1) // 2]
    assert find_undispatched(disk) == ()


def test_a_half_whose_entry_was_cut_off_is_found_by_the_next_round():
    run = drive("""\
system rocketmq early=on check_interval_ms=7000 timeout_ms=1000
kill broker when=half#1 after=1
run app: send-in-transaction orders-0 o1
restart broker
fire app heartbeat
at 7000
fire broker check""")
    assert queue(run, HALF) == ["o1", "o1 (1)"], "put back, and asked about"
    assert any("CheckTransactionState o1" in str(fact.text) for fact in run.facts)


# -- on the disk, on a slave -----------------------------------------------------------------


def test_half_a_second_later_it_is_on_the_disk():
    run = drive("""\
system rocketmq flush_ms=500
run app: send orders-0 o1
fire broker flush
power-cut broker
restart broker""")
    assert queue(run, "orders-0") == ["o1"]


def test_a_slave_copies_all_and_catches_up():
    run = drive("""\
system rocketmq slave=on
run app: send orders-0 a
kill slave
run app: send orders-0 b
restart slave
run app: send orders-0 c""")
    assert words_in(run.world.disk("slave"), "orders-0") == ["a", "b", "c"]


def test_an_acknowledged_message_is_on_the_slave():
    held = """\
system rocketmq slave=on in_sync=2
hold broker→slave HaTransfer#2
run app: send orders-0 a"""
    run = drive(held)
    assert run.world.nodes["app"].app.results == ()
    run = drive(f"{held}\nrelease broker→slave HaTransfer#2")
    assert [str(o) for o in run.world.nodes["app"].app.results] == [
        "send orders-0 a: ok SEND_OK @0"
    ]
    run = drive(f"{held}\nfire broker acknowledge 0")
    assert [o.detail for o in run.world.nodes["app"].app.results] == ["FLUSH_SLAVE_TIMEOUT @0"]
    gone = f"{held}\nkill slave\nfire broker acknowledge 0\nrun app: send orders-0 b"
    run = drive(gone.replace("in_sync", "release=4.9 in_sync"))
    assert [o.detail for o in run.world.nodes["app"].app.results] == [
        "FLUSH_SLAVE_TIMEOUT @0",
        "SLAVE_NOT_AVAILABLE @1",
    ]
