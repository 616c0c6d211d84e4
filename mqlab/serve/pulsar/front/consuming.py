"""Consumers: what they ask of their subscriptions; seek.

A client numbers its consumers; here each is found by its connection and that number. Ids of
messages become the engine's positions, which is what an entry's id is within a topic's one ledger;
an ack set becomes the indexes of a batch that are done.

Source: ServerCnx#handleSubscribe, #handleFlow, #handleAck, #handleRedeliverUnacknowledged,
#handleUnsubscribe, #handleCloseConsumer, #handleGetLastMessageId, Consumer#messageAcked (4.2).
*Left out:* consumers that read what was compacted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....kernel import Caller, Disk, Effects, Reply, Send, replace, tr
from ....kernel.role import LogView
from ....pulsar.errors import ServerError
from ....pulsar.messages import (
    Ack,
    AckPosition,
    AckResponse,
    Answer,
    Flow,
    GetLastMessageId,
    LastMessageId,
    LedgerEntry,
    Redeliver,
    Seek,
    Subscribe,
    TxnID,
    Unsubscribe,
)
from ....pulsar.states import INDIVIDUAL, AckType, SubType
from ....pulsar.topic import access
from ...adapter import Hangup
from ..wire.answers import Ask, CommandAnswer, Handed
from ..wire.commands import MOST_CLAIMED, parse_metadata, read_bits, signed, split_name, unsigned
from .hosting import Inspect, name_consumer
from .producing import add_consumers
from .sessions import Consumer
from .topics import TOPICS, Refusal, TopicRow, find_row, make_row, open_topic, place_id, read_name

if TYPE_CHECKING:
    from . import Front


Result = tuple["Front", Effects]

TYPES = (SubType.EXCLUSIVE, SubType.SHARED, SubType.FAILOVER, SubType.KEY_SHARED)
POSITIONS = ("Latest", "Earliest")
LONG_MAX = (1 << 63) - 1
NOBODY = Answer(ServerError.MetadataError, "Consumer not found")
NO_PERMITS = tr("permits for no message at all, or for more than an int can count")


def subscribe(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """Handle SUBSCRIBE: register the consumer in its session and send the request to the topic,
    which is created if need be. Where this id is in use on the connection, its consumer stays, and
    nothing is done. Raises Refusal for a blank subscription name, or a topic that may not be
    used."""
    command, conn = ask.command.body, caller.name
    topic = read_name(command.topic)
    if _find_consumer(front, caller, ask) is not None:
        return front, (Reply(caller, Answer()),)
    if not command.subscription.strip():
        # NamingException is that code
        raise Refusal(ServerError.ProducerBusy, "Empty subscription name")
    # no client uses the topic, and it has no messages (a log's name on the server's disk is
    # FOLDER/LOG, and a topic's folder and ledger have its name)
    end = disk.log(f"{topic}/{topic}").end
    idle = topic not in front.sessions.users and not end
    effects = (*open_topic(disk, topic), *add_consumers(disk, topic, command, idle))
    base_name = command.consumer_name or f"{conn}-{command.consumer_id}"
    name = name_consumer(base_name, conn, command.consumer_id)
    # INDIVIDUAL: the types that acknowledge one by one; a subscription of the others sends its
    # messages in order
    kind = TYPES[command.subType]
    consumer = Consumer(topic, command.subscription, name, kind not in INDIVIDUAL)
    sessions = front.sessions.add_consumer(conn, command.consumer_id, consumer)
    request = Subscribe(
        topic, command.subscription, kind, POSITIONS[command.initialPosition], command.durable
    )
    # a reader: it names the message after which it begins
    if not command.durable and command.HasField("start_message_id"):
        row = find_row(disk, topic) or make_row(disk, topic).value
        request = _start_after(request, row, command.start_message_id, end)
    handed = Handed(consumer.caller(caller), request, _read_epoch(consumer, command))
    return replace(front, sessions=sessions), (*effects, Send(topic, handed))


def _read_epoch(consumer: Consumer, command: Any) -> int | None:
    """Only a consumer that is sent everything in order goes by epochs."""
    if not consumer.in_order or not command.HasField("consumer_epoch"):
        return None
    epoch: int = command.consumer_epoch
    return epoch


def _start_after(request: Subscribe, row: TopicRow, start: Any, end: int) -> Subscribe:
    """A reader says which message it has read last, and leaves it out itself, unless it may be read
    again; of a batch the rest is still to be read. Below all numbers it means the topic's begin;
    beyond its `end`, the initial position (PersistentTopic#getNonDurableSubscription,
    NonDurableCursorImpl)."""
    if signed(start.ledgerId) < 0 or signed(start.entryId) < 0:
        return replace(request, initial_position="Earliest")
    place = place_id(row, start.ledgerId, start.entryId)
    return request if place > end else replace(request, after=max(place, 0) - 1)


def _find_consumer(front: Front, caller: Caller, ask: Ask) -> Consumer | None:
    consumers = front.sessions.of(caller.name).consumers
    consumer: Consumer | None = consumers.get(ask.command.body.consumer_id)
    return consumer


def _route(consumer: Consumer, caller: Caller, body: Any, epoch: int | None = None) -> Send:
    return Send(consumer.topic, Handed(consumer.caller(caller), body, epoch))


def give_permits(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    consumer, permits = _find_consumer(front, caller, ask), ask.command.body.messagePermits
    if consumer is None:
        return front, (Reply(caller, None),)
    if not 0 < permits < 1 << 31:  # a Java int: Consumer#flowPermits
        return front, (Reply(caller, Hangup(NO_PERMITS)),)
    return front, (_route(consumer, caller, Flow(consumer.topic, consumer.subscription, permits)),)


# ---- acknowledgements ----------------------------------------------------------------


def acknowledge(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """Handle ACK: send an acknowledgement to its subscription, with the positions that the client's
    message ids mean. One in a transaction is answered by the subscription; a plain one, or one that
    acknowledges nothing, is answered here if its client wants a receipt. An unknown consumer's is
    not answered."""
    command, consumer = ask.command.body, _find_consumer(front, caller, ask)
    wants_receipt = command.HasField("request_id")
    if consumer is None:
        return front, ()
    cumulative = bool(command.ack_type)
    positions: list[AckPosition] = []
    row: TopicRow = disk.table(TOPICS)[consumer.topic]
    for message_id in command.message_id:
        positions += _read_positions(disk, row, message_id, cumulative)
    txn = None
    if command.HasField("txnid_least_bits") and command.HasField("txnid_most_bits"):
        txn = TxnID(signed(command.txnid_most_bits), signed(command.txnid_least_bits))
    kind = AckType.CUMULATIVE if cumulative else AckType.INDIVIDUAL
    body = Ack(consumer.topic, consumer.subscription, tuple(positions), kind, txn)
    effects: Effects = (_route(consumer, caller, body),) if positions else ()
    if wants_receipt and (txn is None or not positions):
        effects = (*effects, Reply(caller, AckResponse()))
    return front, effects


def _read_positions(disk: Disk, row: TopicRow, msg_id: Any, cumulative: bool) -> list[AckPosition]:
    """Return the positions that one message id of an ACK acknowledges: a whole entry, or those
    messages of a batch whose bits are cleared in its ack set; none if all bits are set. A
    cumulative acknowledgement inside a batch goes up to the first bit that is set. The entry need
    not exist: what follows from that the subscription decides. `row`: of the consumer's topic."""
    position = place_id(row, msg_id.ledgerId, msg_id.entryId)
    log = disk.log(f"{row.name}/{row.name}")  # the ledger, in the topic's folder
    # the entry, if it is there: a client may name any
    entry = next(iter(log.read(position, position + 1)), None) if 0 <= position < log.end else None
    size = _claimed_batch_size(msg_id) if entry is None else len(entry.values)
    if entry is not None and msg_id.ack_set and not (entry.marker or entry.values[0].is_batch):
        # a single message: acknowledged if no bit is set
        return [] if any(msg_id.ack_set) else [AckPosition(position)]
    acked_indexes = read_bits(msg_id.ack_set, size) if msg_id.ack_set else ()
    if not msg_id.ack_set or len(acked_indexes) == size:
        return [AckPosition(position)]
    if not cumulative:
        return [AckPosition(position, index, size) for index in acked_indexes]
    first_unacked = next((i for i in range(size) if i not in acked_indexes), size)
    if first_unacked:
        return [AckPosition(position, first_unacked - 1, size)]
    # none of this batch, so everything before it
    return [AckPosition(position - 1)] if position else []


