"""Transactions over the wire: halves, their ends, and the broker's question on the producer's own
connection."""

from __future__ import annotations

import pytest

from mqlab.rocketmq.remoting import RequestCode, ResponseCode, decode_record
from mqlab.serve import BrokerError, RunningBroker
from mqlab.serve.rocketmq import serve
from mqlab.serve.rocketmq.options import OF_CLIENTS
from tests.serve.rocketmq.raw import SUCCESS, Raw, bodies

COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
HALF_TOPIC, DISCARD_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"


def test_a_half_is_not_seen_before_its_commit(client: Raw, topic: str, group: str) -> None:
    half = client.half(topic, b"paid", group, "k1")
    assert half.code == SUCCESS and half.fields["transactionId"] == "k1"
    assert client.read(topic) == []
    ended = client.end(half, group, COMMIT)
    assert ended is not None and ended.code == SUCCESS
    (message,) = client.read(topic)
    assert message.body == b"paid" and message.sys_flag == COMMIT
    assert message.properties["TRAN_MSG"] == "true" and message.properties["UNIQ_KEY"] == "k1"
    assert "REAL_TOPIC" not in message.properties


def test_without_the_half_topic_a_half_is_seen_before_its_end() -> None:
    with serve(off=("half_topic",)) as open_to_all, Raw(open_to_all.address) as client:
        assert client.half("orders", b"paid", "shop", "k1").code == SUCCESS
        assert bodies(client.read("orders")) == ["paid"]


@pytest.mark.parametrize("name", OF_CLIENTS)
def test_a_safeguard_of_clients_cannot_be_switched_off_here(name: str) -> None:
    told = f"safeguard '{name}' acts in the client.*the server has: half_topic, .*end_validation$"
    with pytest.raises(BrokerError, match=told):
        serve(off=(name,))


def test_a_rollback_delivers_nothing(client: Raw, topic: str, group: str) -> None:
    ended = client.end(client.half(topic, b"no", group, "k"), group, ROLLBACK)
    assert ended is not None and ended.code == SUCCESS
    client.put(topic, b"behind it")
    assert bodies(client.read(topic)) == ["behind it"]


def test_who_says_nothing_is_asked(client: Raw, topic: str, group: str) -> None:
    client.beat("c1", (group,))
    client.half(topic, b"paid", group, "k2")
    (check,) = client.wait_for_checks(1)
    asked, _ = decode_record(check.body)
    assert (asked.topic, asked.queue_id, asked.body) == (topic, 0, b"paid")
    assert asked.properties["TRANSACTION_CHECK_TIMES"] == "1"
    assert check.is_oneway and check.fields["transactionId"] == "k2"
    client.answer_check(check, group, COMMIT)
    assert bodies(client.read(topic)) == ["paid"]


def test_any_producer_of_the_group_is_asked(broker: RunningBroker, topic: str, group: str) -> None:
    with Raw(broker.address) as first:
        first.beat("c1", (group,))
        first.half(topic, b"paid", group, "k3")
    with Raw(broker.address) as second:
        second.beat("c2", (group,))
        (check,) = second.wait_for_checks(1)
        second.answer_check(check, group, COMMIT)
        assert bodies(second.read(topic)) == ["paid"]


def test_a_timer_comes_when_whoever_started_the_broker_says_so() -> None:
    """No time passes: a round is made because it is asked for, and is over when that is said."""
    day = 86_400_000
    with serve(check_interval_ms=day, timeout_ms=0, op_batch_ms=day, check_max=3) as broker:
        assert not broker.fire("broker", "check"), "there is nothing to ask about"
        with Raw(broker.address) as client:
            client.beat("c1", ("shop",))
            client.half("orders", b"paid", "shop", "k9")
            assert broker.fire("broker", "check")
            (check,) = client.wait_for_checks(1)
            assert decode_record(check.body)[0].body == b"paid"
            assert not broker.fire("nobody", "check")
        broker.kill()
        with pytest.raises(BrokerError, match="no timers"):
            broker.fire("broker", "check")


