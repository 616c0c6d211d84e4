"""The same message means the same in a lesson and on a server."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from mqlab.kafka import KafkaConfig, KafkaSystem
from mqlab.kafka.clients.producer.flight import ILLEGAL_STATE, Kind, Trouble
from mqlab.kafka.coordinator import Coordinator, Entry
from mqlab.kafka.coordinator.entry import StateRecord
from mqlab.kafka.errors import Error
from mqlab.kafka.group import GroupCoordinator, GroupMetadata, Offsets, membership
from mqlab.kafka.group.commits import Placed
from mqlab.kafka.group.members import Heartbeat, JoinGroup, JoinGroupResponse, Member
from mqlab.kafka.leader import Leader
from mqlab.kafka.log import COMMIT, Batch
from mqlab.kafka.log.role import Partition
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
    Position,
    Produce,
    ProduceResponse,
    SendMarkers,
    TxnOffsetCommit,
    WriteTxnMarkers,
)
from mqlab.kafka.picture import why, words
from mqlab.kafka.picture.snapshot import draw_graph, draw_members, draw_positions, draw_states
from mqlab.kafka.picture.telling import Kind as NodeKind
from mqlab.kafka.picture.telling import (
    Known,
    WorldKnown,
    explain_answer,
    explain_batch,
    explain_change,
    explain_record,
    explain_request,
)
from mqlab.kafka.picture.view import (
    Txn,
    add_record,
    attribute_batches,
    find_current,
    find_last,
    name_by_beginning,
    name_by_turn,
)
from mqlab.kafka.picture.words import TERMS
from mqlab.kafka.replication.router import PAUSE
from mqlab.kafka.states import ProducerState
from mqlab.kafka.states import TxnState as S
from mqlab.kernel import Appended, Caller, Fact, FactKind, Map, Request, Text, Trace, replace
from mqlab.kernel.run import Run
from mqlab.registry import SYSTEMS
from mqlab.scenario import load, parse_script, perform, system_of
from mqlab.serve.kafka.front.internal import ServedGroups
from mqlab.serve.kafka.trace import IDS, TXNS, Model
from mqlab.serve.trace.teller import cut

SYSTEM = KafkaSystem(
    producers=(("app", "a"), ("other", "b")), readers=("reader",), groups=1, partitions=1
)
CONFIG = KafkaConfig()
STORIES = Path(__file__).parents[3] / "datasets" / "scenarios" / "kafka"
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


def test_an_answer_says_why_it_is_given_now() -> None:
    known, ask = both(*COMMITTED)[0], EndTxn("a", 0, 0, True)
    ended = both(*HISTORIES[5][:4])[0]
    answers = [explain_answer(k, "coordinator", ask, EndTxnResponse()) for k in (known, ended)]
    assert [told.why for told in answers] == [words.WHY_ANSWERED(), words.WHY_ENDED()]
    short = ProduceResponse(Error.NOT_ENOUGH_REPLICAS)
    told = [explain_answer(known, "orders-0@1", Produce(b), short) for b in (BATCH, Batch())]
    assert [one.why for one in told] == [words.WHY_UNVERIFIED(), words.explain_error(short.error)]


def test_what_is_written_says_what_it_decides() -> None:
    members = Batch((GroupMetadata("g", members=(Member("m-1", "m"),)),))
    nobody = Batch((GroupMetadata("g"),))
    control = Batch((), 1, 1, 7, 0, -1, True, COMMIT)
    found = [explain_batch("T1", b).why for b in (BATCH, OFFSETS, members, nobody, control)]
    assert found == [
        w() for w in (words.WHY_DATA, words.WHY_PENDING, words.WHY_GENERATION, words.WHY_NOBODY,
                      words.WHY_MARKER)
    ]  # fmt: skip


@pytest.mark.parametrize(("scenario", "line", "says"), [
    # nobody has the producer's place here: its time was up, or it did not hear of its own epoch
    ("producer-timed-out-legacy", "⇒ app          PRODUCER_FENCED", "or timed out, or never heard"),
    # the old one is the same producer's: its transaction has ended
    ("late-batch-v2", "⇒ app          INVALID_PRODUCER_EPOCH", "the transaction of this has ended"),
    # a v2 client's partition is not in the transaction yet, a legacy client's must be
    ("basic-commit", "AddPartitionsToTxn {orders-0}", "the leader adds its partition"),
    ("legacy-client", "AddPartitionsToTxn {orders-0} verify", "asks whether this transaction is"),
    # the marker that is missing is not sent
    ("skip-leaderless-marker", "▮ disk CompleteCommit", "waits for no partition any more"),
    # its members are in its log: the heartbeat after the restart is answered
    ("group-restart", "__consumer_offsets-0 ✗", "generations, with their members"),
])  # fmt: skip
def test_a_sentence_why_is_true_of_the_run_that_it_stands_in(
    scenario: str, line: str, says: str
) -> None:
    trace = load(STORIES / f"{scenario}.scn", SYSTEMS).run.trace
    facts = [fact for fact in trace if " ".join(line.split()) in " ".join(fact.line().split())]
    assert facts and all(says in fact.why.en for fact in facts)


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


# ---- Which transaction is which: what records say, two rules for one name, whose a message is

TRANSACTIONS_COMMITTED = (S.ONGOING, S.PREPARE_COMMIT, S.COMPLETE_COMMIT)


def follow(
    *records: tuple[S, int], txn_id: str = "a", partitions: tuple[str, ...] = ("t-0",)
) -> list[Txn]:
    """The transactions of an id after these records of (state, epoch)."""
    mine: list[Txn] = []
    for state, epoch in records:
        entry = Entry(txn_id, 7, epoch, state=state, partitions=partitions)
        add_record(mine, entry, partial(name_by_turn, (txn_id,), txn_id, len(mine)))
    return mine


def taught(records: Iterable[tuple[str, S]], partitions: tuple[str, ...] = ("t-0",)) -> Model:
    """A server's notes of these records of (transactional id, state)."""
    model = Model("coordinator")
    for i, (txn_id, state) in enumerate(records):
        entry = Entry(txn_id, int(txn_id, 36), 0, state=state, partitions=partitions)
        model.note_append("__transaction_state-0", StateRecord(i, entry))
    return model


