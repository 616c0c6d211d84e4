"""Bytes that are no request, and a client that works beside somebody who sends them.

python -m tests.serve.kafka.garbage          1,000 transactions, with figures
"""

from __future__ import annotations

import random
import struct
import sys
import threading
import time

from tests.serve.kafka.clients import create, producer, read, transaction
from tests.serve.kafka.raw import Raw, batch, write_request

METADATA = write_request(3, 1, topics=None)


def header(api: int, version: int, corr: int = 1, rest: bytes = b"") -> bytes:
    body = struct.pack(">hhih", api, version, corr, -1) + rest
    return struct.pack(">i", len(body)) + body


GARBAGE = {
    "random bytes": random.Random(7).randbytes(4096),
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a TLS hello": bytes.fromhex("16030100f1010000ed0303") + bytes(200),
    "a negative length": struct.pack(">i", -5) + b"x" * 20,
    "a length of zero": struct.pack(">i", 0) + METADATA,
    "a huge length": struct.pack(">ihh", 2**31 - 1, 0, 9),
    "a large frame for a small request": struct.pack(">ihh", 90 << 20, 3, 9),
    "an unknown request": header(4242, 0),
    "an unknown version": header(3, 4242),
    "a request between brokers": header(27, 1, rest=b"\0\0\0\0"),
    "a broken body": header(0, 3, rest=b"\xff\xff\x00\x01garbage"),
    "a body cut short": struct.pack(">i", 15) + METADATA[4:19],
    "an array of two billion": header(3, 1, rest=struct.pack(">i", 2**31 - 1)),
    "no text": header(3, 1, rest=struct.pack(">ih", 1, 2) + b"\xff\xfe"),
}


def disturb(address: str, over: threading.Event) -> int:
    """Send garbage, whole and in pieces, on one connection after the other; how often."""
    mischief, count = random.Random(11), 0
    while not over.is_set():
        piece = mischief.choice([*GARBAGE.values(), mischief.randbytes(200), batch([b"a"])])
        cut = piece[: mischief.randrange(1, len(piece) + 1)]
        count += 1
        try:
            with Raw(address, timeout_s=5) as bad:
                bad.send(cut)
        except OSError:
            pass  # closed on us while we were writing: that is what we came for
    return count


def beside_garbage(address: str, topic: str, transactions: int) -> tuple[bool, int]:
    """(whether exactly what was committed is read, how often the client was disturbed)."""
    create(address, topic)
    over = threading.Event()
    counts: list[int] = []
    thread = threading.Thread(target=lambda: counts.append(disturb(address, over)))
    thread.start()
    try:
        who = producer(address, topic)
        for i in range(transactions):
            transaction(who, topic, str(i), commit=i % 10 != 9)
    finally:
        over.set()
        thread.join()
    expected = [str(i) for i in range(transactions) if i % 10 != 9]
    return read(address, topic) == expected, counts[0]


def main(transactions: int) -> int:
    from mqlab.serve.kafka import serve

    with serve() as broker:
        start = time.perf_counter()
        exact, count = beside_garbage(broker.address, "t", transactions)
        passed = time.perf_counter() - start
    print(f"{transactions} transactions beside {count} disturbances in {passed:.1f} s:", end=" ")
    print("exactly what was committed is read" if exact else "WRONG")
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000))
