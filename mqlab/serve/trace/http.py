"""The live trace's address: `GET /trace?after=N&last=K`, on this machine and for it only.

`GET /trace?after=N&key=KEY` says as well what waits at the gate (`serve/gate.py`), and `GET
/gate?key=KEY` says that alone; both keep it closed. `POST /gate?key=KEY` acts: on a request that
waits with `{"do": VERB, "id": N}`, on the gate with `{"do": "hold", "kinds": […]}` and `{"do":
"open"}`. The key was said to the one who started the server.

`after` is the number of the last fact one has (0: none), `last` the most facts one wants;
without it the answer is short enough to be drawn at once.

It listens on loopback whatever the broker does; `serve/http.py` says who may ask. An answer may
have megabytes, and its client may not read it. So its lines are those that the trace keeps anyway,
never a copy; they leave in pieces, the next when there is room for it; and an answer that is not
read to its end in time is cut off, which its client sees by the length in the head.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..gate import Gate, Verb
from ..http import Exchange, HttpError, HttpRequest
from .live import KEPT, Live

log = logging.getLogger("mqlab.serve")

HOST = "127.0.0.1"
BACKLOG = 16  # connections that are accepted in one go
PATIENCE_S = 10.0  # for a request to come, and for an answer to be read
PIECE = 64 << 10  # bytes that an answer may have written ahead
READ = 4096
JSON_LINES = "application/x-ndjson; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"
ONLY = "there is /trace?after=N and nothing else"
NO_KEY = "the gate needs the key that `mqlab serve --gate` says when it starts"


@dataclass(frozen=True)
class KeyedGate:
    """The gate, for those who know the key."""

    gate: Gate
    key: str

    def check(self, given: dict[str, list[str]]) -> None:
        """Raises HttpError."""
        if not secrets.compare_digest(given.get("key", [""])[-1].encode(), self.key.encode()):
            raise HttpError(403, NO_KEY)

    def obey(self, body: bytes) -> None:
        """Raises HttpError for an unknown act, and for one that cannot be done."""
        try:
            match json.loads(body):
                case {"do": "hold", "kinds": [*kinds]} if all(isinstance(k, str) for k in kinds):
                    self.gate.close(kinds)
                case {"do": "open"}:
                    self.gate.open()
                case {"do": str(verb), "id": int(number)}:
                    self.gate.act(Verb(verb), number)
                case _:
                    raise ValueError('say {"do": …}, as serve/trace/http.py says')
        except ValueError as error:
            raise HttpError(409, str(error)) from error


class TraceServer:
    """Answers from `live`, one request a connection, `at_once` of them at a time."""

    def __init__(self, live: Live, at_once: int = 64, gate: KeyedGate | None = None) -> None:
        self.live = live
        self.gate = gate
        self.at_once = at_once
        self._server: asyncio.Server | None = None
        self._open_connections = 0

    async def start(self, port: int) -> int:
        """Listen; the port. Raises OSError where that is not possible."""
        self._server = await asyncio.start_server(
            self._serve, HOST, port, limit=READ, backlog=BACKLOG
        )
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection: read a request, answer it, close. Reading and writing each have a
        timeout; at most `at_once` connections are served at a time."""
        if self._open_connections >= self.at_once:
            writer.close()  # too many; a page that follows the trace asks again
            return
        self._open_connections += 1
        # writing waits for a client that has left so many bytes unread
        writer.transport.set_write_buffer_limits(high=PIECE)
        exchange = Exchange((HOST, 0))  # only the host is compared, so no port
        try:
            async with asyncio.timeout(PATIENCE_S):
                request = await _receive(reader, exchange)
            status, content_type, lines = await self._answer(request)
            async with asyncio.timeout(PATIENCE_S):
                await _respond(writer, exchange, status, content_type, lines)
        except (TimeoutError, ConnectionError, EOFError):
            writer.transport.abort()
        finally:
            self._open_connections -= 1
            writer.close()

    async def _answer(self, request: HttpRequest | HttpError) -> tuple[int, str, list[bytes]]:
        """Return (status, content type, lines of the body) for a request. GET /trace gives the
        facts after number `after`, the newest `last` at most. The gate holds back what clients
        request until it is let go: GET /gate gives what it holds, POST /gate opens, closes
        or lets go. Both need its key; a trace that is asked for with the key has the gate's state
        in its first line. A request that could not be read comes as its HttpError; any error
        becomes an answer."""
        try:
            if isinstance(request, HttpError):
                raise request
            path, query = _split(request)
            if path == "/gate" and request.method == "POST":
                # `_unlock` raises HttpError unless the query has the gate's key
                self._unlock(query).obey(request.body)
                return 204, PLAIN, []
            if request.method != "GET":
                raise HttpError(405, "only GET")
            if path == "/gate":
                state = self._state(self._unlock(query).gate)
                return 200, JSON_LINES, [json.dumps(state).encode() + b"\n"]
            if path != "/trace":
                raise HttpError(404, ONLY)
            after, last = _number(query, "after"), min(_number(query, "last"), KEPT)
            gate = self._unlock(query).gate if "key" in query else None
            return 200, JSON_LINES, await self.live.lines(after, last, partial(self._state, gate))
        except HttpError as error:
            return error.status, PLAIN, [f"{error}\n".encode()]
        except Exception:
            log.exception("the live trace could not be drawn")
            return 500, PLAIN, [b"the trace could not be drawn; the server's log says why\n"]

    def _unlock(self, given: dict[str, list[str]]) -> KeyedGate:
        if self.gate is None:
            raise HttpError(403, NO_KEY)
        self.gate.check(given)
        return self.gate

    def _state(self, gate: Gate | None) -> dict[str, Any]:
        if gate is None:
            return {}
        gate.renew()
        return {"gate": gate.describe(self.live.observer.held)}


async def _receive(reader: asyncio.StreamReader, exchange: Exchange) -> HttpRequest | HttpError:
    """A request, or why there is none. Raises EOFError where the client has gone."""
    buffer = bytearray()
    try:
        while (request := exchange.take(buffer)) is None:
            data = await reader.read(READ)
            if not data:
                raise EOFError
            buffer += data
    except HttpError as error:
        return error
    return request


async def _respond(
    writer: asyncio.StreamWriter, exchange: Exchange, status: int, kind: str, lines: list[bytes]
) -> None:
    headers = (("Content-Type", kind), ("Cache-Control", "no-store"))
    writer.write(exchange.begin(status, headers, sum(map(len, lines)), last=True))
    for line in lines:
        writer.write(line)
        await writer.drain()
    await writer.drain()


def _split(request: HttpRequest) -> tuple[str, dict[str, list[str]]]:
    """Path and query. Raises HttpError."""
    try:
        url = urlsplit(request.target)
    except ValueError as error:
        raise HttpError(400, ONLY) from error
    return url.path, parse_qs(url.query)


def _number(given: dict[str, list[str]], name: str) -> int:
    text = given.get(name, ["0"])[-1]
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise HttpError(400, f"{name}=N: a whole number")
    return int(text)
