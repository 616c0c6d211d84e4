"""What happens next in a RocketMQ that was read: its records on the engine's disk.

    halves and op records from the check's positions on, parked messages    commit log and queues
    the two positions of the check                                          consumerOffset.json

The broker recovers from these, as after a restart; who was connected is not. No clock runs here: a
message is as old as it was when it was read, and no half is too young to be asked about.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Annotated, Any

from ...explore import Budget
from ...kernel import Map, Text, Words, World, replace
from ...kernel.options import UNWRITTEN
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
from ..play import STILL, Left, Taken, Way, Wish, make_disk, make_name
from ..reading import LogRead, Reading
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
HALVES = tr("undecided and parked half messages")
NEVER_TAKEN = (
    (tr("ages"), tr("no clock runs: each message stays as old as it was, and none is too young for "
                    "a check")),
    (tr("bodies and other properties"), tr("a message is known by its key")),
    (tr("places in the commit log"), tr("records are numbered from 0 on")),
)  # fmt: skip
NO_PLACE = tr("not read: the check is taken to begin with the first half message that is there")


@dataclasses.dataclass(frozen=True)
class TakenRocketMQ(RocketMQSystem):
    """Its queues have the names of those that were read."""

    names: Annotated[tuple[str, ...], UNWRITTEN] = ()
    name = "rocketmq-as-read"

    @cached_property
    def config(self) -> RocketMQConfig:
        return replace(super().config, topics=self.names)


QUEUES = {HALF_TOPIC: HALF_QUEUE, OP_TOPIC: OP_QUEUE, DISCARD_TOPIC: DISCARD_QUEUE}


def take_over(reading: Reading) -> Taken:
    facts: Facts = reading.own
    left, took = Left(), list[Text]()
    logs = {log.name: log for log in reading.logs}
    records: list[MessageRecord] = []
    starts: dict[str, int] = {}
    if facts.check_at < 0:
        left.note(HALF_QUEUE, NO_PLACE)
    for topic, queue in QUEUES.items():
        log = logs.get(topic, LogRead(topic, 0, 0))
        at = max(0, *(flag.at for flag in log.frontiers), 0)
        rows = left.cut([row for row in log.rows if row.queue_offset >= at], ROOM, Text(topic))
        starts[queue] = rows[0].queue_offset if rows else at
        records += rows
        took.append(TOOK(log=topic, n=len(rows), first=starts[queue]))
    took.append(CHECK_AT(half=starts[HALF_QUEUE], op=starts[OP_QUEUE]))
    records.sort(key=lambda record: record.physical_offset)
    stored = [_store(base, record, reading.at_ms) for base, record in enumerate(records)]
    here = {(s.message.topic, s.queue_offset): s.base for s in stored}
    halves = [h for h in facts.halves if (HALF_TOPIC, h.offset) in here]
    parked = [h for h in facts.parked if (DISCARD_TOPIC, h.offset) in here]
    halves = left.cut(sorted(halves, key=lambda h: -h.times), MOST_HALVES, HALVES)
    parked = left.cut(parked, MOST_HALVES, HALVES)
    for what, why in NEVER_TAKEN:
        left.note(what, why)
    queues = tuple(sorted({h.queue for h in (*halves, *parked)}))
    ends = starts | {name: logs[name].end if name in logs else 0 for name in queues}
    of_queues: dict[str, list[Any]] = {COMMIT_LOG: stored}
    for s in sorted(stored, key=lambda s: s.queue_offset):
        of_queues.setdefault(s.message.queue, []).append(QueueEntry(s.queue_offset, s.base))
    offsets = {HALF_KEY: starts[HALF_QUEUE], OP_KEY: starts[OP_QUEUE]}
    groups = dict.fromkeys(make_name(h.group) for h in (*halves, *parked))
    newer = not records or any(TRANSACTION_ID in r.properties for r in records)
    system = TakenRocketMQ(
        release="5.5" if newer else "4.9", names=queues, early="on", persist_ms=0,
        check_max=facts.check_max, check_interval_ms=max(facts.interval_ms, 1), timeout_ms=0,
        producers=tuple((f"{group}-1", group) for group in groups),
        disks=(("broker", make_disk(of_queues, {TABLE: offsets}, ends)),),
    )  # fmt: skip
    back = {h.key: Resume(here[DISCARD_TOPIC, h.offset]) for h in parked}
    calls = (SetListener(COMMIT, (COMMIT,)), *back.values())
    by_hand = dataclasses.replace(system, programs=tuple((f"{g}-1", calls) for g in groups))
    asked = (*_ask(system, halves), *_ask_back(system, parked, back))
    return Taken(by_hand, (), asked, tuple(took), tuple(left))


def _ask(system: TakenRocketMQ, halves: Sequence[Half]) -> Iterable[tuple[Wish, tuple[Way, ...]]]:
    """Of an undecided half: whether it is given up, and whether it is delivered."""
    for half in halves:
        n, most = max(system.check_max - half.times, 0) + 1, system.check_max
        clock = Way(
            "clock",
            ROUNDS(n=n, group=half.group),
            dataclasses.replace(system, producers=()),
            _rounds(n),
        )
        there = Way("there", THERE(group=half.group), _with(system, half), _rounds(1))
        key = make_name(half.key)
        said = GIVEN_UP(key=half.key, times=half.times, most=most)
        yield Wish(said, partial(_lies_in, key, DISCARD_TOPIC)), (clock,)
        topic = half.queue.rpartition("-")[0]
        yield Wish(DELIVERED(key=half.key), partial(_lies_in, key, topic)), (clock, there)


def _ask_back(
    system: TakenRocketMQ, parked: Sequence[Half], back: dict[str, Resume]
) -> Iterable[tuple[Wish, tuple[Way, ...]]]:
    """Of one that was given up."""
    for half in parked:
        clock = Way(
            "clock",
            ROUNDS(n=1, group=half.group),
            dataclasses.replace(system, producers=()),
            _rounds(1),
        )
        there = Way("there", THERE(group=half.group), _with(system, half), _rounds(1))
        resume = _with(system, half, back[half.key])
        resumed = Way("resumed", RESUMED(group=half.group), resume, _rounds(1))
        wish = partial(_lies_in, make_name(half.key), half.queue.rpartition("-")[0])
        yield Wish(DELIVERED(key=half.key), wish), (clock, there, resumed)


def _rounds(n: int) -> Budget:
    return dataclasses.replace(STILL, timers=min(n, 255))


def _with(system: TakenRocketMQ, half: Half, *more: Any) -> TakenRocketMQ:
    """Somebody of its group is there, who finds the rows of all that he is asked about."""
    node, group = f"{make_name(half.group)}-1", make_name(half.group)
    (_, disk), calls = system.disks[0], (SetListener(COMMIT, (COMMIT,)), *more)
    rows = {s.message.words: "paid" for s in disk.log(COMMIT_LOG).entries}
    return dataclasses.replace(
        system, producers=((node, group),), programs=((node, calls),),
        disks=(*system.disks, ("db", make_disk({}, {ROWS: rows}))),
    )  # fmt: skip


def _store(base: int, record: MessageRecord, now_ms: int) -> Stored:
    """Without its body; its times before the moment of the reading, which is 0."""
    told = {name: record.properties[name] for name in KEPT if name in record.properties}
    for name in (PGROUP, UNIQ_KEY):
        if name in told:
            told[name] = make_name(told[name])
    body = record.body.decode(errors="replace") if record.topic == OP_TOPIC else told.get(UNIQ_KEY)
    born = min(record.born_timestamp - now_ms, 0)
    message = Message(
        record.topic, record.queue_id, body or f"m{base}", Map(told.items()), born,
        sys_flag=record.sys_flag,
    )  # fmt: skip
    return Stored(base, message, record.queue_offset, min(record.store_timestamp - now_ms, 0))


def _lies_in(key: str, topic: str, world: World) -> bool:
    return any(
        s.message.topic == topic and s.message.get(UNIQ_KEY) == key
        for s in world.disk("broker").log(COMMIT_LOG).entries
    )
