"""DescribeConfigs: every config with its value, where that comes from, and what it means.

Of a topic all are shown, of the broker those by which this server does something. Nothing else has
configs here (`kafka/unserved.py`).

Source: ConfigHelper#describeConfigs, #createTopicConfigEntry, #createBrokerConfigEntry (Kafka 4.3).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ....kafka.errors import Error
from ....kafka.unserved import NO_SUCH_CONFIGS, VERIFICATION
from ....kernel import Caller, Effects, Reply
from ..wire.answers import DescribedConfigs, Synonym, Table, TopicConfig
from ..wire.api import Ask
from .configs import DEFAULT, EVERYWHERE, ON_ALL, ON_BROKER, Known, Pairs, chain, configs_of
from .topic import name_problem

if TYPE_CHECKING:
    from . import Broker

Found = list[tuple[str, str | None, int]]
TOPIC, BROKER = 2, 4  # ConfigResource.Type


def describe_configs(broker: Broker, caller: Caller, ask: Ask) -> tuple[Broker, Effects]:
    body = ask.body
    rows = []
    for resource in body.resources:
        kind, name = resource.resource_type, resource.resource_name
        error, words = _refusal(broker, kind, name)
        configs = () if error else _configs(broker, kind, name)
        keys = set(resource.configuration_keys or ())
        shown = tuple(
            _shown(config, body.include_synonyms, getattr(body, "include_documentation", False))
            for config in configs
            if not keys or config.name in keys
        )
        rows.append(DescribedConfigs(kind, name, error, words, shown))
    return broker, (Reply(caller, Table(tuple(rows))),)


def _refusal(broker: Broker, kind: int, name: str) -> tuple[Error, str]:
    """Return why a DescribeConfigs request for this resource is refused: (error, Kafka's words),
    with Error.NONE if it is not. `kind` is the resource type: a topic, or this broker (by its id or
    "")."""
    if kind == TOPIC:
        if problem := name_problem(name):
            return Error.INVALID_TOPIC_EXCEPTION, problem
        missing = broker.topic(name) is None
        return (Error.UNKNOWN_TOPIC_OR_PARTITION, "") if missing else (Error.NONE, "")
    if kind != BROKER:
        return Error.INVALID_REQUEST, NO_SUCH_CONFIGS
    own_id = str(broker.config.node_id)
    if name in ("", own_id):
        return Error.NONE, ""
    if not name.isascii() or not name.lstrip("-").isdigit():
        return Error.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
    words = f"Unexpected broker id, expected {own_id} or empty string, but received {name}"
    return Error.INVALID_REQUEST, words


def _configs(broker: Broker, kind: int, name: str) -> tuple[TopicConfig, ...]:
    topic = broker.topic(name) if kind == TOPIC else None
    if topic is not None:
        return topic_configs(topic.configs)
    table = configs_of("broker")
    if not name:  # what all brokers were given
        return tuple(_entry(table[n], [(n, v, ON_ALL)]) for n, v in EVERYWHERE.items())
    given: dict[str, Found] = {n: [(n, v, ON_ALL)] for n, v in EVERYWHERE.items()}
    if broker.verification:
        given[VERIFICATION] = [(VERIFICATION, broker.verification, ON_BROKER)]
    return tuple(_entry(c, given.get(n, []) + _defaults(c)) for n, c in table.items())


@lru_cache(maxsize=1024)
def topic_configs(overrides: Pairs) -> tuple[TopicConfig, ...]:
    """All configs of a topic that was given `overrides`."""
    return tuple(
        _entry(config, chain(config, overrides)) for config in configs_of("topic").values()
    )


def _defaults(config: Known) -> Found:
    return [(name, value, DEFAULT) for name, value in config.synonyms]


def _entry(config: Known, values: Found) -> TopicConfig:
    value, source = (values[0][1], values[0][2]) if values else (config.default, DEFAULT)
    if source == DEFAULT:
        value = config.default  # its synonyms may be in other units
    return TopicConfig(
        name=config.name,
        value=value,
        read_only=config.read_only,
        config_source=source,
        synonyms=tuple(Synonym(n, v, s) for n, v, s in values),
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
        synonyms=config.synonyms if synonyms else (),
        config_type=config.config_type,
        documentation=config.documentation if documentation else None,
    )
