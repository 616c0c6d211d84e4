"""DescribeConfigs: every config with its value, where that comes from, and what it means.

Source: ConfigHelper#describeConfigs, #createTopicConfigEntry, #createBrokerConfigEntry,
DynamicBrokerConfig (Kafka 4.3).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ....kafka.errors import Error
from ....kernel import Caller, Effects, Reply
from ..wire.answers import Described, DescribedConfigs, TopicConfig
from ..wire.api import Ask
from ..wire.topics import ConfigResource, ConfigResources, Synonym
from .configs import DEFAULT, ON_ALL, ON_BROKER, STATIC, Given, Known, Pairs, chain, configs_of
from .fetch import ANSWER
from .topic import name_problem

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]
Found = list[tuple[str, str | None, int]]
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32  # ConfigResource.Type
UNKNOWN_KIND = (
    "This most likely occurs because of a request being malformed by the client library or the "
    "message was sent to an incompatible broker. See the broker logs for more details."
)


def describe_configs(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    static = static_configs(broker, ask)
    rows = []
    for resource in body.resources:
        kind, name = resource.resource_type, resource.resource_name
        error, words = _refusal(broker, kind, name)
        configs = () if error else _configs(broker, kind, name, static)
        keys = set(resource.configuration_keys or ())
        shown = tuple(
            _shown(config, body.include_synonyms, getattr(body, "include_documentation", False))
            for config in configs
            if not keys or config.name in keys
        )
        rows.append(DescribedConfigs(kind, name, error, words, shown))
    return broker, (Reply(caller, Described(tuple(rows))),)


def _refusal(broker: Broker, kind: int, name: str) -> tuple[Error, str]:
    if kind == TOPIC:
        problem = name_problem(name)
        if problem:
            return Error.INVALID_TOPIC_EXCEPTION, problem
        missing = broker.topic(name) is None
        return (Error.UNKNOWN_TOPIC_OR_PARTITION, "") if missing else (Error.NONE, "")
    if kind in (BROKER, LOGGER):
        return _of_this_broker(broker, name, kind)
    if kind == METRICS and not name:
        return Error.INVALID_REQUEST, "Client metrics subscription name must not be empty"
    if kind not in (METRICS, GROUP):
        return Error.INVALID_REQUEST, UNKNOWN_KIND
    return Error.NONE, ""


def _of_this_broker(broker: Broker, name: str, kind: int) -> tuple[Error, str]:
    me = str(broker.config.node_id)
    if name == me or (not name and kind == BROKER):
        return Error.NONE, ""
    if not name.isascii() or not name.lstrip("-").isdigit():
        return Error.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
    words = f"Unexpected broker id, expected {me} or empty string, but received {name}"
    return Error.INVALID_REQUEST, words


def _configs(broker: Broker, kind: int, name: str, static: Pairs) -> tuple[TopicConfig, ...]:
    topic = broker.topic(name) if kind == TOPIC else None
    if topic is not None:
        return topic_configs(topic.configs, broker.given)
    if kind == BROKER and name:
        return _broker_configs(broker.given, static)
    if kind == BROKER:
        return _cluster_configs(broker.given)
    if kind == GROUP:
        return tuple(_entry(config, _defaults(config)) for config in configs_of("group").values())
    # There are no subscriptions of clients' metrics, and the levels of this server's log are
    # not Java's.
    return ()


@lru_cache(maxsize=1024)
def topic_configs(own: Pairs, given: Given) -> tuple[TopicConfig, ...]:
    """All configs of a topic that was given `own`."""
    return tuple(
        _entry(config, chain(config, own, given)) for config in configs_of("topic").values()
    )


def _broker_configs(given: Given, static: Pairs) -> tuple[TopicConfig, ...]:
    rows = []
    for name, config in configs_of("broker").items():
        values: Found = [(n, v, ON_BROKER) for n, v in given.broker if n == name]
        values += [(n, v, ON_ALL) for n, v in given.cluster if n == name]
        values += [(n, v, STATIC) for n, v in static if n == name]
        rows.append(_entry(config, values + _defaults(config)))
    table = configs_of("broker")
    # A name it does not know is kept, and might be a secret: so its value is not shown.
    unknown = [(n, ON_BROKER) for n, _ in given.broker if n not in table]
    rows += [
        TopicConfig(n, None, False, source, True, (Synonym(n, None, source),), 0)
        for n, source in unknown
    ]
    return tuple(rows)


def _cluster_configs(given: Given) -> tuple[TopicConfig, ...]:
    """What all brokers were given while they run."""
    table = configs_of("broker")
    values = [(table[n], v) for n, v in given.cluster if n in table]
    return tuple(_entry(config, [(config.name, v, ON_ALL)]) for config, v in values)


def static_configs(broker: Broker, ask: Ask) -> Pairs:
    """What this server was started with, in Kafka's names."""
    host, port = ask.here
    here = f"PLAINTEXT://{host}:{port}"
    config = broker.config
    refused = () if config.auto_create else (("auto.create.topics.enable", "false"),)
    return (
        ("advertised.listeners", here),
        *refused,
        ("broker.id", str(config.node_id)),
        ("fetch.max.bytes", str(ANSWER)),
        ("listeners", here),
        ("log.dirs", config.log_dir),
        ("node.id", str(config.node_id)),
        ("process.roles", "broker,controller"),
    )


def _defaults(config: Known) -> Found:
    return [(name, value, DEFAULT) for name, value in config.synonyms]


def _entry(config: Known, values: Found) -> TopicConfig:
    value, source = (values[0][1], values[0][2]) if values else (config.default, DEFAULT)
    if source == DEFAULT:
        value = config.default  # its synonyms may be in other units
    secret = config.sensitive
    return TopicConfig(
        name=config.name,
        value=None if secret else value,
        read_only=config.read_only,
        config_source=source,
        is_sensitive=secret,
        synonyms=tuple(Synonym(n, None if secret else v, s) for n, v, s in values),
        config_type=config.kind,
        documentation=config.documentation,
    )


def _shown(config: TopicConfig, synonyms: bool, documentation: bool) -> TopicConfig:
    """Without what was not asked for."""
    return TopicConfig(
        config.name,
        config.value,
        config.read_only,
        config.config_source,
        config.is_sensitive,
        config.synonyms if synonyms else (),
        config.config_type,
        config.documentation if documentation else None,
    )


def list_resources(broker: Broker, caller: Caller, ask: Ask) -> Result:
    """ListConfigResources: what has configs at all; in version 0 the subscriptions of
    clients' metrics, of which there are none."""
    known_kinds = (GROUP, METRICS, LOGGER, BROKER, TOPIC)
    wanted = set(getattr(ask.body, "resource_types", ())) or set(known_kinds)
    if ask.version == 0:
        wanted = {METRICS}
    if not wanted <= set(known_kinds):
        return broker, (Reply(caller, ConfigResources((), Error.UNSUPPORTED_VERSION)),)
    me = str(broker.config.node_id)
    rows = [ConfigResource(me, kind) for kind in (LOGGER, BROKER) if kind in wanted]
    if TOPIC in wanted:
        rows += [ConfigResource(name, TOPIC) for name in (*broker.internal, *broker.topics)]
    return broker, (Reply(caller, ConfigResources(tuple(rows))),)


def resource_key(resource: Any) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name
