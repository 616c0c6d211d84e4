"""Configurations: which there are, what they may say, and which value counts.

The table `configs.tsv` is what a real 4.3.1 answers about a topic and itself, with
defaults and documentation (made by `tests.oracle.kafka.cost`). A topic's value is the first of:
what the topic was given; what all brokers were given; the default. DescribeConfigs shows that chain
as *synonyms*, because the broker calls its half differently: `max.message.bytes` of a topic is
`message.max.bytes` of a broker.

What a value may be is not in that table: the bounds below were asked of a real broker, one
wrong value each.

All are kept and shown, but only those in `ACTING` act: this server removes no record by itself,
neither by age and size nor by compaction, and has one copy of each. A client that sets another one
to something else than its default finds a warning in the server's log.

Source: LogConfig, TopicConfig, ConfigDef, AbstractConfig (clients and storage, Kafka 4.3).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from ....kernel import Words, frozen
from ...disk import name_of
from ..wire.compression import NAMES, ZSTD
from ..wire.validation import PRODUCER, Rules

Pairs = tuple[tuple[str, str], ...]

log = logging.getLogger("mqlab.serve")

TABLE = Path(__file__).with_name("configs.tsv")
NONE = "\\N"
BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD = range(1, 10)
TYPES = {BOOLEAN: "BOOLEAN", INT: "INT", SHORT: "SHORT", LONG: "LONG", DOUBLE: "DOUBLE"}
BITS = {INT: 31, SHORT: 15, LONG: 63}
ON_TOPIC, ON_BROKER, ON_ALL, _, DEFAULT = range(1, 6)  # where a value comes from

#: what the broker calls a topic's config, where the table shows no synonym
OTHER_NAMES = {
    "flush.ms": "log.flush.interval.ms",
    "retention.ms": "log.retention.ms",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
}
#: a topic's configs that this server does something by
ACTING = (
    "compression.gzip.level",
    "compression.type",
    "compression.zstd.level",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
)
WITHOUT_EFFECT = Words(
    "{topic}: {configs} is kept and shown, but has no effect: this server removes no records "
    "by itself, compacts nothing and has one copy of each partition"
)
#: the least a topic's config may be
LEAST: dict[str, float] = {
    "compression.lz4.level": 1,
    "compression.zstd.level": -131072,
    "delete.retention.ms": 0,
    "file.delete.delay.ms": 0,
    "flush.messages": 1,
    "flush.ms": 0,
    "index.interval.bytes": 0,
    "local.retention.bytes": -2,
    "local.retention.ms": -2,
    "max.compaction.lag.ms": 1,
    "max.message.bytes": 0,
    "message.timestamp.after.max.ms": 0,
    "message.timestamp.before.max.ms": 0,
    "min.cleanable.dirty.ratio": 0,
    "min.compaction.lag.ms": 0,
    "min.insync.replicas": 1,
    "retention.ms": -1,
    "segment.bytes": 1 << 20,
    "segment.index.bytes": 4,
    "segment.jitter.ms": 0,
    "segment.ms": 1,
}
MOST = {"compression.lz4.level": 17, "compression.zstd.level": 22, "min.cleanable.dirty.ratio": 1}
ONE_OF = {
    "cleanup.policy": ("compact", "delete"),
    "compression.type": ("uncompressed", "zstd", "lz4", "snappy", "gzip", PRODUCER),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
}
THROTTLED = re.compile(r"\*|\d+:\d+(,\d+:\d+)*|")
NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)
FRACTION = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?[dDfF]?", re.ASCII)
LONGEST = 400  # digits of a number that is looked at


@frozen
class Known:
    """A line of the table. `synonyms`: (name, value) of the defaults that the default overrides."""

    name: str
    kind: int
    read_only: bool
    default: str | None
    synonyms: Pairs
    documentation: str

    @property
    def broker_name(self) -> str:
        """What a broker calls this config of a topic."""
        return self.synonyms[0][0] if self.synonyms else OTHER_NAMES.get(self.name, self.name)


@cache
def configs_of(scope: str) -> dict[str, Known]:
    """All configs of a "topic", or those of the "broker" that this server shows, by name."""
    rows = (line.split("\t") for line in TABLE.read_text("utf-8").splitlines())
    return {row[1]: _known(*row[1:]) for row in rows if row[0] == scope}


def _known(name: str, kind: str, flags: str, value: str, synonyms: str, words: str) -> Known:
    pairs = tuple(
        (other, given)
        for pair in filter(None, synonyms.split(";"))
        for other, _, given in [pair.partition("=")]
    )
    default = None if value == NONE else value
    return Known(name, int(kind), "r" in flags, default, pairs, words)


# ---- what a value may be -----------------------------------------------------------------


def config_problem(pairs: Iterable[tuple[str, str | None]]) -> str:
    """Return why a topic cannot have these configs, in Kafka's words; "" if it can. Checks names,
    then each value, then values that exclude each other."""
    given: dict[str, str] = {}
    for name, value in pairs:
        if value is None:
            return f"Null value not supported for topic configs: {name}"
        given[name] = value
    table = configs_of("topic")
    for name in given:
        if name not in table:
            return f"Unknown topic config name: {name}"
    for name, value in given.items():
        problem = value_problem(table[name], value)
        if problem:
            return problem
    return _conflict(given)


def _conflict(given: dict[str, str]) -> str:
    if given.get("remote.storage.enable", "").strip().lower() == "true":
        return (
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
    least = int(given.get("min.compaction.lag.ms", 0))
    most = int(given.get("max.compaction.lag.ms", 2**63 - 1))
    if least > most:
        return (
            f"conflict topic config setting min.compaction.lag.ms ({least}) "
            f"> max.compaction.lag.ms ({most})"
        )
    return ""


def value_problem(config: Known, value: str) -> str:
    """Return why this config cannot have this value, in Kafka's words; "" if it can: its type, its
    bounds, the values it is limited to."""
    name, text = config.name, value.strip()
    prefix = f"Invalid value {value} for configuration {name}: "
    if config.kind == BOOLEAN and text.lower() not in ("true", "false"):
        return f"{prefix}Expected value to be either true or false"
    if config.kind in (INT, SHORT, LONG, DOUBLE):
        number = _parse_number(config.kind, text)
        if number is None:
            return f"{prefix}Not a number of type {TYPES[config.kind]}"
        # Kafka quotes the number that it has read, without a plus
        return _bounds(name, number, f"Invalid value {text.lstrip('+')} for configuration {name}: ")
    # None: any text will do
    allowed = ONE_OF.get(name)
    for item in _list_items(text) if config.kind == LIST else [text]:
        if allowed is not None and item not in allowed:
            choice = ", ".join(allowed)
            return f"Invalid value {item} for configuration {name}: String must be one of: {choice}"
    if name.endswith(".throttled.replicas") and not THROTTLED.fullmatch(text):
        return (
            f"Invalid value [{text}] for configuration {name}: {name} must be the literal '*' or a "
            "list of replicas in the following format: [partitionId]:[brokerId],"
            "[partitionId]:[brokerId],..."
        )
    return ""


def _parse_number(kind: int, text: str) -> float | None:
    if len(text) > LONGEST:
        return None
    if kind == DOUBLE:
        return float(text.rstrip("dDfF")) if FRACTION.fullmatch(text) else None
    if not NUMBER.fullmatch(text):
        return None
    number = int(text)
    return number if -(1 << BITS[kind]) <= number < 1 << BITS[kind] else None


def _bounds(name: str, number: float, wrong: str) -> str:
    if name == "compression.gzip.level" and number != -1 and not 1 <= number <= 9:
        return f"{wrong}Value must be between 1 and 9 or equal to -1"
    if number < LEAST.get(name, number):
        return f"{wrong}Value must be at least {LEAST[name]}"
    if number > MOST.get(name, number):
        return f"{wrong}Value must be no more than {MOST[name]}"
    return ""


def _list_items(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


# ---- what has no effect here ---------------------------------------------------------------


def warn_of_idle(what: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Say in the log which of these configs of a topic ask for something that this server does
    not do; `what` they were set for."""
    table = configs_of("topic")
    idle = [(n, v) for n, v in pairs if n not in ACTING and v.strip() != table[n].default]
    if idle:
        said = ", ".join(f"{name}={name_of(value)}" for name, value in idle)
        log.warning("%s", WITHOUT_EFFECT(topic=name_of(what), configs=said))


