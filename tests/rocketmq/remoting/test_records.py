"""Messages as bytes, against the records and batches of real brokers and clients."""

from __future__ import annotations

import json
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqlab.rocketmq.remoting import (
    BatchMessage,
    MessageRecord,
    RemotingError,
    decode_batch,
    decode_json,
    decode_properties,
    decode_record,
    decode_records,
    encode_batch,
    encode_json,
    encode_properties,
    encode_record,
    make_msg_id,
    read_msg_id,
)
from tests.rocketmq.remoting.captured import Captured, find_captured


@pytest.mark.parametrize(
    "captured",
    [*find_captured("CHECK_TRANSACTION_STATE"), *find_captured("answer to LITE_PULL"),
     *find_captured("answer to PULL")],
    ids=str,
)  # fmt: skip
def test_real_records_are_read_and_those_of_5_5_0_written_byte_by_byte(captured: Captured) -> None:
    data = captured.command.body
    records = decode_records(data)
    assert all(
        record.topic == "orders" and record.store_host[0] == "127.0.0.1" for record in records
    )
    again = b"".join(map(encode_record, records))
    assert decode_records(again) == records
    if captured.version == "5.5.0":  # 4.9.7 writes properties without the last separator
        assert again == data


def test_a_check_carries_the_real_topic_and_the_copys_places() -> None:
    (check,) = find_captured("CHECK_TRANSACTION_STATE", "5.5.0", "JSON")
    fields = check.command.fields
    record, end = decode_record(check.command.body)
    assert end == len(check.command.body)
    assert (record.topic, record.queue_id, record.body.decode()) == ("orders", 3, "订单一")
    assert record.queue_offset == int(fields["tranStateTableOffset"])
    assert record.physical_offset == int(fields["commitLogOffset"])
    assert record.msg_id == fields["offsetMsgId"]
    assert record.properties["TRANSACTION_CHECK_TIMES"] == "1"
    assert record.properties["UNIQ_KEY"] == fields["transactionId"]


def test_a_committed_message_points_at_its_half() -> None:
    (pulled,) = find_captured("answer to LITE_PULL_MESSAGE", "5.5.0", "JSON")
    (record,) = decode_records(pulled.command.body)
    assert record.sys_flag == 8 and record.prepared_offset > 0
    assert "REAL_TOPIC" not in record.properties  # 5.5.0 has removed it, 5.3.3 had not


@pytest.mark.parametrize("captured", find_captured("SEND_BATCH_MESSAGE"), ids=str)
def test_a_batch_of_a_real_client(captured: Captured) -> None:
    messages = decode_batch(captured.command.body)
    assert [m.body for m in messages] == [b"batch-0", b"batch-1", b"batch-2"]
    assert [m.properties["KEYS"] for m in messages] == ["key-0", "key-1", "key-2"]
    assert decode_batch(encode_batch(messages)) == messages
    if captured.version == "5.5.0":
        assert encode_batch(messages) == captured.command.body


# ---- whatever may come -------------------------------------------------------------------

plain = st.text(st.characters(exclude_characters="\x01\x02", codec="utf-8"), min_size=1, max_size=9)
properties = st.dictionaries(plain, plain, max_size=4)
longs = st.integers(-(2**63), 2**63 - 1)
ints = st.integers(-(2**31), 2**31 - 1)
hosts = st.tuples(st.ip_addresses().map(str), st.integers(0, 65535))
records = st.builds(
    MessageRecord,
    topic=st.sampled_from(["orders", "t" * 127, "t" * 128, "订单" * 40]),
    body=st.binary(max_size=40),
    properties=properties,
    queue_id=ints,
    queue_offset=longs,
    physical_offset=longs,
    flag=ints,
    sys_flag=st.integers(0, 2**31 - 1).map(lambda bits: bits & ~0x30),
    born_timestamp=longs,
    born_host=hosts,
    store_timestamp=longs,
    store_host=hosts,
    reconsume_times=ints,
    prepared_offset=longs,
)


@given(st.lists(records, max_size=3))
def test_records_survive_their_bytes(every: list[MessageRecord]) -> None:
    found = decode_records(b"".join(map(encode_record, every)))
    assert [(r.sys_flag & ~0x30) for r in found] == [r.sys_flag for r in every]
    assert [r.born_host for r in found] == [r.born_host for r in every]
    assert [(r.topic, r.body, r.properties, r.msg_id) for r in found] == [
        (r.topic, r.body, r.properties, r.msg_id) for r in every
    ]


