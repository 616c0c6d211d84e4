"""Lab 05, the idempotent producer: what its cells import, and its Parsons exercise."""

from __future__ import annotations

from ...explore import Budget
from ...kernel import System, Trace, tr
from ...registry import scenario, system
from ..parsons import Parsons, Piece
from ..steps import first as first
from .exercises.accept import ACCEPT as ACCEPT
from .settings import construct_producer as construct_producer
from .systems.payments import answers as answers
from .systems.payments import count_payments as count_payments
from .systems.payments import list_producers as list_producers
from .systems.payments import snapshot_files as snapshot_files

HAND = "# Batches sent by hand\nsystem payments producers=hand:raw"
BY_HAND = "payments producers=hand:raw order.produce={} 'hand={}'"
SHOP = "payments order.produce={} 'order-service=send payments-0 p1; flush'"


def by_hand(*story: str) -> Trace:
    """`by_hand("p1 seq=0; p2 seq=1", "break hand payments-0", "p2 seq=1")`: one leader is sent
    these batches by hand; what holds no `seq=` is a line of a scenario."""
    lines = [HAND]
    for text in story:
        batches = [f"produce payments-0 {batch.strip()}" for batch in text.split(";")]
        lines.append(f"run hand: {', '.join(batches)}" if "seq=" in text else text)
    return scenario("\n".join(lines))


def _produces(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """An order service that is answered, a leader that dies once, a retry, a gap and a zombie."""

    def alone(*batches: str) -> System:
        calls = "; ".join(f"produce payments-0 {batch}" for batch in batches)
        return system(BY_HAND.format(",".join(order), calls))

    return (
        (system(SHOP.format(",".join(order))), Budget()),
        (alone("p1 seq=0"), Budget(kills=1, killable=("payments-0",))),
        (alone("p1 seq=0", "p1 seq=0"), Budget()),
        (alone("p1 seq=0", "p3 seq=2"), Budget()),
        (alone("p1 seq=0", "p2 seq=0 epoch=1", "p3 seq=0"), Budget()),
    )


PRODUCE = Parsons(
    name="produce",
    question=tr(
        "A batch arrives at the leader. Put the leader's work into an order in which no payment "
        "is counted twice and none is lost. Not every piece is needed."
    ),
    pieces=(
        Piece("append", tr("append the batch to the log")),
        Piece(
            "sequence",
            tr("its first number is not the next one? refuse it, and stop"),
        ),
        Piece(
            "flush",
            tr("flush the log to the disk's surface"),
            tr(
                "a leader never waits for a flush: it answers when the batch is replicated. Losing "
                "one machine's memory then loses nothing that another does not hold"
            ),
            "durable means flushed",
        ),
        Piece("answer", tr("answer the producer: ok")),
        Piece(
            "fence",
            tr("its epoch is older than the one known? refuse it, and stop"),
        ),
        Piece(
            "ask",
            tr("ask the other partitions whether they hold this payment"),
            tr(
                "numbers belong to one partition, and no leader asks another: the same payment "
                "sent to two partitions is two records"
            ),
            "partitions compare what they hold",
        ),
        Piece(
            "duplicate",
            tr("exactly one of the last five batches? answer ok with its old offset, and stop"),
        ),
    ),
    systems=_produces,
    messages={
        "arrives": tr("no payment ever gets into the log: nothing is appended"),
        "told": tr("the producer is never answered, and sends its batch for ever"),
        "welcome": tr(
            "a batch that is in the log already never has the next number: a leader that asks for "
            "the number first refuses a retry that only wants to hear ok"
        ),
        "true ok": tr(
            "the producer was told ok before its batch was in the log: the leader dies in between, "
            "and the payment is lost, for nobody sends it again"
        ),
        "money": tr(
            "a batch that came twice was appended twice: a leader that appends before it asks "
            "for a duplicate counts the payment twice"
        ),
        "no zombie": tr("a batch of an older epoch was written after the newer one had begun"),
        "in order": tr(
            "a batch was appended while the one before it was missing: the log has a hole"
        ),
    },
    right={
        ("duplicate", "fence", "sequence", "append", "answer"): tr(
            "no schedule breaks a promise, and this is Kafka's own order"
        ),
        ("fence", "duplicate", "sequence", "append", "answer"): tr(
            "no schedule breaks a promise. Kafka asks for a duplicate first; as it looks only at "
            "batches of the same epoch, both orders come to the same"
        ),
        ("duplicate", "sequence", "fence", "append", "answer"): tr(
            "no schedule breaks a promise. Only the error differs: an old self is mostly told "
            "OUT_OF_ORDER_SEQUENCE_NUMBER, and does not learn that it was replaced"
        ),
    },
)

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"produce": (PRODUCE, "value")}


def lose_an_answer(idempotent: bool) -> str:
    """As `released.lose_an_answer`; a server is loaded only when this is called."""
    from . import released

    return released.lose_an_answer(idempotent=idempotent)
