"""What the applications of a scenario may call: `run app: send-in-transaction orders-0 o1`."""

from __future__ import annotations

from typing import Any

from ..application.orders import ANSWERS
from ..consumer.calls import Consume, Outcome
from ..producer.calls import End, Resume, SendInTransaction, SendPlain, SetListener
from ..states import LocalTransactionState

ADVICE = {
    "send-in-transaction": "send-in-transaction TOPIC-QUEUE ORDER [immunity=SECONDS] [delay=LEVEL]",
    "send": "send TOPIC-QUEUE ORDER [delay=LEVEL]",
    "listener": "listener EXECUTE CHECK …, each one of " + ", ".join(ANSWERS),
    "end": "end STATE ORDER [group=G] [queue_offset=N] [commit_log_offset=N] [from_check=1]",
    "resume": "resume COMMIT-LOG-OFFSET",
    "consume": "consume [later | suspend] [ORDER …]",
}


def parse_call(words: tuple[str, ...], queues: tuple[str, ...]) -> Any:
    """The call that the words of a line stand for; raises ValueError with advice."""
    plain = tuple(word for word in words if "=" not in word)
    given = dict(word.split("=", 1) for word in words if "=" in word)
    call = _sent(plain, given, queues) or _by_hand(plain, given) or _consumed(plain)
    if call is None or given:
        advice = ADVICE.get(words[0] if words else "", "one of: " + "; ".join(ADVICE.values()))
        raise ValueError(f"{' '.join(words)!r} is no call; expected {advice}")
    return call


def _sent(words: tuple[str, ...], given: dict[str, str], queues: tuple[str, ...]) -> Any:
    match words:
        case ("send-in-transaction", queue, order):
            where, what = _one_of(queue, queues), _order(order)
            immunity, delay = given.pop("immunity", ""), _number(given, "delay") or 0
            return SendInTransaction(where, what, immunity, delay)
        case ("send", queue, order):
            return SendPlain(_one_of(queue, queues), _order(order), _number(given, "delay") or 0)
        case ("listener", execute, *checks) if checks and {execute, *checks} <= {*ANSWERS}:
            return SetListener(execute, tuple(checks))
    return None


def _by_hand(words: tuple[str, ...], given: dict[str, str]) -> Any:
    match words:
        case ("end", state, order) if state in tuple(LocalTransactionState):
            group = given.pop("group", "")
            offsets = _number(given, "queue_offset"), _number(given, "commit_log_offset")
            return End(state, order, group, *offsets, bool(_number(given, "from_check")))
        case ("resume", offset) if offset.isdigit():
            return Resume(int(offset))
    return None


def _consumed(words: tuple[str, ...]) -> Any:
    match words:
        case ("consume",):
            return Consume()
        case ("consume", outcome, *only) if outcome in tuple(Outcome):
            return Consume(Outcome(outcome), tuple(only))
    return None


def _number(given: dict[str, str], name: str) -> int | None:
    text = given.pop(name, None)
    if text is not None and not text.isdigit():
        raise ValueError(f"{name}={text}: expected a whole number")
    return None if text is None else int(text)


def _order(word: str) -> str:
    if set(word) & set("{},;'\""):
        raise ValueError(f"{word!r}: an order here is a word without {{}},;'\"")
    return word


def _one_of(queue: str, queues: tuple[str, ...]) -> str:
    if queue not in queues:
        raise ValueError(f"no queue {queue!r}; there are: {', '.join(queues)}")
    return queue
