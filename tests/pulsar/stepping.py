"""One role by itself: what it is sent, what it writes, and what leaves it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mqlab.kernel import (
    Append,
    Appended,
    Caller,
    CancelTimer,
    Event,
    Fired,
    MemoryDisk,
    Reply,
    Request,
    Send,
    SetTimer,
)

Recover = Any


@dataclass
class Alone:
    """A role on a disk of its own, and everything that has left it. What it appends is safe at
    once unless `slow`; then `settle` says so."""

    recover: Recover
    slow: bool = False
    at_ms: int = 0
    disk: MemoryDisk = MemoryDisk()
    role: Any = None
    sent: list[Send] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    timers: dict[str, int] = field(default_factory=dict)
    unsafe: list[Appended] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Memory is gone, the disk is not."""
        self.sent, self.replies, self.timers, self.unsafe = [], [], {}, []
        self.role, effects = self.recover(self.disk, self.at_ms)
        self._do(effects)
        self._settle_quickly()

    def step(self, event: Event) -> None:
        self.role, effects = self.role.step(event, self.disk)
        self._do(effects)
        self._settle_quickly()

    def _settle_quickly(self) -> None:
        if not self.slow:
            self.settle()

    def settle(self) -> None:
        """What was appended is safe."""
        while self.unsafe:
            self.role, effects = self.role.step(self.unsafe.pop(0), self.disk)
            self._do(effects)

    def _do(self, effects: Any) -> None:
        for effect in effects:
            self.disk = self.disk.apply(effect)
            match effect:
                case Append(log=log, entry=entry):
                    self.unsafe.append(Appended(log, entry.last + 1, self.at_ms))
                case Send():
                    self.sent.append(effect)
                case Reply():
                    self.replies.append(effect)
                case SetTimer(timer=timer, after_ms=after_ms):
                    self.timers[timer] = after_ms
                case CancelTimer(timer=timer):
                    self.timers.pop(timer, None)

    # -- what happens to it ------------------------------------------------------------------

    def ask(self, body: Any, caller: str = "app") -> None:
        self.step(Request(Caller(caller), body, self.at_ms))

    def call(self, body: Any, caller: str = "app") -> Any:
        """Ask, and give the answer."""
        self.replies = []
        self.ask(body, caller)
        (reply,) = self.replies
        return reply.body

    def fire(self, timer: str) -> None:
        del self.timers[timer]
        self.step(Fired(timer, self.at_ms))

    def take_sent(self) -> list[Send]:
        """What it has sent since this was asked last."""
        sent, self.sent = self.sent, []
        return sent

    def words(self, log: str) -> list[str]:
        """The entries of a log as they are narrated."""
        return [str(entry) for entry in self.disk.log(log).read(0)]
