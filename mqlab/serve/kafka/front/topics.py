"""Topics made, enlarged and deleted: what the controller does in a real cluster.

A request that would bring the partitions of this node above `MOST_PARTITIONS` is refused as
a real controller refuses one request of so many; nothing of it happens then.

Source: ReplicationControlManager#createTopics, #createPartitions, #deleteTopics,
ControllerApis#createPartitions (Kafka 4.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ....kafka.errors import Error
from ....kafka.messages import PartitionsDeleted
from ....kafka.unserved import NOT_PLACED
from ....kernel import Caller, Effects, Put, Reply, Send, replace
from ..wire.answers import (
    CoordinatorNode,
    CreatedTopic,
    DeletedTopic,
    Feature,
    FoundCoordinator,
    Metadata,
    MetadataPartition,
    MetadataTopic,
    Node,
    PartitionsOfTopic,
    Table,
)
from ..wire.api import Ask
from ..wire.codec import versions
from .configs import Pairs, config_problem, warn_of_idle
from .describing import topic_configs
from .internal import OFFSETS, STATE
from .topic import (
    EXCESSIVE,
    INTERNAL,
    MOST_PARTITIONS,
    PROHIBITED,
    Topic,
    count_problem,
    name_problem,
    plain,
    topic_id,
)

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]
Refusal = tuple[Error, str]
NO_ID = UUID(int=0)
FINE: Refusal = (Error.NONE, "")
#: topics in a request whose answer names all configs of each, as a real one does: 33 a topic,
#: which for thousands would hold up all clients
SHOWN = 100
#: records of the controller in one batch: of a topic, of each of its partitions and its configs
MOST_RECORDS = 10_000
TOO_LARGE = "Unable to perform excessively large batch operation."
KEPT = "this server keeps its internal topics as they are"
TWICE: Refusal = (Error.INVALID_REQUEST, "Duplicate topic name.")


# ---- CreateTopics ------------------------------------------------------------------------


def create_topics(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle CreateTopics: check and create each topic, or refuse it with Kafka's words,
    independently of the others. With `validate_only` nothing is created."""
    body = ask.body
    effects: list[Put] = []
    times = Counter(topic.name for topic in body.topics)
    wanted = {topic.name: topic for topic in body.topics}
    new_partitions = sum(map(_partition_count, wanted.values()))
    # (error, words) with which every topic of the request is refused, FINE where none is
    for_all = excess(count_partitions(broker), new_partitions)
    # each topic, partition and config is a record of the controller's metadata
    if new_partitions + sum(1 + len(topic.configs) for topic in wanted.values()) > MOST_RECORDS:
        for_all = for_all if for_all[0] else (Error.POLICY_VIOLATION, TOO_LARGE)
    # a name that differs from one of these in "." and "_" only collides with it (as a real
    # controller does, new ones of the same request are not compared with each other)
    by_plain = {plain(name): name for name in broker.topics}
    rows = []
    for name, topic in wanted.items():
        error, words = for_all
        if not error:
            error, words = TWICE if times[name] > 1 else _cannot_create(broker, topic, by_plain)
        if error:
            rows.append(CreatedTopic(name, error, words))
            continue
        configs = _config_pairs(topic.configs)
        if not body.validate_only:
            warn_of_idle(f"topic {name}", configs)
            broker, made = make_topic(broker, name, _partition_count(topic), configs)
            effects += made
        # with more than SHOWN topics the answer leaves their configs out
        rows.append(_created(broker, name, _partition_count(topic), configs, len(wanted) <= SHOWN))
    return broker, (*effects, Reply(caller, Table(tuple(rows))))


def count_partitions(broker: Broker) -> int:
    """Of all topics; counted once for a request, however many it names."""
    return sum(topic.count for topic in broker.topics.values())


def excess(there: int, more: int) -> Refusal:
    """Whether so many partitions more than are `there` are too many, for one request or for this
    node."""
    if more > MOST_PARTITIONS:
        return Error.POLICY_VIOLATION, EXCESSIVE
    if there + more > MOST_PARTITIONS:
        words = f"{there} partitions are there, and this broker holds at most {MOST_PARTITIONS}."
        return Error.POLICY_VIOLATION, words
    return FINE


def _partition_count(wanted: Any) -> int:
    return int(max(wanted.num_partitions, 1))


def _config_pairs(configs: Iterable[Any]) -> Pairs:
    return tuple(sorted({config.name: config.value for config in configs}.items()))


