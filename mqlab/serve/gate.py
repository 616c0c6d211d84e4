"""The gate: it intercepts clients' requests and holds them until they are let in.

It is between "a request has been read" and "a role is asked". As long as it is open every request
passes. Closed, it holds the requests that would make the front send one of certain messages to
another role (Kafka: `EndTxn`, `Produce` …; the broker's adapter says which). The front's step is
asked in advance what it would send, and its answer is thrown away: so the gate knows no protocol,
and names what waits as the live trace will.

What may be done with one that waits:

    let go        it goes in, as if it had been in flight for so long
    drop          it is lost with its connection, as in a network
    kill before   the node dies before it has received the request, and starts again
    kill after    it dies when all is done and written, before the answer leaves

A client that goes away takes its requests with it. The one that has closed the gate must ask about
it at least every `LEASE_S`: otherwise it opens by itself, and all that waits goes in.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ..kernel import Caller, Request, Send, Text, Words, replace
from ..kernel.run import put_in_words
from ..kernel.text import NOTHING
from .disk import name_of
from .trace.live import Dropped, Held, Killed

if TYPE_CHECKING:
    from .connection import Connection
    from .server import Server

log = logging.getLogger("mqlab.serve")

LEASE_S = 15.0


class Verb(StrEnum):
    LET_GO = "let go"
    DROP = "drop"
    KILL_BEFORE = "kill before"
    KILL_AFTER = "kill after"


@dataclass(slots=True)
class Waiting:
    """A request that is held: what it would send, to whom, and in which words. `size`: in bytes."""

    connection: Connection
    request: Request
    size: int
    kind: str
    to: str
    text: Text


class Gate:
    """`waiting`: what is held, by number, oldest first. `kinds`: the messages that are waited for,
    none while the gate is open."""

    def __init__(self, server: Server) -> None:
        self.kinds: frozenset[str] = frozenset()
        self.waiting: dict[int, Waiting] = {}
        self._server = server
        self._count = 0
        self._lease: asyncio.TimerHandle | None = None

    # -- opening and closing ---------------------------------------------------------------

    def close(self, kinds: Iterable[str] = ()) -> None:
        """Hold what sends one of these messages, or of the adapter's `held`. Raises ValueError
        where that would hold nothing."""
        wanted = frozenset(kinds) or frozenset(self._server.adapter.held)
        if not wanted:
            raise ValueError(f"no request to {self._server.adapter.name} can be held")
        self.kinds = wanted
        self.renew()

    def open(self) -> None:
        """Hold nothing any more; what waits goes in, oldest first."""
        self.kinds = frozenset()
        if self._lease is not None:
            self._lease.cancel()
            self._lease = None
        while self.waiting:
            self.act(Verb.LET_GO, next(iter(self.waiting)))

    def renew(self) -> None:
        """The lease is renewed, since the gate was asked about: it may stay closed."""
        if self._lease is not None:
            self._lease.cancel()
        self._lease = None
        if self.kinds:
            self._lease = asyncio.get_running_loop().call_later(LEASE_S, self._expire)

    def _expire(self) -> None:
        log.info("nobody has asked about the gate for %.0f s: it opens", LEASE_S)
        self.open()

    # -- requests --------------------------------------------------------------------------

    def holds(self, connection: Connection, request: Request, size: int) -> bool:
        """Hold a client's request if it would make the front send one of the messages waited for
        (`kinds`), and return whether it was held. The front's step is computed to see what it would
        send, and its result is not applied. `size`: of the request, in bytes."""
        if not self.kinds:
            return False
        driver, front = self._server.driver, self._server.adapter.front
        role, effects = driver.look_ahead(front, request)
        sends = [e for e in effects if isinstance(e, Send) and _message_name(e) in self.kinds]
        if not sends:
            return False
        self._count += 1
        # shown to the user: the first such message
        first, words = sends[0], put_in_words(sends[0].body)
        held = Waiting(connection, request, size, _message_name(first), first.to, words)
        self.waiting[self._count] = held
        driver.recorder.record_step(request.at_ms, front, Held(role), request, effects, size)
        return True

    def leave(self, connection: Connection) -> None:
        """A client has gone."""
        for number in [n for n, one in self.waiting.items() if one.connection is connection]:
            del self.waiting[number]

    def act(self, verb: Verb, number: int) -> None:
        """Do what `verb` says with the held request `number`: let it go, drop it and close its
        connection, or crash the node before or after it is handled; a crash forgets all held
        requests. Raises ValueError where no request of this number waits."""
        held = self.waiting.pop(number, None)
        if held is None:
            raise ValueError(f"no request number {number} waits at the gate")
        server, connection = self._server, held.connection
        at_ms = server.begin_turn()
        if verb is Verb.DROP:
            dropped = Dropped(held.to, held.text)
            server.driver.recorder.record_outside(at_ms, connection.name, dropped)
            connection.evict(Words("its {} was dropped at the gate")(held.kind))
            return
        if verb is not Verb.KILL_BEFORE:
            connection.proceed(replace(held.request, at_ms=at_ms), held.size)
        if verb is not Verb.LET_GO:
            self.waiting.clear()  # a crash ends the connections of all of them
            # after handling, it is the answer that is lost; before, nothing was done
            unanswered = held.text if verb is Verb.KILL_AFTER else NOTHING
            server.crash(held.to, Killed(unanswered))

    def describe(self, facts: Mapping[Caller, int]) -> dict[str, Any]:
        """Return the gate's state as JSON: `closed`, and for each held request its number, kind,
        client, text and the live trace's fact about it. `facts` gives the number of that fact by
        caller; 0 where the trace has none."""
        return {
            "closed": bool(self.kinds),
            "waiting": [
                {
                    "id": number,
                    "kind": held.kind,
                    "client": name_of(held.connection.client),
                    "to": held.to,
                    "text": held.text.json(),
                    "fact": facts.get(held.request.caller, 0),
                }
                for number, held in self.waiting.items()
            ],
        }


def _message_name(send: Send) -> str:
    return type(send.body).__name__
