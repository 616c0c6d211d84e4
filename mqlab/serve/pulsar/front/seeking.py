"""A subscription moves to another place of its topic: to a message, or to a moment.

The message that is named is the next one to be received; the ends of the numbers stand for those
of the topic. A moment is that of publishing, as producers have written it. The broker closes the
subscription's consumers, and then answers; their clients subscribe again and begin there. A reader
says itself, with its next SUBSCRIBE, where that is.

Source: ServerCnx#handleSeek, PersistentSubscription#resetCursor, PersistentMessageFinder (4.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....kernel import Caller, Disk, Effects, Reply, Send, replace
from ....kernel.role import LogView
from ....pulsar.errors import ServerError
from ....pulsar.messages import Answer, LedgerEntry, Seek
from ..wire.asks import Ask, Handed
from ..wire.commands import parse_metadata, read_bits, signed
from .consuming import NOBODY
from .sessions import Consumer
from .topics import TOPICS, TopicRow, place_id

if TYPE_CHECKING:
    from . import Front

Result = tuple["Front", Effects]

LONG_MAX = (1 << 63) - 1
NOWHERE = Answer(ServerError.MetadataError, "Message id and message publish time were not present")


def seek(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    command, sessions = ask.command.body, front.sessions
    consumer = sessions.of(caller.name).consumers.get(command.consumer_id)
    if consumer is None:
        return front, (Reply(caller, NOBODY),)
    log = disk.log(f"{consumer.topic}/{consumer.topic}")
    if command.HasField("message_id"):
        row = disk.table(TOPICS)[consumer.topic]
        target = _read_place(consumer, row, command.message_id, log)
    elif command.HasField("message_publish_time"):
        before = find_last_before(log, command.message_publish_time)
        target = Seek(consumer.topic, consumer.subscription, before)
    else:
        return front, (Reply(caller, NOWHERE),)
    for conn, number in sessions.consuming(consumer.topic, consumer.subscription):
        sessions = sessions.drop_consumer(conn, number)
    handed = Handed(consumer.caller(caller), target)
    return replace(front, sessions=sessions), (Send(consumer.topic, handed),)


def _read_place(consumer: Consumer, row: TopicRow, given: Any, log: LogView) -> Seek:
    """Of a batch, the messages whose bits are cleared are left out."""
    target = Seek(consumer.topic, consumer.subscription)
    if signed(given.entryId) == LONG_MAX:
        return target
    at = place_id(row, given.ledgerId, given.entryId)
    if at < 0:
        return replace(target, after=-1)
    entry: LedgerEntry | None = next(iter(log.read(at, at + 1) if at < log.end else ()), None)
    done = read_bits(given.ack_set, len(entry.values)) if entry and given.ack_set else ()
    return replace(target, after=at - 1, done=(at, done) if done else None)


def find_last_before(log: LogView, time_ms: int) -> int:
    """The last message that was published before this time; -1 where there is none. Messages lie
    in the order of their times, or nearly so; a marker among them has none."""
    low, high = 0, log.end
    while low < high:
        middle = (low + high) // 2
        entry = next((e for e in log.read(middle, high) if e.marker is None), None)
        if entry is None or _publish_time(entry) >= time_ms:
            high = middle
        else:
            low = entry.base + 1
    return low - 1


def _publish_time(entry: LedgerEntry) -> int:
    metadata, _ = parse_metadata(entry.values[0].data)
    time_ms: int = metadata.publish_time
    return time_ms
