"""The bytes of a real client and a real broker: read, written again, and answered."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mqlab.serve import RunningBroker
from mqlab.serve.pulsar import serve
from mqlab.serve.pulsar.wire.commands import (
    Command,
    cut_frame,
    decode_command,
    encode_command,
    read_metadata,
    write_message,
)
from tests.serve.pulsar.raw import Raw

ROWS = re.findall(
    r"^([<>]) (\w+)\n((?:  [0-9a-f]+\n)+)",
    Path(__file__).with_name("recorded.txt").read_text("utf-8"),
    re.MULTILINE,
)
FRAMES = [(way, name, bytes.fromhex("".join(text.split()))) for way, name, text in ROWS]
#: what another broker may say otherwise, by the command
OWN = {
    "CONNECTED": ("server_version", "feature_flags"),
    "LOOKUP_RESPONSE": ("brokerServiceUrl",),
    "PRODUCER_SUCCESS": ("producer_name",),
}


def decoded(frame: bytes) -> Command:
    body = cut_frame(bytearray(frame))
    assert body is not None
    return decode_command(body)


def test_all_frames_are_there() -> None:
    assert len(FRAMES) == 78
    assert {name for way, name, _ in FRAMES if way == ">"} >= {"SEND", "ACK", "END_TXN", "FLOW"}


@pytest.mark.parametrize(("way", "name", "frame"), FRAMES)
def test_a_frame_is_read_and_written_again(way: str, name: str, frame: bytes) -> None:
    command = decoded(frame)
    assert command.name == name
    again = decoded(encode_command(name, command.body, command.message))
    assert again == command
    if command.message:
        metadata, start = read_metadata(command.message)
        payload = command.message[start:]
        assert write_message(metadata, payload) == command.message


def test_the_same_bytes_are_answered_alike() -> None:
    """What the real client sent, sent to this server frame by frame: each answer, and each message
    that comes unasked, says what the real broker's said."""
    with serve() as broker, Raw(broker.address, connected=False) as client:
        expected, got = list[Any](), list[Any]()
        for way, _, frame in FRAMES:
            if way == ">":
                client.socket.sendall(of_ledger(decoded(frame), 1))
            else:
                expected.append(told(decoded(frame), 6))
                got.append(told(client.hear(), 1))
        assert sorted(map(str, got)) == sorted(map(str, expected))


def of_ledger(command: Command, ledger: int) -> bytes:
    """The frame, with ids of the ledger that the topic has here."""
    for name in ("message_id", "message_ids"):
        if name in command.body.DESCRIPTOR.fields_by_name:
            given = getattr(command.body, name)
            for id in [given] if hasattr(given, "ledgerId") else given:
                if id.IsInitialized():
                    id.ledgerId = ledger
    return encode_command(command.name, command.body, command.message)


def told(command: Command, ledger: int) -> Any:
    """What a command says, but for the number of the ledger."""
    fields = {
        field.name: str(value).replace(f"ledgerId: {ledger}\n", "")
        for field, value in command.body.ListFields()
        if field.name not in OWN.get(command.name, ())
    }
    return command.name, sorted(fields.items()), command.message.hex()


def test_a_frame_in_pieces(broker: RunningBroker) -> None:
    with Raw(broker.address, connected=False) as client:
        for byte in encode_command("CONNECT", {"client_version": "slow", "protocol_version": 21}):
            client.socket.sendall(bytes([byte]))
        assert client.hear().name == "CONNECTED"
