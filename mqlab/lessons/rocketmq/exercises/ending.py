"""Lab 03's pieces: what the broker does when EndTransaction COMMIT comes in, in which order.

The pieces are the broker's own step (`mqlab/rocketmq/broker/__init__.py`). `compare` acts only
where it comes first: after what is written it has no effect.
"""

from __future__ import annotations

from ....explore import Budget
from ....kernel import System, tr
from ....registry import system
from ...parsons import Parsons, Piece

WRITTEN = ("message", "op")
BY_ANOTHER = (
    "order_service release=4.9 persist_ms=0 producers=app:order-service,other:billing "
    "'app=send-in-transaction orders-0 580538' "
    "'other=send-in-transaction orders-0 580539; end COMMIT_MESSAGE 580539 commit_log_offset=0'"
)
ASKED = (
    "order_service timeout_ms=0 persist_ms=0 check_max=2 claims=passed_over "
    "'app=send-in-transaction orders-0 580538'"
)
STOPPED = "order_service release=4.9 persist_ms=0 'app=send-in-transaction orders-0 580538'"


def _ends(order: tuple[str, ...]) -> tuple[tuple[System, Budget], ...]:
    """Asked about afterwards, ended by another group, and with a broker that may be killed."""
    written = ",".join(key for key in order if key in WRITTEN)
    compared = order[:1] == ("compare",)
    off = "" if compared else " off=end_validation"
    lines = ((ASKED, Budget(timers=2)), (STOPPED, Budget(kills=1, killable=("broker",))))
    own = tuple((system(f"{line} order.end_transaction={written}"), bound) for line, bound in lines)
    return (*own, (system(f"{BY_ANOTHER}{off} order.end_transaction={written}"), Budget()))


DISTRACTORS = (
    Piece("delete", tr("delete the half message from the half topic"),
          tr("nothing is ever deleted from a log. The half message stays where it is, and the op "
             "record marks it as ended"),
          "a half message that has ended is deleted"),
    Piece("state", tr("set the transaction's state to COMMITTED"),
          tr("there is no table of transactions: the broker keeps only half messages and op "
             "records. So nothing stops a second end either"),
          "the broker keeps a state for each transaction"),
    Piece("answer", tr("answer the producer: committed"),
          tr("endTransaction is one-way: it gets no answer, and COMMIT_MESSAGE in the producer's "
             "result comes from the producer itself"),
          "COMMIT returned means that the broker has committed"),
    Piece("consumed", tr("wait until a consumer has processed the message"),
          tr("no consumer takes part in the transaction. It reads the message later, perhaps "
             "twice, and its success or failure changes nothing here"),
          "the consumer is in the transaction"),
)  # fmt: skip

ENDING = Parsons(
    name="ending",
    question=tr("EndTransaction COMMIT has arrived. Arrange what the broker does so that every "
                "promise is kept, whenever it dies. Not every piece belongs in it."),
    pieces=(
        Piece("op", tr("append a record to the op topic: this half message has ended")),
        DISTRACTORS[0],
        Piece("message", tr("append the complete message to its real topic and queue")),
        *DISTRACTORS[1:3],
        Piece("compare",
              tr("look the half message up; compare its group and its offsets with the request")),
        DISTRACTORS[3],
    ),
    systems=_ends,
    messages={
        "commits": tr("no consumer ever gets the message: it is never written to its real topic"),
        "row with message": tr(
            "the half message counts as ended, and its message is not written yet: the broker "
            "dies in between, and an order's message is lost for good. A message too many can be "
            "recognised; one too few cannot",
        ),
        "passed over": tr(
            "nothing marks this half message as ended: the check asks about it, gets COMMIT, and "
            "delivers the message once more",
        ),
        "message with row": tr(
            "any producer that knows or guesses an offset can end the transactions of others: "
            "here one of another group delivers a message whose row is not written yet. Compare "
            "before anything is written",
        ),
    },
    right={("compare", "message", "op"): tr(
               "no message is lost, whenever the broker dies. It may come twice: killed between "
               "the two, the broker asks again and commits again. That is RocketMQ's own order",
           )},
)  # fmt: skip

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"ending": (ENDING, "value")}
