"""What a subscription has acknowledged, as its row below the strip has it."""

from mqlab.kernel import Stretch
from mqlab.registry import run_scenario

BEGIN = """system pulsar clients=app,shop
run shop: subscribe orders-0 s type={type}
run app: send orders-0 a, send orders-0 b, send orders-0 c, send orders-0 d
run shop: receive s, new-transaction t1, new-transaction t2
"""


def row(story, type="Shared"):
    """Of the one subscription, after the story: where its cursor stands, and its stretches."""
    run = run_scenario(BEGIN.format(type=type) + story)
    (progress,) = run.snapshots[-1].logs[0].progress
    return progress.at, progress.stretches


def test_what_is_acknowledged_is_filled_and_the_cursor_stops_at_the_first_gap() -> None:
    acked = "run shop: ack s orders-0@0, ack s orders-0@1, ack s orders-0@3"
    assert row(acked) == (2, (Stretch(0, 1), Stretch(3, 3)))


def test_a_pending_message_is_outlined_for_its_holder_until_that_ends() -> None:
    taken = "run shop: ack s orders-0@0 txn=t1, ack s orders-0@1 txn=t2"
    assert row(taken) == (0, (Stretch(0, 0, "T1"), Stretch(1, 1, "T2")))
    assert row(f"{taken}\nrun shop: commit t1, abort t2") == (1, (Stretch(0, 0),))


def test_a_cumulative_acknowledgement_is_one_stretch_from_the_cursor_on() -> None:
    upto = "run shop: ack s orders-0@0, ack-cumulative s orders-0@2 txn=t1"
    assert row(upto, "Failover") == (1, (Stretch(0, 0), Stretch(1, 2, "T1")))
    # it may go on, and nobody was refused then
    further = f"{upto}\nrun shop: ack-cumulative s orders-0@3 txn=t1"
    assert row(further, "Failover") == (1, (Stretch(0, 0), Stretch(1, 3, "T1")))


def test_what_nobody_has_sent_yet_is_not_drawn() -> None:
    pending = "run shop: ack s orders-0@1 orders-0@9 txn=t1"
    assert row(pending) == (0, (Stretch(1, 1, "T1"),))
    upto = "run shop: ack-cumulative s orders-0@99999999999 txn=t1"
    assert row(upto, "Failover") == (0, (Stretch(0, 3, "T1"),))


def test_who_was_refused_is_crossed_as_long_as_it_is_open() -> None:
    both = "run shop: ack s orders-0@0 txn=t1, ack s orders-0@0 txn=t2"
    assert row(both)[1] == (Stretch(0, 0, "T1", refused="T2"),)
    assert row(f"{both}\nrun shop: abort t2")[1] == (Stretch(0, 0, "T1"),)
    twice = "run shop: ack s orders-0@0 txn=t1, ack s orders-0@0 txn=t1"
    assert row(twice)[1] == (Stretch(0, 0, "T1", refused="T1"),)
    slot = "run shop: ack-cumulative s orders-0@0 txn=t1, ack-cumulative s orders-0@2 txn=t2"
    assert row(slot, "Failover")[1] == (Stretch(0, 0, "T1", refused="T2"),)


def test_all_of_it_is_on_the_disk_of_a_partition_that_is_down() -> None:
    both = "run shop: ack s orders-0@0 txn=t1, ack s orders-0@0 txn=t2, ack s orders-0@1"
    assert row(f"{both}\nkill orders-0") == row(both) != (0, ())


def test_a_plain_acknowledgement_takes_a_pending_message_away() -> None:
    assert row("run shop: ack s orders-0@0 txn=t1, ack s orders-0@0") == (1, (Stretch(0, 0),))


def test_messages_of_one_batch_may_have_several_holders() -> None:
    batch = "run app: send orders-0 x y\nrun shop: receive s\n"
    acked = "run shop: ack s orders-0@4:0 txn=t1, ack s orders-0@4:1 txn=t2"
    assert row(batch + acked)[1] == (Stretch(4, 4, "T1,T2"),)
