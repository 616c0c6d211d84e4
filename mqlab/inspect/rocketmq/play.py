"""What happens next in a RocketMQ that was read: its records on the engine's disk.

    halves, op records and parked messages, from the check's position on    the commit log, its queues
    the two positions of the check                                         consumerOffset.json

The broker recovers from these, as after a restart; who was connected is not. No clock runs here: a
message is as old as it was when it was read, and no half is too young to be asked about.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Annotated, Any

from ...explore import Budget
from ...kernel import Map, MemoryDisk, Text, Words, World, replace
from ...kernel.disk import MemoryLog
from ...kernel.options import NAME, UNWRITTEN
from ...kernel.text import tr
from ...rocketmq.application import TABLE as ROWS
from ...rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, RocketMQConfig
from ...rocketmq.log import (
    COMMIT_LOG,
    DISCARD_QUEUE,
    HALF_KEY,
    HALF_QUEUE,
    OP_KEY,
    OP_QUEUE,
    TABLE,
    QueueEntry,
    Stored,
)
from ...rocketmq.messages import (
    CHECK_IMMUNITY,
    CHECK_TIMES,
    PGROUP,
    PREPARED_QUEUE_OFFSET,
    REAL_QID,
    REAL_TOPIC,
    TAGS,
    TRAN_MSG,
    TRANSACTION_ID,
    UNIQ_KEY,
    Message,
)
from ...rocketmq.producer import Resume, SetListener
from ...rocketmq.remoting import MessageRecord
from ...rocketmq.states import LocalTransactionState
from ...rocketmq.system import RocketMQSystem
from ..play import STATES, Taken, Way, Wish
from ..reading import Gap, Reading
from .halves import Facts, Half

MOST_HALVES, ROOM = 3, 40
KEPT = (
    UNIQ_KEY, PGROUP, REAL_TOPIC, REAL_QID, CHECK_TIMES, CHECK_IMMUNITY, PREPARED_QUEUE_OFFSET,
    TRAN_MSG, TRANSACTION_ID, TAGS,
)  # fmt: skip
COMMIT = LocalTransactionState.COMMIT_MESSAGE

DELIVERED = Words("{key} reaches its consumers")
GIVEN_UP = Words("{key} is given up, after {times} of {most} checks")
ROUNDS = Words("rounds of the check: {n}, and nobody of {group} is there")
THERE = Words("somebody of {group} is there and answers COMMIT")
RESUMED = Words("it is taken back by hand (resumeCheckHalfMessage), and {group} answers COMMIT")
TOOK = Words("{log}: {n} messages, from {first} on")
CHECK_AT = Words("the check's positions: {half} in the half topic, {op} in the op topic")
MORE = Words("{n} more")
BEHIND = Words("{n} more messages behind place {place}")
HALVES, AGES = tr("undecided and parked half messages"), tr("ages")
NO_CLOCK = tr("no clock runs: each message stays as old as it was, and none is too young for a "
              "check")  # fmt: skip
BODIES = tr("bodies and other properties")
BY_KEY = tr("a message is known by its key")
PLACES, NUMBERED = tr("places in the commit log"), tr("records are numbered from 0 on")
NO_PLACE = tr("not read: the check is taken to begin with the first half message that is there")


@dataclasses.dataclass(frozen=True)
class TakenRocketMQ(RocketMQSystem):
    """Its queues have the names of those that were read."""

    names: Annotated[tuple[str, ...], UNWRITTEN] = ()
    name = "rocketmq-as-read"

    @cached_property
    def config(self) -> RocketMQConfig:
        return replace(super().config, topics=self.names)


def take_over(reading: Reading) -> Taken:
    facts: Facts = reading.own
    left: list[Gap] = []
    logs = {log.name: log for log in reading.logs}
    records: list[MessageRecord] = []
    took: list[Text] = []
    if facts.check_at < 0:
        left.append(Gap(Text(HALF_QUEUE), NO_PLACE))
    starts = {HALF_QUEUE: facts.check_at, OP_QUEUE: -1, DISCARD_QUEUE: -1}
    for queue, topic in ((HALF_QUEUE, HALF_TOPIC), (OP_QUEUE, OP_TOPIC),
                         (DISCARD_QUEUE, DISCARD_TOPIC)):  # fmt: skip
        log = logs.get(topic)
        flags = log.frontiers if log else ()
        at = max(starts[queue], *(flag.at for flag in flags), 0)
        rows = [row for row in (log.rows if log else ()) if row.queue_offset >= at]
        starts[queue] = rows[0].queue_offset if rows else at
        if len(rows) > ROOM:
            place = rows[ROOM - 1].queue_offset
            left.append(Gap(Text(topic), BEHIND(n=len(rows) - ROOM, place=place)))
        records += rows[:ROOM]
        took.append(TOOK(log=topic, n=len(rows[:ROOM]), first=starts[queue]))
    took.append(CHECK_AT(half=starts[HALF_QUEUE], op=starts[OP_QUEUE]))
    records.sort(key=lambda record: record.physical_offset)
    stored = [_store(base, record, reading.at_ms) for base, record in enumerate(records)]
    here = {(s.message.topic, s.queue_offset): s for s in stored}
    halves = [h for h in facts.halves if (HALF_TOPIC, h.offset) in here]
    parked = [h for h in facts.parked if (DISCARD_TOPIC, h.offset) in here]
    asked = sorted(halves, key=lambda h: -h.times)[:MOST_HALVES]
    asked_back = parked[:MOST_HALVES]
    if n := len(facts.halves) + len(facts.parked) - len(asked) - len(asked_back):
        left.append(Gap(HALVES, MORE(n=n)))
    left += [Gap(AGES, NO_CLOCK), Gap(BODIES, BY_KEY), Gap(PLACES, NUMBERED)]
    queues = tuple(sorted({h.queue for h in (*asked, *asked_back)}))
    ends = {queue: logs[queue].end if queue in logs else 0 for queue in queues}
    groups = tuple(dict.fromkeys(_safe(h.group) for h in (*asked, *asked_back)))
    newer = not records or any(TRANSACTION_ID in r.properties for r in records)
    system = TakenRocketMQ(
        release="5.5" if newer else "4.9", names=queues, early="on", persist_ms=0,
        check_max=facts.check_max, check_interval_ms=max(facts.interval_ms, 1), timeout_ms=0,
        producers=tuple((f"{group}-1", group) for group in groups),
        disks=(("broker", _disk(stored, starts, ends)),),
    )  # fmt: skip
    back = {h.key: here[DISCARD_TOPIC, h.offset].base for h in asked_back}
    calls = (SetListener(COMMIT, (COMMIT,)), *map(Resume, back.values()))
    by_hand = dataclasses.replace(
        system, programs=tuple((f"{group}-1", calls) for group in groups)
    )
    wishes = (*_ask(system, asked), *_ask_back(system, asked_back, back))
    return Taken(by_hand, (), wishes, tuple(took), tuple(left))


def _ask(system: TakenRocketMQ, halves: Sequence[Half]) -> Iterable[tuple[Wish, tuple[Way, ...]]]:
    """Of an undecided half: whether it is given up, and whether it is delivered."""
    for half in halves:
        n, most = max(system.check_max - half.times, 0) + 1, system.check_max
        clock = Way("clock", ROUNDS(n=n, group=half.group), _without(system), _rounds(n))
        there = Way("there", THERE(group=half.group), _with(system, half), _rounds(1))
        key = _safe(half.key)
        said = GIVEN_UP(key=half.key, times=half.times, most=most)
        yield Wish(said, partial(_lies_in, key, DISCARD_TOPIC)), (clock,)
        topic = half.queue.rpartition("-")[0]
        yield Wish(DELIVERED(key=half.key), partial(_lies_in, key, topic)), (clock, there)


def _ask_back(
    system: TakenRocketMQ, parked: Sequence[Half], back: dict[str, int]
) -> Iterable[tuple[Wish, tuple[Way, ...]]]:
    """Of one that was given up."""
    for half in parked:
        clock = Way("clock", ROUNDS(n=1, group=half.group), _without(system), _rounds(1))
        there = Way("there", THERE(group=half.group), _with(system, half), _rounds(1))
        resume = _with(system, half, Resume(back[half.key]))
        resumed = Way("resumed", RESUMED(group=half.group), resume, _rounds(1))
        wish = partial(_lies_in, _safe(half.key), half.queue.rpartition("-")[0])
        yield Wish(DELIVERED(key=half.key), wish), (clock, there, resumed)


def _rounds(n: int) -> Budget:
    return Budget(timers=min(n, 255), states=STATES, retries=0)


def _without(system: TakenRocketMQ) -> TakenRocketMQ:
    return dataclasses.replace(system, producers=())


def _with(system: TakenRocketMQ, half: Half, *more: Any) -> TakenRocketMQ:
    """Somebody of its group is there, who finds the rows of all that he is asked about."""
    node, group = f"{_safe(half.group)}-1", _safe(half.group)
    (_, disk), calls = system.disks[0], (SetListener(COMMIT, (COMMIT,)), *more)
    keys = {s.message.words for s in disk.log(COMMIT_LOG).entries}
    rows = Map([(ROWS, Map((key, "paid") for key in keys))])
    return dataclasses.replace(
        system, producers=((node, group),), programs=((node, calls),),
        disks=(*system.disks, ("db", MemoryDisk(Map(), rows, rows))),
    )  # fmt: skip


def _store(base: int, record: MessageRecord, now_ms: int) -> Stored:
    """Without its body; its times before the moment of the reading, which is 0."""
    told = {name: record.properties[name] for name in KEPT if name in record.properties}
    for name in (PGROUP, UNIQ_KEY):
        if name in told:
            told[name] = _safe(told[name])
    body = record.body.decode(errors="replace") if record.topic == OP_TOPIC else told.get(UNIQ_KEY)
    born = min(record.born_timestamp - now_ms, 0)
    message = Message(
        record.topic, record.queue_id, body or f"m{base}", Map(told.items()), born,
        sys_flag=record.sys_flag,
    )  # fmt: skip
    return Stored(base, message, record.queue_offset, min(record.store_timestamp - now_ms, 0))


def _disk(stored: Sequence[Stored], starts: dict[str, int], ends: dict[str, int]) -> MemoryDisk:
    """All of it flushed."""
    queues: dict[str, tuple[Any, ...]] = {}
    for s in stored:
        entries = queues.get(s.message.queue, ())
        queues[s.message.queue] = (*entries, QueueEntry(s.queue_offset, s.base))
    logs = {name: MemoryLog((), 0, start) for name, start in (starts | ends).items()}
    for name, of in queues.items():
        entries = tuple(sorted(of, key=lambda entry: entry.base))
        logs[name] = MemoryLog(entries, len(entries), starts[name])
    logs[COMMIT_LOG] = MemoryLog(tuple(stored), len(stored))
    offsets = Map([(HALF_KEY, starts[HALF_QUEUE]), (OP_KEY, starts[OP_QUEUE])])
    tables: Map[str, Map[Any, Any]] = Map([(TABLE, offsets)])
    return MemoryDisk(Map(logs.items()), tables, tables)


def _safe(name: str) -> str:
    """A key or a group as a name in a system: of letters, digits and . _ - only."""
    return name if NAME.fullmatch(name) else re.sub(r"[^\w.-]", "_", name) or "_"


def _lies_in(key: str, topic: str, world: World) -> bool:
    return any(
        s.message.topic == topic and s.message.get(UNIQ_KEY) == key
        for s in world.disk("broker").log(COMMIT_LOG).entries
    )
