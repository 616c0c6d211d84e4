"""The cluster: one broker, its features, its topics, and who coordinates what.

Source: KafkaApis#handleTopicMetadataRequest, #handleFindCoordinatorRequest,
ReplicationControlManager#createTopics, #deleteTopics (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...kafka.errors import Error
from ...kernel import Caller, Effects, Put, Reply, replace
from ..wire.answers import (
    CoordinatorNode,
    CreatedTopic,
    CreatedTopics,
    DeletedTopic,
    DeletedTopics,
    Described,
    DescribedConfigs,
    Feature,
    FoundCoordinator,
    Metadata,
    MetadataPartition,
    MetadataTopic,
    Node,
    TopicConfig,
)
from ..wire.api import Ask
from ..wire.codec import versions
from .internal import OFFSETS, STATE
from .topic import INTERNAL, Topic, config_problem, count_problem, name_problem, topic_id

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]
NO_ID = UUID(int=0)
GROUP, TRANSACTION = 0, 1  # kinds of coordinators
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4


def api_versions(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """What is offered, and the level of transaction.version: a client that finds 2 here
    adds no partitions and expects its epoch to move. The versions are the same at level 0,
    whose broker refuses those that need level 2 one by one (`transactions.too_new`).

    Java clients from 3.3 to 3.7 end with an exception at a supported feature whose lowest
    level is 0, so only version 4 hears of one (KAFKA-17011, ApiVersionsResponse#filterFeatures).
    """
    level = broker.config.kafka.transaction_version
    feature = Feature("transaction.version", 0, 2, level, level)
    answer = replace(
        versions(),
        supported_features=(feature,) if ask.version >= 4 else (),
        finalized_features=(feature,) if level else (),
    )
    return broker, (Reply(caller, answer),)


def find_coordinator(broker: Broker, caller: Caller, ask: Ask) -> Result:
    host, port = ask.here
    keys = getattr(ask.body, "coordinator_keys", None)
    if keys is None:
        keys = (ask.body.key,)
    known = getattr(ask.body, "key_type", GROUP) in (GROUP, TRANSACTION)
    if known:
        kind = getattr(ask.body, "key_type", GROUP)
        broker = broker.having(OFFSETS if kind == GROUP else STATE)
    node = broker.config.node_id
    error = Error.NONE if known else Error.INVALID_REQUEST
    words = "" if known else "there are coordinators of groups and of transactions only"
    if not known:
        node, host, port = -1, "", -1
    found = tuple(CoordinatorNode(k, node, host, port, error, words) for k in keys)
    return broker, (Reply(caller, FoundCoordinator(found, node, host, port, error, words)),)


# ---- metadata --------------------------------------------------------------------------


def metadata(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Of all topics, or of those named (by name, or by id from version 10 on)."""
    body = ask.body
    effects: tuple[Put, ...] = ()
    everything = body.topics is None or (ask.version == 0 and not body.topics)
    rows: list[MetadataTopic] = []
    every = (*broker.topics.values(), *broker.internal.values())
    for wanted in every if everything else body.topics:
        if everything:
            rows.append(_row(broker, wanted))
            continue
        name, wanted_id = wanted.name, getattr(wanted, "topic_id", None)
        may_create = broker.config.auto_create and getattr(body, "allow_auto_topic_creation", True)
        if name and may_create and name not in broker.topics and not name_problem(name):
            broker, made = _made(broker, name, 1, ())
            effects += made
        rows.append(_found(broker, name, wanted_id))
    host, port = ask.here
    node = broker.config.node_id
    answer = Metadata((Node(node, host, port),), broker.config.cluster_id, node, tuple(rows))
    return broker, (*effects, Reply(caller, answer))


def _found(broker: Broker, name: str | None, wanted: UUID | None) -> MetadataTopic:
    topic = broker.topic(name, wanted)
    if topic is not None:
        return _row(broker, topic)
    if name is None:
        return MetadataTopic(None, wanted, Error.UNKNOWN_TOPIC_ID)
    bad = name_problem(name)
    error = Error.INVALID_TOPIC_EXCEPTION if bad else Error.UNKNOWN_TOPIC_OR_PARTITION
    return MetadataTopic(name, NO_ID, error)


def _row(broker: Broker, topic: Topic) -> MetadataTopic:
    me = (broker.config.node_id,)
    partitions = tuple(MetadataPartition(i, me[0], me, me) for i in range(topic.count))
    internal = topic.name in broker.internal
    return MetadataTopic(topic.name, topic.uuid, Error.NONE, partitions, internal)


# ---- topics ----------------------------------------------------------------------------


def create_topics(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    effects: tuple[Put, ...] = ()
    names = [topic.name for topic in body.topics]
    rows = []
    for wanted in body.topics:
        error, words = _cannot(broker, wanted)
        if names.count(wanted.name) > 1:
            error, words = Error.INVALID_REQUEST, "the request names this topic twice"
        if error:
            rows.append(CreatedTopic(wanted.name, error, words))
            continue
        count = len(wanted.assignments) or max(wanted.num_partitions, 1)
        configs = tuple((c.name, c.value or "") for c in wanted.configs)
        if not body.validate_only:
            broker, made = _made(broker, wanted.name, count, configs)
            effects += made
        rows.append(_created(broker, wanted.name, count, configs))
    return broker, (*effects, Reply(caller, CreatedTopics(tuple(rows))))


def _cannot(broker: Broker, wanted: Any) -> tuple[Error, str]:
    problem = name_problem(wanted.name)
    if wanted.name in broker.topics or wanted.name in INTERNAL:
        return Error.TOPIC_ALREADY_EXISTS, f"Topic '{wanted.name}' already exists."
    if problem:
        return Error.INVALID_TOPIC_EXCEPTION, problem
    if not wanted.assignments:
        error, problem = count_problem(wanted.num_partitions, wanted.replication_factor)
        if error:
            return error, problem
    problem = config_problem(tuple((c.name, c.value or "") for c in wanted.configs))
    return (Error.INVALID_CONFIG, problem) if problem else (Error.NONE, "")


def _created(
    broker: Broker, name: str, count: int, configs: tuple[tuple[str, str], ...]
) -> CreatedTopic:
    topic = broker.topics.get(name)
    told = tuple(TopicConfig(key, value) for key, value in configs)
    given = topic.uuid if topic is not None else NO_ID
    return CreatedTopic(name, Error.NONE, None, given, count, 1, told)


def _made(
    broker: Broker, name: str, count: int, configs: tuple[tuple[str, str], ...]
) -> tuple[Broker, tuple[Put, ...]]:
    made = broker.made + 1
    topic = Topic(name, count, topic_id(name, made), configs)
    new = replace(
        broker,
        topics=broker.topics.set(name, topic),
        ids=broker.ids.set(topic.uuid, name),
        made=made,
    )
    return new, (Put("broker", "topics made", made), Put("topics", name, topic))


def delete_topics(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    effects: tuple[Put, ...] = ()
    wanted = getattr(body, "topics", None)
    if wanted is None:
        pairs = [(name, None) for name in body.topic_names]
    else:
        pairs = [(state.name, state.topic_id) for state in wanted]
    rows = []
    for name, wanted_id in pairs:
        topic = broker.topic(name, wanted_id)
        if topic is not None and topic.name in broker.internal:
            words = "this server keeps its internal topics"
            rows.append(DeletedTopic(name, wanted_id, Error.INVALID_TOPIC_EXCEPTION, words))
            continue
        if topic is None:
            error = Error.UNKNOWN_TOPIC_OR_PARTITION if name else Error.UNKNOWN_TOPIC_ID
            rows.append(DeletedTopic(name, wanted_id, error, "there is no such topic"))
            continue
        left = broker.topics.remove(topic.name)
        broker = replace(broker, topics=left, ids=broker.ids.remove(topic.uuid))
        effects += (Put("topics", topic.name, None),)
        rows.append(DeletedTopic(topic.name, topic.uuid))
    return broker, (*effects, Reply(caller, DeletedTopics(tuple(rows))))


def describe_configs(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """A topic's configuration as it was given; of the broker there is nothing to say."""
    rows = []
    for resource in ask.body.resources:
        kind, name = resource.resource_type, resource.resource_name
        topic = broker.topics.get(name) if kind == TOPIC_RESOURCE else None
        if topic is None and kind != BROKER_RESOURCE:
            error = Error.UNKNOWN_TOPIC_OR_PARTITION
            rows.append(DescribedConfigs(kind, name, error, "there is no such topic"))
            continue
        keys = resource.configuration_keys
        given = topic.configs if topic is not None else ()
        configs = tuple(TopicConfig(k, v) for k, v in given if keys is None or k in keys)
        rows.append(DescribedConfigs(kind, name, configs=configs))
    return broker, (Reply(caller, Described(tuple(rows))),)
