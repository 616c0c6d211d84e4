"""Whose connections these are: lanes and lines of a live trace, named by the clients."""

from __future__ import annotations

from mqlab_widgets.connections import name_clients

from mqlab.kernel.snapshot import Lane, Snapshot
from mqlab.kernel.text import Text
from mqlab.kernel.trace import Fact, Trace

BROKER = Lane("coordinator", Text("coordinator"), Text("transaction log"))


def conn(number: int, title: str, up: bool = True) -> Lane:
    name = f"conn-{number}"
    return Lane(name, Text(title), Text(f"producer, {name}", f"生产者，{name}"), up)


def run(*lanes: tuple[Lane, ...]) -> Trace:
    """At each position these lanes; each fact comes from the last of them."""
    facts = [
        Fact(at, at, now[-1].name, "→", Text("begin"), peer="coordinator")
        for at, now in enumerate(lanes[1:], 1)
    ]
    return Trace("s", (), tuple(facts), tuple(Snapshot(lanes=(BROKER, *now)) for now in lanes))


def heads(trace: Trace, at: int) -> list[tuple[str, bool]]:
    return [(lane.name, lane.up) for lane in trace.snapshot(at).lanes[1:]]


def test_a_connection_that_comes_after_another_goes_on_in_its_lane() -> None:
    trace = name_clients(
        run(
            (),
            (conn(3, "reader"),),
            (conn(3, "reader", up=False),),
            (conn(3, "reader", up=False), conn(4, "reader")),
            (conn(4, "reader", up=False),),
        )
    )
    assert [heads(trace, at) for at in range(5)] == [
        [], [("reader", True)], [("reader", False)], [("reader", True)], [("reader", False)],
    ]  # fmt: skip
    assert [(f.node, f.peer) for f in trace] == [("reader", "coordinator")] * 4
    assert {lane.subtitle.en for s in trace.snapshots[1:] for lane in s.lanes[1:]} == {
        "producer, conn-4"
    }


def test_connections_of_one_client_that_are_open_at_once_have_names_of_their_own() -> None:
    """A second program with the same transactional id is not taken for the first."""
    first, second = conn(1, "income-job"), conn(2, "income-job")
    gone = conn(1, "income-job", up=False)
    trace = name_clients(run((first,), (first, second), (gone, second), (conn(3, "income-job"),)))
    assert heads(trace, 1) == [("income-job", True), ("income-job (2)", True)]
    assert heads(trace, 2) == [("income-job", False), ("income-job (2)", True)]
    assert heads(trace, 3) == [("income-job", True)]
    assert [f.node for f in trace] == ["income-job (2)", "income-job (2)", "income-job"]
    assert trace.snapshot(1).lanes[1].title == Text("income-job")


def test_a_client_that_is_called_like_a_part_of_the_broker_or_the_disk_has_another_name() -> None:
    trace = name_clients(run((), (conn(1, "coordinator"),), (conn(2, "disk"),)))
    assert [f.node for f in trace] == ["coordinator (2)", "disk (2)"]
    assert trace.snapshot(1).lanes[0] == BROKER


def test_a_client_is_called_as_it_calls_itself_at_last() -> None:
    trace = name_clients(run((), (conn(1, "rdkafka"),), (conn(1, "order-service"),)))
    assert heads(trace, 1) == heads(trace, 2) == [("order-service", True)]
