"""The consumer: delivered at least once, applied once; retries, delays, the dead letter queue."""

from __future__ import annotations

import pytest

from mqlab.kernel import FactKind, MemoryDisk, replace
from mqlab.rocketmq.broker.timer import build_retry
from mqlab.rocketmq.group import ConsumerSendMsgBack
from mqlab.rocketmq.messages import DELAY, ORIGIN_MESSAGE_ID, RETRY_TOPIC, TRAN_MSG, WAIT
from tests.rocketmq.driven import drive, queue, results, rows
from tests.rocketmq.queues import in_queue, make_config, make_message, put

SYSTEM = "system rocketmq consumers=shop"
SEND = "run app: send orders-0 o1, send orders-0 o2"


@pytest.mark.parametrize(("persisted", "again"), [("fire broker persist offsets\n", False),
                                                  ("", True)])  # fmt: skip
def test_a_broker_killed_before_it_wrote_the_offsets_delivers_again(persisted, again):
    run = drive(f"""{SYSTEM}
run app: send orders-0 o1
run shop: consume
{persisted}kill broker
restart broker
kill shop
restart shop""")
    assert results(run, "shop") == ["ok o1 known" if again else "ok nothing"]


# -- what cannot be processed ------------------------------------------------------------


def test_a_retry_says_where_it_came_from():
    disk = put(MemoryDisk(), replace(make_message("o1"), sys_flag=8))
    (stored,) = in_queue(disk, "orders-0")
    copy = build_retry(ConsumerSendMsgBack("shop", 0), stored, make_config())
    assert (copy.topic, copy.queue_id, copy.reconsume_times) == ("%RETRY%shop", 0, 1)
    assert (copy.get(RETRY_TOPIC), copy.get(ORIGIN_MESSAGE_ID)) == ("orders", "broker@0")
    assert copy.get(WAIT) == "false"
    named = build_retry(ConsumerSendMsgBack("shop", 0, msg_id="7F01"), stored, make_config())
    assert named.get(ORIGIN_MESSAGE_ID) == "7F01"
    later = build_retry(
        ConsumerSendMsgBack("shop", 9), replace(stored, message=named), make_config()
    )
    assert later.get(ORIGIN_MESSAGE_ID) == "7F01", "the first one's, however often it comes back"
    assert (copy.get(DELAY), copy.get(TRAN_MSG)) == ("3", "true")


@pytest.mark.parametrize(
    ("delay", "most", "topic", "level"),
    [(0, None, "%RETRY%shop", "3"), (5, None, "%RETRY%shop", "5"), (-1, None, "%DLQ%shop", "0"),
     (0, 0, "%DLQ%shop", "0"), (0, -1, "%DLQ%shop", "0")],
)  # fmt: skip
def test_the_level_is_asked_for_or_chosen(delay, most, topic, level):
    committed = replace(make_message("o1"), sys_flag=8)
    (stored,) = in_queue(put(MemoryDisk(), committed), "orders-0")
    copy = build_retry(ConsumerSendMsgBack("shop", 0, delay, most), stored, make_config())
    assert (copy.topic, copy.get(DELAY), copy.reconsume_times) == (topic, level, 1)


def test_an_orderly_listener_stops_its_queue():
    run = drive(f"{SYSTEM}\n{SEND}\nrun shop: consume suspend o1, consume")
    assert results(run, "shop") == ["ok o1 suspended", "ok o1, o2"]


# -- sharing -----------------------------------------------------------------------------


def test_what_was_asked_on_a_connection_that_broke_is_asked_again():
    run = drive(f"""{SYSTEM}
run app: send orders-0 o1
lose shop→broker ⇒ConsumerSendMsgBack#1
run shop: consume later
at 10000
fire broker delay level 3""")
    assert results(run, "shop") == ["ok o1 sent back"]
    assert queue(run, "%RETRY%shop-0") == ["o1", "o1"], "taken back twice"


# -- work that takes longer than consumeTimeout -------------------------------------------


def test_an_offset_waits_for_the_listener_and_not_for_those_behind():
    run = drive(f"{SYSTEM}\n{SEND}\nrun shop: consume working o1\nkill shop\nrestart shop")
    assert results(run, "shop") == ["ok o1 worked on, o2 known"], "o1 holds the offset"
    run = drive(f"{SYSTEM}\n{SEND}\nrun shop: consume working o1, done o1, done o1, consume")
    assert results(run, "shop")[1:] == ["ok o1", "failed nobody works on o1", "ok nothing"]
    assert rows(run, "shop", "applied") == {"o1": 1, "o2": 1}


@pytest.mark.parametrize(("off", "times"), [("", 1), (" off=idempotent_consumer", 2)])
def test_what_takes_too_long_is_sent_back_and_finished_twice(off, times):
    run = drive(f"""{SYSTEM}{off}
run app: send orders-0 o1
run shop: consume working
fire shop clean expired
at 10000
fire broker delay level 3
run shop: consume, done o1""")
    assert results(run, "shop")[1:] == ["ok o1", "ok o1 known" if times == 1 else "ok o1"]
    assert rows(run, "shop", "applied") == {"o1": times}
    offsets = [str(f.text) for f in run.facts if "UpdateConsumerOffset" in f.text.en]
    assert offsets[0] == "UpdateConsumerOffset shop orders-0@1", "only once it was sent back"


def test_each_message_that_takes_too_long_is_sent_back_once():
    run = drive(f"""{SYSTEM}
run app: send orders-0 o1
run shop: consume working
fire shop clean expired
run app: send orders-0 o2
run shop: consume working
fire shop clean expired""")
    back = [str(f.text) for f in run.facts if "MsgBack" in f.text.en and f.kind is FactKind.SEND]
    assert back == ["ConsumerSendMsgBack o1", "ConsumerSendMsgBack o2"]


def test_what_takes_too_long_is_sent_back_after_the_turn():
    run = drive(f"""{SYSTEM}
run app: send orders-0 o1
run shop: consume working
run app: send orders-0 o2
hold shop→broker PullMessage#4
run shop: consume
fire shop clean expired
release shop→broker PullMessage#4
fire shop clean expired""")
    assert results(run, "shop") == ["ok o1 worked on", "ok o2"], "the turn is not cut short"
    assert sum("MsgBack" in f.text.en for f in run.facts if f.kind is FactKind.SEND) == 1


SHARED = "system rocketmq topic=orders,payments queues=2 consumers=a:shop,b:shop subscribe="


def test_a_queue_is_given_to_a_member_that_does_not_read_its_topic():
    """As the recordings java-subscriptions."""
    run = drive(f"""{SHARED}a:orders,b:payments
run a: consume
run b: consume
run app: send orders-0 o0, send orders-1 o1, send payments-0 p0, send payments-1 p1
run a: consume
run b: consume
kill b
run a: consume""")
    told = [line.split("☞")[1].strip() for line in run.narrate().splitlines() if "☞" in line]
    got = [
        one for one in told if one.startswith("consume: ok o") or one.startswith("consume: ok p")
    ]
    assert got == ["consume: ok o0", "consume: ok p1", "consume: ok o1"]
