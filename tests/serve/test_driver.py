"""The driver and its disk, without sockets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("kio", reason="the server needs kio: run `make setup`")

from mqlab.kafka.coordinator import Entry, StateRecord
from mqlab.kafka.log import COMMIT, Batch
from mqlab.kernel import (
    Append,
    Call,
    CancelTimer,
    Disk,
    Effects,
    Event,
    Fired,
    MemoryDisk,
    Quiet,
    Reply,
    Request,
    Send,
    SetTimer,
)
from mqlab.serve.disk import CompactedLog, ServerDisk, ServerLog
from mqlab.serve.driver import Driver
from mqlab.serve.kafka.front import BROKER
from mqlab.serve.kafka.home import BY_ID, make_home


@dataclass(frozen=True)
class Notes(Quiet):
    """Does as it is told, and keeps what it heard."""

    heard: tuple[Any, ...] = ()

    def step(self, event: Event, disk: Disk) -> tuple[Notes, Effects]:
        body = getattr(event, "body", event)
        if body == "break":
            raise RuntimeError("a bug")
        effects = body if isinstance(body, tuple) else ()
        if isinstance(event, Request) and not effects:
            effects = (Reply(event.caller, f"heard {body}"),)
        return Notes((*self.heard, body)), effects


def driver() -> Driver:
    made = Driver(make_home(), lambda conn, number, body: None)
    made.start()
    made.roles |= {"a": Notes(), "b": Notes()}
    return made


def test_effects_are_done_in_order_and_answers_come_back() -> None:
    it = driver()
    effects = (Append("log", Batch(base=0)), Send("b", "question", 7), Send("nobody", "?"))
    it.deliver("a", Call(effects))
    assert [getattr(e, "end", e) for e in it.roles["a"].heard[1:]] == [1, "heard question"]
    assert it.roles["b"].heard == ("question",)
    assert it.disk.log("log").end == 1


def test_a_bug_in_one_step_is_told_and_everybody_else_goes_on() -> None:
    it = driver()
    with pytest.raises(RuntimeError, match="a bug"):
        it.deliver("a", Call((Send("b", "break"), Send("b", "after"))))
    assert it.roles["b"].heard == ("after",)
    assert not it.inbox


def test_timers_fire_once_in_order_and_not_when_cancelled() -> None:
    it = driver()
    it.deliver("a", Call((SetTimer("late", 20), SetTimer("soon", 10), SetTimer("never", 5))))
    it.deliver("a", Call((CancelTimer("never"), SetTimer("late", 30))))
    assert it.next_timer() == it.now + 10
    for _ in range(1_000):  # set anew for ever, it takes no more room
        it.deliver("a", Call((SetTimer("often", 60_000),)))
    assert len(it._heap) < 100
    start = it.now
    for ms, fired in ((9, []), (29, ["soon"]), (31, ["soon", "late"])):
        it.now = start + ms
        it.fire()
        heard = it.roles["a"].heard
        assert [e.timer for e in heard if isinstance(e, Fired)] == fired


def test_what_is_sent_to_a_partition_that_is_no_more_is_answered() -> None:
    from mqlab.kafka.messages import Fetch, WriteTxnMarkers

    it = driver()
    it.deliver("a", Call((Send("t-0", WriteTxnMarkers("x", 1, 0, True)), Send("t-0", Fetch(0)))))
    marker, fetched = it.roles["a"].heard[1:]
    assert marker.error.name == "NONE" and fetched.error.name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert set(it.roles) >= {BROKER, "tc", "__consumer_offsets-49"}


# ---- the disk -------------------------------------------------------------------------------


def test_it_reads_like_the_disk_of_a_lesson() -> None:
    ours, theirs = ServerDisk(), MemoryDisk()
    for base, count in ((0, 3), (3, 1), (4, 5)):
        entry = Append("log", Batch(base=base, count=count))
        ours.append("log", entry.entry)
        theirs = theirs.after(entry)
    for start in range(-1, 11):
        for end in (None, *range(11)):
            mine = list(ours.log("log").read(start, end))
            assert mine == list(theirs.log("log").read(start, end)), (start, end)
    with pytest.raises(ValueError, match="append at 4, but the end is 9"):
        ours.append("log", Batch(base=4))
    ours.cut("log", 4)
    assert ours.log("log").end == 4 and ours.logs("l") == ("log",)


def test_the_time_index_finds_the_first_batch_that_is_late_enough() -> None:
    log = ServerLog(Batch)
    for base, (stamp, control) in enumerate(((5, ""), (9, ""), (10, COMMIT), (7, ""), (12, ""))):
        log.append(Batch(base=base, at_ms=stamp, control=control))
    assert [log.since(at) for at in (0, 5, 6, 9, 10, 11, 12, 13)] == [0, 0, 1, 1, 2, 4, 4, 5]
    assert log.newest == 12


def test_the_transaction_log_keeps_the_latest_record_of_an_id() -> None:
    log = CompactedLog(BY_ID)
    for base in range(1_000):
        log.append(StateRecord(base, Entry(f"id-{base % 3}", 1, 0)))
    assert [record.base for record in log.kept()] == [997, 998, 999]
    assert log.end == 1_000


def test_paced_messages_arrive_later_and_in_their_order() -> None:
    """What a role says to itself, and what the front says and hears, is not held up."""
    it = Driver(make_home(), lambda conn, number, body: None, pace_ms=50)
    it.start()
    it.roles |= {"a": Notes(), "b": Notes()}
    it.deliver("a", Call((Send("b", "first"), Send("a", "note"), Send("b", "second"))))
    assert it.roles["a"].heard[1:] == ("note", "heard note")
    assert it.roles["b"].heard == ()
    it.now += 49
    it.fire()
    assert it.roles["b"].heard == ()
    it.now += 1
    it.fire()
    assert it.roles["b"].heard == ("first", "second")
    assert len(it.roles["a"].heard) == 3, "the answers are under way"
    it.now += 50
    it.fire()
    assert it.roles["a"].heard[3:] == ("heard first", "heard second")
