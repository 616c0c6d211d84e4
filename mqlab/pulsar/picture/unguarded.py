"""What is true while a safeguard is off, in the place of the sentences that rest on it."""

from __future__ import annotations

from ...kernel import Words
from ...kernel.reasons import Unguarded
from . import sentences, why

TOLD_FIRST = Words("the end is told to all participants, and nothing in the log says it yet.")
FORGOTTEN = Words("this is written down, and a coordinator that starts again does not read it.")
UNGUARDED: Unguarded = {
    "max_read_position": (
        (
            why.MAX_READ_MOVED,
            Words("the position is kept, and consumers are sent what lies above it as well."),
        ),
        (
            sentences.PUSH,
            Words("it is sent although its transaction may still be open."),
        ),
        (
            sentences.SUBSCRIBED,
            Words("the broker pushes all that is stored, as far as it has permits."),
        ),
        (
            sentences.STORED,
            Words("it is stored and can be read at once, decided or not."),
        ),
        (
            sentences.STORED_PLAIN,
            Words("it is stored and can be read at once, whatever lies before it."),
        ),
        (
            sentences.RECOVER,
            Words("consumers are served before the buffer knows what is open here."),
        ),
    ),
    "filter_aborted": (
        (
            sentences.ABORT_MARKER,
            Words("the messages stay where they are, and dispatchers send them like all others."),
        ),
        (
            sentences.TELL_ABORT,
            Words("the partition learns of the abort and sends the messages all the same."),
        ),
        (
            sentences.PUSH,
            Words("whatever lies at or below maxReadPosition is sent, aborted or not."),
        ),
    ),
    "decision_before_markers": (
        (sentences.TELL_COMMIT, TOLD_FIRST),
        (sentences.TELL_ABORT, TOLD_FIRST),
        (sentences.TELL_SUBSCRIPTION, TOLD_FIRST),
    ),
    "retry_until_answered": (
        (
            why.BROKEN,
            Words(
                "no answer comes on this connection, and a coordinator that waits for one does "
                "not tell the end again."
            ),
        ),
        (
            sentences.NOT_ANSWERED,
            Words("one participant could not do it, and nobody tells it again."),
        ),
        (
            sentences.DONE,
            Words("the end counts as told, whether every participant has answered or not."),
        ),
        (
            sentences.ENDED,
            Words("the end is in the log, whether every participant has answered or not."),
        ),
        (
            sentences.COMMIT,
            Words("the caller is answered even where a participant did not hear of the commit."),
        ),
        (
            why.COMMITTED,
            Words("the commit has returned, and a participant may have no marker."),
        ),
        (
            sentences.DECIDED_COMMIT,
            Words("the commit is decided, but a participant that misses it never hears of it."),
        ),
    ),
    "replay_log": (
        (
            why.STOPPED["coordinator"],
            Words("the log stays, and nobody will read it: what is open here stays open."),
        ),
        (
            why.RECOVERED["coordinator"],
            Words("nothing is loaded, and the client that connects first brings nothing back."),
        ),
        (
            why.LOG_READ,
            Words("the coordinator is ready, and knows nothing of what its log holds."),
        ),
        (
            sentences.CONNECT,
            Words(
                "the first client that connects makes the broker load the coordinator, without "
                "what its log says."
            ),
        ),
        (sentences.NEW_RECORD, FORGOTTEN),
        (sentences.ADD_RECORD, FORGOTTEN),
        (sentences.DECIDED_COMMIT, FORGOTTEN),
        (sentences.DECIDED_ABORT, FORGOTTEN),
    ),
    "replay_topic": (
        (
            why.RECOVERED["partition"],
            Words(
                "it reads its cursors, its pending acknowledgements and the last snapshot, and "
                "nothing of what the topic holds after it."
            ),
        ),
        (
            sentences.RECOVER,
            Words("the buffer takes what its snapshot says for all there is."),
        ),
        (
            why.MAX_READ_MOVED,
            Words(
                "a buffer that was loaded again knows of nothing open behind its snapshot, so "
                "maxReadPosition may pass it."
            ),
        ),
    ),
    "transaction_timeout": (
        (
            sentences.NEW_RECORD,
            Words("with this record the transaction exists, and no deadline will end it."),
        ),
        (
            why.STOPPED["client"],
            Words("its transactions and its queues are gone, and nothing ends what was open."),
        ),
    ),
    "low_watermark": (
        (
            sentences.MESSAGE_RECORD,
            Words("it is stored, and nobody asks whether its transaction has ended long ago."),
        ),
    ),
    "pending_ack_conflict": (
        (
            sentences.PENDING_RECORD,
            Words("it is written down and counts, no matter who has acknowledged the same before."),
        ),
    ),
    "pending_ack_log": (
        (
            sentences.ACKED,
            Words("it is answered from memory, and a restart of the broker knows nothing of it."),
        ),
        (
            why.ACKNOWLEDGED,
            Words("what a transaction has acknowledged is in memory only."),
        ),
        (
            why.STOPPED["partition"],
            Words(
                "messages, markers and cursors stay; pending acknowledgements are gone, and so is "
                "what the buffer knew."
            ),
        ),
        (
            why.RECOVERED["partition"],
            Words(
                "it reads its cursors and finds nothing pending; the buffer recovers from its "
                "snapshot and from what the topic holds after it."
            ),
        ),
    ),
    "pending_ack_filter": (
        (
            sentences.ACK_IN_TXN,
            Words("the transaction acknowledges the message, and it is delivered all the same."),
        ),
        (
            sentences.REDELIVER,
            Words("what the consumer holds is wanted once more, and what is pending is sent too."),
        ),
        (
            sentences.PUSH,
            Words("it is sent even where an open transaction has acknowledged it."),
        ),
    ),
    "redeliver_aborted": (
        (
            sentences.ACK_IN_TXN,
            Words("the message is taken out of the way, and an abort does not send it again."),
        ),
        (
            sentences.PENDING_ABORT,
            Words("what was pending is free again, and nothing is sent once more."),
        ),
    ),
}