def test_a_limit_of_no_checks_lets_one_happen() -> None:
    """As 4.9.7 and 5.5.0 do (recording check-limit-of-one)."""
    with serve(check_interval_ms=50, timeout_ms=1, op_batch_ms=1, check_max=0) as broker:
        with Raw(broker.address) as client:
            client.beat("c1", ("shop",))
            client.half("orders", b"paid", "shop", "k9")
            client.wait_for_checks(1)
            while not client.read(DISCARD_TOPIC):
                pass
            assert len(client.checks) == 1


def test_who_has_left_the_group_is_not_asked(client: Raw, topic: str, group: str) -> None:
    client.beat("c1", (group, f"{group}-other"))
    client.ask(RequestCode.UNREGISTER_CLIENT, clientID="c1", producerGroup=group)
    client.half(topic, b"x", group, "k4")
    client.half(topic, b"y", f"{group}-other", "k5")
    (check,) = client.wait_for_checks(1)
    assert check.fields["transactionId"] == "k5"


def test_after_so_many_checks_it_is_parked(client: Raw, topic: str, group: str) -> None:
    """The limit of this broker is 3; one that resumes it later is asked again."""
    client.beat("c1", (group,))
    client.half(topic, b"lost", group, "k6")
    checks = client.wait_for_checks(3)
    times = [decode_record(c.body)[0].properties["TRANSACTION_CHECK_TIMES"] for c in checks]
    assert times == ["1", "2", "3"]
    parked = None
    while parked is None:
        mine = [m for m in client.read(DISCARD_TOPIC) if m.properties["UNIQ_KEY"] == "k6"]
        parked = mine[0] if mine else None
    resumed = client.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, msgId=parked.msg_id)
    assert resumed.code == SUCCESS
    fourth = client.wait_for_checks(4)[3]
    client.answer_check(fourth, group, COMMIT)
    assert bodies(client.read(topic)) == ["lost"]


@pytest.mark.parametrize(
    ("wrong", "remark"),
    [
        ({"producerGroup": "stranger"}, "The producer group wrong"),
        ({"tranStateTableOffset": 99999}, "The transaction state table offset wrong"),
        ({"commitLogOffset": 1 << 40}, "Find prepared transaction message failed"),
        ({"commitOrRollback": 4}, "commitOrRollback field wrong"),
        ({"commitOrRollback": "yes"}, 'For input string: "yes"'),
    ],
)
def test_an_end_that_names_something_else_is_refused(
    client: Raw, topic: str, group: str, wrong: dict[str, object], remark: str
) -> None:
    half = client.half(topic, b"x", group, "k7")
    code = wrong.get("commitOrRollback", COMMIT)
    more = {name: value for name, value in wrong.items() if name != "commitOrRollback"}
    said = client.end(half, group, code, **more)  # type: ignore[arg-type]
    assert said is not None
    assert (said.code, said.remark) == (ResponseCode.SYSTEM_ERROR, remark)
    assert client.read(topic) == []


def test_clients_may_not_write_to_the_half_topic(client: Raw) -> None:
    said = client.put(HALF_TOPIC, b"x")
    assert said.code == ResponseCode.NO_PERMISSION and HALF_TOPIC in said.remark


def test_in_4_9_an_op_record_is_there_at_once(topic: str, group: str) -> None:
    with serve(release="4.9") as older, Raw(older.address) as client:
        client.end(client.half(topic, b"a", group, "k"), group, COMMIT)
        (op,) = client.read("RMQ_SYS_TRANS_OP_HALF_TOPIC")
        assert (op.body, op.properties["TAGS"]) == (b"0", "d")
        (message,) = client.read(topic)
        assert message.properties["REAL_TOPIC"] == topic


def test_a_message_that_is_there_is_taken_back_and_one_that_is_nowhere_is_not(
    client: Raw, topic: str
) -> None:
    """Real brokers accept a plain message, too."""
    sent = client.put(topic, b"plain", PGROUP="g")
    said = client.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, msgId=sent.fields["msgId"])
    assert said.code == ResponseCode.SUCCESS
    nowhere = "7F0000010000000000000FFFFFFFFFFF"
    missing = client.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, msgId=nowhere)
    assert missing.code == ResponseCode.SYSTEM_ERROR
