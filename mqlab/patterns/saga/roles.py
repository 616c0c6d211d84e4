"""What application, orchestrator and services of a saga say, and what each of them does."""

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
    phrase,
    replace,
    worded,
)
from ..client import Answer
from ..records import Record, force, read_latest, read_records

# ---- messages -------------------------------------------------------------------------


@worded("start {txn}")
class StartSaga:
    """The application's call."""

    txn: str


@worded("Do {txn}")
class Do:
    """One step: a local transaction."""

    txn: str


@frozen
class DoResponse:
    txn: str
    ok: bool

    @property
    def key(self) -> str:
        return "step done" if self.ok else "step refused"

    def __str__(self) -> str:
        return phrase("done" if self.ok else "cannot be done")


@worded("Undo {txn}")
class Undo:
    """The compensation of a step: another local transaction."""

    txn: str


@worded("undone")
class UndoResponse:
    txn: str


# ---- the orchestrator -----------------------------------------------------------------

SAGA_LOG = "saga log"
BEGUN, DONE, UNDO, UNDONE, END = "begun", "done", "undo", "undone", "end"
RETRY, RETRY_MS = "retry", 1_000


@frozen
class Saga:
    """`at`: the number of the step that is asked for now; `back`: its compensation."""

    at: int = 0
    back: bool = False
    caller: Caller | None = None

    def follow(self, what: str) -> Saga:
        """The position after one more entry of the log."""
        match what:
            case "done":
                return replace(self, at=self.at + 1)
            case "undo":
                return replace(self, at=self.at - 1, back=True)
            case "undone":
                return replace(self, at=self.at - 1)
        return self


@frozen
class Orchestrator(Quiet):
    """The orchestrator of a saga: one step after the other, and back again if one cannot be done.

        begun → Do at the first service → done → Do at the second … → end
                         └── cannot be done → undo → Undo at the one before … → end

    Its log is a position in this sequence. After a restart it asks for the step at that position,
    which may have been done already: that is why every service knows its steps.

    `services`: in the order of their steps. `sagas`: those that are not over.
    """

    config: Config
    services: tuple[str, ...]
    sagas: Map[str, Saga] = Map()

    @staticmethod
    def recover(
        config: Config, services: tuple[str, ...], disk: Disk, at_ms: int
    ) -> tuple[Orchestrator, Effects]:
        """Follow the log to where each saga is that has no END, and go on from there."""
        role = Orchestrator(config, services)
        sagas: dict[str, Saga] = {}
        for record in read_records(disk, SAGA_LOG):
            sagas[record.txn] = sagas.get(record.txn, Saga()).follow(record.what)
            if record.what == END:
                del sagas[record.txn]
        effects: Effects = ()
        for txn, now in sagas.items():
            role, more = role._go(disk, txn, now)
            effects = (*effects, *more)
        return role, effects

    def step(self, event: Event, disk: Disk) -> tuple[Orchestrator, Effects]:
        """Run sagas step by step: write each result down and ask the next service, or go back and
        undo if a step could not be done. Some time after a broken connection, unless `step_again`
        is off, the present step is asked for again, so services may see it twice."""
        self.check_invariants()
        match event:
            case Request(caller=caller, body=StartSaga(txn)):
                if txn in self.sagas or any(r.txn == txn for r in read_records(disk, SAGA_LOG)):
                    return self, (Reply(caller, Answer(txn, UNKNOWN, "this id is used")),)
                return self._write_and_go(disk, BEGUN, txn, Saga(caller=caller))
            # _waits: the saga is at this service, and (`back`) its steps are being undone
            case Response(peer=peer, body=DoResponse(txn, ok)) if self._waits(txn, peer):
                return self._forward(disk, txn, ok)
            case Response(peer=peer, body=UndoResponse(txn)) if self._waits(txn, peer, back=True):
                return self._write_and_go(disk, UNDONE, txn, self.sagas[txn])
            case ConnectionLost(peer=peer) if "step_again" in self.config.on:
                waiting = (t for t, saga in self.sagas.items() if self.services[saga.at] == peer)
                return self, tuple(SetTimer(f"{RETRY} {txn}", RETRY_MS) for txn in waiting)
            case Fired(timer=timer):
                txn = timer.partition(" ")[2]
                return self, self._ask(txn, self.sagas[txn]) if txn in self.sagas else ()
        return self, ()  # an answer to what was asked for twice

    def check_invariants(self) -> None:
        """AssertionError where a saga that is beyond its last step, or its first, is not over."""
        assert all(0 <= now.at < len(self.services) for now in self.sagas.values()), self.sagas

    def _waits(self, txn: str, peer: str, back: bool = False) -> bool:
        """Whether this service's answer is the one due; `back`: one to Undo, not to Do."""
        now = self.sagas.get(txn)
        return now is not None and self.services[now.at] == peer and now.back == back

    def _forward(self, disk: Disk, txn: str, ok: bool) -> tuple[Orchestrator, Effects]:
        now = self.sagas[txn]
        if ok:
            return self._write_and_go(disk, DONE, txn, now)
        if "compensation" not in self.config.on:
            return self._end(disk, txn, now)
        return self._write_and_go(disk, UNDO, txn, now)

    def _write_and_go(
        self, disk: Disk, what: str, txn: str, now: Saga
    ) -> tuple[Orchestrator, Effects]:
        """The log first, then what comes next."""
        where = "" if what == BEGUN else self.services[now.at]
        written = force(disk, SAGA_LOG, what, txn, where) if "saga_log" in self.config.on else ()
        behind = len(written) // 2  # an entry and its flush
        role, effects = self._go(disk, txn, now.follow(what), behind)
        return role, (*written, *effects)

    def _go(self, disk: Disk, txn: str, now: Saga, behind: int = 0) -> tuple[Orchestrator, Effects]:
        """Ask for what comes next; at either end of the line the saga is over."""
        if now.at in (-1, len(self.services)):
            return self._end(disk, txn, now, behind)
        return replace(self, sagas=self.sagas.set(txn, now)), self._ask(txn, now)

    def _ask(self, txn: str, now: Saga) -> Effects:
        return (Send(self.services[now.at], Undo(txn) if now.back else Do(txn)),)

    def _end(
        self, disk: Disk, txn: str, now: Saga, behind: int = 0
    ) -> tuple[Orchestrator, Effects]:
        whole = now.at == len(self.services)
        undone = "compensated" if now.back else "not compensated"
        answer = Answer(txn) if whole else Answer(txn, FAILED, undone)
        return replace(self, sagas=self.sagas.remove(txn)), (
            *force(disk, SAGA_LOG, END, txn, behind=behind),
            *((Reply(now.caller, answer),) if now.caller is not None else ()),
            CancelTimer(f"{RETRY} {txn}"),
        )


