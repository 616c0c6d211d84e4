"""One command, and the frame it travels in.

    length 4 · header 4 (its first byte: how the header is written; three bytes: its length)
    header · body

`length` counts what follows it. A request and its answer have the same `opaque`; nothing else
binds them, so answers may come in any order, and the broker may ask its clients just as clients
ask it. The header is JSON (what clients send by default) or RocketMQ's own binary form. Either side
reads both, since the frame says which: a broker of 4.9.7 answers as it was asked, one of 5.5.0
always in JSON.

Source: RemotingCommand#decode, #encode, #fastEncodeHeader; RocketMQSerializable; NettyDecoder
(FRAME_MAX_LENGTH), 5.5.0. Left out: TLS and SASL, which a loopback address does not need.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import field
from enum import IntEnum, IntFlag
from typing import Any

from ...kernel import frozen
from ...kernel.text import BadValue
from .codes import LANGUAGES

FRAME_MAX_LENGTH = 16 << 20  # bytes: com.rocketmq.remoting.frameMaxLength
PREFIX = struct.Struct(">i")
HEAD = struct.Struct(">hbhii")  # code, language, version, opaque, flag
SHORT, INT = struct.Struct(">H"), struct.Struct(">i")


class RemotingError(BadValue):
    """Bytes that are no command; the message says what is wrong with them."""


class SerializeType(IntEnum):
    """How a header is written."""

    JSON = 0
    ROCKETMQ = 1


class Flag(IntFlag):
    """RPC_TYPE and RPC_ONEWAY of RemotingCommand."""

    RESPONSE = 0x1
    ONEWAY = 0x2


#: looked at in every command, so as plain numbers: with a member, `&` looks up a member
RESPONSE_BIT, ONEWAY_BIT = Flag.RESPONSE.value, Flag.ONEWAY.value
#: how a header's JSON is written and read; made once, since each command needs them
read_json = json.JSONDecoder().decode
write_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@frozen
class RemotingCommand:
    """A request or an answer. `code`: what is asked, or what came of it; `fields`: extFields, all
    of them texts; `remark`: the words of an error; `version`: an ordinal of MQVersion."""

    code: int
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    opaque: int = 0
    flag: int = 0
    remark: str = ""
    language: str = "JAVA"
    version: int = 0
    serialize_type: SerializeType = SerializeType.JSON

    @property
    def is_response(self) -> bool:
        return bool(self.flag & RESPONSE_BIT)

    @property
    def is_oneway(self) -> bool:
        return bool(self.flag & ONEWAY_BIT)


def answer_to(
    request: RemotingCommand,
    code: int,
    fields: dict[str, str] | None = None,
    body: bytes = b"",
    remark: str = "",
) -> RemotingCommand:
    """Build the answer to a request: a command with the same number (opaque), version and kind of
    header (`serialize_type`). `code`: a ResponseCode; `fields`: the header's extFields."""
    return RemotingCommand(
        code,
        fields or {},
        body,
        opaque=request.opaque,
        flag=RESPONSE_BIT,
        remark=remark,
        version=request.version,
        serialize_type=request.serialize_type,
    )


# ---- frames ------------------------------------------------------------------------------


def cut_frame(buffer: bytearray) -> bytes | None:
    """Take the next frame, without its length, out of the buffer; None while it is not complete.
    Raises RemotingError as soon as it is clear that it never will be."""
    if len(buffer) < PREFIX.size:
        return None
    (length,) = PREFIX.unpack_from(buffer)
    # The real decoder counts the prefix too, and closes the connection.
    if not 4 <= length <= FRAME_MAX_LENGTH - PREFIX.size:
        raise RemotingError("a frame of {} bytes", length)
    if len(buffer) < PREFIX.size + length:
        return None
    frame = bytes(memoryview(buffer)[PREFIX.size : PREFIX.size + length])
    del buffer[: PREFIX.size + length]
    return frame


def encode_command(command: RemotingCommand) -> bytes:
    """The frame of a command, with its length."""
    binary = command.serialize_type is SerializeType.ROCKETMQ
    header = _write_binary(command) if binary else _write_json(command)
    if len(header) > 0xFFFFFF:
        raise RemotingError("a header of {} bytes", len(header))
    mark = command.serialize_type << 24 | len(header)
    length = 4 + len(header) + len(command.body)
    return b"".join((PREFIX.pack(length), PREFIX.pack(mark), header, command.body))