def _cannot_create(broker: Broker, wanted: Any, taken: dict[str, str]) -> Refusal:
    """Return why the topic `wanted`, as the request describes it, cannot be created: (error,
    Kafka's words), FINE if it can. `taken` maps the names that collide in metrics (`plain`: "." and
    "_" are the same) to the topic that has each."""
    name = wanted.name
    problem = name_problem(name)
    if problem:
        return Error.INVALID_TOPIC_EXCEPTION, problem
    if name in broker.topics or name in INTERNAL:
        return Error.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists."
    if name == PROHIBITED:
        return Error.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited."
    if plain(name) in taken:
        words = f"Topic '{name}' collides with existing topic: {taken[plain(name)]}"
        return Error.INVALID_TOPIC_EXCEPTION, words
    problem = config_problem((c.name, c.value) for c in wanted.configs)
    if problem:
        return Error.INVALID_CONFIG, problem
    if wanted.assignments:
        return Error.INVALID_REPLICA_ASSIGNMENT, NOT_PLACED
    return count_problem(wanted.num_partitions, wanted.replication_factor)


def _created(broker: Broker, name: str, count: int, configs: Pairs, shown: bool) -> CreatedTopic:
    topic = broker.topics.get(name)
    given = topic.uuid if topic is not None else NO_ID
    values = topic_configs(configs) if shown else ()
    return CreatedTopic(name, Error.NONE, None, given, count, 1, values)


def make_topic(
    broker: Broker, name: str, count: int, configs: Pairs
) -> tuple[Broker, tuple[Put, ...]]:
    """With a topic that may be made, and the effects that make it."""
    made = broker.made + 1
    topic = Topic(name, count, topic_id(name, made), configs)
    new = replace(
        broker,
        topics=broker.topics.set(name, topic),
        ids=broker.ids.set(topic.uuid, name),
        made=made,
    )
    return new, (Put("broker", "topics made", made), Put("topics", name, topic))


# ---- CreatePartitions --------------------------------------------------------------------


