"""What one server has room for: connections, and bytes of requests that are not whole yet.

Each connection is an open file, of which the system allows so many. Some must be left over: for
the journal, for the live trace, and for those that the event loop accepts in one go before
anybody is asked whether there is room. When all places are taken the client that has been silent
for longest gives way, as with Kafka's `connections.max.idle.ms`, only later.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

log = logging.getLogger("mqlab.serve")

BACKLOG = 100  # connections that the event loop accepts in one go
SPARE = 40  # files for everything else
WANTED = 65_536  # files, where the system lets us ask for more
LEAST = 16
HELD = 256 << 20  # bytes of unfinished requests, of all clients together
HALF_S = 30.0  # how long an unfinished request may stand still


def most_connections() -> int:
    """How many clients there is room for; asks the system for more files first."""
    try:
        import resource
    except ImportError:  # not on Windows
        return WANTED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return WANTED
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):
            log.debug("the limit of %d open files stays", soft)
    return max(soft - BACKLOG - SPARE, LEAST)


def trace_places(places: int) -> int:
    """How many may ask for the live trace at once. Each may leave some 100 kB unread."""
    return min(max(places // 8, 8), 64)


def say_in_one_line(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """For the event loop: it has no more files, say, and will try again in a second."""
    error = context.get("exception")
    if isinstance(error, OSError):
        log.warning("%s: %s", context.get("message", "the event loop"), error.strerror or error)
    else:
        loop.default_exception_handler(context)
