"""One client's connection: bytes in, frames out; the protocol says how (`adapter.py`, `Frames`).

A connection is *muted* while as many of its requests are in flight as its protocol allows:
the next frame is looked at when an answer has been given. With one at a time, as in Kafka's
SocketServer, answers leave in the order of the requests; with more, they leave as they come,
or wait for those before them where the protocol wants order. So a client that only asks
cannot fill this process's memory. A client that does not read its answers is not served
further until it does, and nothing is pushed to it.

Bytes that are no request close their own connection and no other.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from ..kernel import Caller, Request, Response, Text, Words, tr
from ..kernel.text import say_cause
from .adapter import HALF_S, BadFrame, ClientRequest, Frames, Hangup, Peer, PushAnswer, Refused
from .disk import name_of

if TYPE_CHECKING:
    from .server import Server

log = logging.getLogger("mqlab.serve")

READ_AHEAD = 1 << 20  # bytes of further requests held for a client that does not wait
WRITE_AHEAD = 1 << 20  # bytes a client may leave unread before it is not served further
UNANSWERED = 1_000  # pushes whose answer a client may owe
REASONS = 20  # different refusals of one connection that are logged
IN_A_ROW = 16  # requests of one connection before the others have their turn


class Connection(asyncio.Protocol):
    """`number` names the client's node, conn-1, conn-2 …"""

    def __init__(self, server: Server, number: int) -> None:
        """Begin the connection of a client that has just been accepted; asyncio calls
        `connection_made` next, which sets `_frames`, the client's protocol. `number`: of the
        connection, from which it has its name."""
        self.server = server
        self.number = number
        self.name = f"conn-{number}"
        self.peer = Peer()
        self._frames: Frames  # what cuts and reads the protocol; set by connection_made
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._request_count = 0  # requests received so far; gives each its number
        self._in_flight: dict[int, ClientRequest] = {}  # requests without an answer yet, by number
        self._ready_answers: dict[int, bytes] = {}  # by number, answers that wait for earlier ones
        self._push_count = 0  # messages pushed so far; gives each its number
        # by number: (role that pushed, its corr)
        self._unanswered_pushes: dict[int, tuple[str, int]] = {}
        self._outgoing: list[bytes] = []  # frames that leave at the end of this turn
        self._unsent_bytes = 0  # bytes of _outgoing
        self._write_full = False  # asyncio has asked not to write
        self._push_refused = False  # its role gets Drained when there is room again
        self._reading_paused = False  # the client has sent too far ahead
        self._will_continue = False  # `work` will run in the event loop's next round
        self._logged_refusals: set[str] = set()  # each is logged once
        self._alarm: asyncio.TimerHandle | None = None  # while a request is incomplete
        self.last_read = 0.0  # when bytes came last, by the loop's clock

    # -- what asyncio calls ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_AHEAD)
        here, there = (self._transport.get_extra_info(n)[:2] for n in ("sockname", "peername"))
        self.peer = Peer(here, there)
        self._frames = self.server.adapter.frames(self.peer)
        self.last_read = asyncio.get_running_loop().time()
        self.server.admit(self)

    def data_received(self, data: bytes) -> None:
        self.last_read = asyncio.get_running_loop().time()
        self._buffer += data
        self.work()

    def pause_writing(self) -> None:
        self._write_full = True

    def resume_writing(self) -> None:
        self._write_full = False
        self._say_drained()
        self.work()

    def connection_lost(self, error: Exception | None) -> None:
        if self._transport is not None:
            self._say_goodbye(error)
        self._transport = None
        self._buffer.clear()
        self._watch_unfinished()
        self.server.disconnect(self)

    # -- what is said of it ------------------------------------------------------------------

    def __str__(self) -> str:
        host, port = self.peer.there
        return f"{name_of(self._frames.client)} ({host}:{port}, {self.name})"

    def _say_goodbye(self, error: Exception | None) -> None:
        """A line where it did not leave in an orderly way; in a long poll it may."""
        waiting = next((request for request in self._in_flight.values() if not request.waits), None)
        if error is not None:
            log.info("%s went away: %s", self, say_cause(error))
        elif waiting is not None:
            what = self._frames.name(waiting)
            log.info("%s went away before its %s was answered", self, what)
        elif self._buffer:
            log.info("%s went away in the middle of a request", self)

    def _say_refused(self, what: str | Text, why: str | Text) -> None:
        line = f"{what} refused, {why}"
        if line not in self._logged_refusals and len(self._logged_refusals) < REASONS:
            self._logged_refusals.add(line)
            log.info("%s: %s refused, %s", self, what, why)

    # -- requests ----------------------------------------------------------------------------

    def work(self) -> None:
        """Cut whole frames out of the receive buffer and handle each, at most IN_A_ROW before other
        connections have their turn. Stops earlier where the next frame is not complete, the
        connection is closed, or it is muted (as many requests in flight as its protocol allows)."""
        for _ in range(IN_A_ROW):
            if self._transport is None or self._muted:
                break
            try:
                frame = self._frames.cut(self._buffer)
            except Refused as refused:
                self._refuse(refused)
                continue
            except BadFrame as error:
                self.close(error.args[0])
                return
            if frame is None:  # not complete yet
                break
            self._handle(frame)
        else:  # IN_A_ROW frames were handled, and there may be more
            self._continue_later()
        self._throttle()  # stop or resume reading from the client
        if self._buffer or self._alarm is not None:  # a request that stays incomplete is timed
            self._watch_unfinished()

    def _handle(self, frame: bytes) -> None:
        try:
            message = self._frames.read(frame)
        except Refused as refused:
            self._refuse(refused)
            return
        except BadFrame as error:
            self.close(error.args[0])
            return
        if isinstance(message, PushAnswer):
            self._take_answer(message, len(frame))
        else:
            self._ask(message, len(frame))

    def _refuse(self, refused: Refused) -> None:
        self._say_refused(tr("a request"), refused.args[0])
        self._send(refused.frame)
        if refused.last:
            self.close("its request was refused")

    def _ask(self, request: ClientRequest, size: int) -> None:
        log.debug("%s: %s, %d bytes", self, request.body, size)
        if not self.known:
            self.server.driver.connect(self.name, self.push)
        self._request_count += 1
        if not request.one_way:
            self._in_flight[self._request_count] = request
        caller = Caller(self.name, self.number, self._request_count)
        event = Request(caller, request.body, self.server.begin_turn())
        try:
            if self.server.gate.holds(self, event, size):
                return
        except Exception:
            log.debug("%s: what a request would do is not known", self.name)
        self.proceed(event, size)

    def proceed(self, event: Request, size: int) -> None:
        """A request of this client goes in."""
        try:
            self.server.deliver(self.server.adapter.front, event, size)
        except Exception:
            # The driver has logged it. Only this client notices.
            self.close("its request could not be handled")

    def answer(self, number: int, body: Any) -> None:
        """Write the answer to request `number` and let it leave when the protocol's order allows.
        `body` is the role's answer: None where the protocol has none, a `Hangup` to close the
        connection instead. A request that is no longer in flight is ignored."""
        request = self._in_flight.get(number)
        if request is None:
            return
        if isinstance(body, Hangup):
            self.close(body.why)
            return
        frame = b""  # where the protocol has no answer
        if body is not None:
            # the errors that the answer brings, for the log
            for refusal in self._frames.refusals(body):
                self._say_refused(self._frames.name(request), refusal)
            try:
                frame = self._frames.write(request, body)
            except Exception:
                log.exception("%s: an answer to %s cannot be written", self.name, request.body)
                self.close("its answer could not be written")
                return
        if self._frames.in_order and len(self._in_flight) > 1:
            self._send_in_order(number, frame)
        else:
            del self._in_flight[number]
            if frame:
                self._send(frame)
        if request.last:  # the protocol closes the connection after this answer
            self.close("it wanted one answer")
        elif self._buffer:  # requests that could not begin before this answer
            self._continue_later()

    def _send_in_order(self, number: int, frame: bytes) -> None:
        """This answer, when all before it have been given; and those that waited for it."""
        self._ready_answers[number] = frame
        for first in tuple(self._in_flight):
            if first not in self._ready_answers:
                break
            del self._in_flight[first]
            frame = self._ready_answers.pop(first)
            if frame:
                self._send(frame)

    # -- pushes ------------------------------------------------------------------------------

    def push(self, role: str, corr: int, body: Any) -> bool:
        """Send `body`, a message of `role`, to this client, unasked; return False where the client
        has left too much unread, so that nothing was sent. True also where the connection is
        closed, or this call closes it: the role then gets `ConnectionLost`. `corr`: the role's
        number of the message, with which it gets the client's answer, if the protocol has one."""
        if self._transport is None:
            return True
        if self._unsent_bytes + self._transport.get_write_buffer_size() >= WRITE_AHEAD:
            self._push_refused = True
            return False
        push = self.server.adapter.push
        assert push is not None, "only an adapter that pushes has the driver push"
        self._push_count += 1
        try:
            frame, wants_answer = push(self._push_count, body)
        except Exception:
            log.exception("%s: a push of %s cannot be written", self.name, role)
            self.close("a push could not be written")
            return True
        if wants_answer:
            self._unanswered_pushes[self._push_count] = (role, corr)
        if len(self._unanswered_pushes) > UNANSWERED:
            self.evict(Words("more than {n} pushes to it have no answer yet")(n=UNANSWERED))
        else:
            self._send(frame)
        return True

    def _take_answer(self, answered: PushAnswer, size: int) -> None:
        """A client answers a push: the role that has pushed hears it."""
        role, corr = self._unanswered_pushes.pop(answered.number, ("", 0))
        if not role:
            self._say_refused("an answer", "to no push that waits for one")
            return
        event = Response(self.name, corr, answered.body, self.server.begin_turn())
        try:
            self.server.deliver(role, event, size)
        except Exception:
            self.close("its answer could not be handled")

    # -- bytes out ---------------------------------------------------------------------------

    def _send(self, frame: bytes) -> None:
        if not self._outgoing:
            self.server.has_frames(self)
        self._outgoing.append(frame)
        self._unsent_bytes += len(frame)

    def flush(self) -> None:
        """Let this turn's answers go: what they tell is durable now."""
        if self._outgoing and self._transport is not None:
            self._transport.write(b"".join(self._outgoing))
        self._outgoing.clear()
        self._unsent_bytes = 0
        if self._push_refused and not self._write_full:  # all of it went out at once
            asyncio.get_running_loop().call_soon(self._say_drained)

    def _say_drained(self) -> None:
        if self._push_refused and not self._write_full and self._transport is not None:
            self._push_refused = False
            self.server.drain(self)

    def close(self, why: str | Text) -> None:
        """Answers given so far still leave; nothing more is read."""
        log.info("%s: closing, %s", self, why)
        self._in_flight.clear()
        self.server.flush_one(self)
        if self._transport is not None:
            self._transport.close()
            self._transport = None
            self._buffer.clear()
            self._watch_unfinished()

    def evict(self, why: str | Text) -> None:
        """It must go at once: its answers are not waited for."""
        log.info("%s: closing, %s", self, why)
        transport, self._transport = self._transport, None
        self._buffer.clear()
        self._watch_unfinished()
        if transport is not None:
            transport.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # -- requests that are not whole ---------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether nothing is in flight, neither a request nor half of one."""
        return not self._in_flight and not self._buffer

    @property
    def client(self) -> str:
        """What the client calls itself."""
        return self._frames.client or self.name

    @property
    def known(self) -> bool:
        """Whether any role knows this client."""
        return self._request_count > 0

    @property
    def _muted(self) -> bool:
        return self._write_full or len(self._in_flight) >= self._frames.at_once

    def _watch_unfinished(self) -> None:
        """While a request is not whole its bytes are counted, and it must make progress."""
        waiting = self._muted or self._will_continue
        half = bool(self._buffer) and not waiting and self._transport is not None
        self.server.hold(self, len(self._buffer) if half else 0)
        if half and self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(HALF_S, self._check_unfinished)
        elif not half and self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _check_unfinished(self) -> None:
        loop = asyncio.get_running_loop()
        left = self.last_read + HALF_S - loop.time()
        if left > 0:
            self._alarm = loop.call_later(left, self._check_unfinished)
        else:
            self._alarm = None
            self.evict(Words("its request was not whole after {} s of silence")(int(HALF_S)))

    # -- pace --------------------------------------------------------------------------------

    def _continue_later(self) -> None:
        """Go on in the event loop's next round."""
        if not self._will_continue:
            self._will_continue = True
            asyncio.get_running_loop().call_soon(self._continue)

    def _continue(self) -> None:
        self._will_continue = False
        self.work()

    def _throttle(self) -> None:
        """Stop reading from a client that sends far ahead; go on when it is served."""
        transport = self._transport
        if transport is None:
            return
        ahead = self._muted and len(self._buffer) > READ_AHEAD
        if ahead and not self._reading_paused:
            self._reading_paused = True
            transport.pause_reading()
        elif self._reading_paused and not ahead:
            self._reading_paused = False
            transport.resume_reading()
