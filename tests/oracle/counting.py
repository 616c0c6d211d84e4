"""What a real broker is asked and what it flushes, counted from outside.

    with Proxy(name_kafka) as proxy:
        address = proxy.front("127.0.0.1:9092")    # clients, and the broker itself, come this way
        ...
        proxy.counts()                             # → Counter({"Produce": 6, "EndTxn": 2})

Kafka, RocketMQ and Pulsar alike put the size of a frame into its first four bytes, so one proxy
serves all; what a frame is called, the broker's package says. A frame of a `held` kind waits
until it is let go, so that what a broker does after its answer cannot be mixed with what it did
before.

Flushes are the system calls fsync, fdatasync and msync of the broker's process, which strace sees.
"""

from __future__ import annotations

import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

#: what a frame without its size is called, "" where it does not count; True: it goes to the broker.
#: One per connection.
Namer = Callable[[bytes, bool], str]
SIZE = struct.Struct(">i")
PATIENCE_S = 20.0
FLUSH = re.compile(r"(?:fsync|fdatasync)\(\d+<([^>]*)>|msync\(0x([0-9a-f]+)")
MAP = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (?:\S+ +){4}(/.*)")


class Proxy:
    """Frames between those that connect and one address, by name; requests and answers of one name
    count together."""

    def __init__(self, namer: Callable[[], Namer]) -> None:
        self._namer = namer
        self._upstream = ("", 0)
        self._lock = threading.Condition()
        self._counts: Counter[str] = Counter()
        self._held: frozenset[str] = frozenset()
        self._early, self._upwards = False, True
        self._waiting: Counter[str] = Counter()
        self._open: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def front(self, address: str) -> str:
        """Stand before this address from now on; where to connect instead."""
        host, _, port = address.rpartition(":")
        self._upstream = (host, int(port))
        threading.Thread(target=self._accept, daemon=True).start()
        return self.address

    def close(self) -> None:
        self.hold()
        for one in [self._server, *self._open]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def counts(self) -> Counter[str]:
        """What has passed since the start."""
        with self._lock:
            return Counter(self._counts)

    def hold(self, *names: str, counted: bool = False, answers: bool = False) -> None:
        """Keep what is called so, on its way to the broker (`answers`: from it), until these are
        others. `counted`: it counts when it comes, not when it is let go."""
        with self._lock:
            self._held, self._early, self._upwards = frozenset(names), counted, not answers
            self._lock.notify_all()

    def wait_for_held(self, name: str) -> None:
        """Raises TimeoutError where none of this name comes to be held."""
        with self._lock:
            if not self._lock.wait_for(lambda: self._waiting[name] > 0, PATIENCE_S):
                raise TimeoutError(f"no {name} came that could be held")

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._server.accept()
                try:
                    broker = socket.create_connection(self._upstream)
                except OSError:
                    client.close()
                    continue
                name = self._namer()
                for one in (client, broker):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open += [client, broker]
                for ends in ((client, broker, True), (broker, client, False)):
                    threading.Thread(target=self._pass, args=(*ends, name), daemon=True).start()

    def _pass(self, here: socket.socket, there: socket.socket, up: bool, name: Namer) -> None:
        data = bytearray()
        with suppress(OSError):
            while more := here.recv(1 << 16):
                data += more
                while len(data) >= 4 and len(data) >= (end := 4 + SIZE.unpack_from(data)[0]):
                    self._count(name(bytes(data[4:end]), up), up)
                    there.sendall(data[:end])
                    del data[:end]
        for one in (here, there):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _count(self, name: str, up: bool) -> None:
        with self._lock:
            if self._keeps(name, up):
                early = self._early
                self._counts[name] += early
                self._waiting[name] += 1
                self._lock.notify_all()
                self._lock.wait_for(lambda: not self._keeps(name, up))
                self._waiting[name] -= 1
                self._counts[name] -= early
            self._counts[name] += bool(name)

    def _keeps(self, name: str, up: bool) -> bool:
        return up is self._upwards and name in self._held


class Flushes:
    """The flushes of a process, by what the broker's package calls the file. `why`: why there is no
    count, "" where there is one."""

    def __init__(self, pid: int, place: Callable[[str], str], folder: Path) -> None:
        self._pid, self._place, self._trace = pid, place, folder / "flushes.strace"
        self.why = "" if shutil.which("strace") else "flushes need strace: install it"
        self._strace: subprocess.Popen[str] | None = None
        if self.why:
            return
        self._trace.unlink(missing_ok=True)
        self._strace = subprocess.Popen(
            ["strace", "-f", "-qq", "-y", "-e", "trace=fsync,fdatasync,msync", "-e", "signal=none",
             "-o", str(self._trace), "-p", str(pid)],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        deadline = time.monotonic() + PATIENCE_S
        while not _is_traced(pid) and self._strace.poll() is None:
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        if not _is_traced(pid):
            self.why = "strace may not look at the broker here"
            self.close()

    def counts(self) -> Counter[str] | None:
        """Since this was made; None where there is no count."""
        if self.why:
            return None
        maps = Path(f"/proc/{self._pid}/maps").read_text().splitlines()
        return count_flushes(self._trace.read_text().splitlines(), maps, self._place)

    def close(self) -> None:
        if self._strace is not None:
            self._strace.send_signal(signal.SIGINT)  # it lets the process go
            self._strace.communicate()
            self._strace = None


def count_flushes(
    lines: Iterable[str], maps: Iterable[str], place: Callable[[str], str]
) -> Counter[str]:
    """The flushes that strace has told of, by `place` of the file's path. `maps`: as
    /proc/PID/maps says which file is mapped where ("" of a mapping that is gone)."""
    mapped = [(int(one[1], 16), int(one[2], 16), one[3]) for m in maps if (one := MAP.match(m))]
    flushes: Counter[str] = Counter()
    for line in lines:
        one = FLUSH.search(line)
        if one is None:
            continue
        at = int(one[2] or "0", 16)
        path = one[1] or next((path for low, high, path in mapped if low <= at < high), "")
        flushes[place(path)] += 1
    return flushes


def _is_traced(pid: int) -> bool:
    """Whether every thread of a process is looked at."""
    try:
        statuses = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
    except OSError:  # a thread has just ended
        return False
    return all(not re.search(r"^TracerPid:\s+0$", one, re.M) for one in statuses)