def decode_command(frame: bytes) -> RemotingCommand:
    """What a frame says, given without its length. Raises RemotingError."""
    if len(frame) < 4:
        raise RemotingError("a frame of {} bytes", len(frame))
    (mark,) = PREFIX.unpack_from(frame)
    kind, size = mark >> 24 & 0xFF, mark & 0xFFFFFF
    if size > len(frame) - 4:
        raise RemotingError("a header of {} bytes in a frame of {}", size, len(frame))
    header, body = frame[4 : 4 + size], frame[4 + size :]
    if kind == SerializeType.JSON:
        return _read_json(header, body)
    if kind == SerializeType.ROCKETMQ:
        return _read_binary(header, body)
    raise RemotingError("a header of the unknown kind {}", kind)


# ---- the header as JSON ------------------------------------------------------------------


def _write_json(command: RemotingCommand) -> bytes:
    row: dict[str, Any] = {"code": command.code}
    if command.fields:
        row["extFields"] = command.fields
    row |= {"flag": command.flag, "language": command.language, "opaque": command.opaque}
    if command.remark:
        row["remark"] = command.remark
    row |= {"serializeTypeCurrentRPC": "JSON", "version": command.version}
    return write_json(row).encode(errors="replace")


def _read_json(header: bytes, body: bytes) -> RemotingCommand:
    """Build a command from a header in JSON and its body. Raises RemotingError for a malformed
    header."""
    try:
        row = read_json(header.decode())
    except (ValueError, RecursionError) as error:
        raise RemotingError("a header that cannot be read: {}", error) from error
    if not isinstance(row, dict):
        raise RemotingError("a header that is no JSON object")
    fields = row.get("extFields") or {}
    if not isinstance(fields, dict):
        raise RemotingError("extFields that are no JSON object")
    return RemotingCommand(
        code=_int(row, "code"),
        fields=_texts(fields),
        body=body,
        opaque=_int(row, "opaque"),
        flag=_int(row, "flag"),
        remark=_text(row.get("remark") or ""),
        language=_text(row.get("language") or "JAVA"),
        version=_int(row, "version"),
    )


def _int(row: dict[str, Any], name: str) -> int:
    value = row.get(name, 0)
    if type(value) is not int or not -(2**31) <= value < 2**31:
        raise RemotingError("{} is no number of 32 bits", name)
    return value


def _texts(fields: dict[str, Any]) -> dict[str, str]:
    """A client may send a number or a boolean where the broker reads a text; nearly none does."""
    if set(map(type, fields.values())) <= {str}:
        return fields
    return {name: _text(value) for name, value in fields.items() if value is not None}


def _text(value: Any) -> str:
    """As fastjson reads a String: whatever is no text is read as it is written."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


# ---- the header in RocketMQ's own form ---------------------------------------------------


def _write_binary(command: RemotingCommand) -> bytes:
    language = LANGUAGES.index(command.language) if command.language in LANGUAGES else 7
    fields = b"".join(
        _sized(SHORT, name) + _sized(INT, value) for name, value in command.fields.items()
    )
    try:
        head = HEAD.pack(command.code, language, command.version, command.opaque, command.flag)
    except struct.error as error:
        raise RemotingError("a number too large for this header: {}", error) from error
    return head + _sized(INT, command.remark) + INT.pack(len(fields)) + fields


def _sized(size: struct.Struct, text: str) -> bytes:
    data = text.encode(errors="replace")
    try:
        return size.pack(len(data)) + data
    except struct.error as error:
        raise RemotingError("a text of {} bytes", len(data)) from error


def _read_binary(header: bytes, body: bytes) -> RemotingCommand:
    try:
        code, language, version, opaque, flag = HEAD.unpack_from(header)
        remark, at = _read_sized(INT, header, HEAD.size)
        (length,) = INT.unpack_from(header, at)
        if not 0 <= length <= len(header) - at - INT.size:
            raise RemotingError("extFields of {} bytes", length)
        fields = dict(_read_fields(header, at + INT.size, at + INT.size + length))
    except (struct.error, UnicodeDecodeError) as error:
        raise RemotingError("a header that cannot be read: {}", error) from error
    known = LANGUAGES[language] if 0 <= language < len(LANGUAGES) else "OTHER"
    return RemotingCommand(
        code, fields, body, opaque, flag, remark, known, version, SerializeType.ROCKETMQ
    )


def _read_fields(header: bytes, at: int, end: int) -> Iterator[tuple[str, str]]:
    while at < end:
        name, at = _read_sized(SHORT, header, at)
        value, at = _read_sized(INT, header, at)
        yield name, value


def _read_sized(size: struct.Struct, data: bytes, at: int) -> tuple[str, int]:
    (length,) = size.unpack_from(data, at)
    start = at + size.size
    if not 0 <= length <= len(data) - start:
        raise RemotingError("a text of {} bytes", length)
    return data[start : start + length].decode(), start + length
