"""The same message means the same in a lesson and on a server."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import pytest

from mqlab.kafka import KafkaConfig, KafkaSystem
from mqlab.kafka.coordinator import Coordinator, Entry
from mqlab.kafka.coordinator.entry import StateRecord
from mqlab.kafka.errors import Error
from mqlab.kafka.group import GroupMetadata, Offsets
from mqlab.kafka.group.members import Heartbeat, JoinGroup, JoinGroupResponse
from mqlab.kafka.leader import Leader
from mqlab.kafka.log import COMMIT, Batch
from mqlab.kafka.log.partition import Partition
from mqlab.kafka.messages import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    Answer,
    EndTxn,
    EndTxnResponse,
    Fetch,
    FetchResponse,
    InitProducerId,
    OffsetFetchResponse,
    Produce,
    ProduceResponse,
    SendMarkers,
    TxnOffsetCommit,
    WriteTxnMarkers,
)
from mqlab.kafka.picture import words
from mqlab.kafka.picture.telling import (
    Known,
    WorldKnown,
    explain_answer,
    explain_batch,
    explain_change,
    explain_record,
    explain_request,
)
from mqlab.kafka.picture.view import Txn, add_record, name_by_turn
from mqlab.kafka.states import TxnState as S
from mqlab.kernel import Appended, Caller, Request, Trace
from mqlab.scenario import parse_script, perform
from mqlab.serve.kafka.front.internal import ServedGroups
from mqlab.serve.kafka.trace import Model

SYSTEM = KafkaSystem(
    producers=(("app", "a"), ("other", "b")), readers=("reader",), groups=1, partitions=1
)
CONFIG = KafkaConfig()
BATCH = Batch(("v",), 1, 0, 7, 0, 0, transactional=True)
OFFSETS = Batch((Offsets("g", ()),), 1, 0, 7, 0, 0, transactional=True)


def both(*records: tuple[str, S, int]) -> tuple[Known, Known]:
    """What a lesson and a server know after these records of (id, state, epoch)."""
    ids = SYSTEM.cluster.ids
    txns: dict[str, list[Txn]] = {txn_id: [] for txn_id in ids}
    model = Model("coordinator")
    model.roles = {
        "coordinator": Coordinator(CONFIG, CONFIG.coordinator),
        "orders-0": Leader(CONFIG, "orders-0", Partition(CONFIG)),
        "__consumer_offsets-0": ServedGroups(CONFIG, "__consumer_offsets-0", Partition(CONFIG)),
    }
    for i, (txn_id, state, epoch) in enumerate(records):
        entry = Entry(txn_id, ids.index(txn_id), epoch, state, ("orders-0",))
        mine = txns[txn_id]
        add_record(mine, entry, partial(name_by_turn, ids, txn_id, len(mine)))
        model.note_append("__transaction_state-0", StateRecord(i, entry))
    return WorldKnown(SYSTEM.cluster, txns), model


COMMITTED = [("a", S.EMPTY, 0), ("a", S.ONGOING, 0), ("a", S.PREPARE_COMMIT, 0)]
HISTORIES = [
    [],
    COMMITTED[:1],
    COMMITTED[:2],
    COMMITTED,
    [*COMMITTED, ("a", S.COMPLETE_COMMIT, 1), ("b", S.EMPTY, 0), ("b", S.ONGOING, 0)],
    [*COMMITTED, ("a", S.COMPLETE_COMMIT, 0), *(("b", state, 0) for _, state, _ in COMMITTED)],
]  # the ids take turns, else their numbers are different ones
REQUESTS = [
    ("app", InitProducerId("a")),
    ("app", InitProducerId(None)),
    ("app", AddPartitionsToTxn("a", 0, 0, ("orders-0",))),
    ("orders-0", AddPartitionsToTxn("a", 0, 0, ("orders-0",))),
    ("__consumer_offsets-0", AddPartitionsToTxn("a", 0, 0, ("__consumer_offsets-0",))),
    ("app", AddOffsetsToTxn("a", 0, 0, "g")),
    ("app", TxnOffsetCommit("a", "g", 0, 0, ())),
    ("app", Produce(BATCH, "a")),
    ("app", Produce(Batch(("v",)))),
    ("app", EndTxn("a", 0, 0, True)),
    ("coordinator", WriteTxnMarkers("a", 0, 1, True)),
    ("coordinator", SendMarkers("a")),
    ("reader", Fetch(0)),
    ("reader", JoinGroup("g")),
    ("reader", Heartbeat("g", "m", 1)),
]
ANSWERS = [
    ("coordinator", EndTxn("a", 0, 0, True), EndTxnResponse(epoch=0)),
    ("coordinator", InitProducerId("a"), Answer(Error.CONCURRENT_TRANSACTIONS)),
    ("coordinator", EndTxn("a", 0, 0, True), EndTxnResponse(Error.PRODUCER_FENCED)),
    ("orders-0", Produce(BATCH, "a"), ProduceResponse(Error.NOT_ENOUGH_REPLICAS)),
    ("orders-0", WriteTxnMarkers("a", 0, 1, True), Answer()),
    ("orders-0", Fetch(0), FetchResponse(hw=3, lso=1, batches=(BATCH,))),
    ("__consumer_offsets-0", JoinGroup("g"), JoinGroupResponse(generation=2)),
    ("__consumer_offsets-0", None, Answer(Error.ILLEGAL_GENERATION)),
    ("__consumer_offsets-0", None, OffsetFetchResponse(unstable=("orders-0",))),
]


@pytest.mark.parametrize("records", HISTORIES)
def test_a_lesson_and_a_server_explain_alike(records: list[tuple[str, S, int]]) -> None:
    lesson, server = both(*records)
    for sender, body in REQUESTS:
        assert explain_request(lesson, sender, body) == explain_request(server, sender, body)
    for sender, asked, answer in ANSWERS:
        mine, theirs = (explain_answer(k, sender, asked, answer) for k in (lesson, server))
        assert mine == theirs, (sender, answer)
    for txn_id, state, epoch in records[-1:]:
        entry = Entry(txn_id, 0, epoch, state)
        assert explain_record(lesson, entry) == explain_record(server, entry)


def test_what_teaches_nothing_is_folded() -> None:
    known, _ = both(*COMMITTED[:2])
    shown = [type(b).__name__ for s, b in REQUESTS if not explain_request(known, s, b).fold]
    assert shown == [
        "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "Produce",
        "Produce", "EndTxn", "WriteTxnMarkers", "Fetch", "JoinGroup",
    ]  # fmt: skip
    answers = [(s, explain_answer(known, s, asked, a)) for s, asked, a in ANSWERS]
    assert [told.fold for _, told in answers] == [
        False, True, False, True, True, False, True, False, False,
    ]  # fmt: skip
    assert not explain_request(known, "app", InitProducerId("a")).fold
    assert explain_request(known, "other", InitProducerId("b")).fold, "known from the first id"


def test_a_missing_replica_is_news_where_there_are_replicas() -> None:
    known, _ = both()
    short = ProduceResponse(Error.NOT_ENOUGH_REPLICAS)
    folds = [explain_answer(known, s, None, short).fold for s in ("orders-0", "orders-0@1")]
    assert folds == [True, False]


def test_what_is_written_says_what_it_decides() -> None:
    members = Batch((GroupMetadata("g"),))
    control = Batch((), 1, 1, 7, 0, -1, True, COMMIT)
    found = [explain_batch("T1", b).why for b in (BATCH, OFFSETS, members, control)]
    assert found == [
        w() for w in (words.WHY_DATA, words.WHY_PENDING, words.WHY_GENERATION, words.WHY_MARKER)
    ]


def test_a_frontier_is_of_interest_where_a_marker_has_moved_it() -> None:
    known, _ = both()
    part, safe = Partition(CONFIG, hw=2), Appended("orders-0", 2)
    control = Batch((), 1, 1, 7, 0, -1, True, COMMIT)
    moved = [explain_change(known, safe, part, newest) for newest in (BATCH, control, None)]
    assert [told.fold for told in moved] == [True, False, True]
    assert {told.why for told in moved} == {words.WHY_LSO(lso=2, hw=2)}
    assert explain_change(known, safe, None, control).why.en == ""
    asked = Request(Caller("app"), Produce(BATCH, "a"))
    assert explain_change(known, asked, part, None).label.en == "Produce v"


# ---- the same run, in a lesson and on a server -------------------------------------------

STORY = """
run zombie: init, begin, send orders-0 v
run app: init
fire app retry
run zombie: send orders-0 v
run app: begin, send orders-0 v, commit
run reader: poll orders-0
"""
LESSON = "system kafka client=legacy partitions=1 readers=reader "
SAME_ID = "producers=zombie:order-service,app:order-service"


def run_lesson() -> Trace:
    script = parse_script(f"# A zombie.\n{LESSON}{SAME_ID}{STORY}")
    system = KafkaSystem(
        client="legacy",
        partitions=1,
        readers=("reader",),
        producers=(("zombie", "order-service"), ("app", "order-service")),
    )
    return perform(script, system).trace


def run_server() -> Trace:
    """The same requests, sent by hand on three connections."""
    from mqlab.serve.kafka import serve
    from tests.serve.kafka.raw import TRANSACTIONAL, Raw, batch
    from tests.serve.live import asked, played

    txn_id, log = "order-service", ("orders", 0)
    with serve() as broker, Raw(broker.address) as zombie, Raw(broker.address) as app:
        zombie.create("orders")
        old = zombie.init(txn_id)
        zombie.add(txn_id, old.producer_id, 0, log)
        data = [batch([b"v"], old.producer_id, e, s, TRANSACTIONAL) for e, s in ((0, 0), (0, 1))]
        zombie.produce("orders", 0, data[0], txn_id)
        app.init(txn_id)
        new = app.init(txn_id)
        zombie.produce("orders", 0, data[1], txn_id)
        app.add(txn_id, new.producer_id, new.producer_epoch, log)
        data = [batch([b"v"], new.producer_id, new.producer_epoch, 0, TRANSACTIONAL)]
        app.produce("orders", 0, data[0], txn_id)
        app.end(txn_id, new.producer_id, new.producer_epoch, commit=True)
        with Raw(broker.address) as reader:
            reader.fetch("orders", 0)
            return played(asked(broker, last=10_000))


def tellings(trace: Trace, names: dict[str, str]) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """What is said of each fact, by who tells what to whom, in order. A lesson polls once and shows
    it; a server's clients poll all the time, which is folded there."""
    out: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for fact in trace:
        node, peer = (names.get(n, n) for n in (fact.node, fact.peer))
        texts = [t.en.replace("1 record", "v") for t in (fact.text, fact.label, fact.why)]
        fold = fact.fold and not texts[0].startswith("Fetch ")
        out[node, fact.glyph, peer, texts[0]].append((fact.txn, str(fold), *texts[1:]))
    return out


