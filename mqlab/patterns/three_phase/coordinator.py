"""The coordinator of a three-phase commit, as long as it lives.

    voting → (all yes) → precommitting → (all acknowledged) → committed
    voting → (a no, or a connection lost) → aborted

A node that stops is no longer waited for: a missing vote aborts, a missing acknowledgement does not
hold the commit up. After a restart the coordinator leads nothing any more. What it had
written it tells; for the rest the others have found an end without it.
"""

from __future__ import annotations

from ...kernel import (
    FAILED,
    Caller,
    Config,
    ConnectionLost,
    Disk,
    Effects,
    Event,
    Map,
    Quiet,
    Reply,
    Request,
    Response,
    Send,
    frozen,
    replace,
)
from ..client import Answer
from ..commit import CommitTransaction
from ..records import force, read_latest
from .messages import (
    ABORTED,
    COMMITTED,
    PRECOMMITTED,
    UNCERTAIN,
    UNKNOWN_HERE,
    Abort,
    AskState,
    AskStateResponse,
    CanCommit,
    CanCommitResponse,
    DoCommit,
    PreCommit,
    PreCommitResponse,
    Watch,
)

LOG = "decisions"


@frozen
class Txn:
    """`waiting`: whose vote or, once `precommitting`, whose acknowledgement is missing."""

    caller: Caller
    waiting: tuple[str, ...]
    precommitting: bool = False


@frozen
class Coordinator(Quiet):
    """`gone`: participants whose connection broke, which here means that they have stopped."""

    config: Config
    participants: tuple[str, ...]
    txns: Map[str, Txn] = Map()
    gone: tuple[str, ...] = ()

    @staticmethod
    def recover(
        config: Config, participants: tuple[str, ...], disk: Disk, at_ms: int
    ) -> tuple[Coordinator, Effects]:
        return Coordinator(config, participants), tuple(Send(n, Watch()) for n in participants)

    def step(self, event: Event, disk: Disk) -> tuple[Coordinator, Effects]:
        match event:
            case Request(caller=caller, body=CommitTransaction(txn)):
                return self._begin(disk, caller, txn)
            case Response(peer=peer, body=CanCommitResponse(txn, yes)):
                return self._count(disk, peer, txn, yes)
            case Response(peer=peer, body=PreCommitResponse(txn)):
                now = self.txns.get(txn)
                if now is not None and now.precommitting:
                    return self._come_closer(disk, peer, txn, now)
            case ConnectionLost(peer=peer):
                return self._lost(disk, peer)
            case Request(caller=caller, body=AskState(txn)):
                return self, (Reply(caller, AskStateResponse(txn, self._known(disk, txn))),)
        return self, ()  # a Watch, and what comes for a transaction that is over

    def _known(self, disk: Disk, txn: str) -> str:
        """How far it is with a transaction, by its memory and what it has written."""
        if txn in self.txns:
            return PRECOMMITTED if self.txns[txn].precommitting else UNCERTAIN
        last = read_latest(disk, LOG).get(txn)
        return UNKNOWN_HERE if last is None else last.what

    def _begin(self, disk: Disk, caller: Caller, txn: str) -> tuple[Coordinator, Effects]:
        """An id is used once; and with somebody gone not all can vote yes."""
        if self.gone or txn in self.txns or txn in read_latest(disk, LOG):
            why = "somebody is down" if self.gone else "this id is used"
            return self, (Reply(caller, Answer(txn, FAILED, why)),)
        now = Txn(caller, self.participants)
        ask = tuple(Send(name, CanCommit(txn)) for name in self.participants)
        return replace(self, txns=self.txns.set(txn, now)), ask

    def _count(self, disk: Disk, peer: str, txn: str, yes: bool) -> tuple[Coordinator, Effects]:
        now = self.txns.get(txn)
        if now is None or now.precommitting:
            return self, ()
        return self._come_closer(disk, peer, txn, now) if yes else self._abort(disk, txn, now)

    def _come_closer(
        self, disk: Disk, peer: str, txn: str, now: Txn
    ) -> tuple[Coordinator, Effects]:
        """Nothing is missing from `peer` any more; if that was the last, the next phase begins."""
        now = replace(now, waiting=tuple(name for name in now.waiting if name != peer))
        role = replace(self, txns=self.txns.set(txn, now))
        if now.waiting:
            return role, ()
        if now.precommitting or "third_phase" not in self.config.on:
            return role._commit(disk, txn, now)
        now = replace(now, waiting=self._living(), precommitting=True)
        role = replace(self, txns=self.txns.set(txn, now))
        pre_commits = tuple(Send(name, PreCommit(txn)) for name in now.waiting)
        if "acknowledged_precommit" not in self.config.on:
            role, commit = role._commit(disk, txn, now)
            return role, (*pre_commits, *commit)
        return role, pre_commits

    def _living(self) -> tuple[str, ...]:
        return tuple(name for name in self.participants if name not in self.gone)

    def _commit(self, disk: Disk, txn: str, now: Txn) -> tuple[Coordinator, Effects]:
        return replace(self, txns=self.txns.remove(txn)), (
            *force(disk, LOG, COMMITTED, txn),
            Reply(now.caller, Answer(txn)),
            *(Send(name, DoCommit(txn)) for name in self._living()),
        )

    def _abort(self, disk: Disk, txn: str, now: Txn) -> tuple[Coordinator, Effects]:
        return replace(self, txns=self.txns.remove(txn)), (
            *force(disk, LOG, ABORTED, txn),
            Reply(now.caller, Answer(txn, FAILED, "aborted")),
            *(Send(name, Abort(txn)) for name in self._living()),
        )

    def _lost(self, disk: Disk, peer: str) -> tuple[Coordinator, Effects]:
        """It has stopped. A participant that has not voted yes has promised nothing."""
        role = replace(self, gone=tuple(sorted({*self.gone, peer})))
        effects: Effects = ()
        for txn, now in self.txns.items():
            if peer in now.waiting:
                end = role._come_closer if now.precommitting else None
                role, more = end(disk, peer, txn, now) if end else role._abort(disk, txn, now)
                effects = (*effects, *more)
        return role, effects
