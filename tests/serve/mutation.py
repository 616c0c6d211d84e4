"""Frames that are nearly right: a byte or a number changed, some bytes more or fewer."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mqlab.kernel import Caller, Request
from mqlab.serve.adapter import Adapter, BadFrame, Hangup, Peer, PushAnswer, Refused
from mqlab.serve.driver import Driver

NUMBERS = (-1, -2, 2**31 - 1, -(2**31), 0, 1 << 20)


def change_bytes(mischief: random.Random, frame: bytes, times: Sequence[int]) -> bytes:
    """The frame with a length that is right. `times`: how often it is changed, one of them."""
    body = bytearray(frame[4:])
    for _ in range(mischief.choice(times)):
        at = mischief.randrange(len(body))
        match mischief.randrange(5):
            case 0 | 1:
                body[at] = mischief.randrange(256)
            case 2:
                body[at : at + 4] = struct.pack(">i", mischief.choice(NUMBERS))
            case 3:
                del body[at : at + mischief.randrange(1, 8)]
            case 4:
                body[at:at] = mischief.randbytes(mischief.randrange(1, 8))
        body = body if len(body) > 8 else body + bytes(9)
    return struct.pack(">i", len(body)) + bytes(body)


def work_beside(disturb: Callable[[], object], work: Callable[[], object]) -> None:
    """Do both at the same time. Raises what `work` raises."""
    with ThreadPoolExecutor() as pool:
        worker = pool.submit(work)
        disturb()
        worker.result()


def count_answers(
    adapter: Adapter,
    count: int,
    mutate: Callable[[random.Random], bytes],
    write_push: Callable[[int, Any], bytes],
    pauses_ms: Sequence[int],
) -> int:
    """Deliver so many frames without sockets, so that nothing can be overlooked in a log. Every
    answer and push can be written, and the picture can be drawn."""
    mischief, answers = random.Random(3), list[tuple[int, Any]]()
    driver = Driver(adapter, lambda conn, number, body: answers.append((number, body)))
    driver.start()
    served, conn, frames = 0, 0, None
    for number in range(1, count):
        if mischief.random() < 0.1 or frames is None:
            if conn:
                driver.disconnect(f"conn-{conn}")
            conn, frames = number, adapter.frames(Peer(("127.0.0.1", 1), ("127.0.0.1", 2)))
            driver.connect(f"conn-{conn}", lambda role, corr, body: bool(write_push(1, body)))
        try:
            frame = frames.cut(bytearray(mutate(mischief)))
            asked = frames.read(frame) if frame is not None else None
        except (BadFrame, Refused):
            continue
        if asked is None or isinstance(asked, PushAnswer):
            continue
        driver.begin_turn()
        caller = Caller(f"conn-{conn}", conn, number)
        driver.deliver(adapter.front, Request(caller, asked.body, driver.now))
        driver.now += mischief.choice(pauses_ms)
        driver.fire()
        for _, body in (answer for answer in answers if answer[0] == number):
            assert body is None or isinstance(body, Hangup) or frames.write(asked, body)
            served += 1
        answers.clear()
    assert asyncio.run(driver.live.lines(0)) and not driver.live._failed, "and it can be drawn"
    return served
