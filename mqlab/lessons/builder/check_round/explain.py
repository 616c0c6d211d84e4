"""What a run shows of a check round, in words: the claim that breaks, and where to look."""

from __future__ import annotations

from ....kernel import Run, Text, Words, World, tr
from ....rocketmq.broker.timer import read_progress
from ....rocketmq.claims import is_forgotten as is_lost
from ....rocketmq.claims import list_records
from ....rocketmq.config import HALF_TOPIC
from ....rocketmq.picture.view import read_world
from ..explain import BROKEN
from .sittings import CheckRoundSystem

BREAKS = Words("the check round breaks: {broken}")
LEFT = Words("The half of {txn} at {at} has no end, and the half offset is {offset}: {why}")
SPENT = Words(
    "A half was put back with {spent} checks, and {most} are allowed: it is parked then, and "
    "nobody asks any more"
)
TO_PARK = Words("it was asked about {times} times and is dropped, where it is to be parked")
TO_THE_END = tr("Play the run to its end")


def explain(system: CheckRoundSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why the claim does not hold at the end of this run."""
    world = play(system, schedule)
    broken = getattr(world.role(system.config.broker), "broken", "")
    if broken:
        return BREAKS(broken=broken)
    sentence = next(one.sentence for one in system.properties() if one.name == claim)
    return BROKEN(sentence=sentence, why=_explain(system, world, claim))


def explain_missing(system: CheckRoundSystem, schedule: tuple[str, ...], claim: str) -> Text:
    """Why nothing is ever committed, by a run after which nothing more can happen."""
    world = play(system, schedule)
    broken = getattr(world.role(system.config.broker), "broken", "")
    if broken:
        return BREAKS(broken=broken)
    return tr(
        "no run commits anything: the local transaction said UNKNOW, and nobody asks its producer "
        "again. `PutBack` only writes a copy; `Ask` is the question"
    )


def play(system: CheckRoundSystem, schedule: tuple[str, ...]) -> World:
    run = Run(system)
    for choice in schedule:
        run.do(choice)
    return run.world


def _explain(system: CheckRoundSystem, world: World, claim: str) -> Text:
    seen = read_world(system.cluster, world)
    half_at, op_at = read_progress(seen.offsets)
    lost = [txn for txn in seen.book.txns.values() if is_lost(seen, txn)]
    if claim in ("no half lost", "row with message") and lost:
        txn = lost[0]
        why = _explain_lost(system, txn.times)
        return LEFT(txn=txn.name, at=max(txn.halves), offset=half_at, why=why)
    if claim == "ends":
        spent = max(
            one.message.check_times
            for one in list_records(system.cluster, world)
            if one.message.topic == HALF_TOPIC
        )
        return SPENT(spent=spent, most=system.check_max)
    if claim not in REASONS:
        return TO_THE_END
    return REASONS[claim](half=half_at, op=op_at, most=system.check_max)


def _explain_lost(system: CheckRoundSystem, times: int) -> Text:
    if times >= system.check_max:
        return TO_PARK(times=times)
    if system.timeout_ms:
        return tr("it is young, and a round ends at the first young one and stays before it")
    return tr("a question leaves nothing to find; before a round passes over it, it puts it back")


REASONS = {
    "ended for good": Words(
        "A half is put back although an op record before it says that it has ended: read all op "
        "records of the round before you ask"
    ),
    "names the copy": Words(
        "The question names a half that is passed over, and its answer would end that one: put "
        "the half back first, then ask, so that the question names the copy"
    ),
    "young": Words(
        "A half is asked about while its producer is still at work: at the first young one the "
        "round ends, and its offset stays there"
    ),
    "needed": Words(
        "The op offset is {op}, the half offset {half}: an op record before that names a half "
        "that is still to come, and the next round will not know that it has ended"
    ),
    "parked when spent": Words(
        "A half is parked before it was asked about {most} times: `times` says how often it was"
    ),
}
