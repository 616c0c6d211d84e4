"""What an application may call on its client, and what it gets back.

Outcomes have three kinds, and a careful application treats all three differently:
`ok`, `failed` (definite: it did not happen) and `unknown` (indefinite: it may have).
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import Error
from .messages import READ_COMMITTED, Position, braces


@dataclass(frozen=True, slots=True)
class Init:
    """initTransactions"""

    def __str__(self) -> str:
        return "init"


@dataclass(frozen=True, slots=True)
class Begin:
    """beginTransaction: local, no request is sent"""

    def __str__(self) -> str:
        return "begin"


@dataclass(frozen=True, slots=True)
class SendRecord:
    """send: returns at once, the batch is under way"""

    partition: str
    value: str

    def __str__(self) -> str:
        return f"send {self.partition} {self.value}"


@dataclass(frozen=True, slots=True)
class SendOffsets:
    """sendOffsetsToTransaction"""

    group: str
    positions: tuple[Position, ...]

    def __str__(self) -> str:
        return f"send-offsets {self.group} {braces(tuple(map(str, self.positions)))}"


@dataclass(frozen=True, slots=True)
class Flush:
    """flush: waits until every batch is answered"""

    def __str__(self) -> str:
        return "flush"


@dataclass(frozen=True, slots=True)
class Commit:
    """commitTransaction"""

    def __str__(self) -> str:
        return "commit"


@dataclass(frozen=True, slots=True)
class Abort:
    """abortTransaction"""

    def __str__(self) -> str:
        return "abort"


@dataclass(frozen=True, slots=True)
class Poll:
    """poll one assigned partition"""

    partition: str
    isolation: str = READ_COMMITTED

    def __str__(self) -> str:
        return f"poll {self.partition} {self.isolation}"


@dataclass(frozen=True, slots=True)
class Committed:
    """committed: the group's positions, once no transaction holds them"""

    group: str
    partitions: tuple[str, ...]

    def __str__(self) -> str:
        return f"committed {self.group} {braces(self.partitions)}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call gave. `detail`: the error's name, or what was read."""

    call: str
    status: str = "ok"
    detail: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    def __str__(self) -> str:
        return f"{self.call}: {self.status}" + (f" {self.detail}" if self.detail else "")


def succeeded(call: object, detail: str = "") -> Outcome:
    return Outcome(str(call), "ok", detail)


def failed(call: object, why: Error | str) -> Outcome:
    return Outcome(str(call), "failed", str(why))
