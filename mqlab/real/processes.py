"""What real brokers' processes have in common: ports, an end, a log."""

from __future__ import annotations

import ctypes
import re
import signal
import socket
import sys
from pathlib import Path


def end_with_parent() -> None:
    """In the new process: be told (SIGTERM) when the one that started it dies in whatever
    way. Linux knows how (PR_SET_PDEATHSIG); elsewhere an orderly end must do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def free_ports(count: int) -> list[int]:
    """Ports that are free now; all are held at once so that they differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def tail_log(path: Path) -> str:
    """The last lines of a log that are about something wrong."""
    text = path.read_text("utf-8", errors="replace")
    wrong = [line for line in text.splitlines() if re.search(r"ERROR|FATAL|Exception", line)]
    return " / ".join(wrong[-3:]) or text[-300:].strip() or "it said nothing"
