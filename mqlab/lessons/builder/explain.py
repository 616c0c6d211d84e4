"""What a run shows of a coordinator, in words: the claim that breaks, and where to look."""

from __future__ import annotations

from dataclasses import dataclass

from ...kafka.clients.calls import Abort
from ...kafka.coordinator.entry import Entry
from ...kafka.messages import WriteTxnMarkersResponse
from ...kafka.picture.view import View, read_world
from ...kafka.states import COMPLETED, PREPARED, TxnState
from ...kernel import Run, Text
from .sittings import TC, BuildSystem


@dataclass(frozen=True)
class Told:
    """A run that was played to its end: its choices, its last world, and what the log holds."""

    run: Run
    seen: View
    entries: tuple[Entry, ...]

    @property
    def killed(self) -> bool:
        return any("kill" in str(one) for one in self.run.choices)

    @property
    def timed(self) -> bool:
        """Whether a timer of the coordinator has run out."""
        return any(str(one).startswith(f"fire {TC}") for one in self.run.choices)

    @property
    def broke(self) -> bool:
        return any(str(one).startswith("break") for one in self.run.choices)

    @property
    def refusals(self) -> list[str]:
        """The errors with which leaders have answered markers."""
        bodies = [fact.body for fact in self.run.trace]
        said = [one for one in bodies if isinstance(one, WriteTxnMarkersResponse)]
        return [one.error.name for one in said if one.error]

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


def play(system: BuildSystem, schedule: tuple[str, ...]) -> Told:
    run = Run(system)
    for choice in schedule:
        run.do(choice)
    disk = run.world.disk(TC)
    logs = disk.logs("__transaction_state")
    entries = tuple(record.entry for log in logs for record in disk.log(log).read(0))
    return Told(run, read_world(system.cluster, run.world), entries)


