"""A protocol of the tests' own: 4 bytes of length, then JSON. All that a server must do is here
small enough to be read at once.

    {"id": 1, "do": "echo", "text": "a"}      → {"id": 1, "is": "a"}
    {"do": "note", "text": "a"}               one way: a line of the durable log `notes`
    {"id": 1, "do": "notes"}                  → {"id": 1, "is": ["a"]}
    {"id": 1, "do": "wait", "text": "x"}      answered when somebody asks to `release` x
    {"id": 1, "do": "follow"}                 from now on the role `feed` pushes to this client
    {"id": 1, "do": "feed", "text": "a"}      → {"push": 1, "is": "a"} to every follower
    {"push": 1, "is": "b"}                    a follower's answer
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mqlab.kernel import (
    Append,
    Caller,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Map,
    Quiet,
    Reply,
    Request,
    Response,
    Send,
    Text,
    replace,
)
from mqlab.kernel import Fact as KernelFact
from mqlab.serve.adapter import Adapter, BadFrame, ClientRequest, Peer, PushAnswer, Refused, Start
from mqlab.serve.disk import ServerDisk, json_entries
from mqlab.serve.options import Options
from mqlab.serve.server import main as serve_adapter
from mqlab.serve.trace.live import Step

LENGTH = struct.Struct(">I")
LIMIT = 1 << 20
ONE_WAY = ("note", "break")


def pack(said: dict[str, Any]) -> bytes:
    body = json.dumps(said).encode()
    return LENGTH.pack(len(body)) + body


def push(number: int, body: Any) -> tuple[bytes, bool]:
    return pack({"push": number, "is": body}), True


class ToyFrames:
    at_once, in_order = 4, False

    def __init__(self, peer: Peer) -> None:
        self.client = ""

    def cut(self, buffer: bytearray) -> bytes | None:
        if len(buffer) < LENGTH.size:
            return None
        (size,) = LENGTH.unpack_from(buffer)
        if size > LIMIT:
            raise BadFrame(f"a frame of {size} bytes")
        if len(buffer) < LENGTH.size + size:
            return None
        frame = bytes(buffer[LENGTH.size : LENGTH.size + size])
        del buffer[: LENGTH.size + size]
        return frame

    def read(self, frame: bytes) -> ClientRequest | PushAnswer:
        try:
            said = json.loads(frame)
            if "push" in said:
                return PushAnswer(int(said["push"]), said["is"])
            ask = said["do"], said.get("text", "")
        except (ValueError, KeyError, TypeError) as error:
            raise BadFrame(f"no message: {error!r}") from error
        if ask[0] == "fly":
            raise Refused(pack({"id": said["id"], "is": "no"}), "toys do not fly")
        return ClientRequest(ask, said.get("id", 0), one_way=ask[0] in ONE_WAY)

    def write(self, asked: ClientRequest, answer: Any) -> bytes:
        return pack({"id": asked.tag, "is": answer})

    def name(self, asked: ClientRequest) -> str:
        return str(asked.body[0])

    def refusals(self, answer: Any) -> tuple[str, ...]:
        return ()


class OrderedFrames(ToyFrames):
    in_order = True


@dataclass(frozen=True, slots=True)
class Note:
    base: int
    text: str

    @property
    def last(self) -> int:
        return self.base


@dataclass(frozen=True, slots=True)
class Front(Quiet):
    """`waiting`: by what they wait for; `heard`: connections that were lost."""

    waiting: Map[str, Caller] = Map()
    heard: tuple[Event, ...] = ()

    def step(self, event: Event, disk: Disk) -> tuple[Front, Effects]:
        if isinstance(event, ConnectionLost):
            return replace(self, heard=(*self.heard, event)), ()
        if not isinstance(event, Request):
            return self, ()
        caller, (do, text) = event.caller, event.body
        match do:
            case "echo":
                return self, (Reply(caller, text),)
            case "note":
                note = Note(disk.log("notes").end, text)
                return self, (Append("notes", note), Reply(caller, "of no use"))
            case "notes":
                return self, (Reply(caller, [note.text for note in disk.log("notes").read(0)]),)
            case "wait":
                return replace(self, waiting=self.waiting.set(text, caller)), ()
            case "release":
                left = replace(self, waiting=self.waiting.remove(text))
                return left, (Reply(self.waiting[text], text), Reply(caller, "released"))
            case "follow":
                return self, (Send("feed", ("follow", caller.name)), Reply(caller, "followed"))
            case "feed":
                return self, (Send("feed", ("feed", text)), Reply(caller, "fed"))
        raise RuntimeError("a bug")


@dataclass(frozen=True, slots=True)
class Feed(Quiet):
    """Pushes to its followers; `heard`: what came back."""

    followers: tuple[str, ...] = ()
    heard: tuple[Event, ...] = ()

    def step(self, event: Event, disk: Disk) -> tuple[Feed, Effects]:
        match event:
            case Request(body=("follow", name)):
                return replace(self, followers=(*self.followers, name)), ()
            case Request(body=("feed", text)):
                number = len(self.heard)
                return self, tuple(Send(name, text, number) for name in self.followers)
            case Response() | ConnectionLost():
                return replace(self, heard=(*self.heard, event)), ()
        return self, ()


class Nobody(Quiet):
    """Plays a role that is no more."""

    def step(self, event: Event, disk: Disk) -> tuple[Nobody, Effects]:
        return self, ()


class Steps:
    """An observer: one fact a step, and the number of steps for a picture."""

    def __init__(self, started_ms: int, logs: Callable[[str], Any]) -> None:
        self.facts = 0
        self.held: dict[Caller, int] = {}

    def take(self, step: Step, tell: Callable[[KernelFact], None] | None = None) -> None:
        self.facts += 1
        if tell is not None:
            tell(KernelFact(self.facts, self.facts, step[1], "→", Text(str(step[3]))))

    def skip(self, step: Step) -> None:
        self.facts += 1

    def draw(self) -> Any:
        return {"steps": self.facts}


def start_roles(disk: ServerDisk) -> Iterator[Start]:
    yield Start("front", lambda disk, at_ms: (Front(), ()))
    yield Start("feed", lambda disk, at_ms: (Feed(), ()))


TOY = Adapter(
    name="toy",
    system="toy",
    frames=ToyFrames,
    push=push,
    front="front",
    starting=start_roles,
    gone=Nobody(),
    entries=json_entries([Note]),
    observe=Steps,
)

if __name__ == "__main__":
    serve_adapter(TOY, Options(port=0, data_dir=Path(sys.argv[1]), until_input_ends=True))
