"""Ledgers and topics in numbers: internalStats and stats.

What a real broker says of bookies, rates, throttling, offloading and replication is not here, since
there is none of it: fields that would be guessed are left out.

Source: ManagedLedgerImpl#getManagedLedgerInternalStats, PersistentTopic#getInternalStats, #getStats
(4.2).
"""

from __future__ import annotations

from typing import Any

from ....kernel import Disk
from ....kernel.role import LogView
from ....pulsar.ledger import Cursor
from ....pulsar.messages import OpenProducer
from ....pulsar.states import MarkerType
from ....pulsar.subscription import Subscription
from ....pulsar.topic import Topic
from .hosting import Hosted, read_consumer
from .noting import ALL

Facts = dict[str, Any]
UNKNOWN = "None"  # the type of a subscription that nobody has connected to


def place(ledger: int, position: int) -> str:
    return f"{ledger}:{position}"


# ---- ledgers ---------------------------------------------------------------------------------


def describe_ledger(ledger: int, entries: int, cursors: Facts) -> Facts:
    """One that was never rolled over."""
    return {
        "entriesAddedCounter": entries,
        "numberOfEntries": entries,
        "currentLedgerEntries": entries,
        "lastConfirmedEntry": place(ledger, entries - 1),
        "state": "LedgerOpened",
        "ledgers": [
            {"ledgerId": ledger, "entries": 0, "size": 0, "offloaded": False,
             "underReplicated": False}
        ],
        "cursors": cursors,
        "pendingAddEntriesCount": 0,
        "waitingCursorsCount": 0,
    }  # fmt: skip


def describe_cursor(cursor: Cursor, ledger: int, read: int) -> Facts:
    """`read`: the next entry that is read for it."""
    ranges = [f"({place(ledger, a - 1)}..{place(ledger, b)}]" for a, b in cursor.individual]
    return {
        "markDeletePosition": place(ledger, cursor.mark_delete),
        "readPosition": place(ledger, read),
        "individuallyDeletedMessages": f"[{','.join(ranges)}]",
        "messagesConsumedCounter": cursor.mark_delete + 1 + cursor.count_individual(),
        "numberOfEntriesSinceFirstNotAckedMessage": read - cursor.mark_delete,
        "totalNonContiguousDeletedMessagesRange": len(ranges),
        "pendingReadOps": 0,
    }


def describe_internal(topic: Topic, ledger: int) -> Facts:
    cursors = {
        name: describe_cursor(sub.cursor, ledger, _next(sub)) for name, sub in topic.subs.items()
    }
    return describe_ledger(ledger, topic.lac + 1, cursors)


def _next(sub: Subscription) -> int:
    return max(sub.read, sub.cursor.mark_delete + 1)


# ---- statistics ------------------------------------------------------------------------------


def describe_stats(hosted: Hosted, disk: Disk) -> Facts:
    """Counters begin when the topic was loaded. A marker lies in memory here without bytes, so it
    is left out of `storageSize`."""
    topic, notes = hosted.role, hosted.notes
    log = disk.log(topic.name)
    came = list(log.read(notes.first, topic.lac + 1))
    messages = [entry.values[0] for entry in came if entry.marker is None]
    sent, sent_bytes = notes.sent.get(ALL) or (0, 0)
    markers = [entry.marker for entry in came]
    return {
        "msgInCounter": sum(payload.count for payload in messages),
        "bytesInCounter": sum(len(payload.data) for payload in messages),
        "msgOutCounter": sent,
        "bytesOutCounter": sent_bytes,
        "storageSize": _count_bytes(log, 0, topic.lac + 1),
        "ongoingTxnCount": len(topic.buffer.ongoing),
        "committedTxnCount": markers.count(MarkerType.TXN_COMMIT),
        "abortedTxnCount": markers.count(MarkerType.TXN_ABORT),
        "publishers": [_describe_producer(*one) for one in topic.access.open.items()],
        "subscriptions": {n: _describe_sub(hosted, sub, log) for n, sub in topic.subs.items()},
        "deduplicationStatus": "Enabled" if topic.config.dedup else "Disabled",
        "topicCreationTimeStamp": notes.loaded_ms,
        **({} if topic.access.epoch < 0 else {"topicEpoch": topic.access.epoch}),
    }


def _describe_producer(who: str, request: OpenProducer) -> Facts:
    number = read_consumer(who)[1]
    mode = str(request.access_mode)
    return {"producerId": number, "producerName": request.producer, "accessMode": mode}


def _count_bytes(log: LogView, start: int, end: int) -> int:
    return sum(len(e.values[0].data) for e in log.read(start, end) if e.marker is None)


def _describe_sub(hosted: Hosted, sub: Subscription, log: LogView) -> Facts:
    lac, cursor = hosted.role.lac, sub.cursor
    messages, size = hosted.notes.sent.get(sub.name) or (0, 0)
    backlog = lac - cursor.mark_delete - cursor.count_individual()
    consumers = [_describe_consumer(hosted, sub, consumer) for consumer in sub.consumers]
    return {
        "type": str(sub.sub_type) if consumers or messages else UNKNOWN,
        "durable": sub.durable,
        "isDurable": sub.durable,
        "msgBacklog": backlog,
        "msgBacklogNoDelayed": backlog,
        "msgDelayed": 0,
        "msgInReplay": len(sub.replay),
        "backlogSize": _count_bytes(log, cursor.mark_delete + 1, lac + 1),
        "msgOutCounter": messages,
        "bytesOutCounter": size,
        "unackedMessages": sum(consumer["unackedMessages"] for consumer in consumers),
        "consumers": consumers,
    }


def _describe_consumer(hosted: Hosted, sub: Subscription, consumer: Any) -> Facts:
    messages, size = hosted.notes.sent.get(consumer.client) or (0, 0)
    holds = not sub.is_single and consumer.client in hosted.notes.held
    _, waiting = hosted.permits.get(consumer.client) or ("", 0)
    return {
        "consumerName": consumer.client.rpartition("@")[0],
        "availablePermits": consumer.permits + waiting,
        "unackedMessages": hosted.notes.held[consumer.client].count if holds else 0,
        "msgOutCounter": messages,
        "bytesOutCounter": size,
    }
