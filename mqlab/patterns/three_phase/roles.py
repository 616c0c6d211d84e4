"""What the parties of a three-phase commit say to each other, and what each of them does.

Read the coordinator first, then a participant, then the termination protocol (`Takeover`).
"""

from __future__ import annotations

from collections.abc import Collection

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
    Text,
    Words,
    frozen,
    phrase_word,
    replace,
    worded,
)
from ..client import Answer
from ..commit import CommitTransaction
from ..records import force, read_latest

# ---- messages -------------------------------------------------------------------------

UNCERTAIN, PRECOMMITTED = "uncertain", "precommitted"
COMMITTED, ABORTED = "committed", "aborted"
ENDED = (COMMITTED, ABORTED)
UNKNOWN_HERE = "unknown here"  # nothing is written: it has not voted, or is the one that asks


@worded("Watch")
class Watch:
    """A connection that is kept open to notice a stop; it is not answered."""

    quiet = True


@worded("CanCommit {txn}")
class CanCommit:
    txn: str


@worded("{words}")
class CanCommitResponse:
    """The vote."""

    txn: str
    yes: bool

    @property
    def key(self) -> str:
        return "vote yes" if self.yes else "vote no"

    @property
    def words(self) -> str:
        return phrase_word(self.key)


@worded("PreCommit {txn}")
class PreCommit:
    """All have voted yes; from the coordinator, or from who took over."""

    txn: str


@worded("precommitted {txn}")
class PreCommitResponse:
    txn: str


@worded("DoCommit {txn}")
class DoCommit:
    """No party is uncertain any more."""

    txn: str


@worded("Abort {txn}")
class Abort:
    txn: str


@worded("AskState {txn}")
class AskState:
    """How far are you? `takes_over`: who asks decides, and none before it is obeyed now."""

    txn: str
    takes_over: bool = True

    @property
    def key(self) -> str:
        return "AskState" if self.takes_over else "AskState after a restart"


@worded("{words}")
class AskStateResponse:
    txn: str
    state: str

    @property
    def words(self) -> str:
        return phrase_word(self.state)


# ---- the coordinator ------------------------------------------------------------------

DECISIONS = "decisions"


@frozen
class Txn:
    """`waiting`: whose vote or, once `precommitting`, whose acknowledgement is missing."""

    caller: Caller
    waiting: tuple[str, ...]
    precommitting: bool = False


