"""What the parties of a two-phase commit say to each other, and what each of them does.

The messages have XA's names. Read the coordinator first, then a participant.
"""

from __future__ import annotations

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
    Reply,
    Request,
    Response,
    Send,
    SetTimer,
    Text,
    Words,
    frozen,
    phrase,
    phrase_word,
    replace,
    worded,
)
from ..client import Answer
from ..commit import CommitTransaction
from ..records import force, read_latest, write

# ---- messages -------------------------------------------------------------------------

COMMIT, ROLLBACK = "commit", "rollback"


@worded("Prepare {txn}")
class Prepare:
    """Can you commit, whatever happens from now on (`xa_prepare`)?"""

    txn: str


@frozen
class PrepareResponse:
    """The vote. Yes is a promise."""

    txn: str
    yes: bool

    @property
    def key(self) -> str:
        return "vote yes" if self.yes else "vote no"

    def __str__(self) -> str:
        return phrase("vote yes" if self.yes else "vote no")


@worded("Commit {txn}")
class Commit:
    """Everybody has voted yes (`xa_commit`)."""

    txn: str


@worded("committed {txn}")
class CommitResponse:
    txn: str


@worded("Rollback {txn}")
class Rollback:
    """Not all have (`xa_rollback`). No answer is expected: see presumed abort."""

    txn: str


@worded("Inquire {txn}")
class Inquire:
    """A participant in doubt asks what was decided."""

    txn: str


@frozen
class InquireResponse:
    """`outcome`: commit, rollback, or "" while votes are still being counted."""

    txn: str
    outcome: str

    @property
    def key(self) -> str:
        return f"told {self.outcome or 'to wait'}"

    def __str__(self) -> str:
        return phrase_word(self.outcome or "not decided yet")


# ---- the coordinator ------------------------------------------------------------------

DECISIONS = "decisions"
VOTES, RETRY = "votes", "retry"
VOTES_MS, RETRY_MS = 10_000, 1_000
OWES = Words("knows {owed} as committed, tells it again")
KNOWS_NOTHING = Words("knows of no pending decision")


@frozen
class Txn:
    """`caller`: who waits for the answer; `yes`: who has voted so; `owed`: who has not
    acknowledged the commit; empty while votes are counted."""

    caller: Caller | None = None
    yes: tuple[str, ...] = ()
    owed: tuple[str, ...] = ()


