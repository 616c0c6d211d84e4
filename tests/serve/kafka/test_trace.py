"""The live trace: what a follower gets while a client works, and who gets nothing."""

from __future__ import annotations

import http.client
import time
from types import SimpleNamespace

import pytest

from mqlab.kafka import KafkaConfig
from mqlab.kafka.claims import LIT
from mqlab.kafka.config import SAFEGUARDS
from mqlab.kafka.coordinator import Entry
from mqlab.kafka.coordinator.entry import StateRecord
from mqlab.kafka.group import GroupCoordinator, GroupMetadata
from mqlab.kafka.log import ABORT, COMMIT, Batch
from mqlab.kafka.log.role import Partition
from mqlab.kafka.states import TxnState
from mqlab.kernel import Text, replace
from mqlab.kernel.trace import GLYPHS, Fact, FactKind, patch
from mqlab.serve import RunningBroker
from mqlab.serve.kafka import serve
from mqlab.serve.kafka.trace import Model
from tests.serve.kafka.clients import PATIENCE_S, create, producer, read, transaction
from tests.serve.live import asked, played


def test_a_transaction_is_told(topic: str) -> None:
    with serve() as quiet:
        create(quiet.address, topic, 2)
        who = producer(quiet.address, "order-service")
        who.begin_transaction()
        who.produce(topic, "a", partition=0)
        who.produce(topic, "b", partition=1)
        who.commit_transaction(PATIENCE_S)
        transaction(who, topic, "x", commit=False)
        trace = played(asked(quiet, last=10_000))
    assert all(GLYPHS[f.kind] == f.glyph for f in trace)
    told = [(f.node if f.node == "coordinator" else "", f.glyph, f.text.en, f.txn) for f in trace]
    parts = f"{{{topic}-0, {topic}-1}}"
    story = [
        ("coordinator", "▮", f"Ongoing {parts}", "T1"),
        ("", "→", "EndTxn commit epoch=0", "T1"),
        ("coordinator", "▮", f"PrepareCommit {parts}", "T1"),
        ("coordinator", "⇒", "ok epoch=0", "T1"),
        ("", "▮", "commit marker @1", "T1"),
        ("coordinator", "▮", "CompleteCommit", "T1"),
        ("coordinator", "▮", "CompleteAbort", "T2"),
    ]
    places = [told.index(line) for line in story]
    assert places == sorted(places)
    last = trace.snapshots[-1]
    clients = [lane.name for lane in last.lanes if lane.subtitle.en == "producer"]
    assert clients == ["order-service"], "two connections of one client have one lane"
    log = next(log for log in last.logs if log.name == f"{topic}-0")
    assert [(c.label, c.txn, c.kind) for c in log.cells[:2]] == [
        ("a", "T1", "data"),
        ("C", "T1", "control"),
    ]
    aborted = [c.label for one in last.logs for c in one.cells if c.aborted]
    assert aborted == ["x"]
    committed, uncommitted = ([g.label for g in r.got] for r in last.readers)
    assert sorted(committed) == ["a", "b"] and sorted(uncommitted) == ["a", "b", "x"]
    assert last.graphs[0].path[-1] == "CompleteAbort"
    assert [(light.name, light.ok) for light in last.lights] == [
        (claim.name, True) for claim in LIT
    ]
    named = {lane.name for s in trace.snapshots for lane in s.lanes}
    assert all({f.node, f.peer} <= {*named, "disk", ""} for f in trace)


def test_polling_is_folded_and_a_client_that_leaves_is_no_crash(topic: str) -> None:
    with serve() as quiet:
        create(quiet.address, topic)
        transaction(producer(quiet.address, "order-service"), topic, "a", commit=True)
        assert read(quiet.address, topic) == ["a"]
        until = time.monotonic() + PATIENCE_S
        closed: list[Fact] = []
        while not closed and time.monotonic() < until:  # the server hears of it a little later
            trace = played(asked(quiet, last=10_000))
            closed = [fact for fact in trace if fact.kind is FactKind.CLOSE]
    polls = [fact for fact in trace if fact.text.en.startswith(("Fetch ", "ListOffsets "))]
    assert polls and all(fact.fold for fact in polls)
    given = [fact for fact in trace if fact.text.en == "1 record; commit"]
    assert [fact.fold for fact in given] == [False], "what a reader has got is news"
    assert closed[0].glyph == "·" and closed[0].why.en
    assert not [fact for fact in trace if fact.glyph == "✗"]
    last = trace.snapshots[-1].lanes
    assert all(lane.up for lane in last)
    assert "consumer, has left" in [lane.subtitle.en for lane in last]


