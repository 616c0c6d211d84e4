"""The cluster: one broker, its features, what topics there are, and who coordinates what.

Source: KafkaApis#handleTopicMetadataRequest, #handleFindCoordinatorRequest,
ApiVersionsResponse (Kafka 4.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from ....kafka.errors import Error
from ....kernel import Caller, Effects, Put, Reply, replace
from ..wire.answers import (
    CoordinatorNode,
    Feature,
    FoundCoordinator,
    Metadata,
    MetadataPartition,
    MetadataTopic,
    Node,
)
from ..wire.api import Ask
from ..wire.codec import versions
from .internal import OFFSETS, STATE
from .topic import INTERNAL, PROHIBITED, Topic, name_problem, plain
from .topics import NO_ID, count_partitions, excess, make_topic

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]
GROUP, TRANSACTION = 0, 1  # kinds of coordinators


def api_versions(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """ApiVersions: what is offered, and the level of transaction.version: a client that finds 2
    here adds no partitions and expects its epoch to move. The versions are the same at level 0,
    whose broker refuses those that need level 2 one by one (`transactions.too_new`).

    Java clients from 3.3 to 3.7 end with an exception at a supported feature whose lowest
    level is 0, so only version 4 hears of one (KAFKA-17011, ApiVersionsResponse#filterFeatures)."""
    level = broker.config.kafka.transaction_version
    feature = Feature("transaction.version", 0, 2, level, level)
    answer = replace(
        versions(),
        supported_features=(feature,) if ask.version >= 4 else (),
        finalized_features=(feature,) if level else (),
    )
    return broker, (Reply(caller, answer),)


def find_coordinator(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """FindCoordinator: this broker is the coordinator of all groups and transactional ids; its
    internal topic is made when it is asked for first."""
    host, port = ask.here
    keys = getattr(ask.body, "coordinator_keys", None)
    if keys is None:
        keys = (ask.body.key,)
    known = getattr(ask.body, "key_type", GROUP) in (GROUP, TRANSACTION)
    if known:
        kind = getattr(ask.body, "key_type", GROUP)
        broker = broker.with_internal(OFFSETS if kind == GROUP else STATE)
    node = broker.config.node_id
    error = Error.NONE if known else Error.INVALID_REQUEST
    words = "" if known else "there are coordinators of groups and of transactions only"
    if not known:
        node, host, port = -1, "", -1
    coordinators = tuple(CoordinatorNode(k, node, host, port, error, words) for k in keys)
    return broker, (Reply(caller, FoundCoordinator(coordinators, node, host, port, error, words)),)


# ---- metadata --------------------------------------------------------------------------


def metadata(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Metadata of all topics, or of those named (by name, or by id from version 10 on). A topic
    that is made because of this request is unknown in its answer, as a real broker only asks the
    controller for one; clients ask again."""
    body = ask.body
    everything = body.topics is None or (ask.version == 0 and not body.topics)
    rows: list[MetadataTopic] = []
    effects: tuple[Put, ...] = ()
    if everything:
        rows += [_row(broker, topic) for topic in broker.topics.values()]
        rows += [_row(broker, topic) for topic in broker.internal.values()]
    else:
        wanted = [(topic.name, getattr(topic, "topic_id", None)) for topic in body.topics]
        missing = {name for name, _ in wanted if name and name not in broker.topics}
        rows += [_found(broker, name, topic_id) for name, topic_id in wanted]
        if missing and broker.config.auto_create:
            if getattr(body, "allow_auto_topic_creation", True):
                broker, effects = _make_topics(broker, sorted(missing))
    host, port = ask.here
    node = broker.config.node_id
    answer = Metadata((Node(node, host, port),), broker.config.cluster_id, node, tuple(rows))
    return broker, (*effects, Reply(caller, answer))


def _make_topics(broker: Broker, names: list[str]) -> tuple[Broker, tuple[Put, ...]]:
    """Those that can be made, of num.partitions, which is 1."""
    effects: list[Put] = []
    taken = {plain(name) for name in broker.topics}
    there = count_partitions(broker)
    for name in names:
        reserved = name in INTERNAL or name == PROHIBITED or name_problem(name)
        if reserved or plain(name) in taken or excess(there, 1)[0]:
            continue
        taken.add(plain(name))
        there += 1
        broker, made = make_topic(broker, name, 1, ())
        effects += made
    return broker, tuple(effects)


def _found(broker: Broker, name: str | None, wanted: UUID | None) -> MetadataTopic:
    topic = broker.topic(name, wanted)
    if topic is not None:
        return _row(broker, topic)
    if name is None:
        return MetadataTopic(None, wanted, Error.UNKNOWN_TOPIC_ID)
    bad = name in INTERNAL or name_problem(name)
    error = Error.INVALID_TOPIC_EXCEPTION if bad else Error.UNKNOWN_TOPIC_OR_PARTITION
    return MetadataTopic(name, NO_ID, error)


def _row(broker: Broker, topic: Topic) -> MetadataTopic:
    me = (broker.config.node_id,)
    partitions = tuple(MetadataPartition(i, me[0], me, me) for i in range(topic.count))
    internal = topic.name in broker.internal
    return MetadataTopic(topic.name, topic.uuid, Error.NONE, partitions, internal)
