"""What the server says of its clients: one line for each refusal and each abrupt end.

A client that is refused has done nothing wrong that its own log would explain: a fenced producer,
a topic that is not there, bytes that are no request. Answers that only mean "in a moment" are no
refusals. The same refusal is said once a connection, and a storm of lines is cut short, so that
nobody can fill a disk by being refused.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from ..kafka.errors import Error
from ..kernel import escape_unseen, shorten

log = logging.getLogger("mqlab.serve")

FORMAT = "%(asctime)s %(levelname)s %(message)s"
LINES, WINDOW_S = 50, 10.0  # so many lines at most in so many seconds
NAME = 60  # characters of a client's name that are said
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


class Calm(logging.Filter):
    """Lets `LINES` lines through in `WINDOW_S` seconds, then says how many it left out. Of what
    `--verbose` asks for nothing is left out."""

    def __init__(self) -> None:
        super().__init__()
        self._since = 0.0
        self._said = self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno <= logging.DEBUG:
            return True
        now = time.monotonic()
        if now - self._since > WINDOW_S:
            if self._left_out:
                record.msg = f"({self._left_out} lines were left out) {record.msg}"
            self._since, self._said, self._left_out = now, 0, 0
        self._said += 1
        if self._said <= LINES:
            return True
        self._left_out += 1
        return False


def set_up(verbose: bool) -> None:
    """Lines go to standard error; `verbose`: each request too."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(FORMAT))
    handler.addFilter(Calm())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    log.setLevel(logging.DEBUG if verbose else logging.INFO)


def name_of(client: str) -> str:
    """A client's own name, which may be anything, in one short line."""
    return escape_unseen(shorten(client, NAME)) or "a client without a name"


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
