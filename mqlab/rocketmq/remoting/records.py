"""Messages as bytes: a record of the commit log, and the smaller form inside a batch.

A pull, a look-up by id and a check answer with records of the commit log just as they are there:

    total size 4 · magic 4 · CRC-32 of the body 4 · queue id 4 · flag 4 · queue offset 8
    physical offset 8 · sysFlag 4 · born at 8 · born on (address, port 4) · stored at 8
    stored on (address, port 4) · reconsume times 4 · prepared transaction offset 8
    body length 4, body · topic length 1 (2 in the second version), topic
    properties length 2, properties

The second version of the magic (5.x) only makes room for topics of more than 127 bytes. A record is
distinguished from the padding at a file's end by its magic. A client's batch needs no places yet:

    total size 4 · 0 · 0 · flag 4 · body length 4, body · properties length 2, properties

Source: common.message.MessageDecoder#decode, #encode, #encodeMessage, #decodeMessages;
store.MessageExtEncoder; UtilAll#crc32, 5.5.0. Bodies that a client has compressed are kept as
they are, and the sysFlag says how. Left out: inner batches, which transactions may not use.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache
from ipaddress import ip_address

from ...kernel import frozen
from .codes import MessageSysFlag
from .command import RemotingError
from .properties import MAX_BYTES, decode_properties, encode_properties

MAGIC, MAGIC_V2 = 0xDAA320A7, 0xDAA320AB
HEAD = struct.Struct(">IIIiiqqiq")  # to the time of birth
MIDDLE = struct.Struct(">iq")  # reconsume times, prepared transaction offset
INT, LONG, SHORT = struct.Struct(">i"), struct.Struct(">q"), struct.Struct(">h")
IN_BATCH = struct.Struct(">iiii")
# a number: the complement of a flag holds only the bits that have a name (Python 3.11)
V4_HOST = 8  # bytes of an address and a port
V6 = int(MessageSysFlag.BORNHOST_V6 | MessageSysFlag.STOREHOSTADDRESS_V6)
NOWHERE = ("127.0.0.1", 0)
HOSTS = 1_024  # whose bytes are remembered: each record names two, and nearly always the same


@frozen
class MessageRecord:
    """A message with its places. `born_host` and `store_host`: (address, port); times are
    milliseconds since 1970; `prepared_offset`: preparedTransactionOffset, in a committed message
    the physical offset of its half message."""

    topic: str
    body: bytes = b""
    properties: dict[str, str] = field(default_factory=dict)
    queue_id: int = 0
    queue_offset: int = 0
    physical_offset: int = 0
    flag: int = 0
    sys_flag: int = 0
    born_timestamp: int = 0
    born_host: tuple[str, int] = NOWHERE
    store_timestamp: int = 0
    store_host: tuple[str, int] = NOWHERE
    reconsume_times: int = 0
    prepared_offset: int = 0

    @property
    def msg_id(self) -> str:
        """offsetMsgId: where it is."""
        return make_msg_id(self.store_host, self.physical_offset)


@frozen
class BatchMessage:
    """One message of a client's batch."""

    body: bytes
    properties: dict[str, str] = field(default_factory=dict)
    flag: int = 0


def crc_of(body: bytes) -> int:
    """The checksum of a body: CRC-32 without its highest bit, as Java has no other int."""
    return zlib.crc32(body) & 0x7FFFFFFF


# ---- records of the commit log -----------------------------------------------------------


def encode_record(record: MessageRecord) -> bytes:
    """Encode a message as a record of the commit log. A topic of more than 127 bytes needs the
    second version of the format, with a length of two bytes. Raises RemotingError where topic or
    properties are too long."""
    topic, properties = _bytes(record.topic), _bytes(encode_properties(record.properties))
    if len(properties) == MAX_BYTES + 1:
        properties = properties[:-1]  # the last separator, which 4.9 never writes
    if len(topic) > MAX_BYTES or len(properties) > MAX_BYTES:
        raise RemotingError("a topic of {}, properties of {} bytes", len(topic), len(properties))
    is_v2 = len(topic) > 127
    sized_topic = (SHORT.pack if is_v2 else _byte)(len(topic)) + topic
    tail = b"".join(
        (
            _host(record.born_host),
            LONG.pack(record.store_timestamp),
            _host(record.store_host),
            MIDDLE.pack(record.reconsume_times, record.prepared_offset),
            INT.pack(len(record.body)),
            record.body,
            sized_topic,
            SHORT.pack(len(properties)),
            properties,
        )
    )
    head = HEAD.pack(
        HEAD.size + len(tail),
        MAGIC_V2 if is_v2 else MAGIC,
        crc_of(record.body),
        record.queue_id,
        record.flag,
        record.queue_offset,
        record.physical_offset,
        _with_families(record),  # sys_flag, which says which address is of IPv6
        record.born_timestamp,
    )
    return head + tail


def decode_records(data: bytes) -> list[MessageRecord]:
    """The records in `data`, one after the other. Raises RemotingError."""
    records, at = [], 0
    while at < len(data):
        record, at = decode_record(data, at)
        records.append(record)
    return records


def decode_record(data: bytes, at: int = 0) -> tuple[MessageRecord, int]:
    """The record at `at`, and where the next one begins. Raises RemotingError."""
    try:
        return _Reader(data, at).record()
    except (struct.error, UnicodeDecodeError) as error:
        raise RemotingError("a record that cannot be read: {}", error) from error


