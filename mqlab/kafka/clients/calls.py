"""What an application may call on its client. What it gets back is an `Outcome`.

One `failed` is less definite than it sounds: a commit whose answer was lost, and whose producer
is fenced before it asks again, hears ProducerFencedException although it was committed.
"""

from __future__ import annotations

from ...kernel import frozen
from ..messages import READ_COMMITTED, Position, braces


@frozen
class Init:
    """initTransactions"""

    def __str__(self) -> str:
        return "init"


@frozen
class Begin:
    """beginTransaction: local, no request is sent"""

    def __str__(self) -> str:
        return "begin"


@frozen
class SendRecord:
    """send: returns at once, the batch is under way"""

    partition: str
    value: str

    def __str__(self) -> str:
        return f"send {self.partition} {self.value}"


@frozen
class SendOffsets:
    """sendOffsetsToTransaction; `member` and `generation` are the consumer's group
    metadata, without which nobody can tell a zombie from its successor"""

    group: str
    positions: tuple[Position, ...]
    member: str = ""
    generation: int = -1

    def __str__(self) -> str:
        who = f" member={self.member}" if self.member else ""
        who += f" generation={self.generation}" if self.generation >= 0 else ""
        return f"send-offsets {self.group} {braces(tuple(map(str, self.positions)))}{who}"


@frozen
class Flush:
    """flush: waits until every batch is answered, and tells what became of the futures that
    `send` has returned (Java's flush itself throws nothing; `get` on a future does)"""

    def __str__(self) -> str:
        return "flush"


@frozen
class Commit:
    """commitTransaction"""

    def __str__(self) -> str:
        return "commit"


@frozen
class Abort:
    """abortTransaction"""

    def __str__(self) -> str:
        return "abort"


# ---- of a consumer ---------------------------------------------------------------------


@frozen
class Subscribe:
    """subscribe, and the joining that Kafka leaves to the first poll"""

    group: str
    topics: tuple[str, ...]

    def __str__(self) -> str:
        return f"subscribe {self.group} {braces(self.topics)}"


@frozen
class Unsubscribe:
    """unsubscribe: leave the group"""

    def __str__(self) -> str:
        return "unsubscribe"


@frozen
class Poll:
    """poll one partition, or (partition "") all that the group has assigned"""

    partition: str = ""
    isolation: str = READ_COMMITTED

    def __str__(self) -> str:
        return " ".join(filter(None, ("poll", self.partition, self.isolation)))


@frozen
class CommitOffsets:
    """commitSync of these positions; of none: of everything assigned"""

    group: str
    positions: tuple[Position, ...] = ()

    def __str__(self) -> str:
        what = f" {braces(tuple(map(str, self.positions)))}" if self.positions else ""
        return f"commit-offsets {self.group}{what}"


@frozen
class Committed:
    """committed: the group's positions, once no transaction holds them"""

    group: str
    partitions: tuple[str, ...]

    def __str__(self) -> str:
        return f"committed {self.group} {braces(self.partitions)}"


@frozen
class PositionOf:
    """position: the next offset to read, which is memory and nothing else"""

    partition: str

    def __str__(self) -> str:
        return f"position {self.partition}"


@frozen
class EndOffset:
    """endOffsets: the LSO under read_committed, else the high watermark"""

    partition: str
    isolation: str = READ_COMMITTED

    def __str__(self) -> str:
        return f"end-offset {self.partition} {self.isolation}"


@frozen
class Lag:
    """currentLag: the end as of the last fetch, less the position"""

    partition: str

    def __str__(self) -> str:
        return f"lag {self.partition}"


@frozen
class Seek:
    """seek: read on from here"""

    partition: str
    offset: int

    def __str__(self) -> str:
        return f"seek {self.partition}@{self.offset}"


@frozen
class GroupMetadata:
    """groupMetadata: member and generation, for the producer"""

    def __str__(self) -> str:
        return "group-metadata"
