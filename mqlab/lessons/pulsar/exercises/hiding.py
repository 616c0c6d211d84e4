"""The test of lab 09: a story in which the broker hides what it has committed.

    story = "run app: new-transaction t1, send orders-0 580538 txn=t1, commit t1 …"

No safeguard is off. The story is right if in its end a transaction counts as committed at its
coordinator and as aborted in a partition, so that a later consumer does not get its messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....kernel import Outcome, Run, tr
from ....pulsar import PulsarSystem
from ....pulsar.client.calls import Send
from ....pulsar.messages import LedgerEntry
from ....pulsar.picture.ledgers import list_markers, read_entries
from ....pulsar.states import MarkerType
from ...stories import StoryExercise
from ...verdict import Verdict

SYSTEM = (
    "system pulsar topic=orders,payments clients=app,web,accounting timeout_ms=600000 "
    "claims=committed_stays"
)
LIGHT = "committed stays"

UNCOMMITTED = "an aborted message can be lost"
PUNCTUAL = "a transaction ends for everybody at the same moment"
CLIENT = "a client always knows that its transaction has ended"
REFUSED = "the low watermark keeps every late message out"
ALONE = "a late message alone hides what was committed"
BELIEFS = {
    UNCOMMITTED: tr(
        "nothing that was committed is hidden: the transaction that is written to late has "
        "aborted, or none has committed a message"
    ),
    PUNCTUAL: tr(
        "every message was written before its transaction had ended, so nothing of it is stale. "
        "Let a client that has missed the end (`reopen t1`) send once more"
    ),
    CLIENT: tr(
        "this client knows that its transaction has ended, and sends nothing. One that slept "
        "through the end does not know: `reopen t1` stands for it"
    ),
    REFUSED: tr(
        "the late message was refused: another end had brought the low watermark to this "
        "partition. But the mark is in memory only: when does a partition not have it?"
    ),
    ALONE: tr(
        "the late message was taken, and blocks its partition. Nothing is hidden for good yet: the "
        "damage is done by the next transaction that ends here, whose low watermark aborts the "
        "late one"
    ),
}
RIGHT = tr(
    "a transaction that was committed counts as aborted in its partition: a consumer that comes "
    "later never gets its messages, and no safeguard was off"
)


def judge_run(run: Run) -> Verdict:
    """What a story has done to what was committed."""
    schedule = tuple(map(str, run.choices))
    lights = {light.name: light.ok for light in run.trace.snapshot(-1).lights}
    if not lights[LIGHT]:
        return Verdict(True, RIGHT, "", schedule, run.system, LIGHT)
    belief = find_belief(run)
    return Verdict(False, BELIEFS[belief], belief, schedule, run.system)


def find_belief(run: Run) -> str:
    """Why a story hides nothing that was committed."""
    failed = [f.body for f in run.trace if isinstance(f.body, Outcome) and not f.body.ok]
    ledgers = list(list_ledgers(run))
    committed = {e.txn for entries in ledgers for e in list_markers(entries, MarkerType.TXN_COMMIT)}
    written = {e.txn for entries in ledgers for e in entries if e.marker is None}
    if not committed & written:
        return UNCOMMITTED
    if any("NotAllowedException" in outcome.detail for outcome in failed):
        return REFUSED
    if any(is_late(entries, MarkerType.TXN_COMMIT) for entries in ledgers):
        return ALONE
    if any(is_late(entries, MarkerType.TXN_ABORT) for entries in ledgers):
        return UNCOMMITTED
    sends = [outcome for outcome in failed if isinstance(outcome.call, Send)]
    if any("InvalidTxnStatus" in outcome.detail for outcome in sends):
        return CLIENT
    return PUNCTUAL


def list_ledgers(run: Run) -> Iterator[list[LedgerEntry]]:
    """The entries of each partition when the run is over."""
    assert isinstance(run.system, PulsarSystem)
    for partition in run.system.cluster.partitions:
        yield read_entries(run.world, partition)


def is_late(entries: list[LedgerEntry], kind: MarkerType) -> bool:
    """Whether a message of a partition lies behind a marker of its transaction."""
    ended = {entry.txn: entry.base for entry in reversed(list_markers(entries, kind))}
    return any(e.marker is None and e.base > ended.get(e.txn, e.base) for e in entries)


HINTS = (
    tr(
        "Three steps: a transaction commits a message; one more message of it arrives afterwards; "
        "something makes the partition give that late one up. Where does the partition learn that "
        "it has to?"
    ),
    tr(
        "`reopen` makes a client go on with a transaction that has ended. A partition hears "
        "that a transaction has ended long ago only when the end of another one arrives."
    ),
)
HIDING = StoryExercise((SYSTEM,), judge_run, HINTS)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"hiding": (HIDING, "value")}
