"""What an execution shows of a coordinator, in words: the claim that breaks, and what its own file
did.

A reason is looked up in the execution: the effects of the file, the event in whose step each was,
the records, the markers. Where nothing is found that explains the claim, the facts alone are said.
"""

from __future__ import annotations

from collections.abc import Callable

from ...kafka.claims import is_decided
from ...kafka.coordinator.entry import TIMEOUT, Entry
from ...kafka.errors import Error
from ...kafka.messages import AddPartitionsToTxn, EndTxn, InitProducerId, WriteTxnMarkers
from ...kafka.states import COMPLETED, PREPARED, TxnState
from ...kernel import (
    CancelTimer,
    ConnectionLost,
    Fired,
    Request,
    Response,
    Send,
    SetTimer,
    Text,
    Words,
    tr,
)
from .evidence import NOBODY, Evidence, explain_outcome, explain_wait, find_refused, play
from .sittings import BuildSystem

#: by whether it commits, the states in which the log has an end
ENDS = {
    True: (TxnState.PREPARE_COMMIT, TxnState.COMPLETE_COMMIT),
    False: (TxnState.PREPARE_ABORT, TxnState.COMPLETE_ABORT),
}
BREAKS = Words("the coordinator's code breaks: {broken}")
NOTHING_GOOD = Words("in no execution does each commit succeed: {why}")


