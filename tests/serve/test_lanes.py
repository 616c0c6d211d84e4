"""Whose lane a connection is drawn in: one for each client, whatever connections it has."""

from __future__ import annotations

from mqlab.kernel import Lane, Text, Words
from mqlab.serve.trace.teller import CLIENTS, SILENT, Lanes

WHAT = Words("producer", "生产者")


def make() -> Lanes:
    return Lanes((2,), lambda name: 1, lambda kind, name: Lane(name.upper(), Text(name)))


def ask(lanes: Lanes, conn: str, title: str, *asked: str, step: int = 0) -> str:
    """A client asks for something on this connection; the lane that it is drawn in."""
    lanes.note_client(conn, title, WHAT)
    for what in asked:
        assert lanes.admit(conn, step, what)
    return lanes.find(conn)


def test_two_connections_that_share_a_clients_work_have_one_lane() -> None:
    lanes = make()
    assert ask(lanes, "conn-1", "orders", "InitProducerId", "EndTxn") == "orders"
    assert ask(lanes, "conn-2", "orders", "Produce") == "orders"
    assert [lane.title.en for lane in lanes.draw()] == ["orders"]


def test_two_that_ask_for_the_same_are_two_programs_of_one_name() -> None:
    """A zombie and its successor are not drawn as one."""
    lanes = make()
    ask(lanes, "conn-1", "orders", "InitProducerId")
    ask(lanes, "conn-2", "orders", "Produce")
    assert ask(lanes, "conn-3", "orders", "InitProducerId") == "orders (2)"
    assert ask(lanes, "conn-4", "orders", "Produce") == "orders (2)"
    assert ask(lanes, "conn-2", "orders", "Produce") == "orders", "a lane is kept"


def test_a_client_that_comes_back_goes_on_in_its_lane() -> None:
    lanes = make()
    ask(lanes, "conn-1", "orders", "Produce")
    assert lanes.end_client("conn-1") == ("orders", False)
    assert [lane.subtitle.en for lane in lanes.draw()] == ["producer, has left"]
    assert [lane.up for lane in lanes.draw()] == [True], "a broker cannot tell an end from a crash"
    lanes.forget_clients()
    assert ask(lanes, "conn-2", "orders", "Produce") == "orders"
    assert [lane.subtitle.en for lane in lanes.draw()] == ["producer"]


def test_a_connection_that_ends_beside_another_of_its_client_is_no_news() -> None:
    lanes = make()
    ask(lanes, "conn-1", "orders", "InitProducerId")
    ask(lanes, "conn-2", "orders", "Produce")
    assert lanes.end_client("conn-1") == ("orders", True)
    assert lanes.end_client("conn-9") == ("", False)


def test_no_client_is_called_like_a_part_of_the_broker_or_the_disk() -> None:
    lanes = make()
    lanes.admit("t-0", 0)
    assert ask(lanes, "conn-1", "T-0", "Produce") == "T-0 (2)"
    assert ask(lanes, "conn-2", "disk", "Produce") == "disk (2)"
    assert ask(lanes, "conn-3", "T-1", "Produce") == "T-1"
    lanes.admit("t-1", 0)
    assert ask(lanes, "conn-3", "T-1", "Produce") == "T-1 (2)"
    assert len({lane.name for lane in lanes.draw()}) == 5


def test_a_place_is_taken_only_from_a_client_that_has_left_or_is_silent() -> None:
    lanes = make()
    for i in range(CLIENTS):
        ask(lanes, f"conn-{i}", f"client-{i}", "Produce", step=i)
    lanes.note_client("conn-9", "late", WHAT)
    assert not lanes.admit("conn-9", 10, "Produce")
    lanes.end_client("conn-2")
    assert lanes.admit("conn-9", 10, "Produce")
    assert "client-2" not in lanes.used
    lanes.note_client("conn-10", "later", WHAT)
    assert lanes.admit("conn-10", SILENT, "Produce") and "client-0" not in lanes.used
