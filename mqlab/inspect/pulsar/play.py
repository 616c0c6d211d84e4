"""What happens next in a Pulsar that was read: what its admin interface says, on engine's disks.

    a topic's entries around its maxReadPosition, and its aborted ones    a ledger, and a snapshot
    a live transaction and whom it names                                  a coordinator's records
    a subscription's position, and what is pending there                  a cursor, and pending acks

All of it recovers from these, as after a restart: a coordinator is loaded when a client comes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from functools import cached_property, partial
from typing import Annotated, Any

from ...kernel import MemoryDisk, Text, Words, World, replace
from ...kernel.options import UNWRITTEN
from ...kernel.text import tr
from ...pulsar.client.calls import Commit, EndById, NewTransaction, Send
from ...pulsar.config import (
    CURSORS,
    SNAPSHOT_LOG,
    PulsarConfig,
    name_coordinator,
    name_pending_ack_log,
    name_transaction_log,
)
from ...pulsar.ledger import Cursor
from ...pulsar.messages import (
    AckPosition,
    BufferSnapshot,
    LedgerEntry,
    PendingAckEntry,
    TransactionMetadataEntry,
    TxnID,
)
from ...pulsar.states import BufferState, MarkerType, TxnAction, TxnStatus
from ...pulsar.system import PulsarSystem
from ..play import STILL, LeftOut, Taken, Way, Wish, make_disk, make_name, say_span
from ..reading import LogRead, Reading, Txn
from .topics import SETTLED, Facts, Topic

MOST_TOPICS, MOST_TXNS, MOST_TCS, ROOM = 3, 4, 16, 40
ID = re.compile(r"\((\d+),(\d+)\)")
ENDS = {"C": MarkerType.TXN_COMMIT, "A": MarkerType.TXN_ABORT}
DECIDED = {TxnStatus.COMMITTED: TxnStatus.COMMITTING, TxnStatus.ABORTED: TxnStatus.ABORTING}
CLIENT, PLAIN = "client", "public/default/"

CAN_READ = Words("{topic} is read to its end")
FREED = Words("no acknowledgement is pending in {sub} of {topic}")
NOTHING = tr("nothing but a restart")
TIME = tr("a client with transactions enabled connects, and every timeout runs out")
BY_ADMIN = Words("an administrator aborts {ids}")
NEXT_ONE = Words("a new transaction writes to {topic} and commits")

NOT_READY = Words("its buffer was {state}; in the engine it recovers at once")
TOOK_TXN = Words("{id}: {state}, in {where}")
TOOK_SUB = Words("{sub} of {topic}: position {at}, pending: {pending}")
TOPICS, TXNS = tr("topics"), tr("transactions")
UNSURE = tr("no coordinator's record of whose transaction is open in it")
POSITIONS = tr("which of its messages are pending is not known: the first unacknowledged ones are "
"taken")  # fmt: skip
BEYOND = tr("acknowledgements after a position, batches, payloads, producers, consumers")
BEGINS_WITHOUT = tr("the engine begins without them")


@dataclasses.dataclass(frozen=True)
class TakenPulsar(PulsarSystem):
    """Its topics have the names of those that were read."""

    names: Annotated[tuple[str, ...], UNWRITTEN] = ()
    name = "pulsar-as-read"

    @cached_property
    def config(self) -> PulsarConfig:
        return replace(super().config, partitions=self.names)


def take_over(reading: Reading) -> Taken:
    return _TakeOver(reading).take()


class _TakeOver:
    """What is taken over, step by step; `left_out`: what is not, and why."""

    def __init__(self, reading: Reading) -> None:
        """Choose what of a reading the engine takes over, since a search has room for little:
        topics where something waits, the transactions in them, and the subscriptions' positions.
        What is cut off is noted in `left_out`."""
        facts: Facts = reading.own  # topics and subscriptions with their numbers of transactions
        self.left_out = LeftOut()
        self.logs = {log.name: log for log in reading.logs}
        # topics with open transactions first
        busy = sorted(facts.topics, key=lambda t: (not t.open, t.name))
        pending = {p.topic for p in facts.pending if p.open}
        busy = [t for t in busy if t.open or t.name in pending] or busy[:1]
        self.topics = self.left_out.cut(busy, MOST_TOPICS, TOPICS)
        names = {t.name for t in self.topics}  # (`cut` keeps the first so many, notes the rest)
        # `most` of an id is its coordinator; the engine has MOST_TCS of them at most
        nearest = [t for t in reading.txns if ID.fullmatch(t.name) and _id(t.name).most < MOST_TCS]
        # those that write to a topic taken over come first
        nearest.sort(key=lambda txn: not names & {_topic(where) for where in txn.where})
        self.txns = self.left_out.cut(nearest, MOST_TXNS, TXNS)
        self.pending = [p for p in facts.pending if p.open and p.topic in names]
        self.positions = [p for p in reading.positions if p.log in names]
        others = {_topic(where) for txn in self.txns for where in txn.where} - names
        # the topics' names in the engine: those taken over, then others that a transaction is in
        self.names = {
            name: make_name(name.removeprefix(PLAIN)) for name in (*sorted(names), *sorted(others))
        }

    def take(self) -> Taken:
        """Make a system of the engine from the broker that was read, to search and play what
        happens next: Pulsar with these records on its disks, to be played by hand, the questions to
        search for, what was taken over and what was not."""
        took: list[Text] = []
        disks = {self.names[t.name]: self._make_topic(t, took) for t in self.topics}
        # numbers of coordinators; 0 is there in any case
        tc_ids = {_id(txn.name).most for txn in self.txns} | {0}
        disks |= {name_coordinator(tc): self._make_coordinator(tc) for tc in sorted(tc_ids)}
        for txn in self.txns:
            took.append(TOOK_TXN(id=txn.name, state=txn.state, where=", ".join(txn.where)))
        self.left_out.note(BEYOND, BEGINS_WITHOUT)
        system = TakenPulsar(
            names=tuple(self.names.values()), claims=("committed_stays",),
            coordinators=max(tc_ids) + 1, clients=(CLIENT,),
            disks=tuple(sorted(disks.items())),
        )  # fmt: skip
        # by hand: a new transaction writes to the first topic, and each that is open is aborted
        first = next(iter(system.names), "")
        aborts = [EndById(_id(txn.name), TxnAction.ABORT) for txn in self.txns]
        by_hand = _with(system, *_write(first), *aborts)
        # (): by hand it begins with what was read
        return Taken(by_hand, (), tuple(self._ask(system)), tuple(took), tuple(self.left_out))

    # ---- disks ---------------------------------------------------------------------------

    def _make_topic(self, topic: Topic, took: list[Text]) -> MemoryDisk:
        """Make the disk of a topic: its ledger, its snapshot of aborted transactions, its
        subscriptions' cursors and pending acknowledgements. The ledger has the entries that were
        read, ROOM at most, up to a gap in them, to one whose transaction ends later than these, or
        to a marker without its transaction. Adds lines on what was taken over to `took`."""
        name = self.names[topic.name]
        log = self.logs.get(topic.name) or LogRead(topic.name, 0, topic.end)
        entries: list[LedgerEntry] = []
        live, rows = {txn.name for txn in self.txns}, list(log.rows[:ROOM])
        # a row: (offset, transaction, label of a marker, payload, whether it is aborted); taken
        # are those up to the first gap in their offsets
        gaps = (n for n, row in enumerate(rows) if row[0] != rows[0][0] + n)
        rows = rows[: next(gaps, ROOM)]
        for n, (offset, txn, label, payload, gone) in enumerate(rows):
            # a marker (row[2]) of the same transaction follows
            ends = any(row[1] == txn and row[2] for row in rows[n:])
            # its marker comes later than these rows: it would be taken for open (an entry up to
            # maxReadPosition, `readable`, is not held back by any)
            ends_later = txn and offset > topic.readable and not (ends or gone or txn in live)
            if ends_later or (label and not txn):
                break
            txn_id = _id(txn) if txn else None
            # a message whose payload was not read gets one made of its offset
            values = () if label else (payload or f"e{offset}",)
            entries.append(LedgerEntry(offset, values, txn=txn_id, marker=ENDS.get(label)))
        start = entries[0].base if entries else log.end
        end = entries[-1].base + 1 if entries else log.end
        self.left_out.note_end(topic.name, end, log.end)
        aborted = {_id(txn): offset for offset, txn, _, _, gone in log.rows if gone and txn}
        took.append(say_span(topic.name, start, end))
        if topic.state not in SETTLED:
            self.left_out.note(topic.name, NOT_READY(state=topic.state or "?"))
        logs: dict[str, list[Any]] = {name: entries}
        if topic.state != BufferState.NO_SNAPSHOT:
            # (its maxReadPosition is before the ledger: all entries taken over are read again)
            logs[SNAPSHOT_LOG] = [BufferSnapshot(0, start - 1, tuple(sorted(aborted.items())))]
        # each subscription's cursor, and the entry that an open transaction has acknowledged
        cursors = {}
        for one in self.positions:
            if one.log == topic.name:
                # `at` is read next: all before it is acknowledged
                cursors[one.group] = Cursor(one.at - 1)
                where = f"{topic.name}/{one.group}"
                held = [txn for txn in self.txns if where in txn.where]
                pending = ", ".join(txn.name for txn in held) or "-"
                took.append(TOOK_SUB(sub=one.group, topic=topic.name, at=one.at, pending=pending))
                if held:  # which entries it has acknowledged is unknown: the first one is taken
                    self.left_out.note(where, POSITIONS)
                    at = (AckPosition(one.at),)
                    ack = PendingAckEntry(0, "ACK", _id(held[0].name), positions=at)
                    logs[name_pending_ack_log(name, one.group)] = [ack]
        return make_disk(logs, {CURSORS: cursors}, ends={name: start})

    def _make_coordinator(self, tc: int) -> MemoryDisk:
        """Rebuild the transaction log of coordinator number `tc`: first the transactions that have
        ended, as far as their markers were read, then those that were taken over, with the topics
        and subscriptions they are in. New ids continue above the highest that was seen. (An id has
        two parts: `most` is its coordinator's number, `least` counts that one's transactions.)"""
        live = {_id(txn.name) for txn in self.txns}
        # row[1]: the transaction of an entry, "" where it has none; `label` below: of a marker
        rows = [row for log in self.logs.values() for row in log.rows if row[1]]
        seen = [*live, *(_id(row[1]) for row in rows)]
        last = max((txn.least for txn in seen if txn.most == tc), default=-1)
        # the highest id seen is taken as aborted, unless a marker says more; -1: none was seen
        ended = {TxnID(tc, last): TxnStatus.ABORTED} | {
            _id(txn): TxnStatus.COMMITTED if label == "C" else TxnStatus.ABORTED
            for _, txn, label, _, _ in rows
            if label and _id(txn).most == tc
        }
        records: list[TransactionMetadataEntry] = []

        def note(op: str, txn: TxnID, **more: Any) -> None:
            record = TransactionMetadataEntry(len(records), op, txn, max_local_txn_id=last, **more)
            records.append(record)

        for name in sorted(one for one in ended.keys() - live if one.least >= 0):
            decision = DECIDED[ended[name]]
            note("NEW", name)
            note("UPDATE", name, status=decision, expected=TxnStatus.OPEN)
            note("UPDATE", name, status=ended[name], expected=decision)
        for txn in self.txns:
            name = _id(txn.name)
            if name.most != tc:
                continue  # another coordinator's
            note("NEW", name, timeout_ms=max(txn.timeout_ms, 1))
            for where in txn.where:
                topic = self.names[_topic(where)]
                if where == _topic(where):  # else a subscription of the topic
                    note("ADD_PARTITION", name, partitions=(topic,))
                else:
                    note("ADD_SUBSCRIPTION", name, subscriptions=((topic, _sub(where)),))
            if txn.state in (TxnStatus.COMMITTING, TxnStatus.ABORTING):
                note("UPDATE", name, status=TxnStatus(txn.state), expected=TxnStatus.OPEN)
        return make_disk({name_transaction_log(tc): records})

    # ---- what is asked -------------------------------------------------------------------

    def _ask(self, system: TakenPulsar) -> Iterable[tuple[Wish, tuple[Way, ...]]]:
        """Yield what a client may wait for, a topic that can be read to its end or a subscription
        without pending acknowledgements, each with the ways in which that may come true. A topic of
        which no coordinator reports what is open in it is noted in `left_out` instead."""
        for topic in self.topics:
            if topic.open and topic.next_open is None:
                self.left_out.note(topic.name, UNSURE)
            elif topic.open:
                name = self.names[topic.name]
                txns_here = [txn for txn in self.txns if topic.name in txn.where]
                # a client writes to the topic in a new transaction (STILL: nothing fails meanwhile)
                newer = Way("mark", NEXT_ONE(topic=topic.name), _with(system, *_write(name)), STILL)
                wish = Wish(CAN_READ(topic=topic.name), partial(_reads_all, name))
                yield wish, (*self._ways(system, txns_here), newer)
        for pending in self.pending:
            txns_here = [txn for txn in self.txns if f"{pending.topic}/{pending.sub}" in txn.where]
            # without any, no transaction that was read can free it, so there is nothing to search
            if txns_here:
                freed = FREED(sub=pending.sub, topic=pending.topic)
                wish = Wish(freed, partial(_is_free, self.names[pending.topic], pending.sub))
                yield wish, tuple(self._ways(system, txns_here))

    def _ways(self, system: TakenPulsar, here: list[Txn]) -> Iterable[Way]:
        yield Way("restart", NOTHING, _with(system), STILL)
        comes = _with(system, NewTransaction("new"))
        timers = dataclasses.replace(STILL, timers=max(len(self.txns), 1))
        yield Way("timeout", TIME, comes, timers)
        if here:
            aborts = [EndById(_id(txn.name), TxnAction.ABORT) for txn in here]
            says = BY_ADMIN(ids=", ".join(txn.name for txn in here))
            yield Way("admin", says, _with(system, *aborts), STILL)


def _with(system: TakenPulsar, *calls: Any) -> TakenPulsar:
    return dataclasses.replace(system, programs=((CLIENT, calls),))


def _write(topic: str) -> tuple[Any, ...]:
    return NewTransaction("new"), Send(topic, ("new",), "new"), Commit("new")


def _id(name: str) -> TxnID:
    match = ID.fullmatch(name)
    return TxnID(int(match[1]), int(match[2])) if match else TxnID(0, 0)


def _topic(where: str) -> str:
    """TENANT/NAMESPACE/TOPIC of that and perhaps a subscription."""
    return "/".join(where.split("/")[:3])


def _sub(where: str) -> str:
    return "/".join(where.split("/")[3:])


def _reads_all(topic: str, world: World) -> bool:
    role = world.role(topic)
    return role is not None and role.buffer.readable >= world.disk(topic).log(topic).end - 1


def _is_free(topic: str, name: str, world: World) -> bool:
    role = world.role(topic)
    sub = role.subs.get(name) if role is not None else None
    return sub is not None and not sub.pending.of_txn and sub.pending.cumulative is None
