"""The driver and its disk, without sockets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from mqlab.kernel import (
    Append,
    Call,
    CancelTimer,
    Disk,
    Effects,
    Event,
    Fired,
    MemoryDisk,
    Put,
    Quiet,
    Reply,
    Request,
    Send,
    SetTimer,
    replace,
)
from mqlab.serve.adapter import NO_CHANGE, Adapter, Change, Start
from mqlab.serve.disk import CompactedLog, Compaction, ServerDisk, ServerLog
from mqlab.serve.driver import Driver
from tests.serve.toy import TOY, Note


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


@dataclass(frozen=True)
class Block:
    """What a broker's batches look like to the disk."""

    base: int = 0
    count: int = 1
    at_ms: int = -1
    size: int = 10

    @property
    def last(self) -> int:
        return self.base + self.count - 1


def driver(adapter: Adapter = TOY) -> Driver:
    made = Driver(adapter, lambda conn, number, body: None)
    made.start()
    made.roles |= {"a": Notes(), "b": Notes()}
    return made


def test_effects_are_done_in_order_and_answers_come_back() -> None:
    it = driver()
    effects = (Append("log", Note(0, "x")), Send("b", "question", 7), Send("nobody", "?"))
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
    for _ in range(1_000):  # set again for ever, it takes no more room
        it.deliver("a", Call((SetTimer("often", 60_000),)))
    assert len(it._timer_heap) < 100
    start = it.now
    for ms, fired in ((9, []), (29, ["soon"]), (31, ["soon", "late"])):
        it.now = start + ms
        it.fire()
        heard = it.roles["a"].heard
        assert [e.timer for e in heard if isinstance(e, Fired)] == fired


def test_a_timer_can_be_fired_early_once_and_only_where_it_is_set() -> None:
    it = driver()
    it.deliver("a", Call((SetTimer("far", 60_000), SetTimer("other", 70_000))))
    assert not it.fire_early("a", "never") and not it.fire_early("b", "far")
    assert it.fire_early("a", "far") and not it.fire_early("a", "far")
    assert [e.timer for e in it.roles["a"].heard if isinstance(e, Fired)] == ["far"]
    assert it.next_timer() == it.now + 70_000
    it.now += 60_000
    it.fire()
    assert [e.timer for e in it.roles["a"].heard if isinstance(e, Fired)] == ["far"]


# ---- the disk -------------------------------------------------------------------------------


def test_it_reads_like_the_disk_of_a_lesson() -> None:
    ours, theirs = ServerDisk(), MemoryDisk()
    for base, count in ((0, 3), (3, 1), (4, 5)):
        entry = Append("log", Block(base, count))
        ours.append("log", entry.entry)
        theirs = theirs.apply(entry)
    for start in range(-1, 11):
        for end in (None, *range(11)):
            mine = list(ours.log("log").read(start, end))
            assert mine == list(theirs.log("log").read(start, end)), (start, end)
    with pytest.raises(ValueError, match="append at 4, but the end is 9"):
        ours.append("log", Block(4))
    ours.cut("log", 4)
    assert ours.log("log").end == 4 and ours.logs("l") == ("log",)


def test_the_time_index_finds_the_first_batch_that_is_late_enough() -> None:
    log = ServerLog(Block)
    for base, stamp in enumerate((5, 9, 10, 7, 12)):
        log.append(Block(base, at_ms=stamp))
    assert [log.find_since(at) for at in (0, 5, 6, 9, 10, 11, 12, 13)] == [0, 0, 1, 1, 2, 4, 4, 5]
    assert (log.newest, log.bytes) == (12, 50)
    log.trim(3)
    assert (log.newest, log.bytes, log.find_since(0)) == (12, 20, 3)


def test_a_compacted_log_keeps_the_latest_entry_of_a_key() -> None:
    log = CompactedLog(Compaction(lambda note: note.text, lambda note: note.text == "dead"))
    for base in range(1_000):
        log.append(Note(base, f"id-{base % 3}"))
    log.append(Note(1_000, "dead"))
    assert [entry.base for entry in log.list_kept()] == [997, 998, 999, 1_000], "the end is kept"
    log.append(Note(1_001, "id-0"))
    assert [entry.base for entry in log.list_kept()] == [997, 998, 1_001], "999 was id-0"


def test_roles_and_logs_come_and_go_with_a_key_of_a_table() -> None:
    """A role that reads along hears of each append to the other's log, until it is stopped."""

    def change(table: str, key: str, old: Any, new: Any) -> Change:
        if table != "rooms":
            return NO_CHANGE
        if new is None:
            return Change(end=(key, f"{key} reader"), drop=(key,))
        recover = lambda disk, at_ms: (Notes(), ())  # noqa: E731
        return Change(begin=(Start(key, recover), Start(f"{key} reader", recover, reads=key)))

    it = driver(replace(TOY, change=change))
    roles = set(it.roles)
    it.deliver("a", Call((Put("rooms", "r", 1), Put("walls", "r", 1))))
    assert set(it.roles) == {*roles, "r", "r reader"}
    it.deliver("r", Call((Append("r", Note(0, "x")),)))
    heard = [one.end for one in it.roles["r reader"].heard]
    assert heard == [1] and it.disk.log("r").end == 1
    it.deliver("a", Call((Put("rooms", "r", None), Send("r", "is anybody there"))))
    assert set(it.roles) == roles and it.disk.logs() == ()
    assert it.readers == {"r": []}


def test_paced_messages_arrive_later_and_in_their_order() -> None:
    """What a role says to itself, and what the front says and hears, is not held up."""
    it = Driver(TOY, lambda conn, number, body: None, pace_ms=50)
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
