"""Frames that real clients and brokers sent to each other, without their lengths.

Caught between the Java client and the broker, both 5.5.0 or both 4.9.7, on a loopback address: a
half message that is committed, one that is checked, a batch of three, a pull. Each with the
client's `rocketmq.serialize.type`.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqlab.rocketmq.remoting import (
    BatchMessage,
    Flag,
    MessageRecord,
    RemotingCommand,
    RemotingError,
    RequestCode,
    SerializeType,
    answer_to,
    cut_frame,
    decode_batch,
    decode_command,
    decode_json,
    decode_properties,
    decode_record,
    decode_records,
    encode_batch,
    encode_command,
    encode_json,
    encode_properties,
    encode_record,
    make_msg_id,
    name_request,
    name_response,
    read_msg_id,
)


@dataclass(frozen=True)
class Captured:
    """`who` sent it: "client" or "broker"; `what`: the request's name, or "answer to NAME"."""

    version: str
    client: str
    who: str
    what: str
    frame: bytes

    @property
    def command(self) -> RemotingCommand:
        return decode_command(self.frame)

    def __str__(self) -> str:
        return f"{self.version} {self.client} {self.what}"


CAPTURED = [
    Captured(version, client, who, what, bytes.fromhex(digits))
    for version, client, who, what, digits in json.loads(
        Path(__file__).with_name("captured.json").read_text("utf-8")
    )
]


def find_captured(what: str, version: str = "", client: str = "") -> list[Captured]:
    return [
        found
        for found in CAPTURED
        if what in found.what and version in found.version and client in found.client
    ]


# ---- Commands and frames, against bytes that real clients and brokers wrote ----------


@pytest.mark.parametrize("captured", CAPTURED, ids=str)
def test_what_real_ones_wrote_is_written_byte_by_byte(captured: Captured) -> None:
    """But for one thing: a client of 5.5.0 says `"extFields":{}` where there are none."""
    frame = captured.frame
    if captured.command.fields or captured.command.serialize_type is SerializeType.ROCKETMQ:
        assert encode_command(captured.command) == struct.pack(">i", len(frame)) + frame
    else:
        again = decode_command(encode_command(captured.command)[4:])
        assert again == captured.command


@pytest.mark.parametrize("captured", find_captured("SEND_MESSAGE_V2", client="ROCKETMQ"), ids=str)
def test_a_half_in_the_binary_form(captured: Captured) -> None:
    command = captured.command
    if captured.who == "client":
        assert command.code == RequestCode.SEND_MESSAGE_V2
        assert command.serialize_type is SerializeType.ROCKETMQ
        assert command.fields["f"] == "4" and command.fields["a"] == "order-service"
        assert command.body.decode() == "订单一"
    else:
        assert command.is_response and command.fields["queueOffset"] == "0"


@pytest.mark.parametrize("version", ["5.5.0", "4.9.7"])
@pytest.mark.parametrize("client", ["JSON", "ROCKETMQ"])
def test_an_end_is_one_way_and_both_headers_say_the_same(version: str, client: str) -> None:
    (found,) = find_captured("END_TRANSACTION", version, client)
    command = found.command
    assert command.is_oneway and not command.is_response and not command.body
    assert command.fields["commitOrRollback"] == "8"
    assert command.fields["fromTransactionCheck"] == "false"
    assert ("topic" in command.fields) == (version == "5.5.0")
    assert command.version == {"5.5.0": 513, "4.9.7": 407}[version]


def test_5_5_0_answers_in_json_whatever_it_was_asked_in() -> None:
    (asked, answered) = find_captured("SEND_MESSAGE_V2", "5.5.0", "ROCKETMQ")
    assert asked.command.serialize_type is SerializeType.ROCKETMQ
    assert answered.command.serialize_type is SerializeType.JSON
    assert answered.command.opaque == asked.command.opaque


def test_an_answer_has_its_requests_opaque_and_kind_of_header() -> None:
    asked = RemotingCommand(34, opaque=7, language="GO", serialize_type=SerializeType.ROCKETMQ)
    answered = answer_to(asked, 1, {"a": "b"}, b"body", "why")
    assert (answered.opaque, answered.serialize_type) == (7, SerializeType.ROCKETMQ)
    assert answered.is_response and not answered.is_oneway
    assert decode_command(encode_command(answered)[4:]) == answered


