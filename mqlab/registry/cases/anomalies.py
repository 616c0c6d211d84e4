"""The cells of the matrix: four ways, twelve anomalies, and what proves each. Data only.

Names are those of `searches_of(broker)` (cases and systems), of scenarios and of recordings; a name
that is none is refused by a test, and `mqlab matrix --check` does all the proofs again.
"""

from __future__ import annotations

from ...kernel import Text, tr
from ..matrix import (
    IMPOSSIBLE,
    NO_SUCH_THING,
    NOT_COVERED,
    ONLY_IF_ASKED,
    ONLY_WITH,
    ONLY_WITHOUT,
    POSSIBLE,
    Cell,
    Excluded,
    Found,
    Holds,
    Matrix,
    Told,
)


def _only_without(
    broker: str,
    *names: str,
    words: Text = Text(""),
    covers: Text = Text(""),
    beyond: tuple[Told, ...] = (),
) -> Cell:
    proofs = tuple(Found(broker, name) for name in names)
    return Cell(ONLY_WITHOUT, proofs, covers=covers, beyond=beyond, words=words)


def _only_with(broker: str, name: str, asked: Text, instead: str, words: Text) -> Cell:
    """`asked`: with what the case is found; `instead`: the option with which nothing is."""
    proofs = Found(broker, name), Excluded(broker, name, instead)
    return Cell(ONLY_WITH, proofs, condition=asked, words=words)


def _possible(
    *proofs: Found | Told, words: Text = Text(""), recorded: str = "", condition: Text = Text("")
) -> Cell:
    return Cell(POSSIBLE, proofs, condition, words=words, recorded=recorded)


def _no_such(words: Text) -> Cell:
    return Cell(NO_SUCH_THING, words=words)


NOBODY_ANSWERS = tr("nobody of the group answers")
BETWEEN_MARKERS = tr("a reader comes between two markers")
OPEN_IS_ABORTED = tr(
    "Nobody is asked about an open transaction: it is aborted when its time is over."
)
#: it can happen: a dual write
ROW_OUTSIDE = Cell(
    NOT_COVERED,
    (Found("patterns", "row_with_message"),),
    words=tr(
        "A database row is no part of the transaction. A row that is written beside it is a dual "
        "write: one of the two may be missing, as in the outbox without row_with_message."
    ),
)
EQUAL_SENDERS = Cell(
    NOT_COVERED,
    words=tr(
        "The producers of a group are equal: none takes over from another, none is too old, so "
        "none is fenced. An old process's message counts like any other."
    ),
)
ACK_OUTSIDE = Cell(
    NOT_COVERED,
    words=tr(
        "An acknowledgement is no part of the transaction: two consumers may work on one message."
    ),
)
NO_TRANSACTION = tr("The broker has no transactions that could stay open or be refused.")

FENCED_BY_ID = _only_without(
    "kafka",
    "epoch_fencing",
    covers=tr("one transactional.id"),
    beyond=(Told("kafka/lab06-random-ids"),),
    words=tr("Two instances with different ids never fence each other."),
)

KAFKA = {
    "lost write": _possible(Found("kafka", "power-cut"), condition=tr("every copy loses power"),
        words=tr("A commit is acknowledged on replication, not on a flush: a power cut of every "
                 "copy may take it, here of the only one.")),
    "duplicate": _only_without("kafka", "sequence_check", covers=tr("retries within one session"),
        beyond=(Told("kafka/idempotence-leader-killed"), Told("kafka/idempotence-session")),
        words=tr("A session ends with the producer's id or epoch. A restarted producer has a new "
                 "id, and one whose leader forgot a batch raises its epoch. What they send again "
                 "is new, and so is what an application sends again.")),
    "dirty read": Cell(ONLY_IF_ASKED, (Told("kafka/undecided-not-visible"), Found("kafka", "lso")),
        condition=Text("read_committed"),
        words=tr("isolation.level=read_committed; the Java consumer's default is "
                 "read_uncommitted.")),
    "aborted read": _only_with("kafka", "late-marker", tr("a legacy client"), "client=v2",
        tr("A legacy client's epoch stays when a transaction ends, so a marker that was sent "
           "twice and arrives late ends its next transaction (KAFKA-19446). Apart from that, only "
           "with aborted_index off.")),
    "torn read": _possible(Found("kafka", "torn-read"), condition=BETWEEN_MARKERS),
    "zombie write": FENCED_BY_ID,
    "zombie commit": FENCED_BY_ID,
    "orphaned half message": _no_such(OPEN_IS_ABORTED),
    "hanging transaction": _only_without("kafka", "verification", "transaction_timeout",
        covers=tr("partitions that have a leader"), beyond=(Told("kafka/leaderless-marker"),),
        words=tr("4.3.1 and 4.4.0 drop a marker while its partition has no leader (KAFKA-20734).")),
    "conflict of acknowledgements": _only_without("kafka", "generation_fencing",
        words=tr("The group's metadata must travel with the offsets: with the group's name alone "
                 "no generation is compared.")),
    "row without message": ROW_OUTSIDE,
    "message without row": ROW_OUTSIDE,
}  # fmt: skip

