"""Producers, and what they send.

A producer has a name, which is its own on its topic as long as it is connected; one that brings
none is given one. A message is looked at before it reaches its topic: the checksum has to fit, and
its metadata to be readable. Whether a transaction exists nobody asks. What a client says of itself
is not believed beyond what it has sent: a batch has no more messages than its bytes can hold (a
real broker stores such a batch, which no client can read). One that is too long to be sent to a
client is refused (a real broker's bookie does not take it, and nobody is answered).

Source: ServerCnx#handleProducer, #handleSend, Producer#checkAndStartPublish (4.2). *Left out:*
encryption; that 30 s after a producer was closed its number is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....kernel import Caller, Disk, Effects, Put, Reply, Send, replace
from ....pulsar.messages import (
    Answer,
    CloseProducer,
    MessageMetadata,
    OpenProducer,
    SendMessage,
    TxnID,
)
from ....pulsar.states import AccessMode
from ...protocol import Hangup
from ..wire.asks import Ask, CommandAnswer, Handed
from ..wire.commands import (
    MOST_IN_BATCH,
    Batched,
    Payload,
    WireError,
    find_room,
    is_too_long,
    read_metadata,
    signed,
)
from .opening import Opening
from .schemas import add_producers
from .sessions import Producer
from .topics import open_topic, read_name

if TYPE_CHECKING:
    from . import Front

Result = tuple["Front", Effects]
NAMES = "names"
#: by the number of a mode in ProducerAccessMode
MODES = tuple(AccessMode)
NO_PRODUCER = "a message of a producer that nobody has opened"
TOO_LONG = "Exceed maximum message size"
TEXT = 100  # characters of a message that are kept as words


def create_producer(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """Its topic decides whether there is room for it. A number that is in use for another producer
    of this connection is given to the new one."""
    command = ask.command.body
    topic = read_name(command.topic)
    effects = open_topic(disk, topic)
    name, given = command.producer_name, disk.table(NAMES).get("given", 0)
    if not name:
        name = f"standalone-0-{given}"
        effects = (*effects, Put(NAMES, "given", given + 1))
    place = (caller.name, command.producer_id)
    producer, old = Producer(topic, name, *place), front.sessions.find_producer(*place)
    if old is not None and old != producer:
        effects = (*effects, old.leave())
    version, more = add_producers(disk, topic, command)
    epoch = command.topic_epoch if command.HasField("topic_epoch") else None
    request = OpenProducer(topic, name, MODES[command.producer_access_mode], epoch)
    number = command.request_id
    opening = Opening(producer.caller(caller), request, version=version, number=number)
    sessions = front.sessions.add_producer(producer)
    return replace(front, sessions=sessions), (*effects, *more, Send(topic, opening))


def send(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """One of a producer that the broker has closed is not answered: its client will have heard of
    that. One of a producer that is not there closes the connection, and so does the topic where it
    has thrown it out or lets it wait."""
    command = ask.command.body
    producer = front.sessions.find_producer(caller.name, command.producer_id)
    if producer is None:
        was_closed = command.producer_id in front.sessions.of(caller.name).closed
        return front, (Reply(caller, None if was_closed else Hangup(NO_PRODUCER)),)
    try:
        metadata, start = read_metadata(ask.command.message)
        payload = read_payload(metadata, start, ask.command.message)
    except WireError as error:
        fields = (("error", "ChecksumError"), ("message", str(error)))
        return front, (Reply(caller, CommandAnswer(name="SEND_ERROR", fields=fields)),)
    if is_too_long(len(payload.data), payload.count):
        fields = (("error", "NotAllowedError"), ("message", TOO_LONG))
        return front, (Reply(caller, CommandAnswer(name="SEND_ERROR", fields=fields)),)
    message = _read_message(producer, command, metadata, Batched(payload))
    return front, (Send(producer.topic, Handed(producer.caller(caller), message)),)


def _read_message(producer: Producer, command: Any, metadata: Any, values: Batched) -> SendMessage:
    """What the command says, and what the message says of itself where that is something else."""
    first, txn = signed(command.sequence_id), _read_txn(command)
    highest = max(first, signed(command.highest_sequence_id))
    number = max(signed(metadata.sequence_id), signed(metadata.highest_sequence_id))
    own = MessageMetadata(metadata.producer_name, number, _read_txn(metadata))
    same = own == MessageMetadata(producer.name, highest, txn)
    return SendMessage(
        producer.topic,
        producer.name,
        highest,
        values,
        txn,
        None if first == highest else first,
        None if same else own,
        command.is_chunk and not _ends_chunks(metadata),
        opened=True,
    )


def _ends_chunks(metadata: Any) -> bool:
    """Whether a chunk is the last one of its message; one of number -1 is taken for no chunk
    (MessageDeduplication#isDuplicate)."""
    return metadata.chunk_id in (-1, metadata.num_chunks_from_msg - 1)


def _read_txn(body: Any) -> TxnID | None:
    if body.HasField("txnid_least_bits") and body.HasField("txnid_most_bits"):
        return TxnID(signed(body.txnid_most_bits), signed(body.txnid_least_bits))
    return None


def read_payload(metadata: Any, start: int, message: bytes) -> Payload:
    """Raises WireError."""
    is_batch = metadata.HasField("num_messages_in_batch")
    count = metadata.num_messages_in_batch if is_batch else 1
    if not 1 <= count <= min(MOST_IN_BATCH, find_room(metadata, len(message) - start)):
        raise WireError(f"a batch of {count} messages in {len(message) - start} bytes")
    text = "" if is_batch else _read_text(message[start : start + 4 * TEXT])
    return Payload(message, count, is_batch, text or "message")


def _read_text(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return text[:TEXT] if text.isprintable() else ""


def close_producer(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    place = (caller.name, ask.command.body.producer_id)
    producer = front.sessions.find_producer(*place)
    if producer is None:
        return front, (Reply(caller, Answer()),)
    closed = Handed(producer.caller(caller), CloseProducer(producer.topic))
    sessions = front.sessions.drop_producer(*place)
    return replace(front, sessions=sessions), (Send(producer.topic, closed),)
