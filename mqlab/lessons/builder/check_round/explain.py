"""What an execution shows of a check round, in words: the claim that breaks, and where to look."""

from __future__ import annotations

from ....kernel import Text, Words, run_choices, tr
from ....rocketmq.broker.timer import read_progress
from ....rocketmq.claims import is_forgotten as is_lost
from ....rocketmq.picture.view import read_world
from .hosting import read_round
from .sittings import CheckRoundSystem

BREAKS = Words("the check round breaks: {broken}")
LEFT = Words("The half message of {txn} at {at} has no end, and the half offset is {offset}: {why}")
IS_YOUNG = tr("it is young, and a round ends at the first young one and stays before it")
TO_PARK = Words("it was asked about {times} times and is dropped; set it aside with `Park`")
NOT_PUT_BACK = tr(
    "a question leaves nothing to find; a round puts the half message back before it passes it"
)
PASSED_OVER = tr("no op record of this round names it, and the round does nothing about it")
TO_THE_END = tr("Play the example to its end")


NOTHING_DONE = tr(
    "no execution commits anything: the local transaction said UNKNOW, and its producer is not "
    "asked again. `PutBack` only writes a copy; `Ask` is the question"
)


def explain(system: CheckRoundSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why the claim does not hold at the end of this execution."""
    seen = read_world(system.cluster, run_choices(system, schedule).world)
    half_at, op_at = read_progress(seen.offsets)
    lost = [txn for txn in seen.book.txns.values() if is_lost(seen, txn)]
    if claim in ("no half message lost", "row with message") and lost:
        at = max(lost[0].halves)
        why = _explain_lost(system, schedule, at)
        return LEFT(txn=lost[0].name, at=at, offset=half_at, why=why)
    if claim not in REASONS:
        return TO_THE_END
    return REASONS[claim](half=half_at, op=op_at, most=system.check_max)


def _explain_lost(system: CheckRoundSystem, schedule: tuple[str, ...], at: int) -> Text:
    """Say why the half message at offset `at` was lost in the schedule's last round of the check:
    from what that round was given, and what it did with it. The round is done again for this, from
    the state before the last choice."""
    before_last = run_choices(system, schedule[:-1]).world
    broker = before_last.role(system.config.broker)
    if broker is None:
        return TO_THE_END
    last_round = read_round(broker, before_last.disk(system.config.broker))
    half = next((half for half in last_round.halves if half.offset == at), None)
    if half is None:
        return TO_THE_END
    if half.times >= last_round.check_max:
        return TO_PARK(times=half.times)
    if half.young:
        return IS_YOUNG
    actions, _, _ = broker.host.ask(last_round)
    return NOT_PUT_BACK if any(action.half == at for action in actions) else PASSED_OVER


REASONS = {
    "ended for good": Words(
        "A half message is put back although an op record before it says that it has ended: read "
        "all op records of the round before you ask"
    ),
    "spent": Words(
        "A half message was put back with more than {most} checks: after so many it is set aside "
        "with `Park`, and not asked about any more"
    ),
    "needed": Words(
        "The op offset is {op}, the half offset {half}: an op record before that names a half "
        "message that is still to come, and the next round cannot see that it has ended"
    ),
    "not set aside early": Words(
        "A half message is set aside before it was asked about {most} times: `times` says how "
        "often it was"
    ),
}