@frozen
class Coordinator(Quiet):
    """The coordinator of a three-phase commit, as long as it lives.

        voting → (all yes) → precommitting → (all acknowledged) → committed
        voting → (a no, or a connection lost) → aborted

    A node that stops is no longer waited for: a missing vote aborts, a missing acknowledgement does
    not hold the commit up. After a restart the coordinator leads nothing any more. What it had
    written it reports; for the rest the others have found an end without it.

    `gone`: participants whose connection broke, which here means that they have stopped.
    """

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
        """Begin a transaction, count votes and then acknowledgements of PreCommit, react to a
        participant that has stopped, and answer one that asks for a transaction's state."""
        match event:
            case Request(caller=caller, body=CommitTransaction(txn)):
                return self._begin(disk, caller, txn)
            case Response(peer=peer, body=CanCommitResponse(txn, yes)):
                return self._count(disk, peer, txn, yes)
            case Response(peer=peer, body=PreCommitResponse(txn)):
                now = self.txns.get(txn)
                if now is not None and now.precommitting:
                    return self._count_answer(disk, peer, txn, now)
            case ConnectionLost(peer=peer):
                return self._lost(disk, peer)
            case Request(caller=caller, body=AskState(txn)):
                return self, (Reply(caller, AskStateResponse(txn, self._known(disk, txn))),)
        return self, ()  # a Watch, and what comes for a transaction that is over

    def _known(self, disk: Disk, txn: str) -> str:
        """How far it is with a transaction, by its memory and what it has written."""
        if txn in self.txns:
            return PRECOMMITTED if self.txns[txn].precommitting else UNCERTAIN
        last = read_latest(disk, DECISIONS).get(txn)
        return UNKNOWN_HERE if last is None else last.what

    def _begin(self, disk: Disk, caller: Caller, txn: str) -> tuple[Coordinator, Effects]:
        """An id is used once; and with a party gone not all can vote yes."""
        if txn in self.txns or txn in read_latest(disk, DECISIONS):
            return self, (Reply(caller, Answer(txn, UNKNOWN, "this id is used")),)
        if self.gone:
            return self, (Reply(caller, Answer(txn, FAILED, "somebody is down")),)
        now = Txn(caller, self.participants)
        ask = tuple(Send(name, CanCommit(txn)) for name in self.participants)
        return replace(self, txns=self.txns.set(txn, now)), ask

    def _count(self, disk: Disk, peer: str, txn: str, yes: bool) -> tuple[Coordinator, Effects]:
        now = self.txns.get(txn)
        if now is None or now.precommitting:
            return self, ()
        return self._count_answer(disk, peer, txn, now) if yes else self._abort(disk, txn, now)

    def _count_answer(
        self, disk: Disk, peer: str, txn: str, now: Txn
    ) -> tuple[Coordinator, Effects]:
        """Count a participant's answer as received; after the last one the next phase begins:
        PreCommit for all, or the commit. Without the safeguard `third_phase` the commit follows the
        votes, without `acknowledged_precommit` it follows PreCommit at once. `now`: the
        transaction's state."""
        now = replace(now, waiting=tuple(name for name in now.waiting if name != peer))
        role = replace(self, txns=self.txns.set(txn, now))
        if now.waiting:
            return role, ()
        if now.precommitting or "third_phase" not in self.config.on:
            return role._commit(disk, txn, now)
        # who has stopped (`gone`) is neither told nor waited for
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
            *force(disk, DECISIONS, COMMITTED, txn),
            Reply(now.caller, Answer(txn)),
            *(Send(name, DoCommit(txn)) for name in self._living()),
        )

    def _abort(self, disk: Disk, txn: str, now: Txn) -> tuple[Coordinator, Effects]:
        return replace(self, txns=self.txns.remove(txn)), (
            *force(disk, DECISIONS, ABORTED, txn),
            Reply(now.caller, Answer(txn, FAILED, "aborted")),
            *(Send(name, Abort(txn)) for name in self._living()),
        )

    def _lost(self, disk: Disk, peer: str) -> tuple[Coordinator, Effects]:
        """It has stopped. A participant that has not voted yes has promised nothing."""
        role = replace(self, gone=tuple(sorted({*self.gone, peer})))
        effects: Effects = ()
        for txn, now in self.txns.items():
            if peer in now.waiting:
                end = role._count_answer if now.precommitting else None
                role, more = end(disk, peer, txn, now) if end else role._abort(disk, txn, now)
                effects = (*effects, *more)
        return role, effects


# ---- the termination protocol ---------------------------------------------------------


@frozen
class Takeover:
    """The termination protocol: what is decided when the coordinator has stopped, and by whom.

    The line of succession is the order of the parties, the coordinator first. Every party watches
    all others; who finds those before it gone takes over. No other may, or two would decide at
    once.

    The rule looks at how far each party is that can be reached. It is right because of what the
    third phase guarantees: while one party is uncertain none has committed, and while one has been
    sent PreCommit none has aborted.

        committed or aborted somewhere     the same
        one has not even voted             abort: none can have been sent PreCommit
        precommitted somewhere             commit, but first none may be uncertain any more
        all are uncertain                  abort

    `waiting`: whose answer is missing. `seen`: how far the others have said they are. `levelled`:
    they have been sent PreCommit, and it is their acknowledgements that are missing.
    """

    waiting: tuple[str, ...]
    seen: tuple[str, ...] = ()
    levelled: bool = False

    def hear(self, peer: str, state: str) -> Takeover:
        """After the answer of `peer`; one that was not waited for says nothing new."""
        if peer not in self.waiting:
            return self
        return replace(self.give_up(peer), seen=(*self.seen, state))

    def give_up(self, peer: str) -> Takeover:
        """After the stop of `peer`, of which nothing more will be heard."""
        return replace(self, waiting=tuple(name for name in self.waiting if name != peer))


