"""Schemas: what the producers and consumers of a topic say its messages are.

A broker does not look into messages. It keeps the schemas that clients bring and numbers them, so
that a consumer can ask for the one that a message was written with, and it refuses a client whose
schema is of another type. Partitions of a topic have their schemas together. Clients that bring
none (they send bytes) are always welcome.

**Durable** is the table `schemas`: of each topic, its schemas in the order in which they came.

Source: ServerCnx#tryAddSchema, #handleGetSchema, #handleGetOrCreateSchema,
PersistentTopic#addSchemaIfIdleOrCheckCompatible, SchemaRegistryServiceImpl (4.2). *Left out:*
whether two definitions of one type fit each other (schemaCompatibilityStrategy).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....kernel import Caller, Disk, Effects, Put, Reply
from ....pulsar.errors import ServerError
from ....pulsar.messages import Answer
from ..wire.asks import Ask, CommandAnswer
from ..wire.proto import Schema
from .topics import PARTITION, Refusal, check_namespace, read_name

if TYPE_CHECKING:
    from . import Front

Result = tuple["Front", Effects]

SCHEMAS = "schemas"
NO_VERSION = b""
NO_TYPE = Schema.Type.Value("None")
OTHER_TYPE = "Incompatible schema: exists schema type {old}, new schema type {new}"
NONE_TO_CHECK = "Topic does not have schema to check"
NO_SCHEMA = Answer(ServerError.TopicNotFound, "Topic not found or no-schema")


def name_owner(topic: str) -> str:
    """The topic whose partition this is, or itself."""
    partition = PARTITION.fullmatch(topic)
    return partition[1] if partition else topic


def list_schemas(disk: Disk, topic: str) -> tuple[bytes, ...]:
    schemas: tuple[bytes, ...] = disk.table(SCHEMAS).get(name_owner(topic), ())
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
    return write_version(len(kept)), (Put(SCHEMAS, name_owner(topic), rows),)


def add_producers(disk: Disk, topic: str, command: Any) -> tuple[bytes, Effects]:
    """Of a PRODUCER, which may bring none. Raises Refusal."""
    if not command.HasField("schema"):
        return NO_VERSION, ()
    return add_schema(disk, topic, command.schema)


def add_consumers(disk: Disk, topic: str, command: Any, idle: bool) -> Effects:
    """Of a SUBSCRIBE: it is the topic's first only where nobody uses the topic and nothing lies
    there (`idle`). Raises Refusal."""
    if not command.HasField("schema") or command.schema.type == Schema.AutoConsume:
        return ()
    if not list_schemas(disk, topic) and not idle:
        raise Refusal(ServerError.IncompatibleSchema, NONE_TO_CHECK)
    return add_schema(disk, topic, command.schema)[1]


# ---- what clients ask ----------------------------------------------------------------------


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
    schema.name = name_owner(topic).removeprefix("persistent://")
    fields = (("schema", schema), ("schema_version", write_version(number)))
    return front, (Reply(caller, CommandAnswer(name="GET_SCHEMA_RESPONSE", fields=fields)),)
