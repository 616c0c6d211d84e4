"""What a run shows of a coordinator, in words: the claim that breaks, and where to look."""

from __future__ import annotations

from dataclasses import dataclass

from ...kafka.clients.calls import Abort
from ...kafka.coordinator.entry import Entry
from ...kafka.errors import Error
from ...kafka.messages import WriteTxnMarkers, WriteTxnMarkersResponse
from ...kafka.picture.view import View, read_world
from ...kafka.states import COMPLETED, PREPARED, TxnState
from ...kernel import Run, Text, Words, parse, tr
from .sittings import TC, BuildSystem


@dataclass(frozen=True)
class Evidence:
    """A run that was played to its end: its choices, its last world, and what the log holds."""

    run: Run
    seen: View
    entries: tuple[Entry, ...]

    @property
    def killed(self) -> bool:
        return any("kill" in str(one) for one in self.run.choices)

    @property
    def answered_first(self) -> bool:
        """Whether an answer has arrived whose step was not done to its end."""
        return any(parse(one).answers for one in self.run.choices)

    @property
    def timed(self) -> bool:
        """Whether a timer of the coordinator has run out."""
        return any(str(one).startswith(f"fire {TC}") for one in self.run.choices)

    @property
    def moved(self) -> bool:
        """Whether another coordinator was elected."""
        return "call controller" in map(str, self.run.choices)

    @property
    def broke(self) -> bool:
        return any(str(one).startswith("break") for one in self.run.choices)

    @property
    def refusals(self) -> list[str]:
        """The errors with which leaders have answered markers."""
        bodies = [fact.body for fact in self.run.trace]
        answers = [one for one in bodies if isinstance(one, WriteTxnMarkersResponse)]
        return [one.error.name for one in answers if one.error]

    @property
    def last(self) -> Entry | None:
        return self.entries[-1] if self.entries else None

    @property
    def unmarked(self) -> list[str]:
        """The partitions with a record of a decided transaction, and no marker for it."""
        return [
            partition
            for partition, rows in self.seen.rows.items()
            if any(txn is not None and not outcome for _, txn, outcome in rows)
        ]


def play(system: BuildSystem, schedule: tuple[str, ...]) -> Evidence:
    run = Run(system)
    for choice in schedule:
        run.do(choice)
    disk = run.world.disk(system.cluster.leader(run.world, TC))
    logs = disk.logs("__transaction_state")
    entries = tuple(record.entry for log in logs for record in disk.log(log).read(0))
    return Evidence(run, read_world(system.cluster, run.world), entries)


BREAKS = Words("the coordinator's code breaks: {broken}")
BROKEN = Words("“{sentence}” is broken: {why}")
NOTHING_GOOD = Words("no run lets each commit come through: {why}")