def explain(system: BuildSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why the claim does not hold at the end of this execution."""
    return REASONS.get(claim, explain_outcome)(play(system, schedule))


def explain_missing(system: BuildSystem, schedule: tuple[str, ...]) -> Text:
    """Why nothing good ever happens, by an execution after which nothing more can happen."""
    evidence = play(system, schedule)
    why = _explain_end_answer(evidence) or find_refused(evidence)
    if why is None and any(one.state in PREPARED for one in evidence.latest.values()):
        why = _explain_stuck(evidence)
    return NOTHING_GOOD(why=why or explain_wait(evidence))


# ---- who was refused -------------------------------------------------------------------

UNREAD = tr(
    "after the restart it lacks the producer that the log has: `recover` reads `entries_of(disk)`"
)


HASTY = Words(
    "{request} is answered in the step that writes its record, which is not safe yet: answer when "
    "`Appended` came"
)


def _explain_refused_call(evidence: Evidence) -> Text:
    if evidence.hasty:
        return HASTY(request=evidence.hasty)
    if evidence.moved:
        return HAD_ALONE(state=evidence.states or tr("none"))
    if evidence.answered_first:
        return TOO_SOON(states=evidence.states)
    unknown = evidence.list_errors()[-1:] == [Error.INVALID_PRODUCER_ID_MAPPING.name]
    if evidence.killed and unknown and evidence.entries:
        return UNREAD
    return (
        _explain_end_answer(evidence)
        or _explain_early_timer(evidence)
        or find_refused(evidence)
        or explain_outcome(evidence)
    )


REFUSED_AGAIN = Words(
    "EndTxn ({end}) is refused with {error}, and the log has this end already: its answer was "
    "lost, and the same EndTxn again gets the same answer"
)
OTHER_EPOCH = Words(
    "EndTxn is answered with epoch {told}, and the log has epoch {known}: the client continues "
    "with the epoch in the answer, also where it had to ask again"
)
TIMED_EARLY = Words(
    "the timer of {txn_id} had {ms} ms and has run out; the `timeout_ms` of its producer is "
    "{timeout}"
)


def _explain_end_answer(evidence: Evidence) -> Text | None:
    """What is wrong with the answer to an EndTxn whose end the log has, or to one that is late."""
    bumps = "epoch_bump" not in evidence.system.off
    for one in evidence.answered:
        ask, entry = one.request, one.entry
        if not isinstance(ask, EndTxn) or entry is None:
            continue
        error, epoch = one.answer.error, one.answer.epoch
        if entry.state not in ENDS[ask.commit]:
            if not error and ask.epoch != entry.epoch:
                return KEPT(states=entry.state)
            continue
        if not error and (bumps or epoch >= 0) and ask.v2 and epoch != entry.epoch:
            return OTHER_EPOCH(told=epoch, known=entry.epoch)
        own = entry.epoch - ask.epoch in (0, 1)  # the next one, where an end uses that
        if own and error and error is not Error.CONCURRENT_TRANSACTIONS:
            end = "commit" if ask.commit else "abort"
            return REFUSED_AGAIN(end=end, error=error.name)
    return None


def _explain_early_timer(evidence: Evidence) -> Text | None:
    """A timer that has aborted a transaction before its `timeout_ms` was over."""
    cause = evidence.find_cause(TxnState.PREPARE_ABORT)
    if cause is None or not isinstance(cause.event, Fired):
        return None
    name = cause.event.timer
    set_to = [one.after_ms for _, one in evidence.list_effects(SetTimer) if one.timer == name]
    entry = evidence.latest.get(name.removeprefix(TIMEOUT))
    if entry is None or not set_to or set_to[-1] >= entry.timeout_ms:
        return None
    return TIMED_EARLY(txn_id=entry.txn_id, ms=set_to[-1], timeout=entry.timeout_ms)


# ---- a decision that does not reach its end --------------------------------------------

FENCED = Error.TRANSACTION_COORDINATOR_FENCED
REFUSES = Words("the leader refuses the marker with {error}")
NEXT_EPOCH = Words(
    "{refuses}: it carried epoch {epoch}, and the log has records with epoch {known}. The marker "
    "of "
    "an end carries the next epoch, one above that of the records"
)
ITS_EPOCH = Words(
    "{refuses}: it has a marker with a higher `coordinator_epoch`. Each marker carries the `epoch` "
    "that `recover` was given, and no other"
)
OTHER_PID = Words("{refuses}: it carried pid {pid} and epoch {epoch}")
LOST_AGAIN = Words(
    "after the restart {missing} never gets its marker: `recover` finds the decision in the log, "
    "and must send every marker again"
)
UNSENT = Words("no marker goes to {missing}: each partition of the transaction needs one")
LOST = tr(
    "a connection broke with a marker or its answer on it: after ConnectionLost each marker that "
    "is still pending for that partition is sent again"
)
ANSWERED = tr("all partitions have their marker, and no Complete record is written")
ANOTHER_END = Words(
    "a marker to {partition} carried epoch {epoch}, and the decision in the log has epoch {known}: "
    "what is sent again carries the same"
)
SENT = Words("a marker went to {missing}, which has none, and none is sent again")


def _explain_stuck(evidence: Evidence) -> Text:
    """Say, from what an execution shows (`evidence`), why a decided transaction never completes: a
    marker was refused, lost with its connection, sent without reaching the log, not sent again
    after a restart, or never sent; or all are answered, and no Complete record is written."""
    decided = [entry for entry in evidence.latest.values() if entry.state in PREPARED]
    if evidence.refused:
        return _explain_refused_marker(evidence)
    # since the coordinator was last started
    steps = evidence.done[evidence.start :]
    # by partition and id: markers that are not answered, and those that a connection has lost
    unanswered = {(name, entry.txn_id) for entry in decided for name in entry.partitions}
    lost: set[tuple[str, str]] = set()
    for one in steps:
        match one.effect or one.event:
            case Send(to=name, body=WriteTxnMarkers(txn_id=txn_id)):
                lost.discard((name, txn_id))
            case ConnectionLost(peer=peer):
                lost |= {(name, txn_id) for name, txn_id in unanswered if name == peer}
            case Response(peer=peer, body=said) if said.epoch == _find_epoch(decided, said.txn_id):
                unanswered.discard((peer, said.txn_id))
    if lost & unanswered:
        return LOST
    # partitions without the marker; else those that have it, and whose answer was lost
    missing = evidence.unmarked or sorted({name for name, _ in unanswered})
    if not missing:
        return _explain_other_epoch(evidence, decided) or ANSWERED
    sent = evidence.list_markers(evidence.start)
    unsent = unanswered - {(effect.to, effect.body.txn_id) for _, effect in sent}
    if never := sorted({name for name, _ in unsent} & set(missing)):
        return (LOST_AGAIN if evidence.killed else UNSENT)(missing=", ".join(never))
    return _explain_other_epoch(evidence, decided) or SENT(missing=", ".join(missing))


def _find_epoch(decided: list[Entry], txn_id: str) -> int | None:
    return next((entry.epoch for entry in decided if entry.txn_id == txn_id), None)


def _explain_other_epoch(evidence: Evidence, decided: list[Entry]) -> Text | None:
    """A marker whose epoch is not that of the decision."""
    for _, effect in evidence.list_markers(evidence.start):
        epoch, known = effect.body.epoch, _find_epoch(decided, effect.body.txn_id)
        if known is not None and epoch > known:
            return ANOTHER_END(partition=effect.to, epoch=epoch, known=known)
    return None


def _explain_refused_marker(evidence: Evidence) -> Text:
    last = evidence.refused[-1]
    refuses = REFUSES(error=last.error.name)
    if last.error is FENCED:
        return ITS_EPOCH(refuses=refuses)
    marker = evidence.list_markers()[-1][1].body
    rows = [batch for rows in evidence.seen.rows.values() for batch, _, _ in rows]
    known = max((one.epoch for one in rows if one.pid == marker.pid), default=-1)
    if evidence.system.client == "legacy" and marker.epoch == known:
        return VERSION(marker=refuses)
    if marker.epoch <= known:
        return NEXT_EPOCH(refuses=refuses, epoch=marker.epoch, known=known)
    return OTHER_PID(refuses=refuses, pid=marker.pid, epoch=marker.epoch)


# ---- a transaction that is complete, and open in a partition ---------------------------

NEVER_HELD = Words("no record of the log ever held {lost}")
FORGOTTEN = Words(
    "{missing} was in a record, and the next record lacks it: while one record is not safe, "
    "another request must wait (CONCURRENT_TRANSACTIONS), and a partition is added to those that "
    "are there"
)
FORGOTTEN_AGAIN = Words(
    "{missing} was in a record, and a record after the restart lacks it: `recover` takes each "
    "entry of the log as it is, with its partitions"
)
ADDED_TO_NOTHING = Words(
    "AddPartitionsToTxn with {missing} is answered with ok while the log says {state}: each "
    "transaction begins with a record of its own, whatever the ones before it had"
)
VERIFIED_NOTHING = Words(
    "AddPartitionsToTxn with `verify_only` is answered with ok for {missing} while the log says "
    "{state}: for a partition that the open transaction does not have the answer is "
    "TRANSACTION_ABORTABLE"
)
AFTER_MARKER = Words(
    "a message came late to {missing}, after the marker of its transaction, and both have epoch "
    "{epoch}: each end uses the next epoch, so that a leader refuses what was sent before it"
)
TOO_EARLY = Words(
    "the log says {states}, and {missing} has no marker: Complete is written when every "
    "partition has answered"
)


def _explain_open(evidence: Evidence) -> Text:
    missing = evidence.unmarked
    named = {name for entry in evidence.entries for name in entry.partitions}
    if evidence.killed and not evidence.entries:
        return tr("the log is empty after a restart")
    if not set(missing) <= named:
        return NEVER_HELD(lost=", ".join(sorted(set(missing) - named)))
    decided = {name for one in evidence.entries if one.state in PREPARED for name in one.partitions}
    states = {one.state for one in evidence.entries}
    if states & PREPARED and not set(missing) <= decided:
        forgotten = FORGOTTEN_AGAIN if evidence.killed else FORGOTTEN
        return forgotten(missing=", ".join(missing))
    if (added := _find_added(evidence, set(missing))) is not None:
        return added
    if (late := _find_late(evidence)) is not None:
        return late
    if evidence.refused:
        return REFUSES(error=evidence.refused[-1].error.name)
    return TOO_EARLY(states=evidence.states, missing=", ".join(missing))


def _find_added(evidence: Evidence, missing: set[str]) -> Text | None:
    """A partition that was added with ok, and to no transaction of the log."""
    for one in evidence.answered:
        ask, entry = one.request, one.entry
        if not isinstance(ask, AddPartitionsToTxn) or one.answer.error or entry is None:
            continue
        lost = sorted(missing & set(ask.partitions))
        if lost and entry.state in COMPLETED:
            says = VERIFIED_NOTHING if ask.verify_only else ADDED_TO_NOTHING
            return says(missing=", ".join(lost), state=entry.state)
    return None


def _find_late(evidence: Evidence) -> Text | None:
    """A message that is open although the marker of its epoch is before it, and was its own."""
    for partition, rows in evidence.seen.rows.items():
        marked: set[tuple[int, int]] = set()
        for batch, txn, outcome in rows:
            known = (batch.pid, batch.epoch)
            if batch.control:
                marked.add(known)
            elif known in marked and txn and txn.outcome and not (outcome or txn.fenced):
                return AFTER_MARKER(missing=partition, epoch=batch.epoch)
    return None


# ---- a marker without its decision -----------------------------------------------------

UNDECIDED = Words(
    "after the restart a marker {kind} leaves although the log is Ongoing: what is not decided "
    "stays open, for its producer may still commit"
)
OTHERWISE = Words("a marker says {kind}, but the log has decided {outcome}: {states}")
VERSION = Words(
    "{marker}: with `transaction_version` 2 a leader refuses the epoch that it has, and with 0 it "
    "takes it. An older client's end keeps its epoch and needs 0, any other needs 2"
)
COPY = tr("a marker came late, for a second time, and ended the transaction that was open by then")
EARLY = tr("a marker is in a partition before the decision is safe: send it when `Appended` came")


def _explain_early(evidence: Evidence) -> Text:
    wrong = [row for rows in evidence.seen.rows.values() for row in rows if not is_decided(row)]
    batch, txn, _ = wrong[0]
    if txn is not None and txn.outcome:
        return OTHERWISE(kind=batch.control, outcome=txn.outcome, states=evidence.states)
    if evidence.moved:
        return _explain_late(evidence)
    sent = [one for one in evidence.list_markers() if one[1].body.pid == batch.pid]
    if sent and sent[-1][0].event is None and batch.control:
        return UNDECIDED(kind=batch.control)
    same = [effect.body for _, effect in sent if effect.body.epoch == batch.epoch]
    if len(same) > 1 and same[0].transaction_version < 2:
        return VERSION(marker=COPY)
    return EARLY


LATE = Words(
    "a marker of the older coordinator came late and ended the transaction that was open by then: "
    "it carried coordinator_epoch {old}, those of the newer one carry {new}, and a leader refuses "
    "only a lower one. Each marker carries the `epoch` that `recover` was given"
)


def _explain_late(evidence: Evidence) -> Text:
    """Explain what is wrong with a marker of a coordinator that leads no more: it was refused,
    nothing in the log of the new leader decides it, or it came after the marker of the new
    leader."""
    # node of a coordinator → the epoch in its markers
    epochs = {one.node: effect.body.coordinator_epoch for one, effect in evidence.list_markers()}
    if any(one.error is FENCED for one in evidence.refused):
        return tr(
            "a leader has refused the older coordinator's marker, and the marker came again with a "
            "higher epoch: TRANSACTION_COORDINATOR_FENCED says that another one leads, so send "
            "nothing more"
        )
    if len(epochs) == 1:
        return tr(
            "a marker is in a partition, and the coordinator that leads now does not have the "
            "decision: a record is safe when `Appended` came, and only then a marker is sent"
        )
    old, new = list(epochs.values())[:2]
    return LATE(old=old, new=new)


# ---- what no client has asked for ------------------------------------------------------

STALE = Words(
    "an EndTxn with epoch {asked} is taken where the log has epoch {known}: refuse it with "
    "PRODUCER_FENCED"
)
ASKED_LATE = tr("an earlier message ends a later transaction: each end uses the next epoch")


def _explain_epoch(evidence: Evidence) -> Text:
    return tr(
        "an older epoch of the producer got through: AddPartitionsToTxn and EndTxn with another "
        "epoch than the log's are refused with PRODUCER_FENCED, and InitProducerId gives a new one"
    )


def _explain_asked(evidence: Evidence) -> Text:
    """Explain a commit that no application has requested: by the event that made the coordinator
    decide it, by two producers with one epoch, or by an EndTxn whose epoch is not the
    transaction's, or that was meant for an earlier transaction."""
    cause = evidence.find_cause(TxnState.PREPARE_COMMIT)
    if cause is None:
        return explain_outcome(evidence)
    match cause.event:
        case None:
            return tr("after the restart the coordinator commits without a request to commit")
        case Fired():
            return tr(
                "the timer has run out and the coordinator commits: no request asked for that, so "
                "abort"
            )
        case Request(body=InitProducerId()):
            return tr(
                "a new producer came, and what the older one left open is committed: abort it"
            )
        case Request(body=EndTxn(commit=False)):
            return tr("the application has asked for an abort, and the log says PrepareCommit")
    if _find_shared_epoch(evidence):
        return _explain_end_answer(evidence) or tr(
            "two producers have one epoch: InitProducerId gives the next one each time"
        )
    txn_id = cause.effect.entry.entry.txn_id
    entries = [one for one in evidence.entries if one.txn_id == txn_id]
    epochs = [one.epoch for one in entries if one.state is TxnState.ONGOING]
    ends = evidence.list_asked(EndTxn)
    asked = [one.epoch for one in ends if one.txn_id == txn_id and one.commit]
    if epochs and asked and epochs[-1] not in asked:
        return STALE(asked=asked[-1], known=epochs[-1])
    return ASKED_LATE


def _find_shared_epoch(evidence: Evidence) -> bool:
    """Whether two producers of one id were given one epoch."""
    given = [(one.txn_id, one.epoch) for one in evidence.entries if one.state is TxnState.EMPTY]
    told = {
        (one.request.txn_id, one.answer.epoch, one.who)
        for one in evidence.answered
        if isinstance(one.request, InitProducerId | EndTxn) and not one.answer.error
    }
    return len(set(given)) < len(given) or len({one[:2] for one in told}) < len(told)


SHARED = Words(
    "{ids} have pid {pid}: a new transactional id gets one that is neither in `entries` nor in "
    "a record that is not safe yet (`pending`)"
)


def _explain_shared(evidence: Evidence) -> Text:
    """The ids that have one pid."""
    pids = [entry.pid for entry in evidence.latest.values()]
    twice = next(pid for pid in pids if pids.count(pid) > 1)
    ids = [txn_id for txn_id, entry in evidence.latest.items() if entry.pid == twice]
    return SHARED(ids=", ".join(ids), pid=twice)


# ---- what was reported to a client -----------------------------------------------------

KEPT = Words(
    "the client got ok, and the log says {states}: a retried EndTxn gets ok only where the log has "
    "the end that it requests"
)
HAD_ALONE = Words(
    "the client got ok, and the last record of the coordinator that leads now is {state}: the "
    "older one alone had the decision. Answer when `Appended` came: only then each copy that may "
    "lead has the record"
)
TOO_SOON = Words(
    "the answer was sent before the coordinator was killed, and the log says {states}: the "
    "decision was still to be written. Answer when `Appended` came"
)


def _explain_promise(evidence: Evidence) -> Text:
    if evidence.moved:
        return HAD_ALONE(state=evidence.states or tr("none"))
    if evidence.answered_first:
        return TOO_SOON(states=evidence.states)
    return KEPT(states=evidence.states)


AFTER_ALL = tr(
    "the timer has run out after the end, and the coordinator wrote another end: what is not "
    "Ongoing any more has no timeout"
)
TWICE = tr(
    "the answer to EndTxn was lost, the client retried and was refused, and readers see what it "
    "had sent: the same EndTxn again gets the same answer"
)


def _explain_refusal(evidence: Evidence) -> Text:
    late = evidence.find_cause(TxnState.PREPARE_ABORT)
    if late is not None and isinstance(late.event, Fired):
        return AFTER_ALL
    ends = evidence.list_asked(EndTxn)
    if len(set(ends)) < len(ends):
        return TWICE
    return _explain_refused_call(evidence)


READ_WRONG = Words("committed with ok: {told}; read: {read}; the log says {states}")


def _explain_kept(evidence: Evidence) -> Text:
    told, read = evidence.system.compare_read(evidence.run.world)
    none = str(NOBODY)
    return READ_WRONG(
        told=", ".join(told) or none, read=", ".join(read) or none, states=evidence.states
    )


# ---- what stays open -------------------------------------------------------------------

NO_TIMER = Words(
    "its application has gone, and the transaction of {txn_id} is never ended: set a timer when it "
    "begins"
)
NO_TIMER_AGAIN = tr(
    "the timer was lost with the coordinator: `recover` sets it again for what is Ongoing"
)
CANCELLED = Words("{txn_id} is Ongoing, and its timer was cancelled")
RAN_OUT = Words(
    "the timer of {txn_id} has run out, and it is still Ongoing: nothing was written for it, and "
    "the timer was not set again"
)
NOT_YET = Words("{txn_id} is Ongoing, and its timer of {ms} ms has not run out in this execution")
NOT_ITS_TIME = Words(
    "{txn_id} is Ongoing, and its timer of {ms} ms has not run out; the `timeout_ms` of its "
    "producer is {timeout}"
)
OTHER_NAMES = Words(
    "{txn_id} is Ongoing, and of the timers none is named {name!r}; set were {names}. With a name "
    "of its own for each transactional id, no timer replaces another one"
)


def _explain_end(evidence: Evidence) -> Text:
    for entry in evidence.latest.values():
        if entry.state is TxnState.ONGOING:
            return _explain_timer(evidence, entry)
    return _find_late(evidence) or _explain_stuck(evidence)


def _explain_timer(evidence: Evidence, entry: Entry) -> Text:
    """What has become of the timer of a transaction that is open."""
    txn_id = entry.txn_id
    since, name, fate = evidence.done[evidence.start :], TIMEOUT + txn_id, None
    others = {one.effect.timer for one in since if isinstance(one.effect, SetTimer)}
    if others and not any(txn_id in one for one in others):
        names = ", ".join(map(repr, sorted(others)))
        return OTHER_NAMES(txn_id=txn_id, name=name, names=names)
    if name not in others and txn_id in others:
        name = txn_id
    for one in since:
        match one.effect or one.event:
            case SetTimer(timer=timer) | CancelTimer(timer=timer) | Fired(timer=timer):
                fate = (one.effect or one.event) if timer == name else fate
    match fate:
        case None:
            return NO_TIMER_AGAIN if evidence.killed else NO_TIMER(txn_id=txn_id)
        case CancelTimer():
            return CANCELLED(txn_id=txn_id)
        case SetTimer(after_ms=ms):
            asked = [one for one in evidence.list_asked(InitProducerId) if one.txn_id == txn_id]
            if ms > asked[-1].timeout_ms:
                return NOT_ITS_TIME(txn_id=txn_id, ms=ms, timeout=asked[-1].timeout_ms)
            return NOT_YET(txn_id=txn_id, ms=ms)
    return RAN_OUT(txn_id=txn_id)


REASONS: dict[str, Callable[[Evidence], Text]] = {
    "delivered": _explain_stuck,
    "closed everywhere": _explain_open,
    "decided first": _explain_early,
    "fenced out": _explain_epoch,
    "as asked": _explain_asked,
    "decided as asked": _explain_asked,
    "promised": _explain_promise,
    "refused": _explain_refusal,
    "served": _explain_refused_call,
    "told apart": _explain_shared,
    "returns": explain_wait,
    "ends": _explain_end,
    "ended": _explain_end,
    "kept": _explain_kept,
}
