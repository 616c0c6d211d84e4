"""What happens next in a Kafka that was read: its records on the engine's disks.

    a partition's batches, from its oldest open transaction on    the log of a `Leader`
    what __transaction_state says of a transactional id           a record of the `Coordinator`
    a group's position, and a pending one                         records of a `GroupCoordinator`

All roles recover from these, as after a restart of all brokers; nothing else is known to them. A
partition that a decided transaction names and that could not be read is there, and down.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import count as count_from
from typing import Annotated, Any

from ...kafka import KafkaSystem
from ...kafka.clients.admin import AbortHanging
from ...kafka.clients.calls import Begin, Commit, Committed, Init, Poll, SendRecord
from ...kafka.config import txn_log
from ...kafka.coordinator.entry import Entry, to_record
from ...kafka.group.commits import Offsets, list_pending
from ...kafka.log import ABORT, COMMIT, Batch
from ...kafka.messages import Position as Place
from ...kafka.picture.view import Cluster
from ...kafka.states import COMPLETED, TxnState
from ...kernel import MemoryDisk, Text, Words, World, replace
from ...kernel.disk import LOG_STARTS
from ...kernel.options import UNWRITTEN
from ...kernel.text import tr
from ..play import STILL, LeftOut, Taken, Way, Wish, make_disk, make_name, say_span
from ..reading import LogRead, Position, Reading, Txn
from .internal import DECIDED, GROUPS, ONGOING, Own, State
from .judge import HANGING_STATE
from .scan import AROUND, Row

MOST_LOGS, MOST_IDS, MOST_GROUPS = 4, 3, 2
ROOM = 40  # offsets of a log
GROUP_LOG = f"{GROUPS}-0"
KEPT = {*map(str, TxnState)} - {"Dead", "PrepareEpochFence"}  # what a record may say
PARTITION = re.compile(r".+-\d+")
MARKERS = {"C": COMMIT, "A": ABORT}

CAN_READ = Words("A read_committed consumer reads {log} to its end")
IS_COMPLETE = Words("{id}, now {state}, is complete")
CAN_START = Words("{group} gets its position")
NOTHING = tr("nothing but a restart")
TIME = tr("a restart, and every transaction times out")
BACK = Words("the leader of {logs} comes back")
AGAIN = Words("a second producer starts with the same id ({ids})")
BY_ADMIN = Words("an administrator aborts what is open ({calls})")

TOOK_ID = Words("{id}: {state}, producer {pid}, epoch {epoch}")
TOOK_GROUP = Words("{group}: position {at} in {log}, pending {pending}")
AWAY = Words("{log}: not read; taken as a partition without a leader")
VERSION = Words("transaction.version is taken to be {n}")
ENDS_LATER = Words("batches whose transaction ends outside the imported part: {n}")
LOGS, IDS, POSITIONS = tr("partitions"), tr("transactional ids"), tr("positions of groups")
WHOSE = tr("whose transaction is open in it was not read: add the coordinator's record, as "
"`kafka-transactions.sh list` and `describe` print it")  # fmt: skip
UNTOLD = tr("which position is pending is not known: it is taken to be the present one")
NEVER_TAKEN = (
    (
        tr("payloads, compression, keys"),
        tr("only a batch's header is read; records are shown by number"),
    ),
    (tr("idle producers, followers, members of groups"), tr("the engine begins without them")),
    (tr("the application that wrote them"), tr("it is gone: what it would do next is not known")),
)


@dataclasses.dataclass(frozen=True)
class TakenKafka(KafkaSystem):
    """Its partitions have the names of those that were read."""

    names: Annotated[tuple[str, ...], UNWRITTEN] = ()
    name = "kafka-as-read"

    @cached_property
    def cluster(self) -> Cluster:
        return replace(super().cluster, partitions=self.names)


def take_over(reading: Reading) -> Taken:
    return _TakeOver(reading).take()


class _TakeOver:
    """What is taken over, step by step; `left_out`: what is not, and why."""

    def __init__(self, reading: Reading) -> None:
        """Choose what of a reading the engine takes over, since a search has room for little: the
        logs that are held up, the transactions that write to them, and the groups' positions. What
        is cut off or uncertain is noted in `left_out`."""
        # what only Kafka's readers know; `states`: transactional ids as their coordinators say,
        # `whole`: these are all that there are
        facts = reading.own if isinstance(reading.own, Own) else Own()
        self.left_out = LeftOut()
        self.numbers = count_from(1)  # of records whose content is not shown
        # `seen` is a partition's name here, `owner` a producer id as text; other rows are the
        # coordinator's
        opens = [txn for txn in reading.txns if PARTITION.fullmatch(txn.seen)]
        # by name, the states that the engine can continue: their epoch is known
        whole = {make_name(s.txn_id): s for s in facts.states if s.epoch >= 0 and s.state in KEPT}
        self.known = list(whole.values())
        pids = {str(s.pid) for s in self.known}
        listed = {str(s.pid) for s in facts.states if facts.whole}
        # logs with an open transaction whose coordinator's state was not read, or not in full (a
        # hanging one has no such state)
        self.unsure = {
            txn.seen
            for txn in opens
            if txn.owner not in pids and txn.state != HANGING_STATE
            and (txn.owner in listed or not facts.whole)
        }  # fmt: skip
        for name in sorted(self.unsure):
            self.left_out.note(name, WHOSE)
        unended = [s for s in self.known if s.state in (ONGOING, *DECIDED)]
        logs_by_name = {log.name: log for log in reading.logs}
        # of a partition whose log was not read, only its open transaction is known
        for txn in opens:
            if not txn.seen.startswith(GROUPS):
                logs_by_name.setdefault(txn.seen, LogRead(txn.seen, txn.first, txn.first + 1))
        rank = {name: _rank_log(name, opens, unended) for name in logs_by_name}
        # (rank, name): those that are held up first, the one since longest before the others
        logs = sorted(logs_by_name.values(), key=lambda log: (rank[log.name], log.name))
        # ranks 0 and 1: logs that are held up, or that a transaction still writes to (`cut` keeps
        # the first so many, and notes the rest)
        busy = [log for log in logs if rank[log.name] < (2,)] or logs[:1]
        self.logs = self.left_out.cut(busy, MOST_LOGS, LOGS)
        names = {log.name for log in self.logs}
        # transactions that matter here: what is open in these logs, or in the groups' offsets
        pids_here = {txn.owner for txn in opens if txn.seen in names or txn.seen.startswith(GROUPS)}
        idle_states = [s for s in self.known if s not in unended and str(s.pid) in pids_here]
        near_states = [s for s in unended if str(s.pid) in pids_here or names & {*s.partitions}]
        far_states = [s for s in unended if s not in near_states]
        self.states = self.left_out.cut([*near_states, *idle_states, *far_states], MOST_IDS, IDS)
        dropped_pids = pids - {str(s.pid) for s in self.states}
        self.opens = [txn for txn in opens if txn.owner not in dropped_pids]
        # positions with a pending offset first
        by_interest = sorted(reading.positions, key=lambda p: (not p.pending, p.group, p.log))
        positions_here = [p for p in by_interest if p.pending or p.log in names]
        self.positions = self.left_out.cut(positions_here, MOST_GROUPS, POSITIONS)
        parts = {p for s in self.states for p in s.partitions if s.state in (ONGOING, *DECIDED)}
        not_read = sorted(p for p in parts - names if not p.startswith(GROUPS))
        decided = {p for s in self.states if s.state in DECIDED for p in s.partitions}
        # partitions that a decision is for, and that were not read: as if their leader were away
        self.away = [name for name in not_read if name in decided]
        # the engine's partitions; `grouped`: it needs a group coordinator too
        self.names = (*sorted(names), *not_read)
        self.grouped = bool(self.positions) or any(p.startswith(GROUPS) for p in parts)

    def take(self) -> Taken:
        """Make a system of the engine from the broker that was read, to search and play what
        happens next: Kafka with these records on its disks, to be played by hand, the choices that
        begin it (`start`), the questions to search for, what was taken over and what was not."""
        took: list[Text] = []
        disks = {log.name: self._make_partition(log, took) for log in self.logs}
        # a state record of version 0 shows that transaction.version is below 1; the producers,
        # ID-2, are second instances: where the first ones are no record says
        version = 0 if any(s.written_by == 0 for s in self.known) else 2
        system = TakenKafka(
            transaction_version=version, client="v2" if version else "legacy",
            names=self.names, groups=int(self.grouped), readers=("reader",), admins=("admin",),
            producers=tuple((f"{make_name(s.txn_id)}-2", make_name(s.txn_id)) for s in self.states),
        )  # fmt: skip
        disks["coordinator"] = self._make_coordinator(system)
        took += [TOOK_ID(id=s.txn_id, state=s.state, pid=s.pid, epoch=s.epoch) for s in self.states]
        if self.grouped:
            disks[GROUP_LOG] = self._make_groups(took)
        took += [AWAY(log=name) for name in self.away]
        self.left_out.note("transaction.version", VERSION(n=version))
        for what, why in NEVER_TAKEN:
            self.left_out.note(what, why)
        system = dataclasses.replace(system, disks=tuple(sorted(disks.items())))
        # partitions that were not read are as if their leaders were down
        start = tuple(f"kill {name}" for name in self.away)
        by_hand = dataclasses.replace(system, programs=self._programs())
        return Taken(by_hand, start, tuple(self._ask(system)), tuple(took), tuple(self.left_out))

    # ---- disks ---------------------------------------------------------------------------

    def _make_partition(self, log: LogRead, took: list[Text]) -> MemoryDisk:
        """Make the disk of a partition's leader: of the batches that were read, ROOM offsets, which
        begin AROUND // 2 before the oldest open transaction, or before the log's end if none is
        open. A transactional batch that is not open, but whose marker is not among these, is left
        out, since it would look open. Adds a line on what was taken over to `took`."""
        first_by_pid = {int(t.owner): t.first for t in self.opens if t.seen == log.name}
        opens_here = [(t.first, int(t.owner), t.epoch) for t in self.opens if t.seen == log.name]
        rows = {row.base: row for row in log.rows}
        for first, pid, epoch in opens_here:
            if not any(row.base <= first <= row.last for row in log.rows):
                # its first batch was not read: this takes its place
                rows[first] = Row(first, first, pid, epoch, transactional=True)
        chosen = [rows[base] for base in sorted(rows)]
        from_offset = min((first for first, _, _ in opens_here), default=log.end) - AROUND // 2
        chosen = [row for row in chosen if row.last >= from_offset]
        # the last batch is cut where the room ends
        until = (chosen[0].base if chosen else 0) + ROOM
        chosen = [replace(row, last=min(row.last, until - 1)) for row in chosen if row.base < until]
        kept = [row for row in chosen if _is_whole(row, chosen, first_by_pid)]
        entries = tuple(_make_batch(row, self.numbers) for row in kept)
        start = entries[0].base if entries else log.end
        end = entries[-1].last + 1 if entries else log.end
        self.left_out.note_end(log.name, end, log.end)
        if len(kept) < len(chosen):
            self.left_out.note(log.name, ENDS_LATER(n=len(chosen) - len(kept)))
        took.append(say_span(log.name, start, end))
        # `starts`: the table from which a broker recovers; `ends`: where a log without an entry is
        starts = {LOG_STARTS: {log.name: start}} if start else {}
        return make_disk({log.name: entries}, starts, ends={log.name: start})

    def _make_coordinator(self, system: KafkaSystem) -> MemoryDisk:
        logs: dict[str, list[Any]] = {}
        for s in self.states:
            name = txn_log(make_name(s.txn_id), system.config)
            partitions = {GROUP_LOG if p.startswith(GROUPS) else p for p in s.partitions}
            entry = Entry(
                make_name(s.txn_id), s.pid, s.epoch, TxnState(s.state),
                tuple(sorted(partitions & {*self.names, GROUP_LOG})), max(s.timeout_ms, 1),
                s.start_ms, s.update_ms, prev_pid=s.pid,
            )  # fmt: skip
            records = logs.setdefault(name, [])
            records.append(to_record(entry, len(records)))
        block = system.config.pid_block
        highest = max((s.pid for s in self.states), default=0)
        return make_disk(logs, {"producer ids": {"next block": (highest // block + 1) * block}})

    def _make_groups(self, took: list[Text]) -> MemoryDisk:
        """Make the disk of `__consumer_offsets`: the groups' committed offsets, then those pending
        in a transaction that is open there, each in a batch of its producer; where a pending offset
        is not known, the committed one takes its place. Adds what was taken over to `took`."""
        batches: list[Batch] = []
        for one in self.positions:
            # the offset that the transaction would commit, as text; "" where it is unknown
            pending = dict(one.more).get("would become", "")
            took.append(TOOK_GROUP(group=one.group, at=one.at, log=one.log, pending=pending or "-"))
            if one.at >= 0:  # -1: none is committed
                batches.append(_offsets_batch(one, one.at))
        for one in self.positions:
            pending = dict(one.more).get("would become", "")
            for txn in self.opens:
                if txn.label in one.pending and txn.seen.startswith(GROUPS):
                    if not pending:
                        self.left_out.note(f"{one.group}, {one.log}", UNTOLD)
                    batch = _offsets_batch(one, int(pending or one.at))
                    pid = int(txn.owner)
                    batches.append(replace(batch, pid=pid, epoch=txn.epoch, transactional=True))
        placed = [replace(batch, base=base) for base, batch in enumerate(batches)]
        return make_disk({GROUP_LOG: placed})

    # ---- what is asked -------------------------------------------------------------------

    def _programs(self) -> tuple[tuple[str, Any], ...]:
        """What may be done by hand: read, start again with the same id, abort."""
        where = self.names[0] if self.names else ""
        again = (Init(), Begin(), SendRecord(where, "new"), Commit())
        polls: tuple[Any, ...] = tuple(Poll(name) for name in self.names) * 2
        polls += tuple(Committed(one.group, (one.log,)) for one in self.positions)
        aborts = tuple(AbortHanging(t.seen, t.first) for t in self._in_logs())
        return (
            *((f"{make_name(s.txn_id)}-2", again) for s in self.states),
            ("reader", polls), ("admin", aborts),
        )  # fmt: skip

    def _in_logs(self) -> list[Txn]:
        """The open transactions that may be aborted by hand, those of unknown owners first."""
        names, pids = {log.name for log in self.logs}, {str(s.pid) for s in self.states}
        mine = [txn for txn in self.opens if txn.seen in names]
        return sorted(mine, key=lambda txn: (txn.owner in pids, txn.seen, txn.first))

    def _ask(self, system: TakenKafka) -> Iterable[tuple[Wish, tuple[Way, ...]]]:
        for log in self.logs:
            if any(txn.seen == log.name for txn in self.opens) and log.name not in self.unsure:
                wish = Wish(CAN_READ(log=log.name), partial(_reads_all, log.name))
                yield wish, tuple(self._list_ways(system, log.name))
        held = self.unsure & {txn.seen for txn in self.opens if txn.seen.startswith(GROUPS)}
        waiting = [one.group for one in self.positions if one.pending and not held]
        for group in dict.fromkeys(waiting):
            wish = Wish(CAN_START(group=group), partial(_is_told, group))
            yield wish, tuple(self._list_ways(system, GROUPS))
        for s in self.states:
            if s.state in DECIDED:
                done = partial(_is_complete, make_name(s.txn_id))
                wish = Wish(IS_COMPLETE(id=s.txn_id, state=s.state), done)
                yield wish, tuple(self._list_ways(system, ""))

    def _list_ways(self, system: TakenKafka, where: str) -> Iterable[Way]:
        """Yield the ways in which what is open in `where` may end, each where it is possible: all
        brokers restart and nothing else, a timeout, a leader that comes back, the producer starts
        again, an administrator aborts. `where`: a partition, GROUPS for the groups' offsets, or ""
        for markers that are still to be written. A Way is (name, sentence, the system with the
        calls for it, what a search of it may use)."""
        # STILL: a budget without faults, clocks or restarts; a way adds what it allows
        place = re.compile(f"{GROUPS}-.*" if where == GROUPS else re.escape(where))
        open_here = [txn for txn in self.opens if place.fullmatch(txn.seen)]
        yield Way("restart", NOTHING, system, STILL)
        timers = sum(s.state == ONGOING for s in self.states)
        if timers and where:
            yield Way("timeout", TIME, system, dataclasses.replace(STILL, timers=timers))
        if self.away:
            back = dataclasses.replace(STILL, restartable=tuple(self.away))
            yield Way("leader", BACK(logs=", ".join(self.away)), system, back)
        if owners := [s for s in self.states if str(s.pid) in {txn.owner for txn in open_here}]:
            calls = tuple((f"{make_name(s.txn_id)}-2", (Init(),)) for s in owners)
            restarted = dataclasses.replace(system, programs=calls)
            says = AGAIN(ids=", ".join(s.txn_id for s in owners))
            yield Way("again", says, restarted, STILL)
        # (AbortHanging names a log that the engine took over; it has none of the groups' offsets)
        if open_here and where != GROUPS:
            aborts = tuple(AbortHanging(t.seen, t.first) for t in open_here)
            says = BY_ADMIN(calls=", ".join(f"{t.seen}@{t.first}" for t in open_here))
            by_hand = dataclasses.replace(system, programs=(("admin", aborts),))
            yield Way("admin", says, by_hand, STILL)


def _rank_log(name: str, opens: Sequence[Txn], going: Sequence[State]) -> tuple[int, ...]:
    """Which log comes first: one that is held up, the one since longest before others; then one
    that a transaction names that goes on; then any other."""
    since = [txn.since_ms for txn in opens if txn.seen == name]
    if since:
        return (0, min(since))
    return (1,) if any(name in state.partitions for state in going) else (2,)


def _is_whole(row: Row, near: Sequence[Row], opens: dict[int, int]) -> bool:
    """Whether its transaction is open in truth, or is seen to end; a row of none is."""
    if not row.transactional or row.control or opens.get(row.pid, row.base + 1) <= row.base:
        return True
    return any(r.control and r.pid == row.pid and r.base > row.base for r in near)


def _make_batch(row: Row, numbers: Iterator[int]) -> Batch:
    """A record of which nothing is shown has a number, since a picture distinguishes records."""
    count = row.last - row.base + 1
    control = MARKERS.get(row.control, "")
    known = row.labels[:count]
    numbered = (f"r{next(numbers)}" for _ in range(0 if control else count - len(known)))
    return Batch(
        (*known, *numbered), count, row.base, row.pid, row.epoch, row.seq,
        row.transactional or bool(control), control, at_ms=row.at_ms,
    )  # fmt: skip


def _offsets_batch(one: Position, at: int) -> Batch:
    return Batch((Offsets(one.group, (Place(one.log, at),)),))


def _reads_all(log: str, world: World) -> bool:
    leader = world.role(log)
    return leader is not None and leader.part.lso == world.disk(log).log(log).end


def _is_told(group: str, world: World) -> bool:
    gc = world.role(GROUP_LOG)
    return gc is not None and not list_pending(gc, group)


def _is_complete(txn_id: str, world: World) -> bool:
    entry = world.role("coordinator").entries.get(txn_id)
    return entry is not None and entry.state in COMPLETED
