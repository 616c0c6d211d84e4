"""What the applications of a scenario may call: `run app: send-in-transaction orders-0 o1`."""

from __future__ import annotations

from typing import Any

from ...kernel.usages import Usages, bare, number, one_of
from ..application.orders import ANSWERS
from ..consumer.calls import Consume, Outcome
from ..producer.calls import End, Resume, SendInTransaction, SendPlain, SetListener
from ..states import LocalTransactionState


def _consume(outcome: str, only: tuple[str, ...]) -> Consume | None:
    if only and not outcome:
        outcome, *_ = only
        only = only[1:]
    known = (outcome or Outcome.SUCCESS) in tuple(Outcome)
    return Consume(Outcome(outcome or Outcome.SUCCESS), only) if known else None


def _end(state: str, order: str, from_check: int = 0, **options: Any) -> End:
    return End(state, order, from_check=bool(from_check), **options)


CALLS = Usages(
    {
        "send-in-transaction TOPIC-QUEUE ORDER [immunity=SECONDS] [delay=LEVEL]": SendInTransaction,
        "send TOPIC-QUEUE ORDER [delay=LEVEL]": SendPlain,
        "listener EXECUTE CHECK …, each one of " + ", ".join(ANSWERS): SetListener,
        "end STATE ORDER [group=G] [queue_offset=N] [commit_log_offset=N] [from_check=1]": _end,
        "resume COMMIT-LOG-OFFSET": Resume,
        "consume [later | suspend] [ORDER …]": _consume,
    }
)


def parse_call(words: tuple[str, ...], queues: tuple[str, ...]) -> Any:
    """The call that the words of a line stand for; raises ValueError with advice."""
    readers = {
        "TOPIC-QUEUE": one_of("queue", queues),
        "ORDER": bare("an order"),
        "EXECUTE": one_of("answer", ANSWERS),
        "CHECK": one_of("answer", ANSWERS),
        "STATE": one_of("state", tuple(LocalTransactionState)),
        "COMMIT-LOG-OFFSET": number,
    }
    return CALLS.read(words, readers)
