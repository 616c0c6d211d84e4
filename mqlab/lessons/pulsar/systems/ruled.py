"""Pulsar in which one decision of a role is a learner's rule, by the name of that decision.

    recover  (maxReadPosition of the last snapshot, its aborted transactions, the entries after it)
             → what is open, with its first position; what is aborted
    ack      (transaction, messages that it acknowledges one by one, those that are acknowledged for
             good, (message, transaction) of those that are pending) → whether it may

All else is the role's own. Transactions and entries are given as plain values:

    rule(0, ("(0,3)",), ((1, "message", "(0,4)"), (2, "plain", ""), (3, "abort", "(0,4)")))
    → ({}, ["(0,3)", "(0,4)"])
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ....kernel import Disk, Effects, Map, NodeSpec
from ....kernel.options import Rules, fill
from ....kernel.text import BadValue
from ....pulsar import PulsarSystem
from ....pulsar.buffer import Buffer, find_snapshot
from ....pulsar.config import PulsarConfig
from ....pulsar.ledger import Cursor
from ....pulsar.messages import AckPosition, BufferSnapshot, LedgerEntry, TxnID
from ....pulsar.pending_ack import PendingAck
from ....pulsar.states import BufferState, MarkerType
from ....pulsar.subscription import Subscription
from ....pulsar.topic import Topic
from ....registry import system
from ...check import Rule
from ...roles import put_roles

ID = re.compile(r"\((\d+),(\d+)\)")
KINDS = {MarkerType.TXN_COMMIT: "commit", MarkerType.TXN_ABORT: "abort"}
REFUSED_BY_RULE = "{txn} is refused by a rule that somebody wrote"

#: what a rule of recovery says: the open transactions with their first position, and the aborted
Txns = tuple[dict[str, int], list[str]]


@dataclass(frozen=True, slots=True)
class RecoveringTopic(Topic):
    """`rule` says what the buffer knows after a load, where there is a snapshot."""

    rule: Rule = field(kw_only=True)

    def load_buffer(self, disk: Disk) -> Buffer:
        snapshot, log = find_snapshot(disk), disk.log(self.name)
        if snapshot is None:
            return Topic.load_buffer(self, disk)
        behind = list(log.read(snapshot.max_read_position + 1))
        return ask_rule(self.rule, snapshot, behind, log.end - 1)


@dataclass(frozen=True, slots=True)
class RuledPendingAck(PendingAck):
    """`rule` says whether a transaction may acknowledge these messages one by one."""

    rule: Rule = field(kw_only=True)

    def find_conflict(self, cursor: Cursor, txn: TxnID, positions: Iterable[AckPosition]) -> str:
        entries = tuple(position.position for position in positions)
        acked = (*range(cursor.mark_delete + 1), *cursor.list_individual())
        may = self.rule(str(txn), entries, acked, self.list_holders())
        return "" if may else REFUSED_BY_RULE.format(txn=txn)

    def list_holders(self) -> tuple[tuple[int, str], ...]:
        """Each pending message with the transaction that has acknowledged it, one by one."""
        return tuple(
            (position.position, str(txn))
            for txn, positions in self.of_txn
            for position in positions
            if self.is_pending(position)
        )


@dataclass(frozen=True, slots=True)
class AckingTopic(Topic):
    """`rule` is that of its subscriptions' pending acks."""

    rule: Rule = field(kw_only=True)

    def begin_subscription(self, name: str) -> Subscription:
        sub = Topic.begin_subscription(self, name)
        return replace(sub, pending=RuledPendingAck(rule=self.rule))


Ruled = type[RecoveringTopic] | type[AckingTopic]
TOPICS: dict[str, Ruled] = {"recover": RecoveringTopic, "ack": AckingTopic}


def _recover(
    kind: Ruled, rule: Rule, config: PulsarConfig, name: str, disk: Disk, at_ms: int
) -> tuple[Topic, Effects]:
    return kind(config, name, rule=rule).load(disk)


def ask_rule(
    rule: Callable[..., Txns], snapshot: BufferSnapshot, entries: Sequence[LedgerEntry], lac: int
) -> Buffer:
    """The buffer that a rule makes of a snapshot and of the entries after it. How far may be read
    follows from what is open, as it does in the buffer's own recovery."""
    was_aborted = tuple(str(txn) for txn, _ in snapshot.aborts)
    opened, aborted = rule(snapshot.max_read_position, was_aborted, tuple(map(describe, entries)))
    ongoing = tuple(sorted(((parse(txn), at) for txn, at in opened.items()), key=lambda p: p[1]))
    at = {**dict(snapshot.aborts), **{e.txn: e.base for e in entries if e.txn is not None}}
    aborts = Map((parse(txn), at.get(parse(txn), -1)) for txn in aborted)
    return Buffer(BufferState.READY, ongoing, aborts, ongoing[0][1] - 1 if ongoing else lac)


def describe(entry: LedgerEntry) -> tuple[int, str, str]:
    """An entry in plain values: its position, what it is, and of which transaction."""
    if entry.txn is None:
        return entry.base, "plain", ""
    kind = "message" if entry.marker is None else KINDS[entry.marker]
    return entry.base, kind, str(entry.txn)


def parse(txn: str) -> TxnID:
    """A transaction's id as it is printed."""
    match = ID.fullmatch(txn)
    if match is None:
        raise BadValue("{!r} is no transaction; one is written (0,3)", txn)
    return TxnID(int(match[1]), int(match[2]))


@dataclass(frozen=True)
class RuledSystem(PulsarSystem):
    """`system pulsar` with the rule that `rules` holds: (decision, rule)."""

    rules: Rules = ()

    def nodes(self) -> tuple[NodeSpec, ...]:
        ((decision, rule),) = self.rules
        ruled = partial(_recover, TOPICS[decision], rule, self.config)
        return put_roles(super().nodes(), {p: partial(ruled, p) for p in self.config.partitions})


def put_rule(line: str, decision: str, rule: Rule) -> RuledSystem:
    """The system of a line with a learner's rule for this decision."""
    return fill(RuledSystem, system(line), rules=((decision, rule),))