ROCKETMQ = {
    "lost write": _only_with("rocketmq", "power-cut", Text("ASYNC_FLUSH"), "flush=sync",
        tr("By default (flush=async) a half message is acknowledged before it is flushed, and "
           "a power cut may take it.")),
    "duplicate": _possible(Found("rocketmq", "late-end"),
        condition=tr("a check overtakes the end")),
    "dirty read": _only_without("rocketmq", "half_topic"),
    "aborted read": _possible(Found("rocketmq", "rollback-then-commit"),
        condition=tr("a listener answers twice"),
        recorded="rocketmq-5.5.0/5.5/rollback-then-commit"),
    "torn read": _no_such(tr("A transaction is one message, so there is no part of it.")),
    "zombie write": EQUAL_SENDERS,
    "zombie commit": EQUAL_SENDERS,
    "orphaned half message": _possible(Found("rocketmq", "nobody-answers"),
        condition=NOBODY_ANSWERS),
    "hanging transaction": _only_without("rocketmq", "check_limit"),
    "conflict of acknowledgements": ACK_OUTSIDE,
    "row without message": _possible(Found("rocketmq", "nobody-answers"), condition=NOBODY_ANSWERS),
    "message without row": _only_without("rocketmq", "end_validation", "half_topic"),
}  # fmt: skip

PULSAR = {
    "lost write": _possible(Found("pulsar", "stale-write"),
        Told("pulsar/late-write-hides-committed"),
        condition=tr("a late message comes after a reload")),
    "duplicate": _only_with("pulsar", "send-again", tr("deduplication off"), "dedup=1",
        tr("Deduplication is off (dedup=0) unless a namespace or the broker asks for it. It knows "
           "the retries of one producer name; what an application sends again is new.")),
    "dirty read": _only_without("pulsar", "max_read_position"),
    "aborted read": _only_without("pulsar", "filter_aborted"),
    "torn read": _possible(Told("pulsar/seen-in-one-topic-first"), condition=BETWEEN_MARKERS),
    "zombie write": Cell(ONLY_IF_ASKED,
        (Found("pulsar", "zombie"), Told("pulsar/fencing-stops-sends")),
        condition=Text("ExclusiveWithFencing"),
        words=tr("ProducerAccessMode.ExclusiveWithFencing, for each topic."),
        recorded="pulsar-4.2.4/4.2/fencing-stops-sends"),
    "zombie commit": _possible(Found("pulsar", "zombie"),
        condition=tr("it was sent before the fence"),
        words=tr("Fencing stops sends, no commit: what was sent before the fence still commits."),
        recorded="pulsar-4.2.4/4.2/fencing-stops-sends"),
    "orphaned half message": _no_such(OPEN_IS_ABORTED),
    "hanging transaction": _possible(Found("pulsar", "late-send"),
        condition=tr("a message comes after the abort")),
    "conflict of acknowledgements": _only_without("pulsar", "pending_ack_conflict"),
    "row without message": ROW_OUTSIDE,
    "message without row": ROW_OUTSIDE,
}  # fmt: skip

STOPPED = ("outbox", "outbox, break", "outbox, power", "outbox, slow transaction")
OUTBOX = {
    "lost write": _only_without("patterns", "marked_when_stored", "marks_each_row"),
    "duplicate": _only_without("patterns", "inbox",
        words=tr("The topic may hold a message twice; its effect happens once.")),
    "dirty read": Cell(IMPOSSIBLE, (Holds("patterns", "no message without row", STOPPED),)),
    "aborted read": Cell(IMPOSSIBLE, (Holds("patterns", "no message without row", STOPPED),)),
    "torn read": _possible(Found("patterns", "row-before-message"),
        condition=tr("the relay has not sent yet")),
    "zombie write": _no_such(
        tr("A relay that was taken for dead publishes what the outbox holds, and nothing else."),
    ),
    "zombie commit": _no_such(NO_TRANSACTION),
    "orphaned half message": _no_such(NO_TRANSACTION),
    "hanging transaction": _no_such(NO_TRANSACTION),
    "conflict of acknowledgements": ACK_OUTSIDE,
    "row without message": _only_without("patterns", "row_with_message"),
    "message without row": Cell(IMPOSSIBLE,
        (Holds("patterns", "no message without row", STOPPED),)),
}  # fmt: skip

MATRIX: Matrix = {"kafka": KAFKA, "rocketmq": ROCKETMQ, "pulsar": PULSAR, "outbox": OUTBOX}