@pytest.mark.parametrize("ids", [("a",), ("a", "b")])
def test_ids_that_take_turns_have_the_same_names_by_either_rule(ids: tuple[str, ...]) -> None:
    turns = [(txn_id, nth) for nth in range(5) for txn_id in ids]
    by_turn = [name_by_turn(ids, txn_id, nth) for txn_id, nth in turns]
    assert by_turn == [name_by_beginning(i) for i in range(len(turns))]
    model = taught((txn_id, state) for txn_id, _ in turns for state in TRANSACTIONS_COMMITTED)
    for txn_id in ids:
        newest = [name for (i, _), name in zip(turns, by_turn, strict=True) if i == txn_id][-TXNS:]
        assert [t.name for t in model.list_txns(txn_id)] == newest


def test_ids_that_take_no_turns_are_named_by_what_is_known_of_them() -> None:
    """A lesson leaves numbers out for the id that does nothing, a server cannot."""
    ids = ("a", "b")
    assert [name_by_turn(ids, "a", nth) for nth in range(3)] == ["T1", "T3", "T5"]
    model = taught(("a", state) for _ in range(3) for state in TRANSACTIONS_COMMITTED)
    assert [t.name for t in model.list_txns("a")] == ["T1", "T2", "T3"]


@pytest.mark.parametrize(
    "records",
    [
        [(S.EMPTY, 0)],
        [(S.PREPARE_ABORT, 1), (S.COMPLETE_ABORT, 1)],  # an abort of what the server never saw
        [(S.EMPTY, 0), (S.DEAD, 0)],
    ],
)
def test_what_had_nothing_in_it_is_no_transaction(records: list[tuple[S, int]]) -> None:
    assert follow(*records, partitions=()) == []
    assert not taught((("a", state) for state, _ in records), ()).list_latest()


