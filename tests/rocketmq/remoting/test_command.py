"""Commands and frames, against bytes that real clients and brokers wrote."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqlab.rocketmq.remoting import (
    Flag,
    RemotingCommand,
    RemotingError,
    RequestCode,
    SerializeType,
    answer_to,
    cut_frame,
    decode_command,
    encode_command,
    name_request,
    name_response,
)
from tests.rocketmq.remoting.captured import CAPTURED, Captured, find_captured


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
