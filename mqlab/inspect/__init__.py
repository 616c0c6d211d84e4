"""A real broker, as a picture: what is in its logs, what is stuck, and why.

reading.py  what was read and what was found: `Ask`, `Reading`, `Finding`
play.py     what happens next: the engine goes on from what was read
show.py     a report in the terminal, as a page, in a notebook, as JSON
kafka/      readers and judges of a broker; so rocketmq/ and pulsar/

A broker's package has `read(ask) -> Reading`, which raises `Unreadable`, `judge(reading)`, which
gives findings, the worst first, and `TARGETS`, a sentence for the help: what may be read; its
`play.py` `take_over(reading) -> Taken`, from which the engine goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ..brokers import list_brokers, load
from ..kernel import replace
from ..kernel.text import say_unknown
from .play import BY_HAND, look_ahead
from .reading import Ask, Evidence, Finding, Gap, Kind, LogRead, Position, Reading, Txn, Unreadable
from .show import Report

__all__ = [
    "Ask", "Evidence", "Finding", "Gap", "Kind", "LogRead", "Position", "Reading", "Report", "Txn",
    "Unreadable", "inspect", "inspect_broker",
]  # fmt: skip


def inspect(broker: str, ask: Ask, play: bool = False) -> Report:
    """Read, then judge; `play`: and see what may happen next. Raises Unreadable."""
    rooms = list_brokers("inspect")
    if broker not in rooms:
        raise Unreadable(say_unknown("broker", broker, rooms))
    room = load(rooms[broker].inspect)
    if not ask.now_ms:
        ask = replace(ask, now_ms=time.time_ns() // 1_000_000)
    reading = room.read(ask)
    future = None
    if play:
        ask.say(str(BY_HAND))
        future = look_ahead(load(f"{rooms[broker].inspect}.play").take_over(reading))
    return Report(reading, tuple(room.judge(reading)), future)


def inspect_broker(
    broker: str,
    target: str = "",
    *,
    topic: str = "",
    offsets: str = "",
    payloads: bool = False,
    config: str = "",
    play: bool = False,
    say: Callable[[str], None] = print,
) -> Report:
    """Inspect a broker of yours and return a report of what is stuck in it, and why; the last line
    of a notebook's cell shows it. It only reads.

        inspect_broker("kafka", "localhost:9092")
        inspect_broker("kafka", "/var/lib/kafka", topic="orders:0", offsets="100..200")

    `target`: an address, a data folder, or a file with what the broker's tools have printed;
    `payloads`: show keys and values; `config`: a file with a client's settings. `play`: also search
    what may happen next; `.playground()` of the report is that by hand. Raises Unreadable, whose
    message says what to do."""
    ask = parse_ask(target, topic, offsets, payloads, config)
    return inspect(broker, replace(ask, say=say), play)


def parse_ask(
    target: str, topic: str = "", offsets: str = "", payloads: bool = False, config: str = ""
) -> Ask:
    """`topic` as "orders" or "orders:0", `offsets` as "100..200", "100.." or "..200"."""
    name, colon, number = topic.rpartition(":")
    if not colon or not number.isdecimal():
        name, number = topic, ""
    first, dots, last = offsets.partition("..")
    if offsets and (not dots or not all(part.isdecimal() or not part for part in (first, last))):
        raise Unreadable("--offsets {}: name two, as in 100..200, or one, as in 100..", offsets)
    if first and last and int(first) > int(last):
        raise Unreadable("--offsets {}: the first is larger than the last", offsets)
    return Ask(target, name, int(number or -1), int(first or 0), int(last or -1), payloads, config)
