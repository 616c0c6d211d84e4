"""The producer: half, local transaction, end; and what it says when it is asked."""

from __future__ import annotations

import pytest

from mqlab.kernel import Call, Caller, ConnectionLost, MemoryDisk, Request, Response, Return, Send
from mqlab.rocketmq.broker import Broker
from mqlab.rocketmq.messages import (
    HaReport,
    Heartbeat,
    SendMessage,
    SendMessageResponse,
)
from mqlab.rocketmq.producer import Producer, ProducerConfig, SendInTransaction, read_property
from mqlab.rocketmq.remoting.codes import ResponseCode
from mqlab.rocketmq.states import TransactionType
from tests.rocketmq.driven import drive, results, rows
from tests.rocketmq.queues import HALF, in_queue, make_config, make_message, put

SEND = SendInTransaction("orders-0", "o1")
BASE = "system rocketmq check_interval_ms=7000"


def sends(effects):
    return [e.body for e in effects if isinstance(e, Send)]


def begun(**changes):
    """A producer that has sent its half."""
    config = ProducerConfig(cluster=make_config(**changes))
    producer, _ = Producer.recover(config, MemoryDisk(), 0)
    return producer.step(Call(SEND), MemoryDisk())


def test_the_half_is_marked_and_says_whose_it_is():
    _, effects = begun()
    heartbeat, half = sends(effects)
    assert heartbeat == Heartbeat(("order-service",))
    assert isinstance(half, SendMessage)
    message = half.message
    assert message.sys_flag == TransactionType.PREPARED_TYPE
    assert (message.get("TRAN_MSG"), message.get("PGROUP")) == ("true", "order-service")
    assert message.get("UNIQ_KEY") == "app.1.1"


def test_a_refused_half_is_an_exception_and_nothing_is_ended():
    producer, _ = begun()
    said = SendMessageResponse(ResponseCode.NO_PERMISSION, "read only")
    producer, effects = producer.step(Response("broker", 0, said), MemoryDisk())
    (returned,) = [e.value for e in effects if isinstance(e, Return)]
    assert returned.result == "failed MQClientException: NO_PERMISSION read only"
    assert sends(effects) == []


@pytest.mark.parametrize(
    ("execute", "state", "end"),
    [
        ("COMMIT_MESSAGE", "COMMIT_MESSAGE", "COMMIT"),
        ("ROLLBACK_MESSAGE", "ROLLBACK_MESSAGE", "ROLLBACK"),
        ("UNKNOW", "UNKNOW", "NOT_TYPE"),
        ("null", "UNKNOW", "NOT_TYPE"),
        ("throw", "UNKNOW", "NOT_TYPE"),
    ],
)
def test_what_the_listener_returns_is_what_the_broker_is_told(execute, state, end):
    run = drive(f"{BASE}\nrun app: listener {execute} UNKNOW, send-in-transaction orders-0 o1")
    assert results(run)[-1] == f"ok SEND_OK {state}"
    assert f"EndTransaction {end} o1" in run.narrate()


def test_checks_are_answered_one_after_the_other():
    """One thread: while the first waits for the database, the second has not begun."""

    def execute(order, db, memory):
        raise TimeoutError

    lines = f"""{BASE}
run app: send-in-transaction orders-0 o1, send-in-transaction orders-0 o2
hold app→db ⇒Statement#1
at 7000
fire broker check"""
    run = drive(lines, execute=execute)
    assert [(t.order, t.journal) for t in run.world.role("app").checks] == [("o1", ()), ("o2", ())]
    assert run.narrate().count("app    → db") == 1
    run = drive(f"{lines}\nrelease app→db ⇒Statement#1", execute=execute)
    assert run.world.role("app").checks == () and run.narrate().count("app    → db") == 2


def test_a_send_is_given_up_after_three_tries():
    lost = "".join(f"lose app→broker SendMessage#{n}\n" for n in (1, 2, 3))
    run = drive(f"{BASE}\n{lost}run app: send-in-transaction orders-0 o1")
    assert results(run) == ["unknown MQClientException: no answer"]
    assert rows(run) == {}, "the local transaction was never run"


NOBODY = "failed MQClientException: Send [3] times, still failed: RemotingConnectException"


def test_what_is_sent_to_a_dead_broker_fails():
    """As the recordings java-master-dead: the end of o1 is lost, o2 and o3 are stored nowhere."""
    run = drive(f"""{BASE}
hold app→db Statement
run app: send-in-transaction orders-0 o1
kill broker
release app→db Statement
run app: send orders-0 o2, send-in-transaction orders-0 o3, end COMMIT_MESSAGE o1
restart broker""")
    assert results(run) == [
        "ok SEND_OK COMMIT_MESSAGE", NOBODY, NOBODY, "failed RemotingConnectException",
    ]  # fmt: skip
    assert rows(run) == {"o1": "paid"}
    broker = run.world.disk("broker")
    assert len(in_queue(broker, HALF)) == 1 and not in_queue(broker, "orders-0")
    assert run.narrate().count("connection refused") == 8


def test_a_try_that_was_not_refused_may_be_stored():
    run = drive(f"""{BASE}
kill broker when=⇒SendMessage after=1
run app: send orders-0 o1""")
    assert results(run) == ["unknown MQClientException: no answer"]
    run = drive(f"""{BASE}
late app→broker SendMessage
run app: send orders-0 o1
kill broker
run app: send orders-0 o2
restart broker
release app→broker SendMessage""")
    assert results(run) == ["ok SEND_OK @0", NOBODY], "a late request is no refused one"