class _Reader:
    """Takes one record from `data`, piece by piece."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._start, self._at = data, at, at

    def record(self) -> tuple[MessageRecord, int]:
        """Read the next record of the commit log (MessageDecoder#decode); returns it and the
        position after it. Raises RemotingError where magic, size or checksum are wrong."""
        head = self._unpack(HEAD)
        size, magic, crc, queue_id, flag, offset, physical, sys_flag, born = head
        if magic not in (MAGIC, MAGIC_V2):
            raise RemotingError("no record begins with {:08x}", magic)
        born_host = self._host(v6=bool(sys_flag & MessageSysFlag.BORNHOST_V6))
        (store_timestamp,) = self._unpack(LONG)
        store_host = self._host(v6=bool(sys_flag & MessageSysFlag.STOREHOSTADDRESS_V6))
        times, prepared = self._unpack(MIDDLE)
        body = self._take(self._unpack(INT)[0])
        topic = self._take(self._unpack(SHORT)[0] if magic == MAGIC_V2 else self._take(1)[0])
        properties = self._take(self._unpack(SHORT)[0])
        end = self._start + size
        if self._at > end or crc_of(body) != crc:
            raise RemotingError("a record whose size or checksum is wrong")
        record = MessageRecord(
            topic=topic.decode(),
            body=body,
            properties=decode_properties(properties.decode()),
            queue_id=queue_id,
            queue_offset=offset,
            physical_offset=physical,
            flag=flag,
            sys_flag=sys_flag,
            born_timestamp=born,
            born_host=born_host,
            store_timestamp=store_timestamp,
            store_host=store_host,
            reconsume_times=times,
            prepared_offset=prepared,
        )
        return record, end

    def _unpack(self, form: struct.Struct) -> tuple[int, ...]:
        values = form.unpack_from(self._data, self._at)
        self._at += form.size
        return values

    def _take(self, length: int) -> bytes:
        if not 0 <= length <= len(self._data) - self._at:
            raise RemotingError("a piece of {} bytes in a record", length)
        self._at += length
        return bytes(self._data[self._at - length : self._at])

    def _host(self, v6: bool) -> tuple[str, int]:
        address = self._take(16 if v6 else 4)
        (port,) = self._unpack(INT)
        return str(ip_address(address)), port


@lru_cache(HOSTS)
def _host(host: tuple[str, int]) -> bytes:
    return ip_address(host[0]).packed + INT.pack(host[1])


def _bytes(text: str) -> bytes:
    """As Java does, half a surrogate pair (JSON can hold one) becomes a question mark."""
    return text.encode(errors="replace")


def _byte(number: int) -> bytes:
    return bytes((number,))


def _with_families(record: MessageRecord) -> int:
    """The sysFlag with the bits that say how long the addresses are; all others stay, those that
    have no name here among them."""
    flag = record.sys_flag & ~V6
    if len(_host(record.born_host)) > V4_HOST:
        flag |= int(MessageSysFlag.BORNHOST_V6)
    if len(_host(record.store_host)) > V4_HOST:
        flag |= int(MessageSysFlag.STOREHOSTADDRESS_V6)
    return flag


# ---- batches -----------------------------------------------------------------------------


def encode_batch(messages: Iterable[BatchMessage]) -> bytes:
    """The body of SEND_BATCH_MESSAGE."""
    return b"".join(_in_batch(message) for message in messages)


def _in_batch(message: BatchMessage) -> bytes:
    properties = _bytes(encode_properties(message.properties))
    if len(properties) > MAX_BYTES:
        raise RemotingError("properties of {} bytes", len(properties))
    size = IN_BATCH.size + INT.size + len(message.body) + SHORT.size + len(properties)
    head = IN_BATCH.pack(size, 0, 0, message.flag) + INT.pack(len(message.body))
    return head + message.body + SHORT.pack(len(properties)) + properties


def decode_batch(data: bytes) -> list[BatchMessage]:
    """The messages of a batch. Raises RemotingError."""
    messages, at = [], 0
    while at < len(data):
        message, at = _read_in_batch(data, at)
        messages.append(message)
    return messages


def _read_in_batch(data: bytes, at: int) -> tuple[BatchMessage, int]:
    try:
        size, _, _, flag = IN_BATCH.unpack_from(data, at)
        start = at + IN_BATCH.size + INT.size
        (length,) = INT.unpack_from(data, start - INT.size)
        (words,) = SHORT.unpack_from(data, start + max(length, 0))
        end = start + length + SHORT.size + words
        if min(length, words) < 0 or end != at + size or end > len(data):
            raise RemotingError("a message whose size is wrong")
        properties = decode_properties(data[end - words : end].decode())
    except (struct.error, UnicodeDecodeError) as error:
        raise RemotingError("a batch that cannot be read: {}", error) from error
    return BatchMessage(data[start : start + length], properties, flag), end


# ---- ids ---------------------------------------------------------------------------------


def make_msg_id(store_host: tuple[str, int], physical_offset: int) -> str:
    """offsetMsgId: address, port and physical offset, in hexadecimal digits."""
    return (_host(store_host) + LONG.pack(physical_offset)).hex().upper()


def read_msg_id(msg_id: str) -> tuple[tuple[str, int], int]:
    """((address, port), physical offset). Raises RemotingError."""
    try:
        data = bytes.fromhex(msg_id)
    except ValueError as error:
        raise RemotingError("no id of a message: {!r}", msg_id) from error
    if len(data) not in (16, 28):
        raise RemotingError("no id of a message: {!r}", msg_id)
    (port,) = INT.unpack_from(data, len(data) - 12)
    (offset,) = LONG.unpack_from(data, len(data) - 8)
    return (str(ip_address(data[:-12])), port), offset
