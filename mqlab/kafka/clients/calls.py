"""What an application may call on its client. What it gets back is an `Outcome`.

One `failed` is less definite than it sounds: a commit whose answer was lost, and whose producer
is fenced before it asks again, hears ProducerFencedException although it was committed.
"""

from __future__ import annotations

from ...kernel import frozen, phrase_word, worded
from ...kernel.usages import quote
from ..messages import READ_COMMITTED, Position, braces


@worded("init")
class Init:
    """initTransactions"""


@worded("init-producer-id")
class ReinitProducerId:
    """InitProducerId in the middle of a transaction: no method, but what a client may do by itself
    (confluentinc/librdkafka#3575). It goes on with the epoch that it is given"""


@worded("resume-transaction {pid} {epoch}")
class ResumeTransaction:
    """what Flink does with its own producer after a restart: it sets the id and epoch of the one
    that wrote, so that the open transaction is the producer's own; all it can do then is end it"""

    pid: int
    epoch: int


@worded("begin")
class Begin:
    """beginTransaction: local, no request is sent"""


@frozen
class SendRecord:
    """send: returns at once, the batch is in flight. `key`, `headers` (name:value) and `bytes`, its
    size, are written to the log with the value, which alone is shown"""

    partition: str
    value: str
    key: str = ""
    headers: str = ""
    bytes: int = 0

    def __str__(self) -> str:
        given = (("key", self.key), ("headers", self.headers), ("bytes", self.bytes))
        more = "".join(f" {name}={quote(str(value))}" for name, value in given if value)
        return f"send {self.partition} {quote(self.value)}{more}"


@frozen
class SendOffsets:
    """sendOffsetsToTransaction; `member` and `generation` are the consumer's group metadata,
    without which a zombie cannot be distinguished from its successor"""

    group: str
    positions: tuple[Position, ...]
    member: str = ""
    generation: int = -1

    def __str__(self) -> str:
        who = f" member={self.member}" if self.member else ""
        who += f" generation={self.generation}" if self.generation >= 0 else ""
        return f"send-offsets {self.group} {braces(tuple(map(str, self.positions)))}{who}"


@worded("flush")
class Flush:
    """flush: waits until every batch is answered, and reports the outcome of the futures that
    `send` has returned (Java's flush itself throws nothing; `get` on a future does)"""


@worded("commit")
class Commit:
    """commitTransaction"""


@worded("abort")
class Abort:
    """abortTransaction"""


# ---- of a consumer ---------------------------------------------------------------------


@frozen
class Subscribe:
    """subscribe, with the join that Kafka leaves to the first poll. Of the configuration:
    `group_instance_id`, a static member's name; `auto_offset_reset`, where it reads on from without
    a position of the group (Java's default is latest, here it is earliest)"""

    group: str
    topics: tuple[str, ...]
    group_instance_id: str | None = None
    auto_offset_reset: str = "earliest"

    def __str__(self) -> str:
        name = f" group_instance_id={self.group_instance_id}" if self.group_instance_id else ""
        latest = self.auto_offset_reset == "latest"
        reset = " auto_offset_reset=latest" if latest else ""
        return f"subscribe {self.group} {braces(self.topics)}{name}{reset}"


@worded("unsubscribe")
class Unsubscribe:
    """unsubscribe: leave the group"""


@frozen
class Poll:
    """poll one partition, or (partition "") all that the group has assigned"""

    partition: str = ""
    isolation: str = READ_COMMITTED

    def __str__(self) -> str:
        return " ".join(filter(None, ("poll", self.partition, self.isolation)))


@frozen
class CommitOffsets:
    """commitSync of these positions or, if there are none, of everything assigned"""

    group: str
    positions: tuple[Position, ...] = ()

    def __str__(self) -> str:
        what = f" {braces(tuple(map(str, self.positions)))}" if self.positions else ""
        return f"commit-offsets {self.group}{what}"


@frozen
class Committed:
    """committed: the group's positions, once no transaction holds them; without `require_stable`,
    as an administrator asks, whatever counts just now"""

    group: str
    partitions: tuple[str, ...]
    require_stable: bool = True

    def __str__(self) -> str:
        more = "" if self.require_stable else " require_stable=no"
        return f"committed {self.group} {braces(self.partitions)}{more}"


@worded("position {partition}")
class PositionOf:
    """position: the next offset to read, which is in memory only"""

    partition: str


@worded("end-offset {partition} {isolation}")
class EndOffset:
    """endOffsets: the LSO under read_committed, else the high watermark"""

    partition: str
    isolation: str = READ_COMMITTED


@worded("lag {partition}")
class Lag:
    """currentLag: the end as of the last fetch, less the position"""

    partition: str

    def say_detail(self, detail: str) -> str:
        return phrase_word(detail)


@worded("seek {partition}@{offset}")
class Seek:
    """seek: read on from here"""

    partition: str
    offset: int


@worded("group-metadata")
class GroupMetadata:
    """groupMetadata: member and generation, for the producer"""