def explain(system: BuildSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why the claim does not hold at the end of this run."""
    evidence = play(system, schedule)
    broken = system.find_broken(evidence.run.world)
    if claim == "runs":
        return BREAKS(broken=broken)
    sentence = next(one.sentence for one in system.properties() if one.name == claim)
    return BROKEN(sentence=sentence, why=REASONS.get(claim, _explain_outcome)(evidence))


def explain_missing(system: BuildSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why nothing good ever happens, by a run after which nothing more can happen."""
    evidence = play(system, schedule)
    if broken := system.find_broken(evidence.run.world):
        return BREAKS(broken=broken)
    return NOTHING_GOOD(why=_explain_missing(evidence, claim))


def _explain_missing(evidence: Evidence, claim: str) -> Text:
    last = evidence.last
    if last is None:
        return tr("InitProducerId has no answer that the producer can go on with")
    if last.state is TxnState.EMPTY:
        if len({entry.state for entry in evidence.entries}) == 1 and any(
            evidence.seen.rows.values()
        ):
            return UNWRITTEN
        return tr("a leader asks with AddPartitionsToTxn and is not told that it may go on")
    if last.state is TxnState.ONGOING and claim == "told":
        return tr("the log stays Ongoing: is each AddPartitionsToTxn answered, and EndTxn decided?")
    if last.state in PREPARED and claim == "told":
        return UNTOLD(state=last.state)
    if claim == "told" and last.state in COMPLETED:
        return tr(
            "the client is refused after its first end; an older client (`EndTxn.v2` is False) "
            "goes on with the epoch that it has, so its end keeps it, and so does the marker"
        )
    return _explain_stuck(evidence)


UNWRITTEN = tr(
    "AddPartitionsToTxn is answered and the log still says Empty: its record says Ongoing, with "
    "all partitions so far, and EndTxn then ends that"
)
UNTOLD = Words("the decision {state} is safe, and the client is not told")
FENCED = Error.TRANSACTION_COORDINATOR_FENCED.name
REFUSES = Words("the leader refuses the marker with {error}")
NEXT_EPOCH = Words(
    "{refuses}: the marker of an end carries the next epoch, one above that of the records"
)
ITS_EPOCH = Words(
    "{refuses}: it has a marker with a higher `coordinator_epoch`. Each marker carries the `epoch` "
    "that `recover` was given, and no other"
)
LOST_AGAIN = Words(
    "after the restart {missing} never gets its marker: `recover` finds the decision in the log "
    "and owes every marker again"
)
UNSENT = Words("no marker goes to {missing}: one is owed to each partition of the transaction")


def _explain_stuck(evidence: Evidence) -> Text:
    """A decision that does not reach its end."""
    missing = ", ".join(evidence.unmarked)
    if evidence.refusals:
        why = ITS_EPOCH if evidence.refusals[-1] == FENCED else NEXT_EPOCH
        return why(refuses=REFUSES(error=evidence.refusals[-1]))
    if evidence.broke:
        return tr(
            "a connection broke with a marker or its answer on it: after ConnectionLost each "
            "marker that is still owed to that partition is sent again"
        )
    if not missing:
        return tr("all partitions have their marker, and no Complete record is written")
    return (LOST_AGAIN if evidence.killed else UNSENT)(missing=missing)


NEVER_HELD = Words("no record of the log ever held {lost}")
FORGOTTEN = Words(
    "{missing} was in a record, and the next record has forgotten it: while one record is not "
    "safe, another request must wait (CONCURRENT_TRANSACTIONS), and a partition is added to those "
    "that are there"
)
TOO_EARLY = Words(
    "the log says {state}, and the answer of {missing} is missing: Complete is written when every "
    "partition has answered"
)


def _explain_open(evidence: Evidence) -> Text:
    """A transaction that is complete for the coordinator, and open in a partition."""
    missing = evidence.unmarked
    known = [set(entry.partitions) for entry in evidence.entries]
    named = set().union(*known)
    if evidence.killed and not evidence.entries:
        return tr("the log is empty after a restart")
    if not set(missing) <= named:
        return NEVER_HELD(lost=", ".join(sorted(set(missing) - named)))
    decided = [entry for entry in evidence.entries if entry.state in PREPARED]
    if decided and not set(missing) <= set(decided[-1].partitions):
        return FORGOTTEN(missing=", ".join(missing))
    if evidence.refusals:
        return REFUSES(error=evidence.refusals[-1])
    return TOO_EARLY(state=evidence.entries[-1].state, missing=", ".join(missing))


UNDECIDED = Words(
    "after the restart a marker {kind} leaves although the log is Ongoing: what is not decided "
    "stays open, for its producer may still commit"
)


def _explain_early(evidence: Evidence) -> Text:
    """A marker without its decision."""
    if evidence.killed:
        kinds = [batch.control for rows in evidence.seen.rows.values() for batch, _, _ in rows]
        return UNDECIDED(kind=max(kinds))
    if evidence.moved:
        return _explain_late(evidence)
    return tr(
        "a marker is in a partition before the decision is safe: send it when `Appended` came"
    )


LATE = Words(
    "a marker of the older coordinator came late and ended the transaction that was open by then: "
    "it carried coordinator_epoch {old}, those of the newer one carry {new}, and a leader refuses "
    "only a lower one. Each marker carries the `epoch` that `recover` was given"
)


def _explain_late(evidence: Evidence) -> Text:
    """A marker of a coordinator that leads no more."""
    epochs = {
        fact.node: fact.body.coordinator_epoch
        for fact in evidence.run.trace
        if isinstance(fact.body, WriteTxnMarkers)
    }
    if FENCED in evidence.refusals:
        return tr(
            "a leader has refused the older coordinator's marker, and the marker came again with a "
            "higher epoch: TRANSACTION_COORDINATOR_FENCED says that another one leads, so send "
            "nothing more"
        )
    if len(epochs) == 1:
        return tr(
            "a marker is in a partition, and the coordinator that leads now does not have the "
            "decision: a record is safe when `Appended` came, and only then a marker leaves"
        )
    old, new = epochs.values()
    return LATE(old=old, new=new)


def _explain_epoch(evidence: Evidence) -> Text:
    return tr(
        "an older epoch of the producer got through: AddPartitionsToTxn and EndTxn with another "
        "epoch than the log's are refused with PRODUCER_FENCED, and InitProducerId gives a new one"
    )


def _explain_asked(evidence: Evidence) -> Text:
    """A commit that nobody has asked for."""
    decided = [entry for entry in evidence.entries if entry.state in PREPARED]
    epochs = [entry.epoch for entry in evidence.entries if entry.state is TxnState.EMPTY]
    if evidence.timed:
        return tr(
            "the timer has run out and the coordinator commits: nobody asked for that, so abort"
        )
    producers = evidence.seen.cluster.producers
    apps = [evidence.run.world.nodes[name].app for name, _ in producers]
    programs = [(one.program, len(one.results)) for one in apps if one is not None and one.waiting]
    if any(isinstance(calls, tuple) and calls[done] == Abort() for calls, done in programs):
        return tr("the application has asked for an abort, and the log says PrepareCommit")
    if len(decided) == 1 and evidence.run.choices and "InitProducerId" in _last_request(evidence):
        return tr("a new producer came, and what its older self left open is committed: abort it")
    if len(set(epochs)) < len(epochs):
        return tr("two producers have one epoch: InitProducerId gives the next one each time")
    if evidence.killed:
        return tr("after the restart the coordinator commits what nobody has asked it to commit")
    return tr("what was sent earlier ends a later transaction: each end gives the next epoch")


def _last_request(evidence: Evidence) -> str:
    requests = [str(fact.body) for fact in evidence.run.trace if type(fact.body).__name__ in ASKED]
    return requests[-1] if requests else ""


ASKED = ("InitProducerId", "EndTxn", "AddPartitionsToTxn")
KEPT = Words(
    "the client was told ok, and the log says {state}: an EndTxn that comes again gets ok only "
    "where the log has the end that it asks for"
)


HAD_ALONE = Words(
    "the client was told ok, and the last record of the coordinator that leads now is {state}: the "
    "older one alone had the decision. Answer when `Appended` came: only then each copy that may "
    "lead has the record"
)


TOO_SOON = Words(
    "the answer had left when the coordinator was killed, and the log says {state}: the decision "
    "was still to be written. Answer when `Appended` came"
)


def _explain_promise(evidence: Evidence) -> Text:
    if evidence.moved:
        return HAD_ALONE(state=evidence.last.state if evidence.last else tr("none"))
    if evidence.answered_first:
        return TOO_SOON(state=evidence.entries[-1].state)
    return KEPT(state=evidence.entries[-1].state)


def _explain_refusal(evidence: Evidence) -> Text:
    if evidence.timed:
        return tr(
            "the timer has run out behind the end, and the coordinator wrote another end: what "
            "is not Ongoing any more has no timeout"
        )
    return tr(
        "the answer to EndTxn was lost, the client asked again and was refused, and readers see "
        "what it had sent: the same EndTxn again gets the same answer"
    )


def _explain_end(evidence: Evidence) -> Text:
    if evidence.killed:
        return tr(
            "the timer was lost with the coordinator: `recover` sets it again for what is Ongoing"
        )
    if evidence.refusals:
        return _explain_stuck(evidence)
    return tr(
        "its application has gone, and nobody ends the transaction: set a timer when it begins"
    )


LOG_SAYS = Words("The log says {states}")
UNENDED = Words("The log says {states}, and the end is still to come")


def _explain_outcome(evidence: Evidence) -> Text:
    states = ", ".join(str(entry.state) for entry in evidence.entries)
    ended = evidence.entries and evidence.entries[-1].state in COMPLETED
    return (LOG_SAYS if ended else UNENDED)(states=states)


REASONS = {
    "delivered": _explain_stuck,
    "closed everywhere": _explain_open,
    "decided first": _explain_early,
    "fenced out": _explain_epoch,
    "as asked": _explain_asked,
    "decided as asked": _explain_asked,
    "promised": _explain_promise,
    "refused": _explain_refusal,
    "ends": _explain_end,
}