# ---- a service ------------------------------------------------------------------------

LOG = "ledger"


@frozen
class Service(Quiet):
    """A service of a saga: a step, its compensation, and a ledger that knows both.

        Do     nothing known → `done` (one local transaction: the effect, and that it was done)
        Undo   done → `undone`

    Whatever else is asked for changes nothing. What is done already is answered as done; a step
    that comes after its compensation is refused.

    `refuses`: its step cannot be done.
    """

    config: Config
    refuses: bool = False

    @staticmethod
    def recover(config: Config, refuses: bool, disk: Disk, at_ms: int) -> tuple[Service, Effects]:
        """The ledger is all there is."""
        return Service(config, refuses), ()

    def step(self, event: Event, disk: Disk) -> tuple[Service, Effects]:
        match event:
            case Request(caller=caller, body=Do(txn)):
                last = read_latest(disk, LOG).get(txn)
                over = last is not None and last.what == UNDONE
                if self.refuses or (over and "undone_stays_undone" in self.config.on):
                    return self, (Reply(caller, DoResponse(txn, False)),)
                known = last is not None and not over and "idempotent_step" in self.config.on
                done = () if known else force(disk, LOG, DONE, txn)
                return self, (*done, Reply(caller, DoResponse(txn, True)))
            case Request(caller=caller, body=Undo(txn)):
                return self, (*self._undo(disk, txn), Reply(caller, UndoResponse(txn)))
        return self, ()

    def _undo(self, disk: Disk, txn: str) -> Effects:
        last = read_latest(disk, LOG).get(txn)
        if last is None or (last.what == UNDONE and "idempotent_undo" in self.config.on):
            return ()
        return force(disk, LOG, UNDONE, txn)


def count_effects(ledger: Iterable[Record], txn: str) -> int:
    """How often a step is in effect: 0 or 1, unless something was done or undone twice."""
    signs = {DONE: 1, UNDONE: -1}
    return sum(signs[record.what] for record in ledger if record.txn == txn)
