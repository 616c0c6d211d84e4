"""Frames: a command in Protocol Buffers, and for SEND and MESSAGE the message after it.

    frame      total size 4 · command size 4 · BaseCommand · message
    message    0x0e01 · CRC-32C 4 · metadata size 4 · MessageMetadata · payload

The checksum covers what follows it. A broker keeps a message as it came, from its magic number
on, and sends it as it was stored: it reads the metadata and never the payload, which may be
compressed or a batch of several messages.

Source: Commands#serializeWithSize, #serializeCommandSendWithSize, #parseMessageMetadata,
LengthFieldBasedFrameDecoder in PulsarChannelInitializer (4.2).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any, overload

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from ....kernel import frozen, worded
from ....kernel.text import WordedError
from ...crc import crc32c
from .proto import BaseCommand, MessageMetadata, Type

SIZES = struct.Struct(">II")
SIZE = struct.Struct(">I")
CHECKED = struct.Struct(">HII")  # magic number, checksum, size of the metadata
MAGIC = 0x0E01
PARTITION = re.compile(r"(.+)-partition-(\d+)")
MAX_MESSAGE = 5 << 20  # maxMessageSize
#: MESSAGE_SIZE_FRAME_PADDING: room for the command beside its message
LONGEST = MAX_MESSAGE + 10 * 1024
#: of MESSAGE beside the message and its ack set: what a client takes is as long as what a broker
#: takes, and a message that no client can be sent would block those after it
COMMAND = 64
#: a word of an ack set, in bytes
WORD = 11
LEAST_MESSAGE = 6  # bytes of one in a batch: 4 of a size, 2 of its SingleMessageMetadata
#: no client can read more messages out of a batch: opened it is no longer than maxMessageSize
MOST_IN_BATCH = MAX_MESSAGE // LEAST_MESSAGE
#: messages of a batch that is not there and that a client acknowledges: a few bytes name them
MOST_CLAIMED = 1 << 16
#: how many messages a compressed byte can stand for: ZLIB makes one byte of 1,032 at most
IN_A_BYTE = 1032 // LEAST_MESSAGE
#: batchingMaxMessages, which is a client's default: what ZSTD makes of so many may be shorter still
ALWAYS_IN_BATCH = 1_000

#: by number of a command, the field of BaseCommand that holds it: they have the same numbers
FIELDS: dict[int, str] = {field.number: field.name for field in BaseCommand.DESCRIPTOR.fields}


class BadCommand(WordedError):
    """Bytes that are no command, or no message."""


@frozen
class Command:
    """`name`: its type, as SEND. `body`: the fields of that command. `message`: what follows it,
    from the magic number on."""

    name: str
    body: Any
    message: bytes = b""


@worded("{text}")
class Payload:
    """A message, or a batch of `count` of them in one entry, as its producer sent it. `text`: the
    beginning of it in words, where there are any."""

    data: bytes
    count: int = 1
    is_batch: bool = False
    text: str = ""


@frozen
class Batched(Sequence[Payload]):
    """The messages of an entry as the engine counts them: each stands for the whole of it, since a
    broker does not look into a batch. However many there are, only one is kept."""

    payload: Payload

    def __len__(self) -> int:
        return self.payload.count

    @overload
    def __getitem__(self, place: int) -> Payload: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Payload, ...]: ...
    def __getitem__(self, place: int | slice) -> Payload | tuple[Payload, ...]:
        if isinstance(place, slice):
            return (self.payload,) * len(range(len(self))[place])
        if not -len(self) <= place < len(self):
            raise IndexError(f"message {place} of a batch of {len(self)}")
        return self.payload


def is_too_long(message: int, count: int) -> bool:
    """Whether a message of so many bytes, a batch of `count`, could not be sent to a client once
    some of it is acknowledged."""
    return message + COMMAND + WORD * -(-count // 64) > LONGEST


def max_in_batch(metadata: Any, payload: int) -> int:
    """How many messages a batch can have of which the payload has so many bytes."""
    if not metadata.compression:
        return max(1, payload)
    return max(ALWAYS_IN_BATCH, payload * IN_A_BYTE)


# ---- frames --------------------------------------------------------------------------------


def cut_frame(buffer: bytearray) -> bytes | None:
    """The next frame without its size, taken out of the buffer. Raises BadCommand."""
    if len(buffer) < SIZE.size:
        return None
    (size,) = SIZE.unpack_from(buffer)
    if not SIZE.size <= size <= LONGEST:
        raise BadCommand("a frame of {} bytes", size)
    end = SIZE.size + size
    if len(buffer) < end:
        return None
    frame = bytes(buffer[SIZE.size : end])
    del buffer[:end]
    return frame


def decode_command(frame: bytes) -> Command:
    """Decode a frame of the binary protocol, of four bytes at least (`cut_frame` sees to that),
    into its command: name, body, and the bytes after it (a message's metadata and payload). Raises
    BadCommand where the frame is not such a command."""
    (size,) = SIZE.unpack_from(frame)
    command_end = SIZE.size + size
    if command_end > len(frame):
        raise BadCommand("a command that is longer than its frame")
    try:
        command = BaseCommand.FromString(frame[SIZE.size : command_end])
    except DecodeError as error:
        raise BadCommand("a command that is no Protocol Buffer of this protocol") from error
    name = Type.values_by_number[command.type].name
    body_field = FIELDS.get(command.type)
    if body_field is None or not command.HasField(body_field):
        raise BadCommand("a command {} that cannot be read", name)
    body = getattr(command, body_field)
    if not _is_text(body):
        raise BadCommand("a command {} with a text that is no UTF-8", name)
    return Command(name, body, frame[command_end:])


def _is_text(message: Any) -> bool:
    """Whether every text in it is one: what is no UTF-8 the library hands out as bytes."""
    for field, value in message.ListFields():
        values = value if field.is_repeated else (value,)
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            if not all(map(_is_text, values)):
                return False
        elif field.type == FieldDescriptor.TYPE_STRING:
            if not all(isinstance(one, str) for one in values):
                return False
    return True


def encode_command(name: str, fields: dict[str, Any], message: bytes = b"") -> bytes:
    number = Type.values_by_name[name].number
    command: bytes = BaseCommand(type=number, **{FIELDS[number]: fields}).SerializeToString()
    total = SIZE.size + len(command) + len(message)
    return SIZES.pack(total, len(command)) + command + message


# ---- messages ------------------------------------------------------------------------------


def read_metadata(message: bytes) -> tuple[Any, int]:
    """The metadata, and where the payload begins. Raises BadCommand where the checksum does not
    fit or nothing can be read."""
    if len(message) < CHECKED.size:
        raise BadCommand("a message without metadata")
    magic, checksum, _ = CHECKED.unpack_from(message)
    if magic != MAGIC:
        raise BadCommand("a message without a checksum")
    if crc32c(message[6:]) != checksum:
        raise BadCommand("Checksum failed on the broker")
    return parse_metadata(message)


def parse_metadata(message: bytes) -> tuple[Any, int]:
    """The same of a message whose checksum was looked at before."""
    size = CHECKED.unpack_from(message)[2]
    end = CHECKED.size + size
    if end > len(message):
        raise BadCommand("metadata that is longer than the message")
    try:
        return MessageMetadata.FromString(message[CHECKED.size : end]), end
    except DecodeError as error:
        raise BadCommand("metadata that cannot be read") from error


def write_message(metadata: Any, payload: bytes) -> bytes:
    """A message with its checksum."""
    head: bytes = metadata.SerializeToString()
    checked = SIZE.pack(len(head)) + head + payload
    return struct.pack(">HI", MAGIC, crc32c(checked)) + checked


# ---- ids -----------------------------------------------------------------------------------


def signed(number: int) -> int:
    """A uint64 as Java's long, which it is on the other side: -1 is the largest of them."""
    return number - (1 << 64) if number >> 63 else number


def split_name(topic: str) -> tuple[str, int]:
    """The topic whose partition this is, and its number; of another topic, itself and -1."""
    part = PARTITION.fullmatch(topic)
    return (part[1], int(part[2])) if part else (topic, -1)


def unsigned(number: int) -> int:
    return number % (1 << 64)


def read_bits(words: Any, size: int) -> tuple[int, ...]:
    """The indexes below `size` whose bits are *not* set: of an ack set, those that are done."""
    whole = 0
    for place, word in enumerate(words):
        whole |= unsigned(word) << (64 * place)
    lowest_first = f"{whole | 1 << size:b}"[::-1]
    return tuple(index for index, bit in enumerate(lowest_first[:size]) if bit == "0")


def write_bits(done: tuple[int, ...], size: int) -> list[int]:
    """The ack set of a batch of which these indexes are done."""
    bits = bytearray(b"1" * size)
    for index in done:
        bits[size - 1 - index] = ord("0")
    whole = int(bits, 2)
    words = -(-whole.bit_length() // 64)
    return [signed(whole >> (64 * place) & ((1 << 64) - 1)) for place in range(words)]
