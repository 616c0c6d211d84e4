"""The live trace's address: `GET /trace?after=N&last=K`, on this machine and for it only.

`after` is the number of the last fact one has (0: none), `last` the most facts one wants;
without it the answer is short enough to be drawn at once.

It listens on loopback whatever the broker does; `serve/http.py` says who may ask. An answer may
have megabytes, and its client may not read it. So its lines are those that the trace keeps anyway,
never a copy; they leave in pieces, the next when there is room for it; and an answer that is not
read to its end in time is cut off, which its client sees by the length it was told.
"""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import parse_qs, urlsplit

from ..http import Exchange, HttpError, HttpRequest
from .live import Live
from .recorder import KEPT

log = logging.getLogger("mqlab.serve")

HOST = "127.0.0.1"
BACKLOG = 16  # connections that are accepted in one go
PATIENCE_S = 10.0  # for a request to come, and for an answer to be read
PIECE = 64 << 10  # bytes that an answer may have written ahead
READ = 4096
JSON_LINES = "application/x-ndjson; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"
ONLY = "there is /trace?after=N and nothing else"


class TraceServer:
    """Answers from `live`, one request a connection, `at_once` of them under way."""

    def __init__(self, live: Live, at_once: int = 64) -> None:
        self.live = live
        self.at_once = at_once
        self._server: asyncio.Server | None = None
        self._open = 0

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
        if self._open >= self.at_once:
            writer.close()  # a page that follows asks again
            return
        self._open += 1
        writer.transport.set_write_buffer_limits(high=PIECE)
        exchange = Exchange((HOST, 0))
        try:
            async with asyncio.timeout(PATIENCE_S):
                asked = await _hear(reader, exchange)
            status, kind, lines = await self._answer(asked)
            async with asyncio.timeout(PATIENCE_S):
                await _tell(writer, exchange, status, kind, lines)
        except (TimeoutError, ConnectionError, EOFError):
            writer.transport.abort()
        finally:
            self._open -= 1
            writer.close()

    async def _answer(self, asked: HttpRequest | HttpError) -> tuple[int, str, list[bytes]]:
        """Status, kind and lines."""
        try:
            after, last = _read(asked)
            return 200, JSON_LINES, await self.live.lines(after, last)
        except HttpError as error:
            return error.status, PLAIN, [f"{error}\n".encode()]
        except Exception:
            log.exception("the live trace could not be drawn")
            return 500, PLAIN, [b"the trace could not be drawn; the server's log says why\n"]


async def _hear(reader: asyncio.StreamReader, exchange: Exchange) -> HttpRequest | HttpError:
    """A request, or why there is none. Raises EOFError where the client has gone."""
    buffer = bytearray()
    try:
        while (asked := exchange.take(buffer)) is None:
            data = await reader.read(READ)
            if not data:
                raise EOFError
            buffer += data
    except HttpError as error:
        return error
    return asked


async def _tell(
    writer: asyncio.StreamWriter, exchange: Exchange, status: int, kind: str, lines: list[bytes]
) -> None:
    headers = (("Content-Type", kind), ("Cache-Control", "no-store"))
    writer.write(exchange.begin(status, headers, sum(map(len, lines)), last=True))
    for line in lines:
        writer.write(line)
        await writer.drain()
    await writer.drain()


def _read(asked: HttpRequest | HttpError) -> tuple[int, int]:
    """N and K of `GET /trace?after=N&last=K`. Raises HttpError."""
    if isinstance(asked, HttpError):
        raise asked
    if asked.method != "GET":
        raise HttpError(405, "only GET")
    try:
        url = urlsplit(asked.target)
    except ValueError as error:
        raise HttpError(400, ONLY) from error
    if url.path != "/trace":
        raise HttpError(404, ONLY)
    given = parse_qs(url.query)
    return _number(given, "after"), min(_number(given, "last"), KEPT)


def _number(given: dict[str, list[str]], name: str) -> int:
    text = given.get(name, ["0"])[-1]
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise HttpError(400, f"{name}=N: a whole number")
    return int(text)