@given(st.lists(st.builds(BatchMessage, st.binary(max_size=30), properties, ints), max_size=4))
def test_batches_survive_their_bytes(every: list[BatchMessage]) -> None:
    assert decode_batch(encode_batch(every)) == every


@given(st.binary(max_size=200))
def test_any_bytes_are_records_or_refused(data: bytes) -> None:
    for decode in (decode_records, decode_batch):
        try:
            assert isinstance(decode(data), list)
        except RemotingError as error:
            assert str(error)


@given(st.data())
def test_a_record_with_one_bit_changed_is_another_one_or_refused(data: st.DataObject) -> None:
    (check,) = find_captured("CHECK_TRANSACTION_STATE", "5.5.0", "JSON")
    body = check.command.body
    bit = data.draw(st.integers(0, 8 * len(body) - 1))
    changed = bytearray(body)
    changed[bit // 8] ^= 1 << bit % 8
    try:
        found, end = decode_record(bytes(changed))
        assert found != decode_record(body)[0] or end != len(body)
    except RemotingError as error:
        assert str(error)


def test_a_topic_or_properties_that_do_not_fit_are_refused() -> None:
    for record in (MessageRecord("t" * 40_000), MessageRecord("t", properties={"a": "b" * 40_000})):
        with pytest.raises(RemotingError, match="bytes"):
            encode_record(record)
    with pytest.raises(RemotingError, match="properties of"):
        encode_batch([BatchMessage(b"", {"a": "b" * 40_000})])


# ---- properties, ids, JSON ---------------------------------------------------------------


@given(properties)
def test_properties_survive_their_text(every: dict[str, str]) -> None:
    assert decode_properties(encode_properties(every)) == every


def test_properties_are_read_as_the_broker_reads_them() -> None:
    assert decode_properties("a\x01b\x02") == {"a": "b"} == decode_properties("a\x01b")
    assert decode_properties("\x02a\x01\x02\x01b\x02c\x01d\x02c\x01e\x02x") == {"c": "e"}


def test_an_id_says_where_a_message_lies() -> None:
    assert make_msg_id(("127.0.0.1", 21911), 801) == "7F000001000055970000000000000321"
    assert read_msg_id("7F000001000055970000000000000321") == (("127.0.0.1", 21911), 801)
    assert read_msg_id(make_msg_id(("::1", 10911), 7)) == (("::1", 10911), 7)
    for bad in ("", "7F", "xyz", "7F" * 17):
        with pytest.raises(RemotingError, match="no id of a message"):
            read_msg_id(bad)


def test_json_with_numbers_for_keys_is_read() -> None:
    route = b'{"brokerDatas":[{"brokerAddrs":{0:"127.0.0.1:10911",1 :"{2:3}"},"x":[1,2]}]}'
    assert decode_json(route) == {
        "brokerDatas": [{"brokerAddrs": {"0": "127.0.0.1:10911", "1": "{2:3}"}, "x": [1, 2]}]
    }


@pytest.mark.parametrize("captured", find_captured("HEART_BEAT"), ids=str)
def test_a_heartbeat_of_a_real_client(captured: Captured) -> None:
    heartbeat = decode_json(captured.command.body)
    groups = [row["groupName"] for row in heartbeat["producerDataSet"]]
    assert groups == ["CLIENT_INNER_PRODUCER", "order-service"]
    assert encode_json(heartbeat) == json.dumps(heartbeat, separators=(",", ":")).encode()


def test_a_body_that_is_no_json_is_refused() -> None:
    for bad in (b"", b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(RemotingError, match="no JSON"):
            decode_json(bad)


def test_an_address_is_read_once_however_many_messages_name_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    def read_address(text: str) -> object:
        read.append(text)
        return ip_address(text)

    monkeypatch.setattr("mqlab.rocketmq.remoting.records.ip_address", read_address)
    here, there = ("127.0.0.2", 10911), ("127.0.0.3", 50007)
    for offset in range(50):
        make_msg_id(here, offset)
        encode_record(MessageRecord("orders", b"x", store_host=here, born_host=there))
    assert read == ["127.0.0.2", "127.0.0.3"]
