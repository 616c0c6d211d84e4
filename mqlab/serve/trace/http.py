"""The trace's address: `GET /trace?after=N` on this machine."""

from __future__ import annotations

import asyncio
from typing import Any

from .recorder import Recorder


class TraceServer:
    def __init__(self, recorder: Recorder, server: Any) -> None:
        self.recorder = recorder

    async def start(self, port: int) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        return self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def close(self) -> None:
        self._server.close()
