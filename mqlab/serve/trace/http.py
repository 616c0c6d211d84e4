"""The live trace's address: `GET /trace?after=N&last=K`, on this machine and for it only.

`after` is the number of the last fact one has (0: none), `last` the most facts one wants;
without it the answer is short enough to be drawn at once.

It listens on loopback whatever the broker does, and answers nobody who was sent here by
another name: a page in a browser may reach this port, but its Host is then not ours. Nor does
it answer a page that says it comes from elsewhere (Origin).
"""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import parse_qs, urlsplit

from .live import Live
from .recorder import KEPT

log = logging.getLogger("mqlab.serve")

HOST = "127.0.0.1"
OURS = ("127.0.0.1", "localhost", "[::1]")
LINE = 4096  # of a request; it has a few short ones
HEADERS = 64
BACKLOG = 16  # connections that are accepted in one go
PATIENCE_S = 10.0
TYPES = {200: "application/x-ndjson; charset=utf-8"}
WORDS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
}


class Refusal(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class TraceServer:
    """Answers from `live`, one request a connection, `at_once` of them under way."""

    def __init__(self, live: Live, at_once: int = 1_000) -> None:
        self.live = live
        self.at_once = at_once
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self, port: int) -> int:
        """Listen; the port. Raises OSError where that is not possible."""
        self._server = await asyncio.start_server(
            self._serve, HOST, port, limit=LINE, backlog=BACKLOG
        )
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._open >= self.at_once:
            writer.close()  # whoever follows asks again
            return
        self._open += 1
        try:
            await self._exchange(reader, writer)
        finally:
            self._open -= 1

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                after, last = await _asked(reader)
            status, body = 200, await self.live.answer(after, last)
        except Refusal as refusal:
            status, body = refusal.status, f"{refusal}\n".encode()
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
            writer.close()
            return
        except Exception:
            log.exception("the live trace could not be drawn")
            status, body = 500, b"the trace could not be drawn; the server's log says why\n"
        kind = TYPES.get(status, "text/plain; charset=utf-8")
        head = (
            f"HTTP/1.1 {status} {WORDS[status]}\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                writer.write(head.encode() + body)
                await writer.drain()
        except (TimeoutError, ConnectionError):
            writer.transport.abort()
        writer.close()


async def _asked(reader: asyncio.StreamReader) -> tuple[int, int]:
    """N and K of `GET /trace?after=N&last=K`. Raises Refusal."""
    try:
        words = (await reader.readuntil(b"\n")).decode("latin-1").split()
        headers = {}
        for _ in range(HEADERS):
            line = (await reader.readuntil(b"\n")).decode("latin-1").strip()
            if not line:
                break
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
    except asyncio.LimitOverrunError as error:
        raise Refusal(400, "a line of the request is too long") from error
    if len(words) != 3:
        raise Refusal(400, "expected GET /trace?after=N")
    method, target, _ = words
    host = headers.get("host", "")
    if host.rpartition(":")[0] not in OURS and host not in OURS:
        raise Refusal(403, f"ask 127.0.0.1, not {host or 'nobody'}")
    if method != "GET":
        raise Refusal(405, "only GET")
    origin = headers.get("origin")
    if origin is not None and _host_of(origin) not in OURS:
        raise Refusal(403, "a page of another address may not ask")
    try:
        url = urlsplit(target)
    except ValueError as error:
        raise Refusal(400, "there is /trace?after=N and nothing else") from error
    if url.path != "/trace":
        raise Refusal(404, "there is /trace?after=N and nothing else")
    given = parse_qs(url.query)
    return _number(given, "after"), min(_number(given, "last"), KEPT)


def _host_of(origin: str) -> str:
    """The name in `http://name:port`; "" where there is none, as in `null`."""
    host = origin.partition("://")[2]
    return host if host in OURS else host.rpartition(":")[0]


def _number(given: dict[str, list[str]], name: str) -> int:
    text = given.get(name, ["0"])[-1]
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise Refusal(400, f"{name}=N: a whole number")
    return int(text)
