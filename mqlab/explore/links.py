"""What is between a client role and a server role, as one value.

A client has one connection to a server at a time. On it, requests go one way and answers
the other, first in, first out. When it breaks, the answers are lost; requests that were
in flight may still arrive, so those of earlier connections stay until they do.
"""

from __future__ import annotations

from ..kernel.maps import frozen, replace

Queue = tuple[int, ...]  # numbers of messages, the oldest first
Pair = tuple[str, str]  # client role, server role


@frozen
class Link:
    """`number`: the client's current connection; `open`: the client is up and has used it;
    `requests`: what is in flight on each connection that still holds something; `answers`:
    what is in flight on the current one (on earlier ones there never is anything)."""

    open: bool = False
    number: int = 0
    requests: tuple[tuple[int, Queue], ...] = ()
    answers: Queue = ()

    def add_request(self, conn: int, note: int, once: bool = False) -> Link:
        """A request leaves on connection `conn`; `once`: nothing new if it is in flight."""
        queues = dict(self.requests)
        queues[conn] = _with(queues.get(conn, ()), note, once)
        return Link(True, self.number, tuple(sorted(queues.items())), self.answers)

    def add_answer(self, conn: int, note: int, once: bool = False) -> Link:
        """An answer leaves; on a connection that broke it is lost."""
        if conn != self.number:
            return self
        return replace(self, answers=_with(self.answers, note, once))

    def take_request(self, conn: int) -> Link:
        """The oldest request of a connection has arrived."""
        queues = ((c, queue[1:] if c == conn else queue) for c, queue in self.requests)
        return replace(self, requests=tuple((c, queue) for c, queue in queues if queue))

    def take_answer(self) -> Link:
        return replace(self, answers=self.answers[1:])

    def break_connection(self, server_gone: bool = False) -> Link:
        """The connection breaks; where the server is gone, so is what it was yet to read."""
        lost = self.number if server_gone else -1
        requests = tuple((c, queue) for c, queue in self.requests if c != lost)
        return Link(self.open, self.number + 1, requests)

    def stop_client(self) -> Link:
        return Link(False, self.number + 1, self.requests)


def _with(queue: Queue, note: int, once: bool) -> Queue:
    if not once:
        return (*queue, note)
    return queue if note in queue else tuple(sorted((*queue, note)))
