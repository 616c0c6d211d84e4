"""Topics: their names, where they are, how they come to be; their ledgers in numbers.

Everything is here, so a lookup leads back to where it was asked. A topic makes itself when a client
produces to it or subscribes; a namespace does not, and without one there is no topic. A partition
of a topic is a topic of its own, called NAME-partition-N.

**Durable** are three tables: `topics`, with the number of each topic's ledger; `partitioned`, how
many partitions a topic was given; `namespaces`, those that were created. `public/default` and the
topic whose partitions stand for the coordinators are there from the start.

Source: ServerCnx#handlePartitionMetadataRequest, #handleLookup, TopicName, SystemTopicNames (4.2).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from ....kernel import Caller, Disk, Effects, Put, Reply, frozen
from ....kernel.role import LogView
from ....pulsar.config import PENDING_ACK_SUFFIX, TOPIC
from ....pulsar.errors import ServerError
from ....pulsar.ledger import Cursor
from ....pulsar.messages import Answer, OpenProducer
from ....pulsar.states import MarkerType
from ....pulsar.subscription import Subscription, find_active
from ....pulsar.topic import Topic
from ....pulsar.topic.access import DELETED
from ....pulsar.unserved import NON_PERSISTENT
from ..wire.answers import Ask, CommandAnswer
from ..wire.commands import signed, split_name
from .hosting import ALL, Hosted, read_consumer

if TYPE_CHECKING:
    from . import Front


TOPICS, PARTITIONED, NAMESPACES = "topics", "partitioned", "namespaces"
ASSIGN = "persistent://pulsar/system/transaction_coordinator_assign"
BUILT_IN = frozenset({"public/default", "pulsar/system"})
PART = "[-=:.\\w]+"
NAME = re.compile(rf"(?:persistent://)?(?:({PART})/({PART})/)?([^/\x00-\x1f\x7f]{{1,512}})")
NO_TOPIC = "Topic {name} does not exist"
HAS_PARTS = "Found partitioned metadata for non-partitioned topic: "
NO_PARTS = "Partition metadata not found for the partitioned topic: "

Result = tuple["Front", Effects]


@frozen
class TopicRow:
    """`number`: of its ledger. `loads`: how often it was unloaded. `missing`: when it was first
    named there was no namespace for it."""

    name: str
    number: int
    loads: int = 0
    missing: bool = False


class Refusal(Exception):
    """A topic that no client may use: `answer` says why."""

    def __init__(self, error: ServerError, message: str) -> None:
        super().__init__(message)
        self.answer = Answer(error, message)


# ---- names ---------------------------------------------------------------------------


def read_name(text: str) -> str:
    """The whole name of a topic. Raises Refusal."""
    if text.startswith("non-persistent://"):
        raise Refusal(ServerError.NotAllowedError, NON_PERSISTENT)
    match = NAME.fullmatch(text)
    if match is None:
        raise Refusal(ServerError.InvalidTopicName, f"Invalid topic name: {text[:100]}")
    tenant, namespace, name = match.groups()
    return f"persistent://{tenant or 'public'}/{namespace or 'default'}/{name}"


def find_namespace(name: str) -> str:
    tenant, namespace, _ = name.removeprefix("persistent://").split("/", 2)
    return f"{tenant}/{namespace}"


def has_namespace(disk: Disk, name: str) -> bool:
    space = find_namespace(name)
    return space in BUILT_IN or space in disk.table(NAMESPACES)


def check_namespace(disk: Disk, name: str) -> None:
    """Raises Refusal."""
    if not has_namespace(disk, name):
        why = f"Namespace {find_namespace(name)} does not exist"
        raise Refusal(ServerError.TopicNotFound, why)


# ---- how a topic comes to be ---------------------------------------------------------


def find_row(disk: Disk, name: str) -> TopicRow | None:
    row: TopicRow | None = disk.table(TOPICS).get(name)
    return row


def open_topic(disk: Disk, name: str) -> Effects:
    """What makes a topic, unless it is there. Raises Refusal where there is no namespace for it."""
    check_namespace(disk, name)
    if name.endswith(PENDING_ACK_SUFFIX):
        raise Refusal(
            ServerError.NotAllowedError, f"Can not create transaction system topic {name}"
        )
    check_partition(disk, name)
    (owner, number), counts = split_name(name), disk.table(PARTITIONED)
    if name in counts or (number >= 0 and owner not in counts):
        raise Refusal(ServerError.NotAllowedError, (HAS_PARTS if number < 0 else NO_PARTS) + name)
    return () if name in disk.table(TOPICS) else (make_row(disk, name),)


def is_beyond(disk: Disk, name: str) -> bool:
    """Whether it names a partition that its topic has not got."""
    owner, number = split_name(name)
    return bool(number >= disk.table(PARTITIONED).get(owner, math.inf))


def check_partition(disk: Disk, name: str) -> None:
    """Raises Refusal for a partition that its topic has not got."""
    if is_beyond(disk, name):
        raise Refusal(ServerError.TopicNotFound, NO_TOPIC.format(name=name))


def name_participants(disk: Disk, names: tuple[str, ...]) -> Effects:
    """A transaction names topics: one may be unused so far, or unusable. A role has to answer for
    it when the transaction ends."""
    effects: list[Put] = []
    new = [name for name in dict.fromkeys(names) if name not in disk.table(TOPICS)]
    for place, name in enumerate(new):
        missing = not has_namespace(disk, name)
        if not missing:
            effects.append(Put(f"{name}/{TOPIC}", DELETED, True))
        effects.append(make_row(disk, name, place, missing))
    return tuple(effects)


def make_row(disk: Disk, name: str, place: int = 0, missing: bool = False) -> Put:
    """`place`: among those that are made in this step."""
    row = TopicRow(name, len(disk.table(TOPICS)) + 1 + place, missing=missing)
    return Put(TOPICS, name, row)


def place_id(row: TopicRow, ledger: int, entry: int) -> int:
    """The position of an id as it is on the wire, whether there is such an entry or not. A
    topic has one ledger here: what is in an older one is before its first entry, and what is in a
    later one after its last."""
    ahead = signed(ledger) - row.number
    if ahead < 0:
        return -1
    return signed(entry) if not ahead else (ahead << 63) + max(signed(entry), 0)


# ---- what clients ask ----------------------------------------------------------------


def answer_partitions(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """Handle PARTITIONED_METADATA: answer how many partitions a topic has, 0 for one that is not
    partitioned. A client that forbids auto-creation gets an error for a topic that does not exist;
    Java's client finds out by that whether retry and dead-letter topics have their old names
    (ConsumerBuilderImpl#checkDlqAlreadyExists)."""
    command = ask.command.body
    name = read_name(command.topic)
    count = disk.table(PARTITIONED).get(name, 0)
    if name == ASSIGN:  # the topic that has a partition for each transaction coordinator
        count = front.config.coordinators
    else:
        check_namespace(disk, name)
        check_partition(disk, name)
        if not count and not command.metadata_auto_creation_enabled and not exists(disk, name):
            raise Refusal(ServerError.TopicNotFound, NO_TOPIC.format(name=name))
    fields = (("partitions", count), ("response", "Success"))
    answer = CommandAnswer(name="PARTITIONED_METADATA_RESPONSE", fields=fields)
    return front, (Reply(caller, answer),)


def answer_lookup(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    name = read_name(ask.command.body.topic)
    check_namespace(disk, name)
    host, port = ask.here
    fields = (
        ("brokerServiceUrl", f"pulsar://{host}:{port}"),
        ("response", "Connect"),
        ("authoritative", True),
    )
    return front, (Reply(caller, CommandAnswer(name="LOOKUP_RESPONSE", fields=fields)),)


def answer_names(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """The topics of a namespace; a consumer of a pattern picks from them."""
    space = ask.command.body.namespace
    names = tuple(name for name in list_topics(disk) if find_namespace(name) == space)
    fields = (("topics", names), ("filtered", False), ("changed", True))
    answer = CommandAnswer(name="GET_TOPICS_OF_NAMESPACE_RESPONSE", fields=fields)
    return front, (Reply(caller, answer),)


def list_topics(disk: Disk) -> tuple[str, ...]:
    """Those that exist: neither deleted, nor only named by a transaction."""
    rows = disk.table(TOPICS).values()
    return tuple(row.name for row in rows if exists(disk, row.name))


def exists(disk: Disk, name: str) -> bool:
    """Whether there is this topic: neither deleted, nor only named by a transaction."""
    is_there = find_row(disk, name) is not None and has_namespace(disk, name)
    return is_there and DELETED not in disk.table(f"{name}/{TOPIC}")


# ---- Ledgers and topics in numbers: internalStats and stats --------------------------
#
# What a real broker says of bookies, rates, throttling, offloading and replication is not here,
# since
# there is none of it: fields that would be guessed are left out.
#
# Source: ManagedLedgerImpl#getManagedLedgerInternalStats, PersistentTopic#getInternalStats,
# #getStats
# (4.2).

Facts = dict[str, Any]
UNKNOWN = "None"  # the type of a subscription to which no consumer has connected


def place(ledger: int, position: int) -> str:
    return f"{ledger}:{position}"


# ---- ledgers -------------------------------------------------------------------------


def describe_ledger(ledger: int, entries: int, cursors: Facts) -> Facts:
    """Describe a topic's ledger as `internalStats` does: a single one of `entries` entries that was
    never rolled over. `cursors`: the part about its subscriptions."""
    return {
        "entriesAddedCounter": entries,
        "numberOfEntries": entries,
        "currentLedgerEntries": entries,
        "lastConfirmedEntry": place(ledger, entries - 1),
        "state": "LedgerOpened",
        "ledgers": [  # a real broker counts a ledger's entries here when it is closed
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
        name: describe_cursor(sub.cursor, ledger, max(sub.read, sub.cursor.mark_delete + 1))
        for name, sub in topic.subs.items()
    }
    return describe_ledger(ledger, topic.lac + 1, cursors)


# ---- statistics ----------------------------------------------------------------------


def describe_stats(hosted: Hosted, disk: Disk) -> Facts:
    """Describe a topic as its `stats` do, for the admin API: messages in and out since it was
    loaded, transactions, producers and subscriptions. A marker has no bytes here, so `storageSize`
    leaves it out."""
    topic, notes = hosted.role, hosted.notes
    log = disk.log(topic.name)
    # notes.first: the first entry since the topic was loaded
    entries = list(log.read(notes.first, topic.lac + 1))
    # an entry that a client sent has one value here, its bytes, with the number of messages in them
    messages = [entry.values[0] for entry in entries if entry.marker is None]
    sent_messages, sent_bytes = notes.sent.get(ALL) or (0, 0)  # to all subscriptions
    markers = [entry.marker for entry in entries]
    return {
        "msgInCounter": sum(payload.count for payload in messages),
        "bytesInCounter": sum(len(payload.data) for payload in messages),
        "msgOutCounter": sent_messages,
        "bytesOutCounter": sent_bytes,
        "storageSize": _count_bytes(log, 0, topic.lac + 1),
        "ongoingTxnCount": len(topic.buffer.ongoing),
        "committedTxnCount": markers.count(MarkerType.TXN_COMMIT),
        "abortedTxnCount": markers.count(MarkerType.TXN_ABORT),
        "publishers": [_describe_producer(*pair) for pair in topic.access.open.items()],
        "subscriptions": {n: _describe_sub(hosted, sub, log) for n, sub in topic.subs.items()},
        "deduplicationStatus": "Enabled" if topic.config.dedup else "Disabled",
        "topicCreationTimeStamp": notes.loaded_ms,
        # -1: no exclusive producer has had the topic yet
        **({} if topic.access.epoch < 0 else {"topicEpoch": topic.access.epoch}),
    }


def _describe_producer(who: str, request: OpenProducer) -> Facts:
    number = read_consumer(who)[1]
    mode = str(request.access_mode)
    return {"producerId": number, "producerName": request.producer, "accessMode": mode}


def _count_bytes(log: LogView, start: int, end: int) -> int:
    return sum(len(e.values[0].data) for e in log.read(start, end) if e.marker is None)


def _describe_sub(hosted: Hosted, sub: Subscription, log: LogView) -> Facts:
    """Describe a subscription as a topic's `stats` do: its backlog, what it was sent, and its
    consumers. `hosted`: the topic with the server's notes on it; `log`: the topic's."""
    # lac: the last entry that is confirmed
    last_entry, cursor = hosted.role.lac, sub.cursor
    sent_messages, sent_bytes = hosted.notes.sent.get(sub.name) or (0, 0)
    backlog = last_entry - cursor.mark_delete - cursor.count_individual()
    consumers = [_describe_consumer(hosted, sub, consumer) for consumer in sub.consumers]
    active = find_active(sub).rpartition("@")[0] if sub.is_single else ""
    return {
        # noted since a consumer has come, which gives it a type
        "type": str(sub.sub_type) if sub.name in hosted.notes.sent else UNKNOWN,
        "durable": sub.durable,
        "isDurable": sub.durable,
        "msgBacklog": backlog,
        "msgBacklogNoDelayed": backlog,
        "msgDelayed": 0,
        "msgInReplay": len(sub.replay),
        "backlogSize": _count_bytes(log, cursor.mark_delete + 1, last_entry + 1),
        "msgOutCounter": sent_messages,
        "bytesOutCounter": sent_bytes,
        "unackedMessages": sum(consumer["unackedMessages"] for consumer in consumers),
        "consumers": consumers,
        **({"activeConsumerName": active} if active else {}),
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