# ---- which value counts ------------------------------------------------------------------


#: what all brokers were given: KRaft with the feature eligible.leader.replicas does so at its start
#: (KIP-966)
EVERYWHERE = {"min.insync.replicas": "1"}


def chain(config: Known, overrides: Pairs) -> list[tuple[str, str | None, int]]:
    """(name, value, where from) of everything that says what a topic's config is; the first
    counts."""
    values: list[tuple[str, str | None, int]] = []
    values += [(n, v, ON_TOPIC) for n, v in overrides if n == config.name]
    values += [(n, v, ON_ALL) for n, v in EVERYWHERE.items() if n == config.broker_name]
    return values + [(n, v, DEFAULT) for n, v in config.synonyms]


@lru_cache(maxsize=4096)
def value(name: str, overrides: Pairs) -> str:
    """The value of a topic's config that counts."""
    config = configs_of("topic")[name]
    values = chain(config, overrides)
    return (values[0][1] if values else config.default) or ""


@lru_cache(maxsize=1024)
def rules(overrides: Pairs) -> Rules:
    """Collect what a topic's configs, its own ones first, demand of each batch that is produced to
    it: its size, compression and timestamps."""

    def number(name: str) -> int:
        return int(value(name, overrides))

    compression = value("compression.type", overrides).strip()
    zstd = NAMES.get(compression) == ZSTD  # only gzip and zstd use the level
    return Rules(
        max_message_bytes=number("max.message.bytes"),
        compression_type=compression,
        level=number("compression.zstd.level" if zstd else "compression.gzip.level"),
        append_time=value("message.timestamp.type", overrides).strip() == "LogAppendTime",
        compact="compact" in policy(overrides),
        before_max_ms=number("message.timestamp.before.max.ms"),
        after_max_ms=number("message.timestamp.after.max.ms"),
    )


def policy(overrides: Pairs) -> list[str]:
    """`cleanup.policy`, part by part."""
    return _list_items(value("cleanup.policy", overrides).strip())
