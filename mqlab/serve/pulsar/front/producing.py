"""Producers, what they send, and the schemas of it.

A producer has a name, which is its own on its topic as long as it is connected; one that brings
none is given one. A message is looked at before it reaches its topic: the checksum has to fit, and
its metadata to be readable. Whether a transaction exists is not checked. What a client says of
itself is not believed beyond what it has sent: a batch has no more messages than its bytes can hold
(a real broker stores such a batch, which no client can read). One that is too long to be sent to a
client is refused (a real broker's bookie does not take it, and sends no answer).

Source: ServerCnx#handleProducer, #handleSend, Producer#checkAndStartPublish (4.2). *Left out:*
encryption; that 30 s after a producer was closed its number is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....kernel import Caller, Disk, Effects, Put, Reply, Send, replace, tr
from ....pulsar.errors import ServerError
from ....pulsar.messages import (
    Answer,
    CloseProducer,
    MessageMetadata,
    OpenProducer,
    SendMessage,
    TxnID,
)
from ....pulsar.states import AccessMode
from ...adapter import Hangup
from ..wire.answers import Ask, CommandAnswer, Handed
from ..wire.commands import (
    MOST_IN_BATCH,
    BadCommand,
    Batched,
    Payload,
    is_too_long,
    max_in_batch,
    read_metadata,
    signed,
    split_name,
)
from ..wire.proto import Schema
from .opening import Opening
from .sessions import Producer
from .topics import Refusal, check_namespace, open_topic, read_name

if TYPE_CHECKING:
    from . import Front


# ---- Schemas: what the producers and consumers of a topic say its messages are -------
#
# A broker does not look into messages. It keeps the schemas that clients bring and numbers them, so
# that a consumer can ask for the one that a message was written with, and it refuses a client whose
# schema is of another type. Partitions of a topic have their schemas together. Clients that bring
# none (they send bytes) are always welcome.
#
# **Durable** is the table `schemas`: of each topic, its schemas in the order in which they came.
#
# Source: ServerCnx#tryAddSchema, #handleGetSchema, #handleGetOrCreateSchema,
# PersistentTopic#addSchemaIfIdleOrCheckCompatible, SchemaRegistryServiceImpl (4.2). *Left out:*
# whether two definitions of one type fit each other (schemaCompatibilityStrategy).

Result = tuple["Front", Effects]

SCHEMAS = "schemas"
NO_VERSION = b""
NO_TYPE = Schema.Type.Value("None")
OTHER_TYPE = "Incompatible schema: exists schema type {old}, new schema type {new}"
NONE_TO_CHECK = "Topic does not have schema to check"
NO_SCHEMA = Answer(ServerError.TopicNotFound, "Topic not found or no-schema")


def list_schemas(disk: Disk, topic: str) -> tuple[bytes, ...]:
    schemas: tuple[bytes, ...] = disk.table(SCHEMAS).get(split_name(topic)[0], ())
    return schemas


def write_version(number: int) -> bytes:
    return number.to_bytes(8, "big")


def add_schema(disk: Disk, topic: str, given: Any) -> tuple[bytes, Effects]:
    """The version of this schema, and what makes it one of the topic's where it is new. Raises
    Refusal."""
    kept = list_schemas(disk, topic)
    known = [Schema.FromString(data) for data in kept]
    if known and known[-1].type != given.type:
        old, new = (Schema.Type.Name(schema.type).upper() for schema in (known[-1], given))
        raise Refusal(ServerError.IncompatibleSchema, OTHER_TYPE.format(old=old, new=new))
    for number, schema in enumerate(known):
        if schema.schema_data == given.schema_data:
            return write_version(number), ()
    rows = (*kept, given.SerializeToString())
    return write_version(len(kept)), (Put(SCHEMAS, split_name(topic)[0], rows),)


def add_producers(disk: Disk, topic: str, command: Any) -> tuple[bytes, Effects]:
    """Of a PRODUCER, which may bring none. Raises Refusal."""
    if not command.HasField("schema"):
        return NO_VERSION, ()
    return add_schema(disk, topic, command.schema)


def add_consumers(disk: Disk, topic: str, command: Any, idle: bool) -> Effects:
    """Of a SUBSCRIBE: it is the topic's first only where the topic is unused and empty (`idle`).
    Raises Refusal."""
    if not command.HasField("schema") or command.schema.type == Schema.AutoConsume:
        return ()
    if not list_schemas(disk, topic) and not idle:
        raise Refusal(ServerError.IncompatibleSchema, NONE_TO_CHECK)
    return add_schema(disk, topic, command.schema)[1]


# ---- what clients ask ----------------------------------------------------------------


def name_schema(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """A producer is about to send messages of another schema than it began with."""
    topic = read_name(ask.command.body.topic)
    check_namespace(disk, topic)
    given, version = ask.command.body.schema, NO_VERSION
    effects: Effects = ()
    if given.type != NO_TYPE:  # with it a producer asks for a version, and gets none
        version, effects = add_schema(disk, topic, given)
    fields = (("schema_version", version),)
    response = CommandAnswer(name="GET_OR_CREATE_SCHEMA_RESPONSE", fields=fields)
    return front, (*effects, Reply(caller, response))


def answer_schema(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """That of a version, or the latest; it is called as its topic."""
    topic = read_name(ask.command.body.topic)
    kept = list_schemas(disk, topic)
    given = ask.command.body.schema_version
    number = int.from_bytes(given, "big") if given else len(kept) - 1
    if not 0 <= number < len(kept):
        return front, (Reply(caller, NO_SCHEMA),)
    schema = Schema.FromString(kept[number])
    schema.name = split_name(topic)[0].removeprefix("persistent://")
    fields = (("schema", schema), ("schema_version", write_version(number)))
    return front, (Reply(caller, CommandAnswer(name="GET_SCHEMA_RESPONSE", fields=fields)),)


NAMES = "names"
#: by the number of a mode in ProducerAccessMode
MODES = tuple(AccessMode)
NO_PRODUCER = tr("a message of a producer that nobody has opened")
TOO_LONG = "Exceed maximum message size"
TEXT = 100  # characters of a message that are kept as words


def create_producer(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """Handle PRODUCER: register the producer in its session and ask its topic to open it; the topic
    decides whether it may. A producer without a name gets one. Where this id is in use on the
    connection, its producer is answered for, whatever the command says."""
    command, sessions = ask.command.body, front.sessions
    topic = read_name(command.topic)
    producer = sessions.find_producer(caller.name, command.producer_id)
    effects: Effects = ()
    if producer is None:
        effects = open_topic(disk, topic)
        name, names_given = command.producer_name, disk.table(NAMES).get("given", 0)
        if not name:
            name = f"standalone-0-{names_given}"  # as a real one gives: cluster, instance, a count
            effects = (*effects, Put(NAMES, "given", names_given + 1))
        version, schema_effects = add_producers(disk, topic, command)
        effects = (*effects, *schema_effects)
        producer = Producer(topic, name, caller.name, command.producer_id, version)
        sessions = sessions.add_producer(producer)
    mode = MODES[command.producer_access_mode]
    epoch = command.topic_epoch if command.HasField("topic_epoch") else None
    request = OpenProducer(producer.topic, producer.name, mode, epoch)
    number = command.request_id
    opening = Opening(producer.caller(caller), request, version=producer.version, number=number)
    return replace(front, sessions=sessions), (*effects, Send(producer.topic, opening))


def send(front: Front, caller: Caller, ask: Ask, disk: Disk) -> Result:
    """Handle SEND: read a message and send it to its topic. A message of a producer that the broker
    has closed is dropped without an answer, one of an unknown producer closes the connection; one
    that is damaged or too large is refused."""
    command = ask.command.body
    producer = front.sessions.find_producer(caller.name, command.producer_id)
    if producer is None:
        was_closed = command.producer_id in front.sessions.of(caller.name).closed
        return front, (Reply(caller, None if was_closed else Hangup(NO_PRODUCER)),)
    try:
        metadata, start = read_metadata(ask.command.message)
        payload = read_payload(metadata, start, ask.command.message)
    except BadCommand as error:
        fields = (("error", "ChecksumError"), ("message", error.args[0].en))
        return front, (Reply(caller, CommandAnswer(name="SEND_ERROR", fields=fields)),)
    if is_too_long(len(payload.data), payload.count):
        fields = (("error", "NotAllowedError"), ("message", TOO_LONG))
        return front, (Reply(caller, CommandAnswer(name="SEND_ERROR", fields=fields)),)
    # Handed: the topic itself answers the client, whose name as an asker says which producer it is
    message = _read_message(producer, command, metadata, Batched(payload))
    return front, (Send(producer.topic, Handed(producer.caller(caller), message)),)


def _read_message(producer: Producer, command: Any, metadata: Any, values: Batched) -> SendMessage:
    """Build the topic's message from a SEND command, which says sequence ids and transaction; the
    producer is known by its session. The message's own metadata may say something else; only then
    is it kept too (else None). `is_part`: a chunk, and not the last one of its message; `opened`:
    the topic must know the producer."""
    lowest, txn = signed(command.sequence_id), _read_txn(command)
    highest = max(lowest, signed(command.highest_sequence_id))
    own_sequence_id = max(signed(metadata.sequence_id), signed(metadata.highest_sequence_id))
    own = MessageMetadata(metadata.producer_name, own_sequence_id, _read_txn(metadata))
    same = own == MessageMetadata(producer.name, highest, txn)
    return SendMessage(
        producer.topic,
        producer.name,
        sequence=highest,
        values=values,
        txn=txn,
        lowest=None if lowest == highest else lowest,
        metadata=None if same else own,
        is_part=command.is_chunk and not _ends_chunks(metadata),
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
    """Raises BadCommand."""
    is_batch = metadata.HasField("num_messages_in_batch")
    count = metadata.num_messages_in_batch if is_batch else 1
    if not 1 <= count <= min(MOST_IN_BATCH, max_in_batch(metadata, len(message) - start)):
        raise BadCommand("a batch of {} messages in {} bytes", count, len(message) - start)
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
