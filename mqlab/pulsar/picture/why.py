"""One sentence why for stops, starts, timers, calls that return and changes in memory; those for
messages and records are in `words.py`."""

from __future__ import annotations

from collections.abc import Mapping

from ...kernel import Fact, FactKind, Outcome, Text, Words
from ...kernel.reasons import (
    LATE,
    Changes,
    Reasons,
    Timers,
    Unguarded,
    find_unguarded,
    read_sentences,
)
from ..client import calls
from ..client.consuming import ENTERED, OPERATION_TIMEOUT, WAITS
from ..client.producing import TIME_OUT
from ..coordinator import LOADED, NOTHING_OPEN, RETRY, TIMEOUT
from ..subscription import ACTIVE, CONSUMERS, GIVEN_UP, OVER, PENDING, STUCK, UP_TO
from ..topic import ENTERED as BUFFER_ENTERED
from ..topic import FRONTIER, SNAPSHOT
from ..topic.access import ALONE, FREE, QUEUED
from . import words
from .snapshot import Cluster

SENTENCES = read_sentences(__file__)
STOPPED: Mapping[str, Words] = SENTENCES["stopped"]
RECOVERED: Mapping[str, Words] = SENTENCES["recovered"]
POWER_CUT = Words("A bookie flushes before it answers: a power cut takes memory, as a crash does.")
BROKEN = Words(
    "Requests in flight may still arrive, answers never do; the client asks again on a new "
    "connection."
)
TIMERS: Timers = {
    f"{TIMEOUT}(": Words("The deadline has passed: a transaction that is still open is aborted."),
    TIME_OUT: Words("The client's own timer: it gives the transaction up, and tells nobody."),
    RETRY: Words("A participant had not answered: the end is sent to all of them once more."),
    SNAPSHOT: Words("maxReadPosition has moved since the last snapshot."),
    OPERATION_TIMEOUT: Words(
        "No answer came in time: what became of the request, the client does not know."
    ),
}
MAX_READ_MOVED = Words(
    "maxReadPosition is the entry before the oldest open transaction's first, else the "
    "last one; no consumer is sent anything above it."
)
LOG_READ = Words(
    "The log was read: what is open is watched, and what was being ended is ended again."
)
STATE_ENTERED = Words(
    "This is the client's own state; the coordinator keeps another one, and they may differ."
)
CONNECTED = Words(
    "Who is connected is memory; the epoch is on the disk, so a load fences the same producers."
)
IN_MEMORY = Words("Only memory has changed; a restart finds what the disk says.")
#: what has changed in memory
CHANGES: Changes = {
    FRONTIER: MAX_READ_MOVED,
    BUFFER_ENTERED: Words(
        "Only a buffer that is Ready, or that has no snapshot because no transaction has "
        "written here, knows how far one may read."
    ),
    **dict.fromkeys((LOADED, NOTHING_OPEN), LOG_READ),
    **dict.fromkeys((ALONE, FREE, QUEUED), CONNECTED),
    ENTERED: STATE_ENTERED,
    STUCK: Words("Until the replay has ended nobody knows what is pending: nobody is served."),
    GIVEN_UP: Words("The client has closed the consumer, so the broker forgets its request."),
    **dict.fromkeys((WAITS, PENDING, UP_TO, OVER, CONSUMERS, ACTIVE), IN_MEMORY),
}
COMMITTED = Words(
    "Every participant has answered, so the messages can be read now, unless an older "
    "transaction is open before them."
)
ACKNOWLEDGED = Words(
    "In a transaction the broker answers an acknowledgement when its record is safe; a plain one "
    "gets no answer."
)
RETURNED: dict[type, Words] = {
    calls.Commit: COMMITTED,
    calls.Send: Words(
        "The message is stored. If it was sent in a transaction, this says nothing of its end."
    ),
    calls.Receive: Words("It takes what the broker sent ahead, or, without a queue, when asked."),
    calls.Acknowledge: ACKNOWLEDGED,
}
GOES_ON = Words("The application goes on.")
FAILURE = Words(
    "The application hears an exception and must decide what it means for its transaction."
)
NOTHING_DONE = Words("Nothing is written here, and nothing answered now.")


def find_kind(cluster: Cluster, name: str) -> str:
    """What a node is: client, coordinator or partition."""
    if name in cluster.clients:
        return "client"
    return "coordinator" if name in cluster.coordinators else "partition"


def explain_fact(fact: Fact, kind: str) -> Text:
    """One sentence why, of what is no message and no record; nothing where none is known. `kind`:
    of the fact's node."""
    return REASONS.explain(fact, kind)


def _explain_success(outcome: Outcome) -> Text:
    return next(
        (why() for call, why in RETURNED.items() if isinstance(outcome.call, call)), GOES_ON()
    )


REASONS = Reasons(
    stopped=STOPPED,
    recovered=RECOVERED,
    timers=TIMERS,
    changes=CHANGES,
    alone={
        FactKind.POWER_CUT: POWER_CUT,
        FactKind.BREAK: BROKEN,
        FactKind.LATE: LATE,
        FactKind.IDLE: NOTHING_DONE,
    },
    explain_success=_explain_success,
    explain_failure=lambda _: FAILURE(),
)


# What is true while a safeguard is off, in the place of the sentences that rest on it
UNGUARDED: Unguarded = find_unguarded(
    SENTENCES["unguarded"],
    {
        **vars(words),
        **SENTENCES["requests"],
        "BROKEN": BROKEN,
        "COMMITTED": COMMITTED,
        "ACKNOWLEDGED": ACKNOWLEDGED,
        "MAX_READ_MOVED": MAX_READ_MOVED,
        "LOG_READ": LOG_READ,
        **{f"stopped {kind}": why for kind, why in STOPPED.items()},
        **{f"recovered {kind}": why for kind, why in RECOVERED.items()},
    },
)
