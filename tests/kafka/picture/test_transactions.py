"""Which transaction is which: what records say, two rules for one name, whose a message is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pytest

from mqlab.kafka.coordinator import Entry
from mqlab.kafka.log import Batch
from mqlab.kafka.picture.view import (
    Txn,
    add_record,
    attribute_batches,
    find_current,
    find_last,
    name_by_beginning,
    name_by_turn,
)
from mqlab.kafka.states import TxnState as S
from mqlab.serve.kafka.trace import IDS, TXNS, Model, StateRecord

COMMITTED = (S.ONGOING, S.PREPARE_COMMIT, S.COMPLETE_COMMIT)


def follow(*records: tuple[S, int], txn_id: str = "a") -> list[Txn]:
    """The transactions of an id after these records of (state, epoch)."""
    mine: list[Txn] = []
    for state, epoch in records:
        entry = Entry(txn_id, 7, epoch, state=state, partitions=("t-0",))
        add_record(mine, entry, partial(name_by_turn, (txn_id,), txn_id, len(mine)))
    return mine


def taught(records: Iterable[tuple[str, S]]) -> Model:
    """A server's notes of these records of (transactional id, state)."""
    model = Model("coordinator")
    for i, (txn_id, state) in enumerate(records):
        entry = Entry(txn_id, int(txn_id, 36), 0, state=state, partitions=("t-0",))
        model.note_append("__transaction_state-0", StateRecord(i, entry))
    return model


@pytest.mark.parametrize("ids", [("a",), ("a", "b")])
def test_ids_that_take_turns_have_the_same_names_by_either_rule(ids: tuple[str, ...]) -> None:
    turns = [(txn_id, nth) for nth in range(5) for txn_id in ids]
    by_turn = [name_by_turn(ids, txn_id, nth) for txn_id, nth in turns]
    assert by_turn == [name_by_beginning(i) for i in range(len(turns))]
    model = taught((txn_id, state) for txn_id, _ in turns for state in COMMITTED)
    for txn_id in ids:
        newest = [name for (i, _), name in zip(turns, by_turn, strict=True) if i == txn_id][-TXNS:]
        assert [t.name for t in model.list_txns(txn_id)] == newest


def test_ids_that_take_no_turns_are_named_by_what_is_known_of_them() -> None:
    """A lesson leaves numbers out for the id that does nothing, a server cannot."""
    ids = ("a", "b")
    assert [name_by_turn(ids, "a", nth) for nth in range(3)] == ["T1", "T3", "T5"]
    model = taught(("a", state) for _ in range(3) for state in COMMITTED)
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
    assert follow(*records) == []
    assert not taught(("a", state) for state, _ in records).list_latest()


def test_a_tombstone_begins_nothing() -> None:
    (only,) = follow(*((s, 0) for s in COMMITTED), (S.DEAD, 0))
    assert (only.name, only.path) == ("T1", COMMITTED)
    model = taught(("a", state) for state in (*COMMITTED, S.DEAD))
    assert model.list_txns("a")[-1].path == COMMITTED and model.name_next("a") == "T2"


def test_a_record_that_adds_a_partition_is_no_new_state() -> None:
    mine: list[Txn] = []
    for partitions in (("t-0",), ("t-0", "t-1")):
        add_record(mine, Entry("a", 7, 0, S.ONGOING, partitions), lambda: "T1")
    assert (mine[0].path, mine[0].partitions) == ((S.ONGOING,), {"t-0", "t-1"})


LEGACY = [(state, 0) for state in COMMITTED]  # its epoch stays
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
    model = taught((txn_id, state) for txn_id in ids for state in COMMITTED)
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
