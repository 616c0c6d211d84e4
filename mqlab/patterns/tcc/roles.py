"""What application, coordinator and services of TCC say, and what each of them does."""

from __future__ import annotations

from collections.abc import Iterable

from ...kernel import (
    FAILED,
    UNKNOWN,
    Caller,
    CancelTimer,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Fired,
    Map,
    Quiet,
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    frozen,
    phrase_word,
    replace,
    worded,
)
from ..client import Answer
from ..records import Record, force, read_latest, write

# ---- messages -------------------------------------------------------------------------

CONFIRM, CANCEL = "confirm", "cancel"


@worded("order {txn}")
class PlaceOrder:
    """The application's call."""

    txn: str


@worded("Try {txn}")
class Try:
    txn: str


@worded("{words}")
class TryResponse:
    txn: str
    ok: bool

    @property
    def key(self) -> str:
        return "reserved" if self.ok else "not reserved"

    @property
    def words(self) -> str:
        return phrase_word(self.key)


@worded("Confirm {txn}")
class Confirm:
    txn: str


@worded("ok")
class ConfirmResponse:
    txn: str


@worded("Cancel {txn}")
class Cancel:
    txn: str


@worded("ok")
class CancelResponse:
    txn: str


# ---- the coordinator ------------------------------------------------------------------

DECISIONS = "decisions"
BEGUN, END = "begun", "end"
TRIES, RETRY = "tries", "retry"
TRIES_MS, RETRY_MS = 10_000, 1_000


@frozen
class Txn:
    """`decision`: "" while Tries are out. `missing`: whose answer is missing, to the Try or, once
    it is decided, to Confirm or Cancel."""

    missing: tuple[str, ...]
    caller: Caller | None = None
    decision: str = ""


@frozen
class Coordinator(Quiet):
    """The coordinator of TCC: it tries everywhere, decides, and repeats until all have followed.

        begun (written) → all reserved → confirm (written) → all acknowledged → end
        begun (written) → one did not  → cancel (written)  → all acknowledged → end

    After a restart a transaction that has begun and has no decision is cancelled: some of its Tries
    may have reserved something. A decision without an end is sent again. Both need only the log.

    `txns`: those that are not over.
    """

    config: Config
    services: tuple[str, ...]
    txns: Map[str, Txn] = Map()

    @staticmethod
    def recover(
        config: Config, services: tuple[str, ...], disk: Disk, at_ms: int
    ) -> tuple[Coordinator, Effects]:
        """Cancel what was begun and not decided; send a decision again that has no END yet."""
        role = Coordinator(config, services)
        effects: Effects = ()
        for txn, last in read_latest(disk, DECISIONS).items():
            if last.what == BEGUN:
                role, more = role._decide(disk, txn, Txn(services), CANCEL)
            elif last.what != END:
                role, more = role._tell(txn, last.what)
            else:
                continue
            effects = (*effects, *more)
        return role, effects

    def step(self, event: Event, disk: Disk) -> tuple[Coordinator, Effects]:
        self.check_invariants()
        match event:
            case Request(caller=caller, body=PlaceOrder(txn)):
                return self._begin(disk, caller, txn)
            case Response(peer=peer, body=TryResponse(txn, ok)):
                return self._tried(disk, peer, txn, ok)
            case Response(peer=peer, body=ConfirmResponse(txn) | CancelResponse(txn)):
                return self._acknowledged(disk, peer, txn)
            case ConnectionLost(peer=peer):
                return self._lost(disk, peer)
            case Fired(timer=timer):
                kind, _, txn = timer.partition(" ")
                return self._too_late(disk, txn) if kind == TRIES else (self, self._again(txn))
        return self, ()

    def check_invariants(self) -> None:
        """AssertionError where every answer is here, and the next phase has not begun."""
        assert all(now.missing for now in self.txns.values()), self.txns

    # -- Try -----------------------------------------------------------------------------

    def _begin(self, disk: Disk, caller: Caller, txn: str) -> tuple[Coordinator, Effects]:
        if txn in self.txns or txn in read_latest(disk, DECISIONS):
            return self, (Reply(caller, Answer(txn, UNKNOWN, "this id is used")),)
        role = replace(self, txns=self.txns.set(txn, Txn(self.services, caller)))
        begun = force(disk, DECISIONS, BEGUN, txn) if "begun_on_disk" in self.config.on else ()
        tries = tuple(Send(name, Try(txn)) for name in self.services)
        return role, (*begun, *tries, SetTimer(f"{TRIES} {txn}", TRIES_MS))

    def _trying(self, txn: str) -> Txn | None:
        now: Txn | None = self.txns.get(txn)
        return now if now is not None and not now.decision else None

    def _tried(self, disk: Disk, peer: str, txn: str, ok: bool) -> tuple[Coordinator, Effects]:
        now = self._trying(txn)
        if now is None:
            return self, ()  # it is cancelled already
        if not ok:
            return self._decide(disk, txn, now, CANCEL)
        now = replace(now, missing=tuple(name for name in now.missing if name != peer))
        if now.missing:
            return replace(self, txns=self.txns.set(txn, now)), ()
        return self._decide(disk, txn, now, CONFIRM)

    def _too_late(self, disk: Disk, txn: str) -> tuple[Coordinator, Effects]:
        now = self._trying(txn)
        return (self, ()) if now is None else self._decide(disk, txn, now, CANCEL)

    # -- Confirm or Cancel ---------------------------------------------------------------

    def _decide(self, disk: Disk, txn: str, now: Txn, decision: str) -> tuple[Coordinator, Effects]:
        """Written, then sent. To all: who did not reserve anything must remember the Cancel."""
        written = force(disk, DECISIONS, decision, txn)
        answered: Effects = (CancelTimer(f"{TRIES} {txn}"),)
        if now.caller is not None:
            confirmed = Answer(txn) if decision == CONFIRM else Answer(txn, FAILED, "cancelled")
            answered = (*answered, Reply(now.caller, confirmed))
        role, sent = self._tell(txn, decision)
        if "decision_on_disk" not in self.config.on:
            return role, (*answered, *sent, *written)
        return role, (*written, *answered, *sent)

    def _tell(self, txn: str, decision: str) -> tuple[Coordinator, Effects]:
        now = Txn(self.services, decision=decision)
        role = replace(self, txns=self.txns.set(txn, now))
        return role, role._again(txn)

    def _again(self, txn: str) -> Effects:
        now = self.txns.get(txn)
        if now is None or not now.decision:
            return ()
        word = Confirm(txn) if now.decision == CONFIRM else Cancel(txn)
        return tuple(Send(name, word) for name in now.missing)

    def _acknowledged(self, disk: Disk, peer: str, txn: str) -> tuple[Coordinator, Effects]:
        now = self.txns.get(txn)
        if now is None or peer not in now.missing:
            return self, ()  # sent twice, so acknowledged twice
        missing = tuple(name for name in now.missing if name != peer)
        if missing:
            return replace(self, txns=self.txns.set(txn, replace(now, missing=missing))), ()
        end = (write(disk, DECISIONS, END, txn), CancelTimer(f"{RETRY} {txn}"))
        return replace(self, txns=self.txns.remove(txn)), end

    def _lost(self, disk: Disk, peer: str) -> tuple[Coordinator, Effects]:
        """A Try without an answer is cancelled, whether it has arrived or not."""
        role = self
        effects: Effects = ()
        for txn, now in self.txns.items():
            more: Effects = ()
            if peer in now.missing and not now.decision:
                role, more = role._decide(disk, txn, now, CANCEL)
            elif peer in now.missing and "until_acknowledged" in self.config.on:
                more = (SetTimer(f"{RETRY} {txn}", RETRY_MS),)
            effects = (*effects, *more)
        return role, effects


