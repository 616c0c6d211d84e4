"""The smallest system with everything that the kernel, the explorer and scenarios are about.

A client asks a store to keep a value. The store appends it to its log; when it is safe there,
one step answers the client and sends a copy to the mirror. A client whose connection breaks
cannot know whether the value was kept: after a while it asks again. So the store looks whether
it has the value already. With that safeguard (`once`) off, the claim "kept once" breaks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from mqlab.kernel import (
    Append,
    Appended,
    Call,
    Caller,
    Cell,
    Config,
    ConnectionLost,
    Fired,
    Flush,
    Lane,
    Light,
    Log,
    NodeSpec,
    Put,
    Quiet,
    Reply,
    Request,
    Response,
    Return,
    Send,
    SetTimer,
    Snapshot,
    System,
    Text,
    Words,
    build_success,
    replace,
)
from mqlab.kernel.claims import Claim
from mqlab.kernel.options import SORTED, Programs

SAFE = Words("safe up to {end}", "已安全到 {end}")
RETRY = "retry store"


@dataclass(frozen=True, slots=True)
class Keep:
    """The client's call, and what it asks the store."""

    value: str

    def __str__(self):
        return f"keep {self.value}"


@dataclass(frozen=True, slots=True)
class KeepResponse:
    at: int

    def __str__(self):
        return f"kept @{self.at}"


@dataclass(frozen=True, slots=True)
class Copy:
    value: str
    at: int

    def __str__(self):
        return f"copy {self.value}"


@dataclass(frozen=True, slots=True)
class Value:
    """An entry of the store's log."""

    value: str
    base: int

    @property
    def last(self):
        return self.base

    def __str__(self):
        return f"value {self.value} @{self.base}"


@dataclass(frozen=True, slots=True)
class Client(Quiet):
    """Asks for one value at a time; `asked` until there is an answer."""

    retry_ms: int
    asked: Keep | None = None

    def step(self, event, disk):
        match event:
            case Call(body=keep):
                return replace(self, asked=keep), (Send("store", keep),)
            case ConnectionLost() if self.asked:
                return self, (SetTimer(RETRY, self.retry_ms),)
            case Fired():
                return self, (Send("store", self.asked),)
            case Response(body=KeepResponse(at)):
                return replace(self, asked=None), (Return(build_success(self.asked, f"@{at}")),)
        return self, ()


@dataclass(frozen=True, slots=True)
class Store:
    """Values below offset `safe` are answered for; `waiting`: who waits for which offset."""

    config: Config
    safe: int = 0
    waiting: tuple[tuple[int, Caller], ...] = ()

    @staticmethod
    def recover(config, disk, at_ms):
        log = disk.log("values")
        return Store(config, log.end), tuple(
            Send("mirror", Copy(v.value, v.base)) for v in log.read(0)
        )

    def step(self, event, disk):
        log = disk.log("values")
        match event:
            case Request(caller=caller, body=Keep(value)):
                have = [v.base for v in log.read(0) if v.value == value]
                if not have or "once" not in self.config.on:
                    waiting = (*self.waiting, (log.end, caller))
                    return replace(self, waiting=waiting), (
                        Append("values", Value(value, log.end)),
                    )
                if have[0] < self.safe:
                    return self, (Reply(caller, KeepResponse(have[0])),)
                return replace(self, waiting=(*self.waiting, (have[0], caller))), ()
            case Appended(end=end):
                replies = [Reply(c, KeepResponse(at)) for at, c in self.waiting if at < end]
                copies = [Send("mirror", Copy(v.value, v.base)) for v in log.read(self.safe, end)]
                waiting = tuple(pair for pair in self.waiting if pair[0] >= end)
                return replace(self, safe=end, waiting=waiting), (*replies, *copies)
        return self, ()

    def describe_changes(self, old):
        return (SAFE(end=self.safe),) if old is None or old.safe != self.safe else ()


@dataclass(frozen=True, slots=True)
class Mirror(Quiet):
    """Keeps one copy of each value, and makes it survive a power cut."""

    def step(self, event, disk):
        match event:
            case Request(body=Copy(value, at)) if value not in disk.table("copies"):
                return self, (Put("copies", value, at), Flush())
        return self, ()


def kept(toy, world):
    return [v.value for v in world.disk("store").log("values").read(0)]


KEPT_ONCE = Claim(
    "kept once",
    Words("the store keeps no value twice", "存储不会把一个值保存两次"),
    lambda toy, world: len(kept(toy, world)) == len(set(kept(toy, world))),
    reads=lambda toy, name, node: node.disk if name == "store" else None,
)
MIRRORED = Claim(
    "mirrored",
    Words("the mirror can have every value", "镜像能够得到每个值"),
    lambda toy, world: 0 < len(kept(toy, world)) == len(world.disk("mirror").table("copies")),
    kind="sometimes",
    reads=lambda toy, name, node: node.disk,
)


@dataclass(frozen=True)
class Toy(System):
    """system toy retry_ms=100 clients=app 'app=keep a; keep b'"""

    retry_ms: int = 100
    clients: tuple[str, ...] = ("app",)
    off: Annotated[tuple[str, ...], SORTED] = ()
    programs: Programs = ()

    name = "toy"
    retrying = ("retry",)

    def nodes(self):
        programs = dict(self.programs)
        store = partial(Store.recover, Config(on=frozenset(self.safeguards()) - {*self.off}))
        start = lambda role: lambda disk, at_ms: (role, ())  # noqa: E731
        return (
            *(NodeSpec(name, ((name, start(Client(self.retry_ms))),), programs.get(name, ()))
              for name in self.clients),
            NodeSpec("store", (("store", store),)),
            NodeSpec("mirror", (("mirror", start(Mirror())),)),
        )  # fmt: skip

    def call(self, words):
        match words:
            case ("keep", value):
                return Keep(value)
        raise ValueError(f"{words[0]!r} is not a call; expected `keep VALUE`")

    def snapshot(self, world):
        lanes = tuple(Lane(name, Text(name), up=node.up) for name, node in world.nodes.items())
        cells = tuple(Cell(at, value) for at, value in enumerate(kept(self, world)))
        light = KEPT_ONCE.of(self)
        lights = (Light(light.name, light.sentence, light.holds(world)),)
        return Snapshot(lanes, (Log("values", cells),), lights=lights)

    def properties(self):
        return KEPT_ONCE.of(self), MIRRORED.of(self)

    def safeguards(self):
        return {"once": Text("the store looks whether it has a value already")}


def make_toy(*calls, **options):
    """A toy whose client `app` makes these calls: make_toy("keep a", off=("once",))."""
    return Toy(programs=(("app", tuple(Keep(c.split()[1]) for c in calls)),), **options)


#: choices after which the store was killed: it had answered, and the copy had not left
TORN = ("call app", "app>store", "store. kill=1")
