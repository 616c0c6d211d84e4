"""What happens next in a RocketMQ that was read: its records on the engine's disk.

    half messages and op records from the check's positions on    commit log and queues
    the two positions of the check                                 consumerOffset.json

The broker recovers from these, as after a restart; who was connected is not. No clock runs here: a
message is as old as it was when it was read, and no half message is too young to be asked about.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Annotated, Any

from ...explore import Budget
from ...kernel import Map, Text, Words, World, replace
from ...kernel.options import UNWRITTEN
from ...kernel.text import tr
from ...rocketmq import log as store
from ...rocketmq import messages as keys
from ...rocketmq.application import TABLE as ROWS
from ...rocketmq.config import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, RocketMQConfig
from ...rocketmq.messages import Message
from ...rocketmq.producer import Resume, SetListener
from ...rocketmq.remoting import MessageRecord
from ...rocketmq.states import LocalTransactionState
from ...rocketmq.system import RocketMQSystem
from ..play import STILL, LeftOut, Taken, Way, Wish, make_disk, make_name, say_span
from ..reading import LogRead, Reading
from .halves import Facts, Half

MOST_HALVES = 3
#: the properties that the broker reads; others are of an application
KEPT = (
    keys.UNIQ_KEY, keys.PGROUP, keys.REAL_TOPIC, keys.REAL_QID, keys.CHECK_TIMES, keys.TRAN_MSG,
    keys.CHECK_IMMUNITY, keys.PREPARED_QUEUE_OFFSET, keys.TRANSACTION_ID, keys.TAGS,
)  # fmt: skip
QUEUES = {
    OP_TOPIC: store.OP_QUEUE, HALF_TOPIC: store.HALF_QUEUE, DISCARD_TOPIC: store.DISCARD_QUEUE
}  # fmt: skip
COMMIT = LocalTransactionState.COMMIT_MESSAGE

DELIVERED = Words("{key} reaches its consumers")
GIVEN_UP = Words("{key} is set aside, after {times} of {most} checks")
ROUNDS = Words("check rounds: {n}, and no producer of {group} is online")
THERE = Words("a producer of {group} is online and answers COMMIT")
RESUMED = Words("an operator puts it back (resumeCheckHalfMessage), and {group} answers COMMIT")
CHECK_AT = Words("the check's positions: {half} in the half topic, {op} in the op topic")
HALVES = tr("half messages undecided or set aside")
NEVER_TAKEN = (
    (tr("ages"), tr("no clock runs: a message keeps its age, and none is too young for a check")),
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


def take_over(reading: Reading) -> Taken:
    """Make a system of the engine from the broker that was read, to search and play what happens
    next: RocketMQ with the messages of the half topic, the op topic and the one for messages set
    aside on its broker's disk, to be played by hand; the questions to search for; what was taken
    over (`took`) and what was not."""
    # `halves`, `parked`: half messages that are undecided, and that were set aside; `check_at`: how
    # far the check has read, -1 where unknown; `ended`: offsets of half messages that op records
    # name
    facts: Facts = reading.own
    left_out, took = LeftOut(), list[Text]()
    logs = {log.name: log for log in reading.logs}
    records: list[MessageRecord] = []
    starts: dict[str, int] = {}
    if facts.check_at < 0:
        left_out.note(store.HALF_QUEUE, NO_PLACE)
    # the records of each log that follow each other, and where the engine's queue begins; the op
    # topic first, since it says which half messages have ended
    for topic, queue in QUEUES.items():
        log = logs.get(topic, LogRead(topic, 0, 0))
        # without rows the engine's queue begins at the check's position, these logs' only frontier
        first = max((flag.at for flag in log.frontiers), default=0)
        # offsets in the half topic that the op messages taken over name
        ended_by_ops = {place for record in records for place in _list_ended(record)}
        unseen = facts.ended - ended_by_ops if topic == HALF_TOPIC else frozenset()
        places = [row.queue_offset for row in log.rows]
        # rows up to a gap in their offsets, or to a half message whose op message was not taken
        # over
        cut = (n for n, offset in enumerate(places) if offset in unseen or offset != places[0] + n)
        rows = log.rows[: next(cut, len(places))]
        starts[queue] = rows[0].queue_offset if rows else first
        records += rows
        end = starts[queue] + len(rows)
        took.append(say_span(topic, starts[queue], end))
        left_out.note_end(topic, end, log.end)
    took.append(CHECK_AT(half=starts[store.HALF_QUEUE], op=starts[store.OP_QUEUE]))
    # the commit log: all records, in the sequence in which they were stored
    records.sort(key=lambda record: record.physical_offset)
    stored = [_store(base, record, reading.at_ms) for base, record in enumerate(records)]
    base_of = {(s.message.topic, s.queue_offset): s.base for s in stored}
    halves = [h for h in facts.halves if (HALF_TOPIC, h.offset) in base_of]
    parked = [h for h in facts.parked if (DISCARD_TOPIC, h.offset) in base_of]
    # those that were checked most often first (`cut` keeps the first so many, and notes the rest)
    halves = left_out.cut(sorted(halves, key=lambda h: -h.times), MOST_HALVES, HALVES)
    parked = left_out.cut(parked, MOST_HALVES, HALVES)
    for what, why in NEVER_TAKEN:
        left_out.note(what, why)
    # what goes onto the broker's disk: the commit log, and the queues that refer to it
    # (`queues`: those for which half messages are meant, empty but for their end)
    queues = tuple(sorted({h.queue for h in (*halves, *parked)}))
    ends = starts | {name: logs[name].end if name in logs else 0 for name in queues}
    of_queues: dict[str, list[Any]] = {store.COMMIT_LOG: stored}
    for s in sorted(stored, key=lambda s: s.queue_offset):
        of_queues.setdefault(s.message.queue, []).append(store.QueueEntry(s.queue_offset, s.base))
    offsets = {store.HALF_KEY: starts[store.HALF_QUEUE], store.OP_KEY: starts[store.OP_QUEUE]}
    groups = dict.fromkeys(make_name(h.group) for h in (*halves, *parked))
    # only 5.x stores the transaction id
    newer = not records or any(keys.TRANSACTION_ID in r.properties for r in records)
    # no clock runs: positions are written at once, and no half message is too young for a check;
    # `early`: producers are known to the broker before they send
    system = TakenRocketMQ(
        release="5.5" if newer else "4.9", names=queues, early="on", persist_ms=0,
        check_max=facts.check_max, check_interval_ms=max(facts.interval_ms, 1), timeout_ms=0,
        producers=tuple((f"{group}-1", group) for group in groups),
        disks=(("broker", make_disk(of_queues, {store.TABLE: offsets}, ends)),),
    )  # fmt: skip
    # by hand: each group's producer answers every check with COMMIT, and puts back those of its
    # half messages that were set aside
    resume_calls = {h.key: Resume(base_of[DISCARD_TOPIC, h.offset]) for h in parked}
    calls: dict[str, list[Any]] = {group: [SetListener(COMMIT, (COMMIT,))] for group in groups}
    for h in parked:
        calls[make_name(h.group)].append(resume_calls[h.key])
    programs = tuple((f"{group}-1", tuple(own)) for group, own in calls.items())
    by_hand = dataclasses.replace(system, programs=programs)
    asked = tuple(_ask(system, (*halves, *parked), resume_calls))
    # (): by hand it begins with what was read
    return Taken(by_hand, (), asked, tuple(took), tuple(left_out))


def _ask(
    system: TakenRocketMQ, halves: Sequence[Half], back: Mapping[str, Resume]
) -> Iterable[tuple[Wish, tuple[Way, ...]]]:
    """Yield what may happen to each half message, each question with the ways in which it may come
    true: whether an undecided one is set aside, and whether it is delivered. `back`: by the key of
    one that was set aside, the call that puts it back."""
    for half in halves:
        is_in, group = partial(_is_in_topic, make_name(half.key)), half.group
        # check rounds until an undecided one is set aside; of one that is already, a single one
        # shows that the check no longer asks about it
        rounds = 1 if half.key in back else max(system.check_max - half.times, 0) + 1
        no_producer = dataclasses.replace(system, producers=())
        clock = Way("clock", ROUNDS(n=rounds, group=group), no_producer, _rounds(rounds))
        ways: tuple[Way, ...] = (
            clock,
            Way("there", THERE(group=group), _with_producer(system, half), _rounds(1)),
        )
        if half.key in back:
            resumed = _with_producer(system, half, back[half.key])
            ways = (*ways, Way("resumed", RESUMED(group=group), resumed, _rounds(1)))
        else:
            given_up = GIVEN_UP(key=half.key, times=half.times, most=system.check_max)
            yield Wish(given_up, partial(is_in, DISCARD_TOPIC)), (clock,)
        topic = half.queue.rpartition("-")[0]
        yield Wish(DELIVERED(key=half.key), partial(is_in, topic)), ways


def _rounds(n: int) -> Budget:
    return dataclasses.replace(STILL, timers=min(n, 255))


def _with_producer(system: TakenRocketMQ, half: Half, *more: Any) -> TakenRocketMQ:
    """A producer of its group is there, which finds the rows of all that it is asked about."""
    node, group = f"{make_name(half.group)}-1", make_name(half.group)
    (_, disk), calls = system.disks[0], (SetListener(COMMIT, (COMMIT,)), *more)
    rows = {s.message.words: "paid" for s in disk.log(store.COMMIT_LOG).entries}
    return dataclasses.replace(
        system, producers=((node, group),), programs=((node, calls),),
        disks=(*system.disks, ("db", make_disk({}, {ROWS: rows}))),
    )  # fmt: skip


def _store(base: int, record: MessageRecord, now_ms: int) -> store.Stored:
    """Without its body; its times before the moment of the reading, which is 0."""
    kept = {name: record.properties[name] for name in KEPT if name in record.properties}
    kept |= {name: make_name(kept[name]) for name in (keys.PGROUP, keys.UNIQ_KEY) if name in kept}
    body = record.body.decode(errors="replace") if record.topic == OP_TOPIC else ""
    born = min(record.born_timestamp - now_ms, 0)
    message = Message(
        record.topic, record.queue_id, body or kept.get(keys.UNIQ_KEY, ""), Map(kept.items()), born,
        sys_flag=record.sys_flag,
    )  # fmt: skip
    return store.Stored(base, message, record.queue_offset, min(record.store_timestamp - now_ms, 0))


def _list_ended(record: MessageRecord) -> Iterable[int]:
    """The places in the half topic that an op record names."""
    body = record.body.decode(errors="replace") if record.topic == OP_TOPIC else ""
    return (int(part) for part in body.split(",") if part.strip().isdecimal())


def _is_in_topic(key: str, topic: str, world: World) -> bool:
    return any(
        s.message.topic == topic and s.message.get(keys.UNIQ_KEY) == key
        for s in world.disk("broker").log(store.COMMIT_LOG).entries
    )