def test_nobody_refuses_what_a_running_broker_gets():
    with pytest.raises(ValueError, match="broker is running"):
        drive(f"{BASE}\nrun app: send orders-0 o1\ndo refuse app broker")


# -- being findable ----------------------------------------------------------------------


@pytest.mark.parametrize(("release", "when"), [("5.5", "its next send"), ("4.9", "its heartbeat")])
def test_after_a_broken_connection_it_registers_again(release, when):
    lines = [f"{BASE} release={release}", "run app: send orders-0 a", "kill broker",
             "restart broker", "run app: send orders-0 b"]  # fmt: skip
    run = drive("\n".join(lines))
    known = "order-service" in run.world.role("broker").producers.groups
    assert known is (when == "its next send")
    run = drive("\n".join([*lines, "fire app heartbeat"]))
    assert "order-service" in run.world.role("broker").producers.groups


# -- a process that starts over ----------------------------------------------------------


def test_message_ids_differ_from_life_to_life():
    run = drive(f"""{BASE}
run app: send orders-0 a
kill app
restart app
run app: send orders-0 b""")
    keys = [s.message.get("UNIQ_KEY") for s in in_queue(run.world.disk("broker"), "orders-0")]
    assert keys == ["app.1.1", "app.2.1"]


# -- by hand -----------------------------------------------------------------------------


def test_an_end_by_hand_needs_a_half_from_here():
    run = drive(f"{BASE}\nrun app: end COMMIT_MESSAGE o9")
    assert results(run) == [
        "failed no half of o9 was sent from here: give queue_offset= commit_log_offset="
    ]


# -- one connection, both ways -----------------------------------------------------------


def test_the_news_of_a_close_is_about_the_connection_that_closed():
    """Whether it is heard before or after what comes by the next one."""
    broker = Broker(make_config())

    def beat(broker, conn):
        return broker.step(Request(Caller("app", conn), Heartbeat(("g",)), 0), MemoryDisk())[0]

    def close(broker):
        return broker.step(ConnectionLost("app", 0), MemoryDisk())[0]

    def known(broker):
        return "g" in broker.producers.groups

    assert known(beat(close(beat(broker, 3)), 4))
    assert known(close(beat(beat(broker, 3), 4))), "the news is about 3"
    assert not known(close(close(beat(beat(broker, 3), 4))))
    assert not known(beat(close(beat(broker, 3)), 3)), "a heartbeat by what has closed"
    assert known(close(beat(beat(beat(broker, 3), 4), 3))), "one that comes late"


def test_a_slave_whose_connection_broke_copies_again():
    run = drive("""system rocketmq slave=on
run app: send orders-0 a
break broker slave
run app: send orders-0 b""")
    copied = [s.message.words for s in in_queue(run.world.disk("slave"), "orders-0")]
    assert copied == ["a", "b"]
    lost = drive("""system rocketmq slave=on
lose broker→slave HaTransfer#2
run app: send orders-0 a, send orders-0 b""")
    copied = [s.message.words for s in in_queue(lost.world.disk("slave"), "orders-0")]
    assert copied == ["a", "b"]


def test_a_slave_that_comes_by_another_connection_is_sent_what_it_lacks():
    """Also where it comes before the news that the other one has closed."""
    config = make_config(slave="slave")
    disk = put(MemoryDisk(), make_message("a"))

    def report(broker, conn, end):
        return broker.step(Request(Caller("slave", conn), HaReport(end), 0), disk)

    broker, _ = report(Broker(config), 0, 0)
    assert not report(broker, 0, 0)[1], "an ordinary report"
    new, effects = report(broker, 1, 0)
    assert [len(e.body.records) for e in effects] == [1]
    assert new.step(ConnectionLost("slave", 0), disk)[0].copied == 0, "the news is about 0"


# -- properties of an application's own, and ends of another's ------------------------------


@pytest.mark.parametrize(
    ("text", "read"),
    [("note:hi", ("note", "hi")), ("note:x*3", ("note", "xxx")), ("a:b:c", ("a", "b:c")),
     (r"note:a\x02KEYS\x01b", ("note", "a\x02KEYS\x01b")), ("note", None), (":x", None)],
)  # fmt: skip
def test_a_property_is_a_name_and_a_value(text, read):
    assert read_property(text) == read


def test_a_control_character_ends_a_property():
    run = drive(r"""system rocketmq
run app: send orders-0 o1 property=note:a\x02KEYS\x01zero, send orders-0 o2 property=note:a""")
    kept = [stored.message for stored in run.world.disk("broker").log("commitlog").entries]
    assert [m.get("KEYS") for m in kept] == ["zero", "o2"] and kept[0].get("note") == "a"


def test_another_process_ends_a_half_by_its_offsets():
    run = drive("""system rocketmq producers=app:order-service,twin:order-service consumers=shop
run app: listener UNKNOW UNKNOW, send-in-transaction orders-0 o1
run twin: end COMMIT_MESSAGE o1 queue_offset=0
run twin: end COMMIT_MESSAGE o1 queue_offset=0 commit_log_offset=0
run shop: consume""")
    first, second = results(run, "twin")
    assert "give queue_offset= commit_log_offset=" in first and second == "ok"
    assert results(run, "shop") == ["ok o1"]