def list_before(line: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Who leads before this party."""
    return line[: line.index(name)]


def list_after(line: tuple[str, ...], name: str) -> tuple[str, ...]:
    return line[line.index(name) + 1 :]


def choose_outcome(states: Collection[str]) -> str:
    """The rule. PRECOMMITTED means: commit, as soon as none is uncertain."""
    for decisive in (COMMITTED, ABORTED):
        if decisive in states:
            return decisive
    if UNKNOWN_HERE in states:
        return ABORTED
    return PRECOMMITTED if PRECOMMITTED in states else ABORTED


# ---- a participant --------------------------------------------------------------------

LOG = "log"
ASK, ASK_MS = "ask", 5_000
ASKS = Words("knows {states}, asks all others")
LEADS = Words("takes over {txn}")
KNOWS_ENOUGH = Words("has no open transaction")


@frozen
class Participant:
    """A participant of a three-phase commit: how far it is, and whom it obeys.

        working → uncertain → precommitted → committed
                         └──→ aborted

    It obeys the coordinator and, once that has stopped, its successor (`Takeover` says how).
    A PreCommit takes an uncertain participant one step further, a decision ends both; everything
    else that arrives comes too late and changes nothing.

    A participant that was itself down takes nothing over: it may have missed everything. After its
    restart it asks all others, and again whenever its timer runs out, until one of them knows.

    `line`: all parties in the order in which they lead, the coordinator first. `states`: of the
    transactions that it has voted for. `gone`: who has stopped, or is not obeyed any more.
    `behind`: it was down itself, so it takes nothing over. `takeovers`: those that it leads.
    `unheard`: transactions of which it knows only because another party has asked about them.
    """

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
        """Handle a request of the coordinator or of the participant that has taken over, a question
        or report about a transaction's state, a broken connection, which may make this participant
        take over, or a timer. Requests of a leader that has been replaced are ignored."""
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
                return self._reply(disk, caller, question)
            # 0: the answer to a question that only asks; those of a takeover have 1
            case Response(corr=0, body=AskStateResponse(txn, state)):
                return self._end(disk, txn, state) if state in ENDED else (self, ())
            case Response(peer=peer, body=AskStateResponse(txn, state)) if txn in self.takeovers:
                return self._learn(disk, peer, txn, state)
            case Response(peer=peer, body=PreCommitResponse(txn)) if txn in self.takeovers:
                return self._learn(disk, peer, txn, PRECOMMITTED)
            case ConnectionLost(peer=peer):
                return self._lost(disk, peer)
            case Fired(timer=timer):  # nothing was heard of this transaction for long
                txn = timer.partition(" ")[2]
                return self, self._ask_all(txn) if txn in self.list_open() else ()
        return self, ()  # a Watch, or a request of a leader that has been replaced

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

    def _reply(self, disk: Disk, caller: Caller, question: AskState) -> tuple[Participant, Effects]:
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
        """A node has stopped, as far as this participant can know: it is not obeyed any more. For
        each open transaction this participant then takes over, continues its takeover without that
        node, or asks the new leader if that node has led; of a transaction that has ended it
        informs the others, if it leads now. One that was down itself (`behind`) does not take
        over."""
        role = replace(self, gone=tuple(sorted({*self.gone, peer})))
        # a transaction that it has only been asked about is aborted, if it leads now
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

    def _learn(self, disk: Disk, peer: str, txn: str, state: str) -> tuple[Participant, Effects]:
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
        """Whether there is a party to be sent PreCommit before the commit."""
        return (
            bool(self._reached())
            and {"levels_before_commit", "asks_before_deciding"} <= self.config.on
        )

    def _level(self, disk: Disk, txn: str, now: Takeover) -> tuple[Participant, Effects]:
        """No party is to be uncertain when the first one commits."""
        role = self
        written: Effects = ()
        if self.states[txn] == UNCERTAIN:
            role, written = self._set(disk, txn, PRECOMMITTED)
        others = self._reached()
        role = role._with(txn, replace(now, waiting=others, levelled=True))
        return role, (*written, *(Send(name, PreCommit(txn)) for name in others))