@frozen
class Coordinator:
    """The coordinator of a two-phase commit: it collects votes, decides, and sends the decision.

    States of a transaction:

        voting → (commit written) → owed → (all acknowledged, `end` written) → forgotten
        voting → (rolled back, nothing written)                              → forgotten

    `commit` is forced to the disk before any participant hears of it; this one write is the
    transaction's commit. `end` need not be forced: if it is lost, it is sent to some participants
    again. A rollback is neither written nor acknowledged. A participant that misses it is in doubt,
    asks, and since nothing is written the answer is to roll back. That is presumed abort, and it
    makes a coordinator that knows nothing after a restart give the right answer.

    Invariants: what is sent is written; no transaction is both committed and rolled back.

    `txns`: those that are not over. All of it is lost with the process.
    """

    config: Config
    participants: tuple[str, ...]
    txns: Map[str, Txn] = Map()

    @staticmethod
    def recover(
        config: Config, participants: tuple[str, ...], disk: Disk, at_ms: int
    ) -> tuple[Coordinator, Effects]:
        """A commit without an end is sent again, to all: who acknowledged is not known."""
        owed = [t for t, last in read_latest(disk, DECISIONS).items() if last.what == COMMIT]
        role = Coordinator(config, participants, Map((t, Txn(owed=participants)) for t in owed))
        commits = tuple(Send(name, Commit(txn)) for txn in owed for name in participants)
        timers = tuple(SetTimer(f"{RETRY} {txn}", RETRY_MS) for txn in owed)
        return role, (*commits, *timers)

    def step(self, event: Event, disk: Disk) -> tuple[Coordinator, Effects]:
        """Begin a transaction, count votes and acknowledgements, and answer a participant in doubt
        how its transaction ended. A timer ends the wait for votes, or sends a commit again that was
        not acknowledged by all; a broken connection rolls back what its participant has not voted
        for."""
        self.check_invariants()
        match event:
            case Request(caller=caller, body=CommitTransaction(txn)):
                return self._begin(disk, caller, txn)
            case Response(peer=peer, body=PrepareResponse(txn, yes)):
                return self._count(disk, peer, txn, yes)
            case Response(peer=peer, body=CommitResponse(txn)):
                return self._acknowledged(disk, peer, txn)
            case Request(caller=caller, body=Inquire(txn)):
                # "": votes are still counted; None: unknown here, so there is no answer
                outcome = self.find_outcome(disk, txn)
                replies = () if outcome is None else (Reply(caller, InquireResponse(txn, outcome)),)
                return self, replies
            case ConnectionLost(peer=peer):
                return self._lost(peer)
            case Fired(timer=timer):
                kind, _, txn = timer.partition(" ")
                return self._late_votes(disk, txn) if kind == VOTES else self._retry(txn)
        return self, ()  # rollbacks are not acknowledged, and nothing else is asked

    def check_invariants(self) -> None:
        """AssertionError where all have voted yes, and nothing is decided."""
        most = len(self.participants)
        assert all(now.owed or len(now.yes) < most for now in self.txns.values()), self.txns

    def describe_changes(self, old: Coordinator | None) -> tuple[Text, ...]:
        if old is not None:
            return ()
        owed = ", ".join(self.txns)
        return (OWES(owed=owed) if owed else KNOWS_NOTHING(),)

    # -- phase one -----------------------------------------------------------------------

    def _begin(self, disk: Disk, caller: Caller, txn: str) -> tuple[Coordinator, Effects]:
        """An id is used once. One that is known is refused, as XA does (XAER_DUPID); one that was
        rolled back is not known any more, so the one who gives ids must not give it again."""
        if txn in self.txns or txn in read_latest(disk, DECISIONS):
            return self, (Reply(caller, Answer(txn, UNKNOWN, "XAER_DUPID")),)
        role = replace(self, txns=self.txns.set(txn, Txn(caller)))
        ask = tuple(Send(name, Prepare(txn)) for name in self.participants)
        return role, (*ask, SetTimer(f"{VOTES} {txn}", VOTES_MS))

    def _count(self, disk: Disk, peer: str, txn: str, yes: bool) -> tuple[Coordinator, Effects]:
        now = self._voting(txn)
        if now is None:
            return self, ()  # one no was enough, or the timeout had passed
        if not yes:
            return self._roll_back(txn, now)
        now = replace(now, yes=tuple(sorted({*now.yes, peer})))
        if len(now.yes) < len(self.participants):
            return replace(self, txns=self.txns.set(txn, now)), ()
        return self._commit(disk, txn, now)

    def _voting(self, txn: str) -> Txn | None:
        now: Txn | None = self.txns.get(txn)
        return now if now is not None and not now.owed else None

    def _late_votes(self, disk: Disk, txn: str) -> tuple[Coordinator, Effects]:
        now = self._voting(txn)
        if now is None:
            return self, ()  # the timer was cancelled too late
        if "unanimous" not in self.config.on:
            return self._commit(disk, txn, now)
        return self._roll_back(txn, now)

    # -- phase two -----------------------------------------------------------------------

    def _commit(self, disk: Disk, txn: str, now: Txn) -> tuple[Coordinator, Effects]:
        """Written, then sent. `order` may say otherwise: that is an exercise, and a fault."""
        role = replace(self, txns=self.txns.set(txn, Txn(owed=self.participants)))
        decision = force(disk, DECISIONS, COMMIT, txn)
        announced = (
            *((Reply(now.caller, Answer(txn)),) if now.caller is not None else ()),
            *(Send(name, Commit(txn)) for name in self.participants),
        )
        first = (
            (decision, announced) if "decision_first" in self.config.on else (announced, decision)
        )
        return role, (*first[0], *first[1], CancelTimer(f"{VOTES} {txn}"))

    def _roll_back(self, txn: str, now: Txn) -> tuple[Coordinator, Effects]:
        """Sent and forgotten. A participant that does not hear it will ask."""
        refused = Answer(txn, FAILED, "rolled back")
        return replace(self, txns=self.txns.remove(txn)), (
            *((Reply(now.caller, refused),) if now.caller is not None else ()),
            *(Send(name, Rollback(txn)) for name in self.participants),
            CancelTimer(f"{VOTES} {txn}"),
        )

    def _acknowledged(self, disk: Disk, peer: str, txn: str) -> tuple[Coordinator, Effects]:
        now = self.txns.get(txn)
        if now is None or peer not in now.owed:
            return self, ()  # sent twice, so acknowledged twice
        owed = tuple(name for name in now.owed if name != peer)
        if owed:
            return replace(self, txns=self.txns.set(txn, replace(now, owed=owed))), ()
        end = (write(disk, DECISIONS, "end", txn), CancelTimer(f"{RETRY} {txn}"))
        return replace(self, txns=self.txns.remove(txn)), end

    # -- when something is lost ----------------------------------------------------------

    def _lost(self, peer: str) -> tuple[Coordinator, Effects]:
        """Of a vote that is missing one can say no more than that it is no yes. A commit that is
        not acknowledged is sent again after a while."""
        role = self
        effects: Effects = ()
        for txn, now in self.txns.items():
            more: Effects = ()
            if now.owed:
                more = (SetTimer(f"{RETRY} {txn}", RETRY_MS),) if peer in now.owed else ()
            elif peer not in now.yes:
                role, more = role._roll_back(txn, now)
            effects = (*effects, *more)
        return role, effects

    def _retry(self, txn: str) -> tuple[Coordinator, Effects]:
        now = self.txns.get(txn, Txn())
        return self, tuple(Send(name, Commit(txn)) for name in now.owed)

    def find_outcome(self, disk: Disk, txn: str) -> str | None:
        """What is answered to a participant in doubt: "" while votes are counted, None: nothing
        ever. What is not written was not committed."""
        if self._voting(txn) is not None:
            return ""
        if txn in read_latest(disk, DECISIONS):
            return COMMIT
        return ROLLBACK if "presumed_abort" in self.config.on else None


