"""What is a refusal among Kafka's answers, and how a request is named in the server's log.

Answers that only mean "in a moment" are no refusals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from ...kafka.errors import Error
from ..logs import name_of

#: what a client tries again by itself, or asks in order to find out
IN_A_MOMENT = frozenset(
    {
        Error.CONCURRENT_TRANSACTIONS,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.MEMBER_ID_REQUIRED,
        Error.NOT_ENOUGH_REPLICAS,
        Error.REBALANCE_IN_PROGRESS,
        Error.UNSTABLE_OFFSET_COMMIT,
    }
)


def name_request(api: str, body: Any) -> str:
    """A request by its kind, with the transactional id or the group that it is about."""
    for field in ("transactional_id", "v3_and_below_transactional_id", "group_id"):
        about = getattr(body, field, None)
        if isinstance(about, str) and about:
            return f"{api} of {name_of(about)}"
    return api


def find_refusals(answer: Any) -> Iterator[Error]:
    """The errors in an answer that are refusals, wherever they stand."""
    kind: Any = type(answer)
    for name in _places(kind):
        value = getattr(answer, name)
        if isinstance(value, Error):
            if value and value not in IN_A_MOMENT:
                yield value
        elif isinstance(value, tuple):
            for part in value:
                yield from find_refusals(part)


@cache
def _places(kind: Any) -> tuple[str, ...]:
    """The fields in which an answer may hold an error, or parts that hold one."""
    if not is_dataclass(kind):
        return ()
    return tuple(f.name for f in fields(kind) if "Error" in str(f.type) or "tuple" in str(f.type))
