"""A participant of a three-phase commit: how far it is, and whom it obeys.

    working → uncertain → precommitted → committed
                     └──→ aborted

It obeys the coordinator and, once that has stopped, its successor (`termination.py` says how).
A PreCommit takes an uncertain participant one step further, a decision ends both; everything
else that arrives comes too late and changes nothing.

A participant that was itself down takes nothing over: it may have missed everything. After its
restart it asks all others, and again whenever its timer runs out, until one of them knows.
"""

from __future__ import annotations

from ...kernel import (
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
    replace,
)
from ..records import force, read_latest
from .messages import (
    ABORTED,
    COMMITTED,
    ENDED,
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
from .termination import Takeover, choose_outcome, list_after, list_before

LOG = "log"
ASK, ASK_MS = "ask", 5_000
ASKS = Words("knows {states}, asks all others", "已知 {states}，询问其他各方")
LEADS = Words("takes over {txn}", "接管 {txn}")
KNOWS_ENOUGH = Words("has no open transaction", "没有未结束的事务")


@frozen
class Participant:
    """`line`: everybody in the order in which they lead, the coordinator first. `states`: of the
    transactions that it has voted for. `gone`: who has stopped, or is not obeyed any more.
    `behind`: it was down itself, so it takes nothing over. `takeovers`: those that it leads.
    `unheard`: transactions of which it knows only because somebody has asked about them."""

    config: Config
    line: tuple[str, ...]
    name: str
    refuses: bool = False
    states: Map[str, str] = Map()
    gone: tuple[str, ...] = ()
    behind: bool = False
    takeovers: Map[str, Takeover] = Map()
    unheard: tuple[str, ...] = ()

    @staticmethod
    def recover(
        config: Config, line: tuple[str, ...], name: str, refuses: bool, disk: Disk, at_ms: int
    ) -> tuple[Participant, Effects]:
        states = Map((txn, last.what) for txn, last in read_latest(disk, LOG).items())
        role = Participant(config, line, name, refuses, states)
        role = replace(role, behind=bool(role.list_open()))
        watch = tuple(Send(other, Watch()) for other in line if other != name)
        return role, (*watch, *(e for txn in role.list_open() for e in role._ask_all(txn)))

    def list_open(self) -> tuple[str, ...]:
        """The transactions that it has voted for and whose end it does not know."""
        return tuple(txn for txn, state in self.states.items() if state not in ENDED)

    def step(self, event: Event, disk: Disk) -> tuple[Participant, Effects]:
        match event:
            case Request(caller=caller, body=CanCommit(txn)) if self._obeys(caller.name):
                return self._vote(disk, caller, txn)
            case Request(caller=caller, body=PreCommit(txn)) if self._obeys(caller.name):
                return self._precommit(disk, caller, txn)
            case Request(caller=caller, body=DoCommit(txn)) if self._obeys(caller.name):
                return self._end(disk, txn, COMMITTED)
            case Request(caller=caller, body=Abort(txn)) if self._obeys(caller.name):
                return self._end(disk, txn, ABORTED)
            case Request(caller=caller, body=AskState() as question):
                return self._say(disk, caller, question)
            case Response(corr=0, body=AskStateResponse(txn, state)):
                return self._end(disk, txn, state) if state in ENDED else (self, ())
            case Response(peer=peer, body=AskStateResponse(txn, state)) if txn in self.takeovers:
                return self._hear(disk, peer, txn, state)
            case Response(peer=peer, body=PreCommitResponse(txn)) if txn in self.takeovers:
                return self._hear(disk, peer, txn, PRECOMMITTED)
            case ConnectionLost(peer=peer):
                return self._lost(disk, peer)
            case Fired(timer=timer):
                txn = timer.partition(" ")[2]
                return self, self._ask_all(txn) if txn in self.list_open() else ()
        return self, ()  # a Watch, or the word of one who is not obeyed any more

    def describe_changes(self, old: Participant | None) -> tuple[Text, ...]:
        if old is None:
            mine = ", ".join(f"{txn} {self.states[txn]}" for txn in self.list_open())
            return (ASKS(states=mine) if mine else KNOWS_ENOUGH(),)
        return tuple(LEADS(txn=txn) for txn in self.takeovers if txn not in old.takeovers)

    # -- obeying -------------------------------------------------------------------------

    def _obeys(self, name: str) -> bool:
        return name not in self.gone or "obeys_the_latest" not in self.config.on

    def _set(self, disk: Disk, txn: str, state: str) -> tuple[Participant, Effects]:
        role = replace(self, states=self.states.set(txn, state))
        return role, force(disk, LOG, state, txn)

    def _vote(self, disk: Disk, caller: Caller, txn: str) -> tuple[Participant, Effects]:
        if self.refuses or txn in self.states:
            return self, (Reply(caller, CanCommitResponse(txn, False)),)
        role, written = self._set(disk, txn, UNCERTAIN)
        yes = Reply(caller, CanCommitResponse(txn, True))
        return role, (*written, yes, SetTimer(f"{ASK} {txn}", ASK_MS))

    def _precommit(self, disk: Disk, caller: Caller, txn: str) -> tuple[Participant, Effects]:
        role = self
        written: Effects = ()
        if self.states.get(txn) == UNCERTAIN:
            role, written = self._set(disk, txn, PRECOMMITTED)
        elif self.states.get(txn) != PRECOMMITTED:
            return self, ()  # it is over, or was never voted for
        return role, (*written, Reply(caller, PreCommitResponse(txn)))

    def _end(self, disk: Disk, txn: str, outcome: str) -> tuple[Participant, Effects]:
        if txn not in self.list_open():
            return self, ()
        role, written = self._set(disk, txn, outcome)
        role = replace(role, takeovers=self.takeovers.remove(txn))
        return role, (*written, CancelTimer(f"{ASK} {txn}"))

    def _say(self, disk: Disk, caller: Caller, question: AskState) -> tuple[Participant, Effects]:
        """How far it is. Who answers a successor has a new leader."""
        role, txn = self, question.txn
        written: Effects = ()
        if question.takes_over:
            before = list_before(self.line, caller.name)
            role = replace(self, gone=tuple(sorted({*self.gone, *before})))
        if txn not in role.states:
            role = replace(role, unheard=tuple(sorted({*role.unheard, txn})))
            role, written = role._end_unheard(disk)
        state = role.states.get(txn, UNKNOWN_HERE)
        return role, (*written, Reply(caller, AskStateResponse(txn, state)))

    def _ask_all(self, txn: str) -> Effects:
        """After a restart, or when it has not heard anything for long."""
        others = (name for name in self.line if name != self.name)
        ask = (Send(name, AskState(txn, takes_over=False)) for name in others)
        return (*ask, SetTimer(f"{ASK} {txn}", ASK_MS))

    # -- leading -------------------------------------------------------------------------

    def _leads(self) -> bool:
        """Who does not ask decides for itself as soon as the coordinator is gone."""
        before = list_before(self.line, self.name)
        if "asks_before_deciding" not in self.config.on:
            before = before[:1]
        return not self.behind and {*before} <= {*self.gone}

    def _lost(self, disk: Disk, peer: str) -> tuple[Participant, Effects]:
        """It has stopped, as far as anybody here can tell."""
        role = replace(self, gone=tuple(sorted({*self.gone, peer})))
        role, effects = role._end_unheard(disk)
        for txn, state in self.states.items():
            more: Effects = ()
            if state in ENDED:
                more = role._tell(txn, state) if role._leads() else ()
            elif txn in role.takeovers:
                role = role._with(txn, role.takeovers[txn].give_up(peer))
                role, more = role._decide(disk, txn)
            elif role._leads():
                role, more = role._take_over(disk, txn)
            elif not role.behind and peer == self._leader():
                more = (Send(role._leader(), AskState(txn, takes_over=False)),)
            effects = (*effects, *more)
        return role, effects

    def _leader(self) -> str:
        """Whom it takes for the one who leads now."""
        return next(name for name in self.line if name not in self.gone)

    def _end_unheard(self, disk: Disk) -> tuple[Participant, Effects]:
        """What it has not voted for when it comes to lead was not committed, and will not be: its
        own vote is missing."""
        role = self
        effects: Effects = ()
        for txn in self.unheard if self._leads() else ():
            if txn not in role.states:
                role, written = role._set(disk, txn, ABORTED)
                effects = (*effects, *written, *self._tell(txn, ABORTED))
        return replace(role, unheard=() if self._leads() else self.unheard), effects

    def _with(self, txn: str, takeover: Takeover) -> Participant:
        return replace(self, takeovers=self.takeovers.set(txn, takeover))

    def _reached(self) -> tuple[str, ...]:
        return tuple(name for name in list_after(self.line, self.name) if name not in self.gone)

    def _take_over(self, disk: Disk, txn: str) -> tuple[Participant, Effects]:
        voters = self._reached() if "asks_before_deciding" in self.config.on else ()
        role, effects = self._with(txn, Takeover(voters))._decide(disk, txn)
        return role, (*(Send(name, AskState(txn), corr=1) for name in voters), *effects)

    def _hear(self, disk: Disk, peer: str, txn: str, state: str) -> tuple[Participant, Effects]:
        return self._with(txn, self.takeovers[txn].hear(peer, state))._decide(disk, txn)

    def _decide(self, disk: Disk, txn: str) -> tuple[Participant, Effects]:
        """As soon as no answer is missing."""
        now = self.takeovers[txn]
        if now.waiting:
            return self, ()
        outcome = choose_outcome((self.states[txn], *now.seen))
        if outcome == PRECOMMITTED and not now.levelled and self._levels():
            return self._level(disk, txn, now)
        outcome = ABORTED if outcome == ABORTED else COMMITTED
        role, written = self._end(disk, txn, outcome)
        return role, (*written, *self._tell(txn, outcome))

    def _tell(self, txn: str, outcome: str) -> Effects:
        """What it knows, to all that it reaches."""
        word = DoCommit(txn) if outcome == COMMITTED else Abort(txn)
        return tuple(Send(name, word) for name in self._reached())

    def _levels(self) -> bool:
        """Whether there is anybody to be told PreCommit before the commit."""
        return (
            bool(self._reached())
            and {"levels_before_commit", "asks_before_deciding"} <= self.config.on
        )

    def _level(self, disk: Disk, txn: str, now: Takeover) -> tuple[Participant, Effects]:
        """Nobody is to be uncertain when the first one commits."""
        role = self
        written: Effects = ()
        if self.states[txn] == UNCERTAIN:
            role, written = self._set(disk, txn, PRECOMMITTED)
        others = self._reached()
        role = role._with(txn, replace(now, waiting=others, levelled=True))
        return role, (*written, *(Send(name, PreCommit(txn)) for name in others))
