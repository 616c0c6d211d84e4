"""The configurations a real broker knows: names, types, defaults, documentation.

    python -m tests.oracle.kafka.configs ADDRESS

asks a fresh broker of the pinned version for all configs of a topic and for `SHOWN` of its own and
writes `mqlab/serve/kafka/front/configs.tsv`, from which this project's server answers the same
question. One config a line: scope, name, type, "r" where it is read-only, default, synonyms,
documentation; "\\N" is no value.

Source: DescribeConfigs v4 of Kafka 4.3.1, whose documentation texts are Apache Kafka's
(Apache License 2.0).
"""

from __future__ import annotations

import sys
from types import SimpleNamespace as Row
from typing import Any

from mqlab.places import PACKAGE
from mqlab.real.kafka.wire import MINUTE, Raw

TABLE = PACKAGE / "serve" / "kafka" / "front" / "configs.tsv"
TOPIC, BROKER = 2, 4  # kinds of resources (ConfigResource.Type)
DEFAULT = 5  # where a value comes from (DescribeConfigsResponse.ConfigSource)
#: a broker's configs by which this project's server does something
SHOWN = frozenset(
    {
        "compression.gzip.level", "compression.type", "compression.zstd.level",
        "log.message.timestamp.after.max.ms", "log.message.timestamp.before.max.ms",
        "log.message.timestamp.type", "message.max.bytes", "min.insync.replicas",
        "transaction.partition.verification.enable",
    }
)  # fmt: skip
NONE = "\\N"


def describe_configs(raw: Raw, kind: int, name: str) -> list[Any]:
    """Every config of a resource with synonyms and documentation, by name."""
    resource = Row(resource_type=kind, resource_name=name, configuration_keys=None)
    answer = raw.ask(
        32, 4, resources=(resource,), include_synonyms=True, include_documentation=True
    )
    return sorted(answer.results[0].configs, key=lambda config: str(config.name))


def line(scope: str, config: Any) -> str:
    """One config as a line of the table, as it would be had nobody set it."""
    defaults = [s for s in config.synonyms if s.source == DEFAULT]
    flags = "r" if config.read_only else ""
    synonyms = ";".join(f"{s.name}={_text(s.value)}" for s in defaults)
    words = " ".join((config.documentation or "").split())
    fields = (
        scope,
        config.name,
        str(config.config_type),
        flags,
        _text(config.value),
        synonyms,
        words,
    )
    return "\t".join(fields)


def _text(value: str | None) -> str:
    return NONE if value is None else value


def table(address: str) -> str:
    """All lines: of a topic, then of the broker."""
    topic = "configs-of-a-topic"
    with Raw(address) as raw:
        fields = {"num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
        raw.ask(19, 5, topics=(Row(name=topic, **fields),), timeout=MINUTE, validate_only=False)
        while not (rows := describe_configs(raw, TOPIC, topic)):
            pass
        lines = [line("topic", config) for config in rows]
        own = describe_configs(raw, BROKER, "1")
        lines += [line("broker", config) for config in own if config.name in SHOWN]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(table(sys.argv[1]), "utf-8")
