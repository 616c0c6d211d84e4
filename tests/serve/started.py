"""A server whose standard error can be read."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mqlab.serve.process import READY

PATIENCE_S = 600


class Started:
    """`mqlab serve BROKER` in a process of its own, whose standard error can be read."""

    def __init__(
        self, folder: Path, *arguments: str, broker: str = "kafka", files: int = 0
    ) -> None:
        self.errors = folder / "stderr"
        command = [sys.executable, "-m", "mqlab", "serve", broker, "--port", "0", *arguments]

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command,
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


def note_senders(bench: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The senders of a measurement, as it makes them."""
    senders: list[Any] = []

    class Noted(bench.Sender):  # type: ignore[misc]
        def __init__(self, address: str) -> None:
            super().__init__(address)
            senders.append(self)

    monkeypatch.setattr(bench, "Sender", Noted)
    return senders
