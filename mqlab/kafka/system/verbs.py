"""What the applications of a scenario may call: `run app: init, begin, send orders-0 a`."""

from __future__ import annotations

from typing import Any

from ...kernel.usages import Usages, bare, number, one_of
from ..clients.admin import AbortHanging, Describe, FindHanging, List, Producers
from ..clients.calls import (
    Abort,
    Begin,
    Commit,
    CommitOffsets,
    Committed,
    EndOffset,
    Flush,
    GroupMetadata,
    Init,
    Lag,
    Poll,
    PositionOf,
    Seek,
    SendOffsets,
    SendRecord,
    Subscribe,
    Unsubscribe,
)
from ..messages import READ_COMMITTED, Position
from ..replication import Elect, Fence


def _poll(partition: str, isolation: str) -> Poll:
    return Poll(partition, isolation or READ_COMMITTED)


def _end_offset(partition: str, isolation: str) -> EndOffset:
    return EndOffset(partition, isolation or READ_COMMITTED)


def _seek(where: Position) -> Seek:
    return Seek(where.partition, where.offset)


def _abort_hanging(where: Position) -> AbortHanging:
    return AbortHanging(where.partition, where.offset)


CALLS = Usages(
    {
        "init": Init,
        "begin": Begin,
        "send TOPIC-PARTITION VALUE": SendRecord,
        "send-offsets GROUP TOPIC-PARTITION@OFFSET … [member=M generation=N]": SendOffsets,
        "flush": Flush,
        "commit": Commit,
        "abort": Abort,
        "poll [TOPIC-PARTITION] [read_committed | read_uncommitted]": _poll,
        "committed GROUP TOPIC-PARTITION …": Committed,
        "subscribe GROUP TOPIC …": Subscribe,
        "unsubscribe": Unsubscribe,
        "commit-offsets GROUP [TOPIC-PARTITION@OFFSET …]": CommitOffsets,
        "position TOPIC-PARTITION": PositionOf,
        "end-offset TOPIC-PARTITION [read_committed | read_uncommitted]": _end_offset,
        "lag TOPIC-PARTITION": Lag,
        "seek TOPIC-PARTITION@OFFSET": _seek,
        "group-metadata": GroupMetadata,
        "list": List,
        "describe TRANSACTIONAL-ID": Describe,
        "producers TOPIC-PARTITION": Producers,
        "find-hanging TOPIC-PARTITION": FindHanging,
        "abort-hanging TOPIC-PARTITION@OFFSET": _abort_hanging,
        "elect PARTITION REPLICA": Elect,
        "fence PARTITION REPLICA": Fence,
    }
)


def parse_call(
    words: tuple[str, ...],
    partitions: tuple[str, ...],
    groups: tuple[str, ...],
    led: tuple[str, ...],
) -> Any:
    """The call that the words of a line stand for. `partitions` may be written and read, `groups`
    have coordinators, `led` have leaders that can be elected. Raises ValueError with advice."""
    known = one_of("partition", partitions)

    def read_position(text: str) -> Position:
        partition, _, offset = text.partition("@")
        at = number(offset)
        if at is None:
            raise ValueError(f"{text!r} is no position; expected TOPIC-PARTITION@OFFSET")
        return Position(known(partition), at)

    readers = {
        "TOPIC-PARTITION": known,
        "TOPIC-PARTITION@OFFSET": read_position,
        "TOPIC": one_of("topic", list(dict.fromkeys(p.rpartition("-")[0] for p in partitions))),
        "GROUP": bare("a group") if groups else _refuse_group,
        "M": bare("a member"),
        "VALUE": bare("a value"),
        "N": _read_generation,
        "PARTITION": one_of("partition", led),
        "REPLICA": number,
    }
    return CALLS.read(words, readers)


def _read_generation(text: str) -> int | None:
    """-1 is none."""
    return -1 if text == "-1" else number(text)


def _refuse_group(name: str) -> str:
    raise ValueError(f"this system has no group {name!r}; write groups=1 in its line")
