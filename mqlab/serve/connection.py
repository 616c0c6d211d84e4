"""One client's connection: bytes in, frames out, one request at a time.

As in Kafka's SocketServer a connection is *muted* while a request of it is under way: the
next frame is looked at when the answer has been given, so answers leave in the order of the
requests, and a client that only asks cannot fill this process's memory. A client that does
not read its answers is not served further until it does.

Bytes that are no request close their own connection and disturb nobody else.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from typing import TYPE_CHECKING, Any, cast

from ..kernel import Caller, ConnectionLost, Request
from .kafka.front import BROKER
from .kafka.front.produce import Hangup
from .kafka.wire.api import Api, Ask
from .kafka.wire.codec import BadFrame, Refused, decode, encode, frame_limit
from .limits import HALF_S
from .logs import find_refusals, name_of, name_request

if TYPE_CHECKING:
    from .server import Server

log = logging.getLogger("mqlab.serve")

LENGTH = struct.Struct(">i")
API = struct.Struct(">h")
READ_AHEAD = 1 << 20  # bytes of further requests held for a client that does not wait
WRITE_AHEAD = 1 << 20  # bytes of answers a client may leave unread
REASONS = 20  # different refusals of one connection that are logged
AT_ONCE = 16  # requests of one connection before the others have their turn


class Connection(asyncio.Protocol):
    """`number` names the client's node, conn-1, conn-2 …"""

    def __init__(self, server: Server, number: int) -> None:
        self.server = server
        self.number = number
        self.name = f"conn-{number}"
        self.here = ("127.0.0.1", 0)
        self.peer = ("", 0)
        self.host = ""
        self.client = ""
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._asked = 0  # requests so far
        self._open: tuple[int, Ask] | None = None  # the request under way
        self._out: list[bytes] = []  # answers of this turn
        self._full = False
        self._paused = False
        self._later = False
        self._said: set[str] = set()  # refusals that were logged
        self._late: asyncio.TimerHandle | None = None  # while a request is not whole
        self.heard = 0.0  # when bytes came last, by the loop's clock

    # -- what asyncio calls ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_AHEAD)
        host, port = self._transport.get_extra_info("sockname")[:2]
        self.here = (host, port)
        self.peer = self._transport.get_extra_info("peername")[:2]
        self.host = "/" + self.peer[0]
        self.heard = asyncio.get_running_loop().time()
        self.server.joined(self)

    def data_received(self, data: bytes) -> None:
        self.heard = asyncio.get_running_loop().time()
        self._buffer += data
        self.work()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self.work()

    def connection_lost(self, error: Exception | None) -> None:
        if self._transport is not None:
            self._say_goodbye(error)
        self._transport = None
        self._buffer.clear()
        self._watch_half()
        self.server.left(self)
        if self._open is not None:
            self.server.deliver(BROKER, ConnectionLost(self.name, self.server.driver.now))

    # -- what is said of it ------------------------------------------------------------------

    def __str__(self) -> str:
        return f"{name_of(self.client)} ({self.peer[0]}:{self.peer[1]}, {self.name})"

    def _say_goodbye(self, error: Exception | None) -> None:
        """A line where it did not leave in an orderly way; in a long poll it may."""
        if error is not None:
            log.info("%s went away: %s", self, error)
        elif self._open is not None and self._open[1].api is not Api.FETCH:
            log.info("%s went away before its %s was answered", self, self._open[1].api.name)
        elif self._buffer:
            log.info("%s went away in the middle of a request", self)

    def _say_refused(self, what: str, why: str) -> None:
        line = f"{what} refused, {why}"
        if line not in self._said and len(self._said) < REASONS:
            self._said.add(line)
            log.info("%s: %s", self, line)

    # -- requests ----------------------------------------------------------------------------

    def work(self) -> None:
        """Handle the frames that have arrived whole, as long as nothing is in the way."""
        for _ in range(AT_ONCE):
            if self._transport is None or self._open is not None or self._full:
                break
            try:
                frame = self._frame()
            except BadFrame as error:
                self.close(str(error))
                return
            if frame is None:
                break
            self._handle(frame)
        else:
            self._again()
        self._throttle()
        if self._buffer or self._late is not None:
            self._watch_half()

    def _frame(self) -> bytes | None:
        """The next frame, None while it is not complete. Raises BadFrame as soon as it is
        clear that it never will be."""
        buffer = self._buffer
        if len(buffer) < 4:
            return None
        (size,) = LENGTH.unpack_from(buffer)
        if size < 8:
            raise BadFrame(f"a frame of {size} bytes")
        if len(buffer) >= 6:
            (api,) = API.unpack_from(buffer, 4)
            if size > frame_limit(api):
                raise BadFrame(f"a frame of {size} bytes for request {api}")
        if len(buffer) < 4 + size:
            return None
        frame = bytes(memoryview(buffer)[4 : 4 + size])
        del buffer[: 4 + size]
        return frame

    def _handle(self, frame: bytes) -> None:
        try:
            corr, ask = decode(frame, self.here, self.host)
        except Refused as refused:
            self._say_refused("a request", str(refused))
            self._send(refused.frame)
            return
        except BadFrame as error:
            self.close(str(error))
            return
        self.client = ask.client or self.client
        log.debug("%s: %s v%d, %d bytes", self, ask.api.name, ask.version, len(frame))
        self._asked += 1
        self._open = (corr, ask)
        caller = Caller(self.name, self.number, self._asked)
        try:
            event = Request(caller, ask, self.server.driver.now)
            self.server.deliver(BROKER, event, len(frame))
        except Exception:
            # The driver has logged it. Nobody but this client notices.
            self.close("its request could not be handled")

    def answered(self, number: int, body: Any) -> None:
        """The answer to the request under way; None where the protocol has none."""
        if self._open is None or number != self._asked:
            return
        corr, ask = self._open
        self._open = None
        if isinstance(body, Hangup):
            self.close("a batch sent with acks=0 was refused")
        elif body is not None:
            for error in find_refusals(body):
                self._say_refused(name_request(ask.api.name, ask.body), error.name)
            try:
                self._send(encode(ask.api, ask.version, corr, body))
            except Exception:
                log.exception("%s: an answer to %s cannot be written", self.name, ask)
                self.close("its answer could not be written")
        if self._buffer:
            self._again()

    # -- bytes out ---------------------------------------------------------------------------

    def _send(self, frame: bytes) -> None:
        self._out.append(frame)
        self.server.has_answers(self)

    def flush(self) -> None:
        """Let this turn's answers go: what they tell is durable now."""
        if self._out and self._transport is not None:
            self._transport.write(self._out[0] if len(self._out) == 1 else b"".join(self._out))
        self._out.clear()

    def close(self, why: str) -> None:
        """Answers given so far still leave; nothing more is read."""
        log.info("%s: closing, %s", self, why)
        self._open = None
        self.server.flush_one(self)
        if self._transport is not None:
            self._transport.close()
            self._transport = None
            self._buffer.clear()
            self._watch_half()

    def evict(self, why: str) -> None:
        """It must go at once: its answers are not waited for."""
        log.info("%s: closing, %s", self, why)
        transport, self._transport = self._transport, None
        self._buffer.clear()
        self._watch_half()
        if transport is not None:
            transport.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # -- requests that are not whole ---------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, neither a request nor half of one."""
        return self._open is None and not self._buffer

    def _watch_half(self) -> None:
        """While a request is not whole its bytes are counted, and it may not stand still."""
        waiting = self._open is not None or self._full or self._later
        half = bool(self._buffer) and not waiting and self._transport is not None
        self.server.hold(self, len(self._buffer) if half else 0)
        if half and self._late is None:
            self._late = asyncio.get_running_loop().call_later(HALF_S, self._stands_still)
        elif not half and self._late is not None:
            self._late.cancel()
            self._late = None

    def _stands_still(self) -> None:
        loop = asyncio.get_running_loop()
        left = self.heard + HALF_S - loop.time()
        if left > 0:
            self._late = loop.call_later(left, self._stands_still)
        else:
            self._late = None
            self.evict(f"its request was not whole after {HALF_S:.0f} s of silence")

    # -- pace --------------------------------------------------------------------------------

    def _again(self) -> None:
        """Go on in the event loop's next round."""
        if not self._later:
            self._later = True
            asyncio.get_running_loop().call_soon(self._continue)

    def _continue(self) -> None:
        self._later = False
        self.work()

    def _throttle(self) -> None:
        """Stop reading from a client that sends far ahead; go on when it is served."""
        transport = self._transport
        if transport is None:
            return
        waiting = self._open is not None or self._full
        ahead = waiting and len(self._buffer) > READ_AHEAD
        if ahead and not self._paused:
            self._paused = True
            transport.pause_reading()
        elif self._paused and not ahead:
            self._paused = False
            transport.resume_reading()