texts = st.text(max_size=20)
commands = st.builds(
    RemotingCommand,
    code=st.integers(-(2**15), 2**15 - 1),
    fields=st.dictionaries(texts, texts, max_size=4),
    body=st.binary(max_size=50),
    opaque=st.integers(-(2**31), 2**31 - 1),
    flag=st.sampled_from([0, Flag.RESPONSE, Flag.ONEWAY]).map(int),
    remark=texts,
    language=st.sampled_from(["JAVA", "PYTHON", "OTHER"]),
    version=st.integers(0, 2**15 - 1),
    serialize_type=st.sampled_from(list(SerializeType)),
)


@given(st.lists(commands, max_size=3), st.integers(0, 200))
def test_frames_are_cut_as_they_come(every: list[RemotingCommand], piece: int) -> None:
    sent = b"".join(map(encode_command, every))
    buffer, found = bytearray(), []
    for at in range(0, len(sent), piece or 1):
        buffer += sent[at : at + (piece or 1)]
        while (frame := cut_frame(buffer)) is not None:
            found.append(decode_command(frame))
    assert found == every and not buffer


@given(st.binary(max_size=80))
def test_any_bytes_are_a_command_or_refused(data: bytes) -> None:
    for kind in (b"", b"\x00\x00\x00", b"\x01\x00\x00"):
        try:
            assert isinstance(decode_command(kind + data), RemotingCommand)
        except RemotingError as error:
            assert str(error)


@pytest.mark.parametrize("length", [-1, 3, (16 << 20) - 3, 2**31 - 1])
def test_a_length_that_cannot_be_is_refused_at_once(length: int) -> None:
    with pytest.raises(RemotingError, match=f"a frame of {length} bytes"):
        cut_frame(bytearray(struct.pack(">i", length)))


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (b"\x00\x00", "a frame of 2 bytes"),
        (struct.pack(">i", 9) + b"{}", "a header of 9 bytes in a frame of 6"),
        (struct.pack(">i", 2 << 24 | 2) + b"{}", "unknown kind 2"),
        (struct.pack(">i", 2) + b"[]", "no JSON object"),
        (struct.pack(">i", 17) + b'{"extFields":[1]}', "extFields that are no JSON object"),
        (struct.pack(">i", 12) + b'{"code":"x"}', "code is no number"),
        (struct.pack(">i", 20) + b'{"code":99999999999}', "code is no number"),
        (struct.pack(">i", 1 << 24 | 2) + b"\x00\x01", "cannot be read"),
        (struct.pack(">i", 4000) + b"[" * 4000, "cannot be read"),
    ],
)
def test_a_frame_that_is_none_is_refused_in_words(frame: bytes, why: str) -> None:
    with pytest.raises(RemotingError, match=why):
        decode_command(frame)


def test_a_field_that_is_no_text_is_read_as_it_is_written() -> None:
    header = b'{"code":11,"extFields":{"a":7,"b":true,"c":null,"d":"x"}}'
    found = decode_command(struct.pack(">i", len(header)) + header)
    assert found.fields == {"a": "7", "b": "true", "d": "x"}


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    header = b'{"code":1,"remark":"\\ud800","extFields":{"a":"\\udfff"}}'
    found = decode_command(struct.pack(">i", len(header)) + header)
    for kind in SerializeType:
        again = decode_command(encode_command(replace(found, serialize_type=kind))[4:])
        assert (again.remark, again.fields) == ("?", {"a": "?"})


def test_what_the_binary_form_cannot_hold_is_refused() -> None:
    binary = RemotingCommand(200050, serialize_type=SerializeType.ROCKETMQ)
    with pytest.raises(RemotingError, match="too large"):
        encode_command(binary)
    with pytest.raises(RemotingError, match="a text of 70000 bytes"):
        encode_command(replace(binary, code=1, fields={"a" * 70_000: ""}))


def test_codes_have_the_names_of_the_source() -> None:
    assert (name_request(37), name_request(39)) == ("END_TRANSACTION", "CHECK_TRANSACTION_STATE")
    assert (name_response(604), name_response(3)) == (
        "ILLEGAL_OPERATION",
        "REQUEST_CODE_NOT_SUPPORTED",
    )
    assert (name_request(99_999), name_response(99_999)) == ("99999", "99999")


# ---- Messages as bytes, against the records and batches of real brokers and clients


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