def clients(trace: Trace) -> list[str]:
    lanes = [lane for snapshot in trace.snapshots for lane in snapshot.lanes]
    names = {lane.name for lane in lanes if lane.subtitle.en in ("producer", "consumer")}
    return list(dict.fromkeys(f.node for f in trace if f.node in names))


def test_a_run_is_told_alike() -> None:
    lesson, server = run_lesson(), run_server()
    mine = tellings(lesson, {})
    theirs = tellings(server, dict(zip(clients(server), ("zombie", "app", "reader"), strict=True)))
    assert [key for key in theirs if key not in mine] == []
    assert {node for node, _, _, _ in mine.keys() - theirs.keys()} == {"zombie", "app", "reader"}
    assert {glyph for _, glyph, _, _ in mine.keys() - theirs.keys()} == {"☞", "⏲", "⇨"}
    wrong = {key: (mine[key], theirs[key]) for key in theirs if mine[key] != theirs[key]}
    assert not wrong


def test_both_draw_the_same_tables_and_lights() -> None:
    lesson, server = (run().snapshots[-1] for run in (run_lesson, run_server))
    assert server.tables[0] == lesson.tables[0]
    assert server.lights == lesson.lights and server.graphs == lesson.graphs
    assert [log.frontiers for log in server.logs] == [log.frontiers for log in lesson.logs]