def create_partitions(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle CreatePartitions: raise the number of partitions of topics that exist, or refuse it
    with Kafka's words. Records stay where they are, so records of one key may then be in two
    partitions."""
    effects: list[Put] = []
    times = Counter(row.name for row in ask.body.topics)
    rows = []
    there = count_partitions(broker)  # of all topics
    for wanted in {row.name: row for row in ask.body.topics}.values():
        error, words = TWICE if times[wanted.name] > 1 else _cannot_grow(broker, wanted, there)
        rows.append(PartitionsOfTopic(wanted.name, error, words or None))
        if error or ask.body.validate_only:
            continue
        there += wanted.count - broker.topics[wanted.name].count
        topic = replace(broker.topics[wanted.name], count=wanted.count)
        broker = replace(broker, topics=broker.topics.set(topic.name, topic))
        effects.append(Put("topics", topic.name, topic))
    return broker, (*effects, Reply(caller, Table(tuple(rows))))


def _cannot_grow(broker: Broker, wanted: Any, there: int) -> Refusal:
    """Return why a topic cannot have as many partitions as the request says (`wanted`): (error,
    Kafka's words), FINE if it can. `there`: how many partitions this broker has by now, of all
    topics."""
    topic = broker.topic(wanted.name)
    if topic is None:
        return Error.UNKNOWN_TOPIC_OR_PARTITION, ""
    if topic.name in broker.internal:
        return Error.INVALID_TOPIC_EXCEPTION, KEPT
    if wanted.count == topic.count:
        return Error.INVALID_PARTITIONS, f"Topic already has {topic.count} partition(s)."
    if wanted.count < topic.count:
        return Error.INVALID_PARTITIONS, (
            f"The topic {topic.name} currently has {topic.count} partition(s); "
            f"{wanted.count} would not be an increase."
        )
    if wanted.assignments is not None:
        return Error.INVALID_REPLICA_ASSIGNMENT, NOT_PLACED
    return excess(there, wanted.count - topic.count)


# ---- DeleteTopics ------------------------------------------------------------------------


NOT_AWAITED = -1  # the number of a request whose answer no gathering waits for


def delete_topics(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle DeleteTopics: remove each topic, named or given by its id, from the broker and from
    the durable table `topics`; the server then drops its logs. Internal and unknown topics are
    refused."""
    body = ask.body
    effects: list[Put] = []
    wanted = getattr(body, "topics", None)
    if wanted is None:  # an older request has names only
        names_and_ids = [(name, None) for name in body.topic_names]
    else:
        names_and_ids = [(state.name, state.topic_id) for state in wanted]
    rows = []
    gone: list[str] = []  # partitions, of which groups keep no position
    for name, wanted_id in names_and_ids:
        topic = broker.topic(name, wanted_id)
        if topic is not None and topic.name in broker.internal:
            rows.append(DeletedTopic(name, wanted_id, Error.INVALID_TOPIC_EXCEPTION, KEPT))
            continue
        if topic is None:
            error = Error.UNKNOWN_TOPIC_OR_PARTITION if name else Error.UNKNOWN_TOPIC_ID
            rows.append(DeletedTopic(name, wanted_id, error, "there is no such topic"))
            continue
        remaining = broker.topics.remove(topic.name)
        broker = replace(broker, topics=remaining, ids=broker.ids.remove(topic.uuid))
        effects.append(Put("topics", topic.name, None))
        rows.append(DeletedTopic(topic.name, topic.uuid))
        gone += topic.partitions
    count = broker.config.kafka.offsets_partitions if gone else 0
    heard = PartitionsDeleted(tuple(gone))
    told = (Send(f"{OFFSETS}-{i}", heard, NOT_AWAITED) for i in range(count))
    return broker, (*effects, *told, Reply(caller, Table(tuple(rows))))


# The cluster: one broker, its features, what topics there are, and who coordinates what.
#
# Source: KafkaApis#handleTopicMetadataRequest, #handleFindCoordinatorRequest,
# ApiVersionsResponse (Kafka 4.3).


GROUP, TRANSACTION = 0, 1  # kinds of coordinators


def api_versions(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """ApiVersions: what is offered, and the level of transaction.version: a client that finds 2
    here adds no partitions and expects its epoch to move. The versions are the same at level 0,
    whose broker refuses those that need level 2 one by one (`transactions.too_new`).

    Java clients from 3.3 to 3.7 end with an exception at a supported feature whose lowest
    level is 0, so only version 4 gets one (KAFKA-17011, ApiVersionsResponse#filterFeatures)."""
    level = broker.config.kafka.transaction_version
    feature = Feature("transaction.version", 0, 2, level, level)
    answer = replace(
        versions(),
        supported_features=(feature,) if ask.version >= 4 else (),
        finalized_features=(feature,) if level else (),
    )
    return broker, (Reply(caller, answer),)


def find_coordinator(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle FindCoordinator: answer with this broker, which is the coordinator of all groups and
    transactional ids; refuse what is neither. The internal topic that the coordinator keeps is
    created when it is first asked for."""
    host, port = ask.here
    keys = getattr(ask.body, "coordinator_keys", None)
    if keys is None:  # an older request asks about one key
        keys = (ask.body.key,)
    # version 0 has no key_type: it is about groups
    is_known_type = getattr(ask.body, "key_type", GROUP) in (GROUP, TRANSACTION)
    if is_known_type:
        key_type = getattr(ask.body, "key_type", GROUP)
        broker = broker.with_internal(OFFSETS if key_type == GROUP else STATE)
    node = broker.config.node_id
    error = Error.NONE if is_known_type else Error.INVALID_REQUEST
    words = "" if is_known_type else "there are coordinators of groups and of transactions only"
    if not is_known_type:
        node, host, port = -1, "", -1
    coordinators = tuple(CoordinatorNode(k, node, host, port, error, words) for k in keys)
    # (up to version 3 the answer has no list: the one coordinator is at its top)
    return broker, (Reply(caller, FoundCoordinator(coordinators, node, host, port, error, words)),)


# ---- metadata --------------------------------------------------------------------------


def metadata(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """Handle Metadata: describe all topics, or those named (by name, or by id from version 10 on),
    and this broker. A topic that is created because of this request is still unknown in its answer:
    a real broker only asks the controller for one, too, and clients ask again."""
    body = ask.body
    # null, or in version 0, which has no null, an empty list
    wants_all = body.topics is None or (ask.version == 0 and not body.topics)
    rows: list[MetadataTopic] = []
    effects: tuple[Put, ...] = ()
    if wants_all:
        rows += [_describe_topic(broker, topic) for topic in broker.topics.values()]
        rows += [_describe_topic(broker, topic) for topic in broker.internal.values()]
    else:
        wanted = [(topic.name, getattr(topic, "topic_id", None)) for topic in body.topics]
        missing = {name for name, _ in wanted if name and name not in broker.topics}
        rows += [_describe_wanted(broker, name, topic_id) for name, topic_id in wanted]
        if missing and broker.config.auto_create:
            if getattr(body, "allow_auto_topic_creation", True):
                broker, effects = _make_topics(broker, sorted(missing))
    host, port = ask.here
    node_id = broker.config.node_id
    answer = Metadata((Node(node_id, host, port),), broker.config.cluster_id, node_id, tuple(rows))
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


def _describe_wanted(broker: Broker, name: str | None, wanted: UUID | None) -> MetadataTopic:
    topic = broker.topic(name, wanted)
    if topic is not None:
        return _describe_topic(broker, topic)
    if name is None:
        return MetadataTopic(None, wanted, Error.UNKNOWN_TOPIC_ID)
    bad = name in INTERNAL or name_problem(name)
    error = Error.INVALID_TOPIC_EXCEPTION if bad else Error.UNKNOWN_TOPIC_OR_PARTITION
    return MetadataTopic(name, NO_ID, error)


def _describe_topic(broker: Broker, topic: Topic) -> MetadataTopic:
    me = (broker.config.node_id,)
    partitions = tuple(MetadataPartition(i, me[0], me, me) for i in range(topic.count))
    internal = topic.name in broker.internal
    return MetadataTopic(topic.name, topic.uuid, Error.NONE, partitions, internal)
