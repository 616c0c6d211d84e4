"""IncrementalAlterConfigs and AlterConfigs: a topic's and the broker's configs changed.

The first changes what it names (set, delete, append to or subtract from a list); the older
one replaces all there is. Each resource is changed whole or not at all.

**Durable** are a topic's configs with the topic, the broker's in the table `configs` by
"1" (this broker) and "" (all brokers). Of the broker's own, those act here that act
for a topic (`configs.ACTING`), and `transaction.partition.verification.enable`; the others are
kept and shown.

Source: ConfigurationControlManager#incrementalAlterConfigs, ConfigAdminManager,
DynamicBrokerConfig#validate (Kafka 4.3).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ....kafka.errors import Error
from ....kernel import Caller, Effects, Put, Reply, replace
from ..wire.api import Api, Ask
from ..wire.topics import Altered, ConfigsAltered
from .configs import (
    LIST,
    Given,
    Known,
    Pairs,
    config_problem,
    configs_of,
    value,
    value_problem,
    warn_of_idle,
)
from .describing import BROKER, GROUP, LOGGER, METRICS, TOPIC, resource_key
from .topics import KEPT

if TYPE_CHECKING:
    from . import Broker

Result = tuple["Broker", Effects]
Refusal = tuple[Error, str | None]
SET, DELETE, APPEND, SUBTRACT = range(4)
FINE: Refusal = (Error.NONE, None)
VERIFICATION = "transaction.partition.verification.enable"


def alter_configs(broker: Broker, caller: Caller, ask: Ask) -> Result:
    body = ask.body
    times = Counter(map(resource_key, body.resources))
    effects: list[Put] = []
    rows = []
    for resource in body.resources:
        kind, name = resource_key(resource)
        if times[kind, name] > 1:
            error, words = Error.INVALID_REQUEST, "Each resource must appear at most once."
            rows.append(Altered(error, words, kind, name))
            continue
        refusal, new, puts = _altered(broker, resource, ask.api is Api.ALTER_CONFIGS)
        if not body.validate_only and not refusal[0]:
            warn_of_idle(f"topic {name}" if kind == TOPIC else "broker", _set_now(resource, puts))
            broker = new
            effects += puts
        rows.append(Altered(*refusal, kind, name))
    return broker, (*effects, Reply(caller, ConfigsAltered(tuple(rows))))


def _altered(broker: Broker, resource: Any, whole: bool) -> tuple[Refusal, Broker, tuple[Put, ...]]:
    kind, name = resource_key(resource)
    error, words = _which(broker, kind, name)
    if not error:
        error, words = _form(resource)
    if error:
        return (error, words), broker, ()
    if kind == TOPIC:
        return _topic(broker, name, resource, whole)
    return _broker(broker, name, resource, whole)


def _which(broker: Broker, kind: int, name: str) -> Refusal:
    if kind == TOPIC:
        if not name:
            return Error.INVALID_REQUEST, "Default topic resources are not allowed."
        if name in broker.internal:
            return Error.INVALID_TOPIC_EXCEPTION, KEPT
        if name not in broker.topics:
            return Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
        return FINE
    if kind in (LOGGER, METRICS, GROUP):
        words = "this server has no loggers, client metrics or group configs that can be changed"
        return Error.INVALID_REQUEST, words
    if kind != BROKER:
        return Error.INVALID_REQUEST, f"Unknown resource type {kind}"
    me = str(broker.config.node_id)
    if name in ("", me):
        return FINE
    if not name.isascii() or not name.lstrip("-").isdigit():
        return Error.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}"
    return Error.INVALID_REQUEST, f"Unexpected broker id, expected {me}, but received {name}"


def _form(resource: Any) -> Refusal:
    names = [config.name for config in resource.configs]
    if len(set(names)) < len(names):
        return Error.INVALID_REQUEST, "Error due to duplicate config keys"
    empty = [c.name for c in resource.configs if c.value is None and _operation(c) != DELETE]
    if empty:
        return Error.INVALID_REQUEST, f"Null value not supported for : {','.join(empty)}"
    if any(not SET <= _operation(config) <= SUBTRACT for config in resource.configs):
        return Error.UNKNOWN_SERVER_ERROR, None
    return FINE


def _operation(config: Any) -> int:
    return int(getattr(config, "config_operation", SET))


def _set_now(resource: Any, puts: tuple[Put, ...]) -> Pairs:
    """What this request has set of a topic's configs, by their names there, with the values that
    they have now."""
    changed = {config.name for config in resource.configs}
    (value,) = (put.value for put in puts)
    if resource.resource_type == TOPIC:
        return tuple(pair for pair in value.configs if pair[0] in changed)
    given = dict(value)
    topics = configs_of("topic").values()
    mine = ((about.name, about.broker_name) for about in topics)
    return tuple((name, given[other]) for name, other in mine if other in changed & given.keys())


# ---- a topic's ---------------------------------------------------------------------------


def _topic(
    broker: Broker, name: str, resource: Any, whole: bool
) -> tuple[Refusal, Broker, tuple[Put, ...]]:
    topic = broker.topics[name]
    given = {} if whole else dict(topic.configs)
    for config in resource.configs:
        problem = _apply(given, config, configs_of("topic").get(config.name), topic.configs, broker)
        if problem:
            return (Error.INVALID_CONFIG, problem), broker, ()
    problem = config_problem(given.items())
    if problem:
        return (Error.INVALID_CONFIG, problem), broker, ()
    new = replace(topic, configs=tuple(sorted(given.items())))
    puts = (Put("topics", name, new),)
    return FINE, replace(broker, topics=broker.topics.set(name, new)), puts


def _apply(
    given: dict[str, str], config: Any, about: Known | None, own: Pairs, broker: Broker
) -> str:
    """Change one config in `given`; why that cannot be done, "" where it can."""
    operation = _operation(config)
    if operation == DELETE:
        given.pop(config.name, None)
        return ""
    if operation == SET:
        given[config.name] = config.value
        return ""
    if about is None:
        return f"Unknown topic config name: {config.name}"
    if about.kind != LIST:
        verb = "APPEND" if operation == APPEND else "SUBTRACT"
        return f"Can't {verb} to key {config.name} because its type is not LIST."
    now = given.get(config.name)
    current = value(config.name, own, broker.given) if now is None else now
    parts = [part for part in current.split(",") if part]
    change = dict.fromkeys(config.value.split(","))
    if operation == APPEND:
        there = set(parts)
        parts += [part for part in change if part not in there]
    else:
        parts = [part for part in parts if part not in change]
    given[config.name] = ",".join(parts)
    return ""


# ---- the broker's ------------------------------------------------------------------------


def _broker(
    broker: Broker, name: str, resource: Any, whole: bool
) -> tuple[Refusal, Broker, tuple[Put, ...]]:
    """Names nobody knows are kept too: a plug-in might read them."""
    table = configs_of("broker")
    fixed = [c.name for c in resource.configs if c.name in table and table[c.name].read_only]
    if fixed:
        words = f"Cannot update these configs dynamically: [{', '.join(fixed)}]"
        return (Error.INVALID_REQUEST, words), broker, ()
    old = broker.given.broker if name else broker.given.cluster
    given = {} if whole else dict(old)
    for config in resource.configs:
        about = table.get(config.name)
        if _operation(config) == DELETE:
            given.pop(config.name, None)
            continue
        if _operation(config) != SET:
            words = "lists of a broker are set as a whole here"
            return (Error.INVALID_CONFIG, words), broker, ()
        problem = value_problem(about, config.value) if about is not None else ""
        problem = problem or _as_topic(config)
        if problem:
            return (Error.INVALID_REQUEST, problem), broker, ()
        given[config.name] = config.value
    pairs = tuple(sorted(given.items()))
    now = Given(pairs, broker.given.cluster) if name else Given(broker.given.broker, pairs)
    return FINE, replace(broker, given=now), (Put("configs", name, pairs),)


def _as_topic(config: Any) -> str:
    """Why a broker cannot say this for its topics."""
    for about in configs_of("topic").values():
        if about.broker_name == config.name:
            return value_problem(about, config.value)
    return ""


def verifies(broker: Broker) -> bool:
    """Whether leaders ask the coordinator before a legacy client's transaction opens."""
    for pairs in (broker.given.broker, broker.given.cluster):
        for name, setting in pairs:
            if name == VERIFICATION:
                return setting.strip().lower() != "false"
    return True
