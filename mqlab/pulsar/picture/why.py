"""One sentence why for stops, starts, timers, calls that return and changes in memory; those for
messages and records are in `words.py`."""

from __future__ import annotations

from ...kernel import Fact, FactKind, Outcome, Text, Words
from ...kernel.reasons import LATE, POWER_CUT, Changes, Reasons, Timers, Unguarded
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

STOPPED = {
    "client": Words(
        "Its transactions and its queues are gone; no name lets a new process take them up, so the "
        "coordinator's timeout ends what was open."
    ),
    "coordinator": Words(
        "The log stays. Until a client connects and the log is loaded again, nothing is aborted at "
        "its deadline."
    ),
    "partition": Words(
        "Messages, markers, cursors and pending acknowledgements stay; what the buffer knew, how "
        "often a message was redelivered and the low watermarks are gone."
    ),
}
RECOVERED = {
    "client": Words(
        "It is a new client to everybody. It fences no transaction of the process before it; a "
        "producer may fence the sends to its topic."
    ),
    "coordinator": Words(
        "Nothing is loaded yet: the first client that connects makes it read its log."
    ),
    "partition": Words(
        "It reads its cursors and pending acknowledgements; the buffer recovers from its snapshot "
        "and from what the topic holds after it."
    ),
}
BROKEN = Words(
    "Requests in flight may still arrive, answers never do; the client asks again on a new "
    "connection."
)
TIMERS: Timers = {
    f"{TIMEOUT}(": Words("The deadline has passed: a transaction that is still open is aborted."),
    TIME_OUT: Words("The client's own timer: it gives the transaction up, and tells nobody."),
    RETRY: Words("A participant had not answered: all of them are told once more."),
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
NOTHING_DONE = Words("It changes nothing here.")


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

TOLD_FIRST = Words("the end is told to all participants, and nothing in the log says it yet.")
FORGOTTEN = Words("this is written down, and a coordinator that starts again does not read it.")
UNGUARDED: Unguarded = {
    "max_read_position": {
        words.TOLD_WRITTEN: Words("consumers are sent it, decided or not."),
        MAX_READ_MOVED: Words(
            "the position is kept, and consumers are sent what is above it as well."
        ),
        words.PUSH: Words("it is sent although its transaction may still be open."),
        words.SUBSCRIBED: Words("the broker pushes all that is stored, as far as it has permits."),
        words.STORED: Words("it is stored and can be read at once, decided or not."),
        words.STORED_PLAIN: Words("it is stored and can be read at once, whatever is before it."),
        words.RECOVER: Words("consumers are served before the buffer knows what is open here."),
    },
    "filter_aborted": {
        words.TOLD_SKIPPED: Words("consumers are given what was aborted."),
        words.ABORT_MARKER: Words(
            "the messages stay where they are, and dispatchers send them like all others."
        ),
        words.TELL_ABORT: Words(
            "the partition learns of the abort and sends the messages all the same."
        ),
        words.PUSH: Words("whatever is at or below maxReadPosition is sent, aborted or not."),
    },
    "decision_before_markers": {
        words.TOLD_COMMIT: TOLD_FIRST,
        words.TOLD_ABORT: TOLD_FIRST,
        words.TELL_COMMIT: TOLD_FIRST,
        words.TELL_ABORT: TOLD_FIRST,
        words.TELL_SUBSCRIPTION: TOLD_FIRST,
    },
    "retry_until_answered": {
        BROKEN: Words(
            "no answer comes on this connection, and a coordinator that waits for one does "
            "not tell the end again."
        ),
        words.NOT_ANSWERED: Words("one participant could not do it, and nobody tells it again."),
        words.DONE: Words("the end counts as told, whether every participant has answered or not."),
        words.ENDED: Words("the end is in the log, whether every participant has answered or not."),
        words.COMMIT: Words(
            "the caller is answered even where a participant did not hear of the commit."
        ),
        COMMITTED: Words("the commit has returned, and a participant may have no marker."),
        words.DECIDED_COMMIT: Words(
            "the commit is decided, but a participant that misses it never hears of it."
        ),
    },
    "replay_log": {
        STOPPED["coordinator"]: Words(
            "the log stays, and nobody will read it: what is open here stays open."
        ),
        RECOVERED["coordinator"]: Words(
            "nothing is loaded, and the client that connects first brings nothing back."
        ),
        LOG_READ: Words("the coordinator is ready, and knows nothing of what its log holds."),
        words.CONNECT: Words(
            "the first client that connects makes the broker load the coordinator, without "
            "what its log says."
        ),
        words.NEW_RECORD: FORGOTTEN,
        words.ADD_RECORD: FORGOTTEN,
        words.DECIDED_COMMIT: FORGOTTEN,
        words.DECIDED_ABORT: FORGOTTEN,
    },
    "replay_topic": {
        RECOVERED["partition"]: Words(
            "it reads its cursors, its pending acknowledgements and the last snapshot, and "
            "nothing of what the topic holds after it."
        ),
        words.RECOVER: Words("the buffer takes what its snapshot says for all there is."),
        MAX_READ_MOVED: Words(
            "a buffer that was loaded again knows of nothing open after its snapshot, so "
            "maxReadPosition may pass it."
        ),
    },
    "transaction_timeout": {
        words.NEW_RECORD: Words(
            "with this record the transaction exists, and no deadline will end it."
        ),
        STOPPED["client"]: Words(
            "its transactions and its queues are gone, and nothing ends what was open."
        ),
    },
    "low_watermark": {
        words.MESSAGE_RECORD: Words(
            "it is stored, and nobody asks whether its transaction has ended long ago."
        )
    },
    "pending_ack_conflict": {
        words.PENDING_RECORD: Words(
            "it is written down and counts, no matter who has acknowledged the same before."
        )
    },
    "pending_ack_log": {
        words.ACKED: Words(
            "it is answered from memory, and a restart of the broker knows nothing of it."
        ),
        ACKNOWLEDGED: Words("what a transaction has acknowledged is in memory only."),
        STOPPED["partition"]: Words(
            "messages, markers and cursors stay; pending acknowledgements are gone, and so is "
            "what the buffer knew."
        ),
        RECOVERED["partition"]: Words(
            "it reads its cursors and finds nothing pending; the buffer recovers from its "
            "snapshot and from what the topic holds after it."
        ),
    },
    "pending_ack_filter": {
        words.ACK_IN_TXN: Words(
            "the transaction acknowledges the message, and it is delivered all the same."
        ),
        words.REDELIVER: Words(
            "what the consumer holds is wanted once more, and what is pending is sent too."
        ),
        words.PUSH: Words("it is sent even where an open transaction has acknowledged it."),
    },
    "redeliver_aborted": {
        words.TOLD_GIVEN_BACK: Words(
            "what was taken is free again, and nothing is sent once more."
        ),
        words.ACK_IN_TXN: Words(
            "the message is taken out of the way, and an abort does not send it again."
        ),
        words.PENDING_ABORT: Words(
            "what was pending is free again, and nothing is sent once more."
        ),
    },
}
