"""A record that cannot be written out: it is refused, and it hides nothing behind it.

What each limit is stands in the recordings `limit-*` of the real broker; here is what a client
sees of it, and what becomes of a data folder from before the limits were kept.
"""

from __future__ import annotations

import time
from pathlib import Path

from mqlab.kernel import MemoryDisk, Put
from mqlab.rocketmq.log import Writer
from mqlab.rocketmq.messages import Message, Properties
from mqlab.rocketmq.remoting import RequestCode, ResponseCode, decode_record, read_msg_id
from mqlab.serve import RunningBroker
from mqlab.serve.journal import Journal
from mqlab.serve.rocketmq import serve
from mqlab.serve.rocketmq.adapter import make_adapter
from mqlab.serve.rocketmq.front.topics import TOPICS, Topic
from tests.serve.rocketmq.raw import SUCCESS, Raw, bodies

ILLEGAL = ResponseCode.MESSAGE_ILLEGAL
LONG = "p" * 33_000


def test_a_character_of_several_bytes_counts_as_many(client: Raw, topic: str) -> None:
    client.create(topic)
    assert client.put(topic, b"half as long", colour="ü" * 16_000).code == SUCCESS
    assert client.put(topic, b"long", colour="ü" * 16_500).code == ILLEGAL
    assert client.put(topic, b"longer", colour="消" * 11_000).code == ILLEGAL
    assert bodies(client.read(topic)) == ["half as long"]


def test_no_round_goes_past_a_half_that_cannot_be_put_back_until_it_has_ended(
    topic: str, group: str
) -> None:
    """apache/rocketmq#6655. The producer stays connected, and its answer ends the blockade."""
    with serve(check_interval_ms=50, timeout_ms=1, op_batch_ms=1) as broker:
        with Raw(broker.address) as client:
            client.create(topic)
            client.beat("app", producers=(group,))
            fits = 32_767 - _size_of_half(client, topic, group)
            long = client.half(topic, b"long", group, "k1", colour="p" * fits)
            assert long.code == SUCCESS
            client.half(topic, b"small", group, "k2")
            time.sleep(0.5)
            client.create("another")  # whatever was asked before this is heard by then
            assert asked(client) <= {b"x"}
            client.end(long, group, 8)
            while b"small" not in asked(client):
                client.hear()
            assert b"long" not in asked(client)
            assert bodies(client.read(topic)) == ["x", "long"]


def asked(client: Raw) -> set[bytes]:
    """About which messages the broker has asked so far."""
    return {decode_record(check.body)[0].body for check in client.checks}


def _size_of_half(client: Raw, topic: str, group: str) -> int:
    """What the broker adds to a half with a key of two characters and an empty colour. The probe
    ends at once."""
    half = client.half(topic, b"x", group, "k0", colour="p")
    client.end(half, group, 8)
    _, offset = read_msg_id(half.fields["msgId"])
    answer = client.ask(RequestCode.VIEW_MESSAGE_BY_ID, offset=offset)
    properties = decode_record(answer.body)[0].properties
    return sum(len(name) + len(value) + 2 for name, value in properties.items()) - 1


def write_old_folder(folder: Path) -> None:
    """As a server wrote it that did not know the limits: in each place where a message may lie a
    record that is too long, before a small one."""
    at_ms = int(time.time() * 1_000) - 60_000
    writer = Writer(MemoryDisk(), at_ms)
    own = {"REAL_TOPIC": "old", "REAL_QID": "0", "PGROUP": "g"}
    places = {
        ("old", 0): {},
        ("SCHEDULE_TOPIC_XXXX", 0): {**own, "DELAY": "1"},
        ("RMQ_SYS_TRANS_HALF_TOPIC", 0): {**own, "TRAN_MSG": "true"},
        ("%RETRY%readers", 0): {},
    }
    for (name, queue), properties in places.items():
        for words in ("long", "small"):
            more = {"colour": LONG} if words == "long" else {}
            given = Properties({**properties, **more, "UNIQ_KEY": words}.items())
            writer.put(Message(name, queue, words.encode(), given, born_ms=at_ms))
    journal = Journal(folder, make_adapter())
    assert not [*journal.replay()]
    for name in ("old", "%RETRY%readers"):
        journal.note(Put(TOPICS, name, Topic(name, 1, 1)))
    for effect in writer.effects:
        journal.note(effect)
    journal.write()
    journal.close()


def test_an_old_data_folder_with_unreadable_records_is_read_past_them(tmp_path: Path) -> None:
    write_old_folder(tmp_path / "data")
    with serve(data_dir=tmp_path / "data", check_interval_ms=100, timeout_ms=1) as broker:
        read_past_all(broker)
        broker.kill()
        broker.restart()
        read_past_all(broker)


def read_past_all(broker: RunningBroker) -> None:
    with Raw(broker.address) as client:
        for place in ("old", "%RETRY%readers", "RMQ_SYS_TRANS_HALF_TOPIC"):
            got = client.pull(place, 0)
            assert got.code == SUCCESS and b"small" in got.body and LONG.encode() not in got.body
        client.beat("app", producers=("g",))
        (check, *_) = client.wait_for_checks(1)
        assert decode_record(check.body)[0].body == b"small", "the long one is passed over"
        query = {"topic": "old", "maxNum": 9, "beginTimestamp": 0, "endTimestamp": 1 << 62}
        for key, code in (("long", ResponseCode.QUERY_NOT_FOUND), ("small", SUCCESS)):
            assert client.ask(RequestCode.QUERY_MESSAGE, key=key, **query).code == code
        seen = client.ask(RequestCode.VIEW_MESSAGE_BY_ID, offset=0)
        assert seen.code == ResponseCode.SYSTEM_ERROR
        came = read_when(client, "old", 2)
        assert len(came) > 1 and set(came) == {"small"}, "the delayed one too; a kill repeats it"


def read_when(client: Raw, topic: str, count: int) -> list[str]:
    """What a queue holds, as soon as it is so many."""
    deadline = time.monotonic() + 20
    while len(client.read(topic)) < count and time.monotonic() < deadline:
        time.sleep(0.1)
    return bodies(client.read(topic))


def test_an_empty_key_finds_nothing(client: Raw, topic: str) -> None:
    client.create(topic)
    client.put(topic, b"x", UNIQ_KEY="k1")
    client.put(topic, b"y", KEYS=" k2  ", UNIQ_KEY="k3")
    query = {"topic": topic, "maxNum": 9, "beginTimestamp": 0, "endTimestamp": 1 << 62}
    codes = [client.ask(RequestCode.QUERY_MESSAGE, key=k, **query).code for k in ("", "k1", "k2")]
    assert codes == [ResponseCode.QUERY_NOT_FOUND, SUCCESS, SUCCESS]
