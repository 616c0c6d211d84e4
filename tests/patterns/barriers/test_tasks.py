"""The tasks of a streaming job: alignment, the sink's two steps, and what an attempt refuses."""

import pytest

from mqlab.kernel import Caller, ConnectionLost, MemoryDisk, Reply, Request, Send
from mqlab.patterns.barriers.claims import SAFEGUARDS
from mqlab.patterns.barriers.roles import (
    OUTPUT,
    Acknowledge,
    Barrier,
    Complete,
    Deploy,
    Fail,
    JobConfig,
    Next,
    Operator,
    Register,
    Row,
    Sink,
    Source,
    Trigger,
    list_committed,
)
from mqlab.patterns.records import read_records

ON = frozenset(SAFEGUARDS)
CONFIG = JobConfig(on=ON, sources=("s1", "s2"))


def run(role, *asked, disk=MemoryDisk()):
    """The role and its disk after these requests (caller, body), and all that it has sent."""
    sent = []
    for name, body in asked:
        event = body if isinstance(body, ConnectionLost) else Request(Caller(name), body)
        role, effects = role.step(event, disk)
        for effect in effects:
            disk = disk.apply(effect)
        sent += [effect.body for effect in effects if isinstance(effect, Send | Reply)]
    return role, disk, sent


def rows(sent):
    return [body.value if isinstance(body, Row) else "|" for body in sent if has_place(body)]


def has_place(body):
    return isinstance(body, Row | Barrier)


OPERATOR = Operator(CONFIG, attempt=1)
OVERTAKING = [
    ("s1", Row(1, "a1")),
    ("s1", Barrier(1, 1)),
    ("s1", Row(1, "a2")),
    ("s2", Row(1, "b1")),
    ("s2", Barrier(1, 1)),
    ("s2", Row(1, "b2")),
]


def test_what_is_behind_a_barrier_waits_for_the_other_barrier():
    role, _, sent = run(OPERATOR, *OVERTAKING)
    assert rows(sent) == ["a1", "b1", "|", "a2", "b2"]
    assert Acknowledge(1, 1, 2) in sent, "two were before the barriers"
    assert (role.count, role.arrived, role.held) == (4, (), ())


def test_a_task_listens_to_its_own_attempt_only():
    assert run(OPERATOR, ("s1", Row(0, "a1")))[2] == []
    assert rows(run(OPERATOR, ("s1", Row(1, "a1")))[2]) == ["a1"]
    deployed, _, _ = run(OPERATOR, ("jm", Deploy(2, 1, 7)), ("jm", Deploy(1, 0, 0)))
    assert (deployed.attempt, deployed.count) == (2, 7), "an older deployment comes too late"


def test_who_has_lost_its_channel_reports_and_sends_nothing_more():
    lost = ("", ConnectionLost("sink"))
    assert run(OPERATOR, lost, ("s1", Row(1, "a1")))[2] == [Fail(1)]
    assert run(OPERATOR, ("", ConnectionLost("jm")))[2] == [Register()]


def test_a_source_goes_back_to_the_offset_it_is_given():
    source = Source(CONFIG, "s1", ("a1", "a2", "a3"))
    role, _, sent = run(source, ("jm", Deploy(1, 0, 0)), ("s1", Next(1)), ("jm", Trigger(1, 1)))
    assert rows(sent) == ["a1", "|"]
    assert Acknowledge(1, 1, 1) in sent
    role, _, sent = run(role, ("jm", Deploy(2, 1, 1)), ("s1", Next(2)), ("s1", Next(1)))
    assert rows(sent) == ["a2"]
    assert role.offset == 2


PENDING = [("jm", Deploy(1, 0, 0)), ("sum", Row(1, "a1")), ("sum", Barrier(1, 1))]


def write(*asked, on=ON):
    _, disk, sent = run(Sink(JobConfig(on=on, sources=("s1",))), *asked)
    return [str(record) for record in read_records(disk, OUTPUT)], list(list_committed(disk)), sent


def test_output_is_written_at_the_barrier_and_seen_after_the_checkpoint():
    ledger, seen, sent = write(*PENDING)
    assert ledger == ["pending cp1 {a1}"] and not seen
    assert sent[-1] == Acknowledge(1, 1, 0)
    ledger, seen, _ = write(*PENDING, ("jm", Complete(1)), ("jm", Complete(1)))
    assert ledger == ["pending cp1 {a1}", "committed cp1 {a1}"]
    assert seen == ["a1"]


@pytest.mark.parametrize(("restored", "what"), [(1, "committed"), (0, "aborted")])
def test_a_restart_ends_what_is_pending_by_the_restored_checkpoint(restored, what):
    ledger, seen, _ = write(*PENDING, ("jm", Deploy(2, restored, 0)))
    assert ledger[-1] == f"{what} cp1 {{a1}}"
    assert seen == (["a1"] if restored else [])


def test_an_older_attempt_ends_nothing_even_after_a_restart_of_the_sink():
    _, disk, _ = run(Sink(CONFIG), *PENDING, ("jm", Deploy(2, 1, 0)), ("sum", Barrier(2, 2)))
    again, _ = Sink.recover(CONFIG, disk, 0)
    _, disk, sent = run(again, ("jm", Deploy(1, 0, 0)), disk=disk)
    assert not sent
    assert [r.what for r in read_records(disk, OUTPUT)] == ["pending", "committed", "pending"]
