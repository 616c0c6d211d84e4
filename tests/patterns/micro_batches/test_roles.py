"""A query in batches: what its driver plans, repeats and skips, and what its store refuses."""

import pytest

from mqlab.kernel import (
    Caller,
    ConnectionLost,
    Fired,
    MemoryDisk,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
)
from mqlab.patterns.micro_batches.claims import SAFEGUARDS
from mqlab.patterns.micro_batches.roles import (
    COMMITS,
    IDLE,
    OFFSETS,
    OUTPUT,
    Commit,
    CommitResponse,
    Driver,
    Fenced,
    Fetch,
    FetchResponse,
    InitProducer,
    InitProducerResponse,
    LatestOffset,
    LatestOffsetResponse,
    QueryConfig,
    Store,
    Write,
    WriteResponse,
    find_progress,
    list_seen,
)
from mqlab.patterns.records import read_records

ON = frozenset(SAFEGUARDS)


def run(role, *events, disk=MemoryDisk()):
    """The role and its disk after these events, and all that it has sent."""
    sent = []
    for event in events:
        role, effects = role.step(event, disk)
        for effect in effects:
            disk = disk.apply(effect)
        sent += [effect.body for effect in effects if isinstance(effect, Send | Reply)]
    return role, disk, sent


def told(peer, body):
    return Response(peer, 1, body)


PLANNED = [
    Fired("trigger"),
    told("s1", LatestOffsetResponse(2)),
    told("s2", LatestOffsetResponse(1)),
]
READ = [told("s1", FetchResponse(0, ("a1", "a2"))), told("s2", FetchResponse(0, ("b1",)))]
FENCED = told("sink", InitProducerResponse(0, 1, -1))
WRITTEN = [told("sink", WriteResponse(0)), told("sink", CommitResponse(0))]


def drive(*events, on=ON, disk=MemoryDisk()):
    role, _ = Driver.recover(QueryConfig(on=on, sources=("s1", "s2")), disk, 0)
    role, disk, sent = run(role, *events, disk=disk)
    logs = [[str(record) for record in read_records(disk, log)] for log in (OFFSETS, COMMITS)]
    return role, disk, sent, logs


def test_a_batch_is_planned_read_written_committed_and_then_noted_as_done():
    _, disk, sent, logs = drive(*PLANNED)
    assert sent == [LatestOffset(), LatestOffset(), Fetch(0, 0, 2), Fetch(0, 0, 1)]
    assert logs == [["offsets mb0 {s1: 2, s2: 1}"], []]
    _, disk, sent, logs = drive(*PLANNED, *READ, FENCED, *WRITTEN)
    assert sent[4:] == [InitProducer(0), Write(0, 1, ("a1", "a2", "b1")), Commit(0, 1)]
    assert logs == [["offsets mb0 {s1: 2, s2: 1}"], ["commits mb0"]]
    role, _, sent, _ = drive(*PLANNED, disk=disk)
    assert (role.stage, sent) == (IDLE, [LatestOffset(), LatestOffset()]), "no new orders"


@pytest.mark.parametrize("trouble", [ConnectionLost("s1"), told("sink", Fenced(0))])
def test_whatever_fails_the_batch_begins_again_after_a_while(trouble):
    role, disk, _, _ = drive(*PLANNED, *READ, FENCED)
    failed, effects = role.step(trouble, disk)
    assert failed.stage == IDLE and [type(e) for e in effects] == [SetTimer]
    assert failed.step(WRITTEN[0], disk) == (failed, ()), "an answer to a run that was given up"
    _, _, sent = run(failed, Fired("retry"), disk=disk)
    assert sent == [Fetch(0, 0, 2), Fetch(0, 0, 1)]


def store(*asked, on=ON):
    role = Store(QueryConfig(on=on, sources=("s1",)))
    _, disk, sent = run(role, *(Request(Caller("driver"), body) for body in asked))
    ledger = [str(record) for record in read_records(disk, OUTPUT)]
    return ledger, [row for row, _ in list_seen(disk)], find_progress(disk), sent


BEGUN = (InitProducer(0), Write(0, 1, ("a1",)))


def test_who_comes_next_ends_what_is_open_and_what_was_sent_before_is_refused():
    ledger, seen, _, sent = store(*BEGUN, InitProducer(0), Commit(0, 1), Write(0, 1, ("a1",)))
    assert ledger == ["pending mb0 {a1}", "aborted mb0 {a1}"] and not seen
    assert sent[-3:] == [InitProducerResponse(0, 2, -1), Fenced(0), Fenced(0)]
    late = (InitProducer(0), InitProducer(0), *(Write(0, n, ("a1",)) for n in (1, 2)), Commit(0, 2))
    assert store(*late)[1] == ["a1"]
    assert store(*late, on=ON - {"producer_fencing"})[1] == ["a1", "a1"]
