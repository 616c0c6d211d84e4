"""A server whose standard error can be read."""

from __future__ import annotations

import asyncio
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mqlab.serve import server
from mqlab.serve.adapter import Adapter
from mqlab.serve.options import Options
from mqlab.serve.process import READY
from mqlab.serve.server import Server

PATIENCE_S = 600


class Started:
    """`mqlab serve BROKER` in a process of its own, or another `module`, whose standard error can
    be read."""

    def __init__(
        self, folder: Path, *arguments: str, broker: str = "kafka", module: str = "", files: int = 0
    ) -> None:
        self.errors = folder / "stderr"
        words = [module] if module else ["mqlab", "serve", broker, "--port", "0"]
        command = [sys.executable, "-m", *words, *arguments]

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                preexec_fn=limit if files else None,
            )
        assert self.process.stdout is not None
        found = READY.search(self.process.stdout.readline())
        assert found is not None, self.errors.read_text()
        self.address = found[1]

    def said(self, *words: str) -> str:
        """What it said, once these words are among it."""
        until = time.monotonic() + PATIENCE_S
        while not all(word in (text := self.errors.read_text()) for word in words):
            assert time.monotonic() < until, f"{words} not in: {text}"
            time.sleep(0.05)
        return text

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_S)


def serve_inside(
    monkeypatch: pytest.MonkeyPatch,
    adapter: Adapter,
    story: Callable[[Server, str, int], Awaitable[None]],
) -> None:
    """Runs a story with a server in this process, its host and its port."""

    async def play() -> None:
        it, ready = Server(adapter, Options(port=0)), asyncio.Queue[str]()
        monkeypatch.setattr(server, "print", lambda text, **_: ready.put_nowait(text), False)
        task = asyncio.create_task(it.run())
        found = READY.search(await ready.get())
        assert found is not None
        host, _, port = found[1].partition(":")
        await story(it, host, int(port))
        it.stop()
        assert await task == ""

    asyncio.run(play())


def note_senders(bench: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The senders of a measurement, as it makes them."""
    senders: list[Any] = []

    class Noted(bench.Sender):  # type: ignore[misc]
        def __init__(self, address: str) -> None:
            super().__init__(address)
            senders.append(self)

    monkeypatch.setattr(bench, "Sender", Noted)
    return senders