# ---- a service ------------------------------------------------------------------------

LOG = "ledger"
TRIED, CONFIRMED, CANCELLED, EMPTY = "tried", "confirmed", "cancelled", "empty"


@frozen
class Service(Quiet):
    """A service of TCC: Try, Confirm and Cancel as local transactions over one ledger.

    An entry of the ledger is a local transaction, so what it moves and that it has been done are
    written together:

        tried       one piece moves from free to reserved
        confirmed   one piece moves from reserved to used
        cancelled   one piece moves from reserved back to free
        empty       nothing moves: remembered, so that a Try that comes later is refused

    The last entry of a transaction says what may still be done. A table row under the transaction's
    id with a unique key does the same in a database (Seata: `tcc_fence_log`).

    `lacks`: it has nothing to reserve, so every Try fails.
    """

    config: Config
    lacks: bool = False

    @staticmethod
    def recover(config: Config, lacks: bool, disk: Disk, at_ms: int) -> tuple[Service, Effects]:
        """The ledger is all there is."""
        return Service(config, lacks), ()

    def step(self, event: Event, disk: Disk) -> tuple[Service, Effects]:
        match event:
            case Request(caller=caller, body=Try(txn)):
                return self, self._try(disk, caller, txn)
            case Request(caller=caller, body=Confirm(txn)):
                return self, (*self._confirm(disk, txn), Reply(caller, ConfirmResponse(txn)))
            case Request(caller=caller, body=Cancel(txn)):
                return self, (*self._cancel(disk, txn), Reply(caller, CancelResponse(txn)))
        return self, ()

    def _last(self, disk: Disk, txn: str) -> str:
        """What was done last for a transaction; "" for nothing."""
        record = read_latest(disk, LOG).get(txn)
        return "" if record is None else record.what

    def _try(self, disk: Disk, caller: Caller, txn: str) -> Effects:
        over = bool(self._last(disk, txn)) and "suspended_try" in self.config.on
        if self.lacks or over:
            return (Reply(caller, TryResponse(txn, False)),)
        return (*force(disk, LOG, TRIED, txn), Reply(caller, TryResponse(txn, True)))

    def _confirm(self, disk: Disk, txn: str) -> Effects:
        if self._last(disk, txn) != TRIED and "idempotent_confirm" in self.config.on:
            return ()
        return force(disk, LOG, CONFIRMED, txn)

    def _cancel(self, disk: Disk, txn: str) -> Effects:
        match self._last(disk, txn):
            case "":
                empty = EMPTY if "empty_cancel" in self.config.on else CANCELLED
                return force(disk, LOG, empty, txn)
            case "cancelled" if "idempotent_cancel" not in self.config.on:
                return force(disk, LOG, CANCELLED, txn)
            case "tried":
                return force(disk, LOG, CANCELLED, txn)
        return ()


@frozen
class Balance:
    """What a ledger adds up to. Reserved below zero: something was ended twice, or was never
    reserved."""

    free: int
    reserved: int = 0
    used: int = 0


def add_up(ledger: Iterable[Record], start: int) -> Balance:
    """The balance of a service that had so many pieces in the beginning."""
    moved = [record.what for record in ledger]
    tried, confirmed, cancelled = (moved.count(w) for w in (TRIED, CONFIRMED, CANCELLED))
    return Balance(start - tried + cancelled, tried - confirmed - cancelled, confirmed)
