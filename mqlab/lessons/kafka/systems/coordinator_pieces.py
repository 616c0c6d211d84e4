"""EndTxn taken to pieces: a coordinator that does them in the order it is told.

For a lesson only. What Kafka's coordinator does over several steps is named here, piece by
piece, so that somebody can put the pieces in another order and see what comes of it:

    prepare    write PrepareCommit (or PrepareAbort) and wait until it is safe
    reply      answer the client
    markers    send a marker to every partition of the transaction
    wait       wait until every partition has answered
    complete   write CompleteCommit (or CompleteAbort) and wait until it is safe

Kafka's order is `prepare, reply, markers, wait, complete`. Each piece is a step of its own,
after which the coordinator sends itself a note to go on: whatever may happen between two
pieces of a broker with many threads may happen here. Everything else is the coordinator's
own: its checks, what it does after a restart, its timeout. A transaction that is being
ended in pieces counts as busy, as a real transition under way does.

*Left out:* appends that fail, which needs followers; the lesson's coordinator has none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....kafka import coordinator
from ....kafka.config import txn_log
from ....kafka.coordinator import Coordinator
from ....kafka.coordinator.entry import Entry, to_record
from ....kafka.messages import Answer, EndTxn, WriteTxnMarkersResponse
from ....kafka.states import PREPARED
from ....kernel import (
    Append,
    Appended,
    Caller,
    CancelTimer,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    worded,
)

STEP = "end_txn"
PIECES = ("prepare", "reply", "markers", "wait", "complete")
TIMEOUT = "timeout "

Result = tuple[Coordinator, Effects]


@worded("NextPiece {txn_id}")
class NextPiece:
    """The coordinator's note to itself: go on with the pieces of this transaction."""

    txn_id: str


@dataclass(frozen=True, slots=True)
class Plan:
    """An end under way: the decided `entry`, who is answered with what, the pieces still
    `todo`, the partitions whose answer is missing (None: no marker was sent yet), and the
    entry whose record is being written, with the offset where it ends."""

    entry: Entry
    caller: Caller | None
    answer: Answer | None
    todo: tuple[str, ...]
    owed: tuple[str, ...] | None = None
    writing: tuple[int, Entry] | None = None

    @property
    def waiting(self) -> bool:
        """Whether only the answers of partitions can take it further."""
        return self.todo[:1] == ("wait",) and self.owed != ()


@dataclass(frozen=True, slots=True)
class PiecewiseCoordinator(Coordinator):
    """`plans`: the ends under way, by transactional id."""

    plans: Map[str, Plan] = Map()

    def step(self, event: Event, disk: Disk) -> Result:
        match event:
            case Request(body=EndTxn(txn_id=txn_id)) if txn_id not in self.plans:
                return self._begin(txn_id, event, disk)
            case Request(body=NextPiece(txn_id=txn_id)):
                return self._go_on(txn_id, self.plans[txn_id], disk)
            case Appended(log=log, end=end):
                for txn_id, plan in self.plans.items():
                    if plan.writing and (log, end) == (txn_log(txn_id, self.config), end):
                        return self._written(txn_id, plan, end, disk)
            case Response(peer=peer, body=WriteTxnMarkersResponse() as said):
                if said.txn_id in self.plans:
                    return self._answered(said, peer, disk)
            case ConnectionLost(peer=peer):
                again = tuple(
                    Send(peer, coordinator.build_marker(self, plan.entry))
                    for plan in self.plans.values()
                    if peer in (plan.owed or ())
                )
                new, effects = Coordinator.step(self, event, disk)
                return new, (*effects, *again)
            case Fired(timer=timer) if timer.removeprefix(TIMEOUT) in self.plans:
                # It is being ended just now: the next sweep looks again.
                return self, (SetTimer(timer, self.config.sweep_ms),)
        return Coordinator.step(self, event, disk)

    def busy(self, txn_id: str) -> bool:
        return txn_id in self.plans or Coordinator.busy(self, txn_id)

    def owes(self, txn_id: str, partition: str) -> bool:
        """Whether it still knows that this partition must get its marker."""
        plan: Plan | None = self.plans.get(txn_id)
        return plan is not None and (plan.owed is None or partition in plan.owed)

    def _begin(self, txn_id: str, event: Event, disk: Disk) -> Result:
        """The whole coordinator says what it would write; the pieces say when."""
        whole, effects = Coordinator.step(self, event, disk)
        decided = whole.pending.get(txn_id)
        if txn_id in self.pending or decided is None or decided.entry.state not in PREPARED:
            return whole, effects
        order = dict(self.config.order)[STEP]
        plan = Plan(decided.entry, decided.caller, decided.answer, order)
        return self._go_on(txn_id, plan, disk)

    def _go_on(self, txn_id: str, plan: Plan, disk: Disk) -> Result:
        """The next piece, and a note to self unless the one after it must wait."""
        if not plan.todo or plan.waiting:
            return self._with(txn_id, plan), ()
        piece, plan = plan.todo[0], replace(plan, todo=plan.todo[1:])
        effects: Effects = ()
        if piece in ("prepare", "complete"):
            plan, effects = self._write(plan, piece, disk)
            return self._with(txn_id, plan), effects
        if piece == "reply" and plan.caller is not None:
            effects = (Reply(plan.caller, plan.answer),)
        elif piece == "markers":
            plan = replace(plan, owed=plan.entry.partitions)
            marker = coordinator.build_marker(self, plan.entry)
            effects = tuple(Send(p, marker) for p in plan.entry.partitions)
        if plan.todo and not plan.waiting:
            effects = (*effects, Send(self.config.coordinator, NextPiece(txn_id)))
        return self._with(txn_id, plan), effects

    def _with(self, txn_id: str, plan: Plan) -> PiecewiseCoordinator:
        over = not plan.todo and not plan.writing and not plan.owed
        plans = self.plans.remove(txn_id) if over else self.plans.set(txn_id, plan)
        return replace(self, plans=plans)

    def _write(self, plan: Plan, piece: str, disk: Disk) -> tuple[Plan, Effects]:
        entry = plan.entry
        if piece == "complete":
            version = self.config.transaction_version
            entry = entry.enter(coordinator.COMPLETES[entry.state], version, partitions=())
        log = txn_log(entry.txn_id, self.config)
        base = disk.log(log).end
        effects = (Append(log, to_record(entry, base)), CancelTimer(TIMEOUT + entry.txn_id))
        return replace(plan, writing=(base + 1, entry)), effects

    def _written(self, txn_id: str, plan: Plan, end: int, disk: Disk) -> Result:
        if plan.writing is None or plan.writing[0] != end:
            return self, ()
        new = replace(self, entries=self.entries.set(txn_id, plan.writing[1]))
        return new._go_on(txn_id, replace(plan, writing=None), disk)

    def _answered(self, response: WriteTxnMarkersResponse, peer: str, disk: Disk) -> Result:
        txn_id, plan = response.txn_id, self.plans[response.txn_id]
        if response.error in coordinator.GIVE_UP or peer not in (plan.owed or ()):
            return self, ()
        if response.error:
            return self, (Send(peer, coordinator.build_marker(self, plan.entry)),)
        new = replace(plan, owed=tuple(p for p in plan.owed or () if p != peer))
        free = plan.waiting and not new.waiting and plan.writing is None
        return self._go_on(txn_id, new, disk) if free else (self._with(txn_id, new), ())
