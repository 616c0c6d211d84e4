"""The server: sockets, turns and timers around the driver.

A *turn* is what one round of the event loop brings: requests are delivered as their frames
come, answers are collected, and at its end the journal is written once and every answer
leaves. One process, one thread: no role ever runs beside another.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import secrets
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from ..kernel import Event
from ..kernel.text import Text, Words, say_cause, tr
from .adapter import BACKLOG, HELD, Adapter, log_loop_error, max_connections, max_traces
from .connection import Connection
from .disk import set_up
from .driver import Driver
from .gate import Gate
from .journal import Journal, JournalError
from .options import Options, ServeError
from .trace.http import KeyedGate, TraceServer
from .trace.live import Killed

log = logging.getLogger("mqlab.serve")

STOPPING = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
#: objects before the garbage collector looks at the new ones; at older ones hardly ever
RARELY = (100_000, 1_000, 1_000)
EXPOSED = Words(
    "listening on {}: anyone who reaches this machine can read, write and delete; there is no "
    "login and no encryption. --host 127.0.0.1 is for this machine only"
)
READY = Words("mqlab serve {name}: ready at {address}, trace at {trace}")
GATE = Words(", gate at {url}?key={key}")


class Server:
    """A running server; `run` returns after a request to stop."""

    def __init__(self, adapter: Adapter, options: Options) -> None:
        """Make a server that is not listening yet (`run`): its journal, if it has a data folder,
        the driver of its roles, and its gate. Raises JournalError."""
        self.adapter = adapter
        self.options = options
        self.connections: dict[int, Connection] = {}
        self._count = 0  # connections so far; gives each its number
        self._places = max_connections()  # clients at a time
        self._unfinished: dict[int, int] = {}  # bytes of unfinished requests, by connection
        self._unfinished_bytes = 0
        self._journal: Journal | None = None
        self._have_frames: list[Connection] = []  # with frames that leave at the turn's end
        self._in_turn = False  # a turn has begun, and its end is scheduled
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_due: int | None = None  # when it rings, in ms; None for never
        self._stop = asyncio.Event()
        self._failure = ""  # why the server had to stop by itself
        if options.data_dir is not None:
            self._journal = Journal(options.data_dir, adapter, options.fsync)
        self.driver = Driver(adapter, self._answer, self._journal, options.pace_ms)
        self.gate = Gate(self)

    # -- what connections call ---------------------------------------------------------------

    def admit(self, connection: Connection) -> None:
        """Where all places are taken, the one that has been silent for longest gives way."""
        if len(self.connections) >= self._places:
            there = self.connections.values()
            oldest = min(there, key=lambda one: (not one.idle, one.last_read))
            all_taken = Words("all {} places are taken, and it was silent for longest")
            oldest.evict(all_taken(self._places))
            self.forget(oldest)
        self.connections[connection.number] = connection

    def hold(self, connection: Connection, size: int) -> None:
        """So many bytes of a request that is not whole. Beyond a limit the connection that holds
        most must go."""
        self._unfinished_bytes += size - self._unfinished.pop(connection.number, 0)
        if size:
            self._unfinished[connection.number] = size
        while self._unfinished_bytes > HELD:
            most = max(self._unfinished, key=lambda number: self._unfinished[number])
            self.connections[most].evict("too many bytes of unfinished requests, most of them its")

    def forget(self, connection: Connection) -> None:
        if self.connections.pop(connection.number, None) is None:
            return
        self.hold(connection, 0)
        self.gate.leave(connection)
        self.driver.recorder.record_end(self.driver.now, connection.name)

    def deliver(self, name: str, event: Event, size: int = 0) -> None:
        """An event of this turn, `size` bytes on the wire. Raises what a role raised."""
        self.begin_turn()
        self.driver.deliver(name, event, size)

    def begin_turn(self) -> int:
        """What time it is, in milliseconds: the same for all that happens in one turn."""
        if not self._in_turn:
            self._in_turn = True
            self.driver.begin_turn()
            asyncio.get_running_loop().call_soon(self._end_turn)
        return self.driver.now

    def disconnect(self, connection: Connection) -> None:
        """A connection has broken, or was closed: tell each role that knows the client."""
        self.forget(connection)
        if connection.known and not self._stop.is_set():
            self.begin_turn()
            with suppress(Exception):  # of a role; the driver has logged it
                self.driver.disconnect(connection.name)

    def crash(self, role: str, killed: Killed) -> None:
        """The node dies, as with kill -9, and starts again at once. What this turn did is written,
        but not answered. `role`: beside whose name it is said."""
        if not self._write():
            return
        self.driver.recorder.record_outside(self.driver.now, role, killed)
        for connection in list(self.connections.values()):
            connection.evict("the node was killed")
            self.forget(connection)
        self.driver.crash()

    def drain(self, connection: Connection) -> None:
        """A client reads again after pushes to it were refused."""
        self.begin_turn()
        with suppress(Exception):  # of a role; the driver has logged it
            self.driver.drain(connection.name)

    def _answer(self, conn: int, number: int, body: Any) -> None:
        connection = self.connections.get(conn)
        if connection is not None:
            connection.answer(number, body)

    def has_frames(self, connection: Connection) -> None:
        self._have_frames.append(connection)
        self.begin_turn()

    def flush_one(self, connection: Connection) -> None:
        """A connection is about to close: what it was answered leaves before."""
        if self._write():
            connection.flush()

    # -- turns and timers --------------------------------------------------------------------

    def _end_turn(self) -> None:
        self._in_turn = False
        if not self._write():
            return
        speaking, self._have_frames = self._have_frames, []
        for connection in speaking:
            connection.flush()
        self._set_alarm()

    def _write(self) -> bool:
        """Whether this turn's effects are durable. If not, nothing more is answered."""
        if self._failure:
            return False
        try:
            self.driver.end_turn()
        except OSError as error:
            self._failure = str(Words("the data folder cannot be written: {}")(say_cause(error)))
            self._stop.set()
            for connection in list(self.connections.values()):
                connection.abort()
            return False
        return True

    def _set_alarm(self) -> None:
        """Set the alarm to the next timer; most turns leave it where it is."""
        due = self.driver.next_timer()
        if due == self._alarm_due:
            return
        self._alarm_due = due
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if due is not None:
            wait_ms = max(due - self.driver.now, 0)
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(wait_ms / 1000, self._fire_timers)

    def _fire_timers(self) -> None:
        self._alarm = self._alarm_due = None
        if not self._in_turn:
            self._in_turn = True
            asyncio.get_running_loop().call_soon(self._end_turn)
        self.driver.begin_turn()
        try:
            self.driver.fire()
        except Exception:
            log.exception("a timer could not be handled")

    def obey(self, line: str) -> None:
        """A hand on the clocks, for the one who started this process and cannot wait: after "fire
        ROLE TIMER" that timer comes now, if it is set. Said when all that follows is done."""
        word, _, rest = line.partition(" ")
        role, _, timer = rest.partition(" ")
        if word != "fire":
            return
        self.begin_turn()
        fired = False
        with suppress(Exception):  # of a role; the driver has logged it
            fired = self.driver.fire_early(role, timer)
        reply = "fired" if fired else "not set"
        asyncio.get_running_loop().call_soon(lambda: print(reply, flush=True))

    # -- life --------------------------------------------------------------------------------

    def stop(self) -> None:
        self._stop.set()

    async def run(self) -> str:
        """Recover from the journal, listen for clients and for readers of the live trace, print the
        ready line, and serve until stopped. Returns "" then, else why the server had to stop by
        itself."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(log_loop_error)
        self.driver.start()
        if not self._write():  # the data folder takes nothing
            return self._close()
        self._set_alarm()
        listener = await self._listen()
        # the gate is answered only with a key, which the ready line says
        gate = KeyedGate(self.gate, secrets.token_urlsafe(16)) if self.options.gate else None
        trace = TraceServer(self.driver.live, max_traces(self._places), gate)
        trace_port = await self._listen_trace(trace)
        for number in STOPPING:
            if signal.getsignal(number) is signal.SIG_IGN:
                continue  # as nohup wants it: such a signal is not for this process
            try:
                loop.add_signal_handler(number, self.stop)
            except NotImplementedError:  # on Windows, where a loop handles no signals
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self.stop))
        if self.options.until_input_ends:
            _watch_input(self.stop, self.obey)
        port = listener.sockets[0].getsockname()[1]
        address = f"{self.options.host}:{port}"
        trace_url = f"http://127.0.0.1:{trace_port}/trace"
        ready = str(READY(name=self.adapter.name, address=address, trace=trace_url))
        if gate is not None:
            ready += str(GATE(url=f"http://127.0.0.1:{trace_port}/gate", key=gate.key))
        print(ready, flush=True)
        await self._stop.wait()
        listener.close()
        trace.close()
        self._end_turn()  # what was done is written, and its answers leave
        for connection in list(self.connections.values()):
            connection.abort()
        return self._close()

    def _close(self) -> str:
        if self._journal is not None:
            self._journal.close()
        return self._failure

    async def _listen(self) -> asyncio.Server:
        host, port = self.options.host, self.options.port
        try:
            loop = asyncio.get_running_loop()
            return await loop.create_server(self._connected, host, port, backlog=BACKLOG)
        except OSError as error:
            raise ServeError(
                "cannot listen on {}:{} ({}): name another port with --port, or 0 for any",
                host,
                port,
                _reason(error),
            ) from error

    async def _listen_trace(self, trace: TraceServer) -> int:
        port = self.options.trace_port
        try:
            return await trace.start(port)
        except OSError as error:
            raise ServeError(
                "cannot serve the live picture on port {} ({}): name another with "
                "--trace-port, or 0 for any",
                port,
                _reason(error),
            ) from error

    def _connected(self) -> Connection:
        self._count += 1
        return Connection(self, self._count)


def _reason(error: OSError) -> Text:
    if error.errno == errno.EADDRINUSE:
        return tr("in use")
    # asyncio's own text says the address again; a negative number is not the system's
    number = error.errno or 0
    return tr(os.strerror(number)) if number > 0 else say_cause(error)


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _watch_input(stop: Callable[[], None], obey: Callable[[str], None]) -> None:
    """Call `obey` with each whole line of standard input, and `stop` when it ends. The process that
    started this one holds the other end of the pipe, which closes however that process dies."""
    loop = asyncio.get_running_loop()
    file = sys.stdin.fileno()
    buffer = bytearray()

    def readable() -> bool:
        data = os.read(file, 4096)
        if not data:
            loop.remove_reader(file)
            stop()
        buffer.extend(data)
        # what follows the last line end is not a whole line yet: it stays in the buffer
        *lines, rest = buffer.split(b"\n")
        buffer[:] = rest
        for line in lines:
            obey(line.decode(errors="replace"))
        return bool(data)

    try:
        loop.add_reader(file, readable)
    except PermissionError:  # a file or /dev/null, which epoll does not watch: it never blocks
        while readable():
            pass


def main(adapter: Adapter, options: Options) -> None:
    """Run a server of this adapter in this process until it is stopped, by a signal or, if the
    options say so, by the end of its input. Raises ServeError where it cannot start or go on,
    JournalError where its data folder cannot be used."""
    set_up(options.verbose)
    if not _loopback(options.host):
        log.warning("%s", EXPOSED(options.host))
    # Frozen values have no cycles, so looking for some among all that is kept finds nothing.
    gc.set_threshold(*RARELY)

    async def serve() -> str:
        return await Server(adapter, options).run()

    failure = asyncio.run(serve())
    if failure:
        raise ServeError(failure)


__all__ = ["JournalError", "Options", "ServeError", "Server", "main"]
