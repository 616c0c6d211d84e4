"""Frames that real clients and brokers sent to each other, without their lengths.

Caught between the Java client and the broker, both 5.5.0 or both 4.9.7, on a loopback address: a
half message that is committed, one that is checked, a batch of three, a pull. Each with the
client's `rocketmq.serialize.type`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from mqlab.rocketmq.remoting import RemotingCommand, decode_command


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
        Path(__file__).with_suffix(".json").read_text("utf-8")
    )
]


def find_captured(what: str, version: str = "", client: str = "") -> list[Captured]:
    return [
        found
        for found in CAPTURED
        if what in found.what and version in found.version and client in found.client
    ]