@pytest.mark.parametrize("decision", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_a_log_that_begins_with_a_decision_shows_its_transaction(decision: S) -> None:
    """As a broker's does whose older records are compacted or were not read."""
    (only,) = follow((S.EMPTY, 0), (decision, 1))
    assert (only.path, only.partitions) == ((S.ONGOING, decision), {"t-0"})
    assert follow((S.COMPLETE_COMMIT, 1)) == [] == follow((S.DEAD, 1))


def test_a_tombstone_begins_nothing() -> None:
    (only,) = follow(*((s, 0) for s in TRANSACTIONS_COMMITTED), (S.DEAD, 0))
    assert (only.name, only.path) == ("T1", TRANSACTIONS_COMMITTED)
    model = taught(("a", state) for state in (*TRANSACTIONS_COMMITTED, S.DEAD))
    assert model.list_txns("a")[-1].path == TRANSACTIONS_COMMITTED and model.name_next("a") == "T2"


def test_a_record_that_adds_a_partition_is_no_new_state() -> None:
    mine: list[Txn] = []
    for partitions in (("t-0",), ("t-0", "t-1")):
        add_record(mine, Entry("a", 7, 0, S.ONGOING, partitions), lambda: "T1")
    assert (mine[0].path, mine[0].partitions) == ((S.ONGOING,), {"t-0", "t-1"})


LEGACY = [(state, 0) for state in TRANSACTIONS_COMMITTED]  # its epoch stays
BUMPED = [(S.ONGOING, 0), (S.PREPARE_COMMIT, 1), (S.COMPLETE_COMMIT, 1)]  # version 2 raises it


@pytest.mark.parametrize(
    ("records", "epoch", "begins", "name"),
    [
        ([], 0, False, "next"),
        (LEGACY[:1], 0, True, "T1"),
        (LEGACY[:2], 0, True, "T1"),  # decided, not complete: it must wait
        (LEGACY, 0, True, "next"),
        (LEGACY, 0, False, "T1"),  # late data of a client that has asked nothing since
        (BUMPED, 0, True, "T1"),  # with the old epoch nothing can begin
        (BUMPED, 1, False, "next"),
        ([*LEGACY, *LEGACY[:1]], 0, False, "T2"),
        ([*BUMPED, (S.ONGOING, 1)], 0, False, "T1"),
    ],
)
def test_whose_a_message_is(
    records: list[tuple[S, int]], epoch: int, begins: bool, name: str
) -> None:
    assert find_current(follow(*records), epoch, "next", begins) == name


def test_what_a_zombie_ends_is_its_own_transaction() -> None:
    mine = follow(*BUMPED, (S.ONGOING, 1))
    assert [find_last(mine, epoch) for epoch in (0, 1, 5, -1)] == ["T1", "T2", "T2", "T2"]
    assert find_last([], 0) == ""


def test_a_server_forgets_the_id_that_was_silent_longest() -> None:
    ids = [f"id{n}" for n in range(IDS + 2)]
    model = taught((txn_id, state) for txn_id in ids for state in TRANSACTIONS_COMMITTED)
    assert list(model.entries) == ids[2:] and not model.list_txns(ids[0])
    assert model.is_first(ids[2]) and not model.is_first(ids[3])
    assert [t.txn_id for t in model.list_latest()] == ids[:1:-1]


class Looked(list[Txn]):
    """Transactions of an id, and how often somebody went through all of them."""

    times = 0

    def __iter__(self) -> Iterator[Txn]:
        Looked.times += 1
        return super().__iter__()


def test_whose_a_batch_is_does_not_cost_a_look_at_every_transaction() -> None:
    """A run of three hundred transactions: each batch finds its own by producer and epoch."""
    count, here = 300, frozenset({"orders-0"})
    path = (S.ONGOING, S.PREPARE_COMMIT, S.COMPLETE_COMMIT)
    txns = {"a": Looked(Txn(f"T{n}", "a", 0, n, here, path, (0, n + 1)) for n in range(count))}
    log = [
        batch
        for n in range(count)
        for batch in (
            Batch(base=2 * n, pid=0, epoch=n, transactional=True),
            Batch(base=2 * n + 1, pid=0, epoch=n + 1, transactional=True, control="COMMIT"),
        )
    ]
    Looked.times = 0
    rows = attribute_batches("orders-0", log, txns)
    assert Looked.times == 1
    named = [(txn.name, outcome) for _, txn, outcome in rows if txn is not None]
    assert named == [(f"T{n // 2}", "COMMIT") for n in range(2 * count)]


# ---- Tables and the state graph: whole in a lesson, cut short for a server -----------


def test_states_are_sorted_by_id_and_tombstones_left_out() -> None:
    made = [Entry("b", 1, 2, S.ONGOING, ("t-0", "t-1")), Entry("a", 0, 0), Entry("c", 3, 0, S.DEAD)]
    assert draw_states(made).rows == (
        ("a", "0", "0", "Empty", "{}"),
        ("b", "1", "2", "Ongoing", "{t-0, t-1}"),
    )


def coordinator(count: int) -> GroupCoordinator:
    """With so many positions counted, and as many pending for producer 7."""
    gc = GroupCoordinator(KafkaConfig(), "__consumer_offsets-0", Partition(KafkaConfig()))
    placed = Map((f"t-{i}", Placed(Position(f"t-{i}", 10 * i), i)) for i in range(count))
    by_group = Map([("g", placed)])
    return replace(gc, committed=by_group, pending=Map([(7, by_group)]))


def test_positions_are_whole_unless_one_asks_for_the_last_ones() -> None:
    gc = coordinator(3)
    whole = draw_positions(gc).rows
    assert whole[:3] == (("g", "t-0", "0", ""), ("g", "t-1", "10", ""), ("g", "t-2", "20", ""))
    assert whole[3] == ("g", "t-0", "0", "pending, producerId 7") and len(whole) == 6
    assert draw_positions(gc, most=2).rows == (*whole[1:3], *whole[4:])
    assert draw_positions(None).rows == draw_members(None).rows == ()


def test_a_name_that_a_stranger_chose_is_cut_and_shown() -> None:
    hostile = "x" * 500 + "\x1b[2J"
    ((txn_id, *_),) = draw_states([Entry("\u202e" + hostile, 0, 0)], cut).rows
    assert len(txn_id) < 100 and txn_id.isprintable()
    placed = Map([(hostile, Placed(Position("", 0), 0))])
    ((group, partition, *_),) = draw_positions(
        replace(coordinator(0), committed=Map([(hostile, placed)])), most=1, cut=cut
    ).rows[:1]
    assert max(len(group), len(partition)) < 100


def one(name: str, *states: S) -> Txn:
    mine: list[Txn] = []
    for state in states:
        add_record(mine, Entry(name, 0, 0, state), partial(str, name))
    return mine[0]


def test_the_graph_is_of_what_goes_on_else_of_the_first_that_is_given() -> None:
    over = one("T1", S.ONGOING, S.PREPARE_ABORT, S.COMPLETE_ABORT)
    open_, later = one("T2", S.ONGOING), one("T4", S.ONGOING, S.PREPARE_COMMIT)
    assert draw_graph([over, open_, later], begun=True).txn == "T2"
    assert draw_graph([later, open_], begun=True).path == ("Empty", "Ongoing", "PrepareCommit")
    assert draw_graph([over], begun=True).txn == "T1"
    assert (draw_graph([], begun=True).path, draw_graph([], begun=False).path) == (("Empty",), ())


# ---- A sentence why is found by what a fact is about; its words decide nothing -------


def test_a_client_that_has_ruined_itself_is_not_told_to_abort() -> None:
    """The error's name holds that of another state."""
    trace = load(STORIES / "producer-stray-record-poisons.scn", SYSTEMS).run.trace
    ruined = next(fact for fact in trace if fact.kind is FactKind.CHANGE)
    assert ruined.why == why.CHANGES[why.ENTERED, ProducerState.FATAL_ERROR]()
    assert trace.facts[-1].why == why.FAILURES[ILLEGAL_STATE]()


def test_an_error_is_the_clients_own_or_somebody_has_said_it() -> None:
    assert Trouble("ProducerFencedException", Kind.FATAL).meaning is Kind.FATAL
    assert Trouble(ILLEGAL_STATE, Kind.FATAL, own=True).meaning == ILLEGAL_STATE


RECREATED = """\
system kafka partitions=1 groups=1 producers=app:- readers=shop admins=admin
run app: send orders-0 a, send orders-0 b, flush
run shop: subscribe g orders, poll, commit-offsets g
run admin: delete-topic orders, create-topic orders
run app: send orders-0 c
run shop: poll
"""


def test_an_answer_says_why_of_what_it_answers() -> None:
    """apache/druid#4632: the group's position is beyond the end of the new topic."""
    script = parse_script(RECREATED)
    trace = perform(script, system_of(script.system, SYSTEMS)).trace
    stored = [type(fact.body) for fact in trace if "may forget the record" in fact.why.en]
    assert stored == [ProduceResponse] * 3
    assert [fact.why for fact in trace if fact.kind is FactKind.TRUNCATE] == [
        words.WHY_DELETED()
    ] * 2
    told = {fact.text.en: fact.why.en for fact in trace}
    assert "ends before it" in told["OFFSET_OUT_OF_RANGE"]
    assert "joins once more" in told["MEMBER_ID_REQUIRED member=shop-1"]
    assert told["ListOffsets -2"].startswith("Where the log begins")
    assert "-1 where it has none" in told["{orders-0@-1}"]


@pytest.mark.parametrize(
    ("timer", "says"),
    [
        (membership.session_timer("g", "m"), "counts as gone"),
        (membership.join_timer("sync/g"), "left out of the new generation"),
        (membership.sync_timer("join/g"), "has not asked for its part"),
        (f"{PAUSE}orders-0", "looks for its leader"),
    ],
)
def test_a_timer_says_why(timer: str, says: str) -> None:
    fact = Fact(1, 1, "node", "⏲", Text("blah"), kind=FactKind.TIMER, body=timer)
    assert says in why.explain_fact(fact, lambda name: NodeKind.GROUP).en


# ---- Kafka's words in its picture: each has a sentence in both languages, and stands in it

OPTIONS = {"groups": "1", "readers": "reader", "replicas": "2", "partitions": "1"}
ELSEWHERE = {"marker", ".txnindex: aborted transactions"}  # said in facts; empty at first


def test_every_word_stands_in_the_picture_as_it_is_written_there() -> None:
    names: set[str] = set()
    for options in (OPTIONS, {**OPTIONS, "replicas": "1"}):
        snapshot = Run(KafkaSystem.from_options(options)).snapshots[0]
        names |= {lane.title.en for lane in snapshot.lanes}
        names |= {lane.subtitle.en for lane in snapshot.lanes}
        names |= {table.name.en for table in snapshot.tables}
        names |= {frontier.name for log in snapshot.logs for frontier in log.frontiers}
        names |= {reader.name for reader in snapshot.readers}
        names |= {column for table in snapshot.tables for column in table.columns}
        names |= {state.name for graph in snapshot.graphs for state in graph.states}
    assert {name.en for name in TERMS} - names == ELSEWHERE


def test_each_message_that_has_a_sentence_is_there():
    """The table names messages by their classes; names in capitals are its own (INIT_TXN)."""
    names = {name for key in list(sys.modules) if key.startswith("mqlab.kafka") for name in
             vars(sys.modules[key])}  # fmt: skip
    listed = {
        name
        for table in ("requests", "answers")
        for name in why.SENTENCES[table]
        if not name.isupper()
    }
    assert listed and listed <= names