def _claimed_batch_size(given: Any) -> int:
    """How many messages a batch has that is not there, as the client says it. Raises Refusal."""
    size = given.batch_size or 64 * len(given.ack_set)
    if size > MOST_CLAIMED:
        raise Refusal(ServerError.MetadataError, f"a batch of {size} messages")
    return max(1, size)


def redeliver(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    command, consumer = ask.command.body, _find_consumer(front, caller, ask)
    if consumer is None:
        return front, ()
    row: TopicRow = disk.table(TOPICS)[consumer.topic]
    places = (place_id(row, given.ledgerId, given.entryId) for given in command.message_ids)
    positions = tuple(dict.fromkeys(places))
    body = Redeliver(consumer.topic, consumer.subscription, positions)
    return front, (_route(consumer, caller, body, _read_epoch(consumer, command)),)


# ---- the end, and what is last -------------------------------------------------------


def close_consumer(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    consumer = _find_consumer(front, caller, ask)
    sessions = front.sessions.drop_consumer(caller.name, ask.command.body.consumer_id)
    closing = () if consumer is None else (consumer.close(),)
    return replace(front, sessions=sessions), (*closing, Reply(caller, Answer()))


def unsubscribe(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    consumer = _find_consumer(front, caller, ask)
    if consumer is None:
        return front, (Reply(caller, NOBODY),)
    number, sessions = ask.command.body.consumer_id, front.sessions
    if sessions.consuming(consumer.topic, consumer.subscription) == ((caller.name, number),):
        sessions = sessions.drop_consumer(caller.name, number)  # else it is refused, and stays
    body = Unsubscribe(consumer.topic, consumer.subscription, consumer.name)
    return replace(front, sessions=sessions), (_route(consumer, caller, body),)


def get_last_message_id(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """Handle GET_LAST_MESSAGE_ID: the topic answers with the id of its last readable message, and
    with the subscription's mark-delete position, up to which everything is acknowledged. An unknown
    consumer is refused."""
    consumer = _find_consumer(front, caller, ask)
    row = None if consumer is None else find_row(disk, consumer.topic)
    if consumer is None or row is None:
        return front, (Reply(caller, NOBODY),)
    ledger, topic, subscription = row.number, consumer.topic, consumer.subscription
    number = split_name(topic)[1]

    # runs where the topic's role is, which the front does not see
    def read(role: Any, disk: Disk) -> CommandAnswer:
        answer = access.answer(role, GetLastMessageId(topic), disk)
        assert isinstance(answer, LastMessageId)
        last = answer.position
        batch_index = -1  # the message is not in a batch
        for entry in disk.log(topic).read(last, last + 1) if last >= 0 else ():
            batch_index = entry.values[0].count - 1 if entry.values[0].is_batch else -1
        fields: list[tuple[str, Any]] = [
            ("last_message_id", _write_id(ledger, last, partition=number, batch_index=batch_index))
        ]
        if subscription in role.subs:
            mark_delete = role.subs[subscription].cursor.mark_delete
            fields.append(("consumer_mark_delete_position", _write_id(ledger, mark_delete)))
        return CommandAnswer(name="GET_LAST_MESSAGE_ID_RESPONSE", fields=tuple(fields))

    return front, (_route(consumer, caller, Inspect(read)),)


def _write_id(ledger: int, entry: int, **more: int) -> dict[str, int]:
    return {"ledgerId": ledger, "entryId": unsigned(entry), **more}


# ---- A subscription moves to another place of its topic: to a message, or to a moment
#
# The message that is named is the next one to be received; the ends of the numbers stand for those
# of the topic. A moment is that of publishing, as producers have written it. The broker closes the
# subscription's consumers, and then answers; their clients subscribe again and begin there. A
# reader
# says itself, with its next SUBSCRIBE, where that is.
#
# Source: ServerCnx#handleSeek, PersistentSubscription#resetCursor, PersistentMessageFinder (4.2).

NOWHERE = Answer(ServerError.MetadataError, "Message id and message publish time were not present")


def seek(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """Handle SEEK, to a message id or a publish time: the topic moves the subscription's cursor,
    and closes the consumers that it serves, which come back and read from there.
    Refused for an unknown consumer, or without an id and a time."""
    command, consumer = ask.command.body, _find_consumer(front, caller, ask)
    if consumer is None:
        return front, (Reply(caller, NOBODY),)
    log = disk.log(f"{consumer.topic}/{consumer.topic}")  # the ledger, in the topic's folder
    if command.HasField("message_id"):
        row = disk.table(TOPICS)[consumer.topic]
        target = _read_place(consumer, row, command.message_id, log)
    elif command.HasField("message_publish_time"):
        last_before = find_last_before(log, command.message_publish_time)
        target = Seek(consumer.topic, consumer.subscription, last_before)
    else:
        return front, (Reply(caller, NOWHERE),)
    return front, (_route(consumer, caller, target),)


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
    """The last message that was published before this time; -1 where there is none. Messages are in
    the order of their times, or nearly so; a marker among them has none."""
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