def explain(system: BuildSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why the claim does not hold at the end of this run."""
    told = play(system, schedule)
    broken = getattr(told.run.world.role(TC), "broken", "")
    if claim == "runs":
        return Text(f"the coordinator's code breaks: {broken}")
    sentence = next(one.sentence.en for one in system.properties() if one.name == claim)
    return Text(f"“{sentence}” is broken. {REASONS.get(claim, _explain_outcome)(told)}")


def explain_missing(system: BuildSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why nothing good ever happens, by a run after which nothing more can happen."""
    told = play(system, schedule)
    if broken := getattr(told.run.world.role(TC), "broken", ""):
        return Text(f"the coordinator's code breaks: {broken}")
    last = told.last
    if last is None:
        why = "InitProducerId has no answer that the producer can go on with"
    elif last.state is TxnState.EMPTY:
        why = "a leader asks with AddPartitionsToTxn and is not told that it may go on"
    elif last.state is TxnState.ONGOING and claim == "told":
        why = "the log stays Ongoing: is each AddPartitionsToTxn answered, and EndTxn decided?"
    elif last.state in PREPARED and claim == "told":
        why = f"the decision {last.state} is safe, and the client is not told"
    elif claim == "told" and last.state in COMPLETED:
        why = (
            "the client is refused after its first end; an older client (`EndTxn.v2` is False) "
            "goes on with the epoch that it has, so its end keeps it, and so does the marker"
        )
    else:
        why = _explain_stuck(told)
    return Text(f"no run lets each commit come through: {why}")


def _explain_stuck(told: Told) -> str:
    """A decision that does not reach its end."""
    missing = ", ".join(told.unmarked)
    if told.refusals:
        return (
            f"the leader refuses the marker with {told.refusals[-1]}: the marker of an end carries "
            "the next epoch, one above that of the records"
        )
    if told.broke:
        return (
            "a connection broke with a marker or its answer on it: after ConnectionLost each "
            "marker that is still owed to that partition is sent again"
        )
    if not missing:
        return "all partitions have their marker, and no Complete record is written"
    if told.killed:
        return (
            f"after the restart {missing} never gets its marker: `recover` finds the decision in "
            "the log and owes every marker again"
        )
    return f"{missing} gets no marker: one is owed to each partition that the decision names"


def _explain_open(told: Told) -> str:
    """A transaction that is complete for the coordinator, and open in a partition."""
    missing = told.unmarked
    known = [set(entry.partitions) for entry in told.entries]
    named = set().union(*known)
    if told.killed and not told.entries:
        return "the log is empty after a restart"
    if not set(missing) <= named:
        return f"no record of the log ever held {', '.join(set(missing) - named)}"
    decided = [entry for entry in told.entries if entry.state in PREPARED]
    if decided and not set(missing) <= set(decided[-1].partitions):
        return (
            f"{', '.join(missing)} was in a record, and the next record has forgotten it: while "
            "one record is not safe, another request must wait (CONCURRENT_TRANSACTIONS), and a "
            "partition is added to those that are there"
        )
    if told.refusals:
        return f"the leader refuses the marker with {told.refusals[-1]}"
    return (
        f"the log says {told.entries[-1].state}, and {', '.join(missing)} has not answered: "
        "Complete is written when every partition has"
    )


def _explain_early(told: Told) -> str:
    """A marker without its decision."""
    if told.killed:
        kinds = [batch.control for rows in told.seen.rows.values() for batch, _, _ in rows]
        return (
            f"after the restart a marker {max(kinds)} leaves although the log is Ongoing: what is "
            "not decided stays open, for its producer may still commit"
        )
    return "a marker is in a partition before the decision is safe: send it when `Appended` came"


def _explain_epoch(told: Told) -> str:
    return (
        "an older epoch of the producer got through: AddPartitionsToTxn and EndTxn with another "
        "epoch than the log's are refused with PRODUCER_FENCED, and InitProducerId gives a new one"
    )


def _explain_asked(told: Told) -> str:
    """A commit that nobody has asked for."""
    decided = [entry for entry in told.entries if entry.state in PREPARED]
    epochs = [entry.epoch for entry in told.entries if entry.state is TxnState.EMPTY]
    if told.timed:
        return "the timer has run out and the coordinator commits: nobody asked for that, so abort"
    producers = told.seen.cluster.producers
    apps = [told.run.world.nodes[name].app for name, _ in producers]
    programs = [(one.program, len(one.results)) for one in apps if one is not None and one.waiting]
    if any(isinstance(calls, tuple) and calls[done] == Abort() for calls, done in programs):
        return "the application has asked for an abort, and the log says PrepareCommit"
    if len(decided) == 1 and told.run.choices and "InitProducerId" in _last_request(told):
        return "a new producer came, and what its older self left open is committed: abort it"
    if len(set(epochs)) < len(epochs):
        return "two producers have one epoch: InitProducerId gives the next one each time"
    if told.killed:
        return "after the restart the coordinator commits what nobody has asked it to commit"
    return "what was sent earlier ends a later transaction: each end gives the next epoch"


def _last_request(told: Told) -> str:
    asked = [str(fact.body) for fact in told.run.trace if type(fact.body).__name__ in ASKED]
    return asked[-1] if asked else ""


ASKED = ("InitProducerId", "EndTxn", "AddPartitionsToTxn")


def _explain_promise(told: Told) -> str:
    return (
        f"the client was told ok, and the log says {told.entries[-1].state}: an EndTxn that comes "
        "again gets ok only where the log has the end that it asks for"
    )


def _explain_refusal(told: Told) -> str:
    if told.timed:
        return (
            "the timer has run out behind the end, and the coordinator wrote another end: what "
            "is not Ongoing any more has no timeout"
        )
    return (
        "the answer to EndTxn was lost, the client asked again and was refused, and readers see "
        "what it had sent: the same EndTxn again gets the same answer"
    )


def _explain_end(told: Told) -> str:
    if told.killed:
        return (
            "the timer was lost with the coordinator: `recover` sets it again for what is Ongoing"
        )
    if told.refusals:
        return _explain_stuck(told)
    return "its application has gone, and nobody ends the transaction: set a timer when it begins"


def _explain_outcome(told: Told) -> str:
    states = ", ".join(str(entry.state) for entry in told.entries)
    ended = told.entries and told.entries[-1].state in COMPLETED
    return f"The log says {states}" + ("" if ended else ", and the end is still to come")


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
