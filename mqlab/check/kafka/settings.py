"""A user's own client settings: lines `name=value`, as librdkafka names them.

security.protocol=SASL_SSL          both kinds of client, and the one that creates topics
producer.linger.ms=20               the writers only
consumer.isolation.level=read_uncommitted    the readers only
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

#: what the workload itself decides
OWN = ("bootstrap.servers", "transactional.id", "group.id", "enable.auto.commit")


class SettingsError(ValueError):
    """A file of settings that cannot be used; the message names the line."""


@dataclass(frozen=True)
class Settings:
    """`producer` and `consumer` hold what is said for one kind of client."""

    common: dict[str, str] = field(default_factory=dict)
    producer: dict[str, str] = field(default_factory=dict)
    consumer: dict[str, str] = field(default_factory=dict)


def read_settings(path: Path) -> Settings:
    """SettingsError where a line is no setting or names what the workload decides."""
    settings = Settings()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        name = name.strip()
        kind, _, rest = name.partition(".")
        group, key = (kind, rest) if kind in ("producer", "consumer") else ("common", name)
        if not equals or not key:
            raise SettingsError(f"{path}: line {number}: expected name=value")
        if key in OWN:
            raise SettingsError(
                f"{path}: line {number}: {key} is set by the workload: leave it out"
            )
        getattr(settings, group)[key] = value.strip()
    return settings