# ---- a participant --------------------------------------------------------------------

LOG = "log"
ASK, ASK_MS = "ask", 5_000
PREPARED, COMMITTED, ROLLED_BACK = "prepared", "committed", "rolled_back"
IN_DOUBT = Words("in doubt about {txns}, asks the coordinator")
NO_DOUBT = Words("in doubt about nothing")


@frozen
class Participant:
    """A participant of a two-phase commit: one database, and its promise.

    States of a transaction here:

        working → prepared (in doubt) → committed | rolled_back
        working → rolled_back          nothing is written: who has promised nothing may forget

    `prepared` is forced to the disk before the vote leaves. From then on the participant is *in
    doubt*: it holds its locks and waits. It asks the coordinator after a restart and whenever its
    timer runs out, and ends only when it learns how.

    A message about a transaction that is not in doubt here changes nothing, and is acknowledged: it
    is one that has ended already, or one that was never prepared and has therefore been rolled
    back.

    Invariant: after `prepared` nothing but the coordinator's word ends the transaction.

    `doubt`: transactions that are prepared and not ended. `refuses`: it cannot do its part (the
    stock is gone), so it votes no.
    """

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
        """Vote on a transaction and end it as the coordinator has decided. A timer lets a
        participant in doubt inquire; an empty outcome means that nothing is decided yet."""
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
