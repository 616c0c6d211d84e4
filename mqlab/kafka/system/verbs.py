"""What the applications of a scenario may call: `run app: init, begin, send orders-0 a`."""

from __future__ import annotations

from typing import Any

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
from ..messages import READ_COMMITTED, READ_UNCOMMITTED, Position
from ..replication import Elect, Fence

ADVICE = {
    "init": "init",
    "begin": "begin",
    "send": "send TOPIC-PARTITION VALUE",
    "send-offsets": "send-offsets GROUP TOPIC-PARTITION@OFFSET … [member=M generation=N]",
    "flush": "flush",
    "commit": "commit",
    "abort": "abort",
    "poll": "poll [TOPIC-PARTITION] [read_committed | read_uncommitted]",
    "committed": "committed GROUP TOPIC-PARTITION …",
    "subscribe": "subscribe GROUP TOPIC …",
    "unsubscribe": "unsubscribe",
    "commit-offsets": "commit-offsets GROUP [TOPIC-PARTITION@OFFSET …]",
    "position": "position TOPIC-PARTITION",
    "end-offset": "end-offset TOPIC-PARTITION [read_committed | read_uncommitted]",
    "lag": "lag TOPIC-PARTITION",
    "seek": "seek TOPIC-PARTITION@OFFSET",
    "group-metadata": "group-metadata",
    "list": "list",
    "describe": "describe TRANSACTIONAL-ID",
    "producers": "producers TOPIC-PARTITION",
    "find-hanging": "find-hanging TOPIC-PARTITION",
    "abort-hanging": "abort-hanging TOPIC-PARTITION@OFFSET",
    "elect": "elect PARTITION REPLICA",
    "fence": "fence PARTITION REPLICA",
}


def parse_call(words: tuple[str, ...], partitions: tuple[str, ...], led: tuple[str, ...]) -> Any:
    """The call that the words of a line stand for. `partitions` may be written and read,
    `led` have leaders that can be elected. Raises ValueError with advice."""
    call = _produced(words, partitions) or _read(words, partitions)
    call = call or _administered(words, partitions, led)
    if call is None:
        advice = ADVICE.get(words[0] if words else "", "one of: " + "; ".join(ADVICE.values()))
        raise ValueError(f"{' '.join(words)!r} is no call; expected {advice}")
    return call


def _produced(words: tuple[str, ...], partitions: tuple[str, ...]) -> Any:
    match words:
        case ("init",):
            return Init()
        case ("begin",):
            return Begin()
        case ("send", partition, value):
            if set(value) & set("{},;'\""):
                raise ValueError(f"{value!r}: a value here is a word without {{}},;'\"")
            return SendRecord(_one_of(partition, partitions), value)
        case ("send-offsets", group, *positions) if positions:
            return _offsets(group, positions, partitions)
        case ("flush",):
            return Flush()
        case ("commit",):
            return Commit()
        case ("abort",):
            return Abort()
    return None


def _offsets(group: str, words: list[str], partitions: tuple[str, ...]) -> SendOffsets:
    """Positions, and perhaps who sends them: member=M generation=N."""
    who = dict(w.split("=", 1) for w in words if "=" in w)
    positions = tuple(_position(w, partitions) for w in words if "=" not in w)
    generation = who.get("generation", "-1")
    if set(who) - {"member", "generation"} or not generation.lstrip("-").isdigit():
        raise ValueError(f"{' '.join(words)!r}: expected {ADVICE['send-offsets']}")
    return SendOffsets(group, positions, who.get("member", ""), int(generation))


def _read(words: tuple[str, ...], partitions: tuple[str, ...]) -> Any:
    isolation = READ_COMMITTED
    if (
        words
        and words[0] in ("poll", "end-offset")
        and words[-1] in (READ_COMMITTED, READ_UNCOMMITTED)
    ):
        words, isolation = words[:-1], words[-1]
    match words:
        case ("poll",):
            return Poll("", isolation)
        case ("poll", partition):
            return Poll(_one_of(partition, partitions), isolation)
        case ("committed", group, *wanted) if wanted:
            return Committed(group, tuple(_one_of(p, partitions) for p in wanted))
        case ("end-offset", partition):
            return EndOffset(_one_of(partition, partitions), isolation)
        case ("position", partition):
            return PositionOf(_one_of(partition, partitions))
        case ("lag", partition):
            return Lag(_one_of(partition, partitions))
        case ("seek", where):
            position = _position(where, partitions)
            return Seek(position.partition, position.offset)
    return _grouped(words, partitions)


def _grouped(words: tuple[str, ...], partitions: tuple[str, ...]) -> Any:
    match words:
        case ("subscribe", group, *topics) if topics:
            return Subscribe(group, tuple(topics))
        case ("unsubscribe",):
            return Unsubscribe()
        case ("commit-offsets", group, *positions):
            return CommitOffsets(group, tuple(_position(p, partitions) for p in positions))
        case ("group-metadata",):
            return GroupMetadata()
    return None


def _administered(words: tuple[str, ...], partitions: tuple[str, ...], led: tuple[str, ...]) -> Any:
    match words:
        case ("list",):
            return List()
        case ("describe", txn_id):
            return Describe(txn_id)
        case ("producers", partition):
            return Producers(_one_of(partition, partitions))
        case ("find-hanging", partition):
            return FindHanging(_one_of(partition, partitions))
        case ("abort-hanging", where):
            position = _position(where, partitions)
            return AbortHanging(position.partition, position.offset)
        case ("elect", partition, number) if number.isdigit():
            return Elect(_one_of(partition, led), int(number))
        case ("fence", partition, number) if number.isdigit():
            return Fence(_one_of(partition, led), int(number))
    return None


def _one_of(name: str, partitions: tuple[str, ...]) -> str:
    if name not in partitions:
        raise ValueError(f"no partition {name!r}; there are: {', '.join(partitions)}")
    return name


def _position(text: str, partitions: tuple[str, ...]) -> Position:
    partition, _, offset = text.partition("@")
    if not offset.isdigit():
        raise ValueError(f"{text!r} is no position; expected TOPIC-PARTITION@OFFSET")
    return Position(_one_of(partition, partitions), int(offset))
