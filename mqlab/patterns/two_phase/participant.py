"""A participant of a two-phase commit: one database, and its promise.

States of a transaction here:

    working → prepared (in doubt) → committed | rolled_back
    working → rolled_back          nothing is written: who has promised nothing may forget

`prepared` is forced to the disk before the vote leaves. From then on the participant is *in
doubt*: it holds its locks and waits. It asks the coordinator after a restart and whenever its
timer runs out, and ends only when it is told how.

A message about a transaction that is not in doubt here changes nothing, and is acknowledged: it
is one that has ended already, or one that was never prepared and has therefore been rolled back.

Invariant: after `prepared` nothing but the coordinator's word ends the transaction.
"""

from __future__ import annotations

from ...kernel import (
    Caller,
    CancelTimer,
    Config,
    Disk,
    Effects,
    Event,
    Fired,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    Text,
    Words,
    frozen,
    replace,
)
from ..records import force, read_latest
from .messages import (
    COMMIT,
    Commit,
    CommitResponse,
    Inquire,
    InquireResponse,
    Prepare,
    PrepareResponse,
    Rollback,
)

LOG = "log"
ASK, ASK_MS = "ask", 5_000
PREPARED, COMMITTED, ROLLED_BACK = "prepared", "committed", "rolled_back"
IN_DOUBT = Words("in doubt about {txns}, asks the coordinator", "对 {txns} 存疑，询问协调者")
NO_DOUBT = Words("in doubt about nothing", "没有存疑的事务")


@frozen
class Participant:
    """`doubt`: transactions that are prepared and not ended. `refuses`: it cannot do its part
    (the stock is gone), so it votes no."""

    config: Config
    coordinator: str
    name: str
    refuses: bool = False
    doubt: tuple[str, ...] = ()

    @staticmethod
    def recover(
        config: Config, coordinator: str, name: str, refuses: bool, disk: Disk, at_ms: int
    ) -> tuple[Participant, Effects]:
        """What is prepared and has no outcome is in doubt again."""
        last = read_latest(disk, LOG)
        doubt = tuple(txn for txn, record in last.items() if record.what == PREPARED)
        role = Participant(config, coordinator, name, refuses, doubt)
        return role, tuple(e for txn in doubt for e in role._ask(txn))

    def step(self, event: Event, disk: Disk) -> tuple[Participant, Effects]:
        match event:
            case Request(caller=caller, body=Prepare(txn)):
                return self._prepare(disk, caller, txn)
            case Request(caller=caller, body=Commit(txn)):
                role, done = self._end(disk, txn, COMMITTED)
                return role, (*done, Reply(caller, CommitResponse(txn)))
            case Request(body=Rollback(txn)):
                return self._end(disk, txn, ROLLED_BACK)
            case Response(body=InquireResponse(txn, outcome)) if outcome:
                return self._end(disk, txn, COMMITTED if outcome == COMMIT else ROLLED_BACK)
            case Fired(timer=timer):
                return self._still_in_doubt(disk, timer.partition(" ")[2])
        return self, ()  # not decided yet, or a connection is lost: the timer is running

    def describe_changes(self, old: Participant | None) -> tuple[Text, ...]:
        if old is not None:
            return ()
        return (IN_DOUBT(txns=", ".join(self.doubt)) if self.doubt else NO_DOUBT(),)

    def _prepare(self, disk: Disk, caller: Caller, txn: str) -> tuple[Participant, Effects]:
        if self.refuses:
            return self, (Reply(caller, PrepareResponse(txn, False)),)
        promise = force(disk, LOG, PREPARED, txn)
        if "prepared_on_disk" not in self.config.on:
            promise = ()
        return replace(self, doubt=(*self.doubt, txn)), (
            *promise,
            Reply(caller, PrepareResponse(txn, True)),
            *self._wait(txn),
        )

    def _end(self, disk: Disk, txn: str, outcome: str) -> tuple[Participant, Effects]:
        if txn not in self.doubt:
            return self, ()
        doubt = tuple(other for other in self.doubt if other != txn)
        end = (*force(disk, LOG, outcome, txn), CancelTimer(f"{ASK} {txn}"))
        return replace(self, doubt=doubt), end

    # -- in doubt ------------------------------------------------------------------------

    def _ask(self, txn: str) -> Effects:
        return (Send(self.coordinator, Inquire(txn)), *self._wait(txn))

    def _wait(self, txn: str) -> Effects:
        if "asks_again" not in self.config.on:
            return ()
        return (SetTimer(f"{ASK} {txn}", ASK_MS),)

    def _still_in_doubt(self, disk: Disk, txn: str) -> tuple[Participant, Effects]:
        if txn not in self.doubt:
            return self, ()
        if "waits_in_doubt" not in self.config.on:
            return self._end(disk, txn, ROLLED_BACK)
        return self, self._ask(txn)
