"""Tables and the state graph: whole in a lesson, cut short for a server."""

from __future__ import annotations

from functools import partial

from mqlab.kafka import KafkaConfig
from mqlab.kafka.coordinator import Entry
from mqlab.kafka.group import GroupCoordinator
from mqlab.kafka.group.commits import Placed
from mqlab.kafka.log.partition import Partition
from mqlab.kafka.messages import Position
from mqlab.kafka.picture.snapshot import draw_graph, draw_members, draw_positions, draw_states
from mqlab.kafka.picture.view import Txn, add_record
from mqlab.kafka.states import TxnState as S
from mqlab.kernel import Map, replace
from mqlab.serve.trace.teller import cut


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