def test_readers_have_records_in_the_order_in_which_they_were_written() -> None:
    model = Model("coordinator")
    for turn, place in enumerate((1, 0, 1, 0)):
        name = f"t-{place}"
        model.roles[name] = SimpleNamespace(part=Partition(KafkaConfig(), hw=2))
        model.note_append(name, Batch((str(turn),), 1, turn // 2, 7, 0, 0))
    for name in ("t-0", "t-1"):
        model.lanes.admit(name, 0)
    for reader in model.draw()["readers"]:
        assert [got["log"] for got in reader["got"]] == ["t-1", "t-0", "t-1", "t-0"]


def test_a_step_says_what_is_true_while_a_safeguard_is_off(topic: str) -> None:
    with serve(off=("lso",)) as open_to_all:
        create(open_to_all.address, topic, 1)
        transaction(producer(open_to_all.address, "order-service"), topic, "a", commit=True)
        trace = played(asked(open_to_all, last=10_000))
    said = {fact.why.en for fact in trace if fact.text.en == "1 record @0"}
    assert len(said) == 1 and said.pop().startswith("lso is off: ")
    told = {fact.story.en for fact in trace if fact.text.en == "1 record @0"}
    assert told == {"lso is off: readers of committed data get it, decided or not."}


@pytest.mark.parametrize(
    ("path", "marker", "red"),
    [
        ([TxnState.ONGOING, TxnState.PREPARE_COMMIT], COMMIT, []),
        ([TxnState.ONGOING, TxnState.PREPARE_COMMIT], ABORT, ["decided first"]),
        ([TxnState.ONGOING], COMMIT, ["decided first"]),
    ],
)
def test_a_marker_that_breaks_an_invariant_turns_its_light_red(
    path: list[TxnState], marker: str, red: list[str]
) -> None:
    model = drawn("t-0")
    for i, state in enumerate(path):
        entry = Entry("id", 7, 0, state=state, partitions=("t-0",))
        model.note_append("__transaction_state-0", StateRecord(i, entry))
    model.note_append("t-0", Batch(("a",), 1, 0, 7, 0, 0, transactional=True))
    model.note_append("t-0", Batch((), 1, 1, 7, 0, -1, True, marker))
    assert list_red(model) == red
    assert len(model.draw()["lights"]) == len(LIT)


def test_two_outcomes_of_one_transaction_turn_the_light_red() -> None:
    model = drawn("t-0", "t-1")
    entry = Entry("id", 7, 0, state=TxnState.ONGOING, partitions=("t-0", "t-1"))
    model.note_append("__transaction_state-0", StateRecord(0, entry))
    for name, marker in (("t-0", COMMIT), ("t-1", ABORT)):
        model.note_append(name, Batch(("a",), 1, 0, 7, 0, 0, transactional=True))
        model.note_append(name, Batch((), 1, 1, 7, 0, -1, True, marker))
    assert list_red(model) == ["same outcome", "decided first"]


def test_a_reader_that_gets_what_is_open_turns_the_light_red() -> None:
    model = drawn("t-0", hw=1, off=("lso",))
    model.note_append("t-0", Batch(("a",), 1, 0, 7, 0, 0, transactional=True))
    assert list_red(model) == ["clean read"]


def test_it_says_who_holds_a_reader_up_and_who_is_torn() -> None:
    model = drawn("t-0", "t-1", hw=2)
    entry = Entry("id", 7, 0, state=TxnState.ONGOING, partitions=("t-0", "t-1"))
    model.note_append("__transaction_state-0", StateRecord(0, entry))
    for name in ("t-0", "t-1"):
        model.note_append(name, Batch(("a",), 1, 0, 7, 0, 0, transactional=True))
    config = KafkaConfig(on=frozenset(SAFEGUARDS))
    for name in ("t-0", "t-1"):
        model.roles[name] = SimpleNamespace(part=Partition(config, hw=2, open=((0, 7),)))
    notes = [Text.from_json(reader["note"]).en for reader in model.draw()["readers"]]
    assert notes == ["t-0 waits until T1 ends here", "T1 is not decided yet"]
    decided = replace(entry, state=TxnState.PREPARE_COMMIT)
    model.note_append("__transaction_state-0", StateRecord(1, decided))
    model.note_append("t-1", Batch((), 1, 1, 7, 0, -1, True, COMMIT))
    model.roles["t-1"] = SimpleNamespace(part=Partition(config, hw=2))
    note = model.draw()["readers"][0]["note"]
    assert Text.from_json(note).en == "half of T1: t-0 does not show its part yet"


def test_a_record_of_a_group_is_called_as_in_a_lesson() -> None:
    name = "__consumer_offsets-0"
    model = drawn(name)
    model.roles[name] = GroupCoordinator(KafkaConfig(), name, Partition(KafkaConfig(), hw=1))
    record = GroupMetadata("g", generation=3)
    model.note_append(name, Batch((record,), 1, 0))
    (log,) = model.draw()["logs"]
    assert [cell["label"] for cell in log["cells"]] == [record.label]
    ((kept, _, _),) = model.rows[name]
    assert kept.records.batch is None, "what has a label is not kept"


def drawn(*names: str, hw: int = 0, off: tuple[str, ...] = ()) -> Model:
    """Notes of these partitions, which have lanes."""
    model = Model("coordinator")
    config = KafkaConfig(on=frozenset(SAFEGUARDS) - {*off})
    for name in names:
        model.roles[name] = SimpleNamespace(part=Partition(config, hw=hw))
        model.lanes.admit(name, 0)
    return model


def list_red(model: Model) -> list[str]:
    return [light["name"] for light in model.draw()["lights"] if not light["ok"]]


def test_answers_fit_together(broker: RunningBroker, topic: str) -> None:
    """Asking step by step gives the same facts and the same Snapshot as asking once."""
    create(broker.address, topic)
    who = producer(broker.address, topic)
    start = after = max((line["fact"]["index"] for line in asked(broker)[1:]), default=0)
    parts = []
    for i in range(4):
        transaction(who, topic, str(i))
        new = asked(broker, after)
        assert new[0]["after"] == after
        parts += new[1:]
        after = parts[-1]["fact"]["index"]
    whole = asked(broker, start)
    assert [line["fact"] for line in whole[1:]] == [line["fact"] for line in parts]
    now = whole[0]["snapshot"]
    for line in whole[1:]:
        now = patch(now, line["change"])
    assert asked(broker, after)[0]["snapshot"] == now
    indices = [line["fact"]["index"] for line in whole[1:]]
    assert indices == list(range(start + 1, after + 1))
    assert asked(broker, 10**12)[0]["after"] <= start  # nobody was ever told that much


def test_whoever_wants_all_gets_all_that_is_kept(topic: str) -> None:
    """A follower gets what it can draw at once; the numbers of the facts go on."""
    with serve() as broker:
        create(broker.address, topic)
        who = producer(broker.address, topic)
        for i in range(60):
            transaction(who, topic, str(i))
        whole = asked(broker, last=10_000)
        indices = [line["fact"]["index"] for line in whole[1:]]
        assert indices == list(range(1, len(indices) + 1)) and len(indices) > 1_000
        short = asked(broker)
        assert len(short) == 1_001 and short[-1] == whole[-1]
        assert short[0]["after"] == short[1]["fact"]["index"] - 1
        for i in range(80):
            transaction(who, topic, str(i))
        skipped = asked(broker, after=indices[-1])
        assert skipped[0]["after"] > indices[-1] and len(skipped) == 1_001
        assert played(skipped).snapshots[-1].graphs[0].path[-1] == "CompleteCommit"


def test_an_end_is_seen_while_the_client_works(broker: RunningBroker, topic: str) -> None:
    """The aim is two seconds; here only that it is seen at all, on any machine."""
    create(broker.address, topic)
    who = producer(broker.address, topic)
    after = asked(broker)[0]["after"]
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        transaction(who, topic, "v")
        new = asked(broker, after)
        after = new[-1]["fact"]["index"] if len(new) > 1 else new[0]["after"]
        if any("EndTxn" in str(line["fact"]["text"]) for line in new[1:]):
            return
    pytest.fail("no EndTxn was ever told")


def test_what_happened_after_a_restart_is_told(tmp_path: object, topic: str) -> None:
    with serve(data_dir=str(tmp_path)) as broker:
        create(broker.address, topic)
        who = producer(broker.address, "id")
        transaction(who, topic, "before")
        broker.kill()
        broker.restart()
        transaction(who, topic, "after")
        trace = played(asked(broker))
    assert any(f.glyph == "↻" and f.node == "coordinator" for f in trace)
    cells = trace.snapshots[-1].logs[0].cells
    assert [c.label for c in cells] == ["before", "C", "after", "C"]


@pytest.mark.parametrize(
    ("method", "target", "host", "status"),
    [
        ("GET", "/trace?after=0", "127.0.0.1:1", 200),
        ("GET", "/trace", "localhost", 200),
        ("GET", "/trace?after=0", "evil.example", 403),
        ("GET", "/trace?after=0", "", 400),
        ("GET", "/trace?after=x", "localhost", 400),
        ("GET", "//[/trace", "localhost", 400),
        ("GET", "/", "localhost", 404),
        ("POST", "/trace", "localhost", 405),
    ],
)
def test_only_this_machine_may_ask(
    broker: RunningBroker, method: str, target: str, host: str, status: int
) -> None:
    address = broker.trace_url.removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=600)
    connection.putrequest(method, target, skip_host=True)
    if host:
        connection.putheader("Host", host)
    connection.endheaders()
    assert connection.getresponse().status == status
    connection.close()
