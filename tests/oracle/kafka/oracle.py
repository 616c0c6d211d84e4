"""What the house of recordings is handed about Kafka."""

from __future__ import annotations

from mqlab.kafka.evidence import IDS
from mqlab.real.kafka.client import PROFILES, Lab, Target

from ..oracle import Oracle
from .programs import programs


def level_of(profile: str) -> int:
    """The cluster's transaction.version."""
    return PROFILES[profile].transaction_version


def open_lab(target: Target, profile: str, prefix: str) -> Lab:
    return Lab(target, PROFILES[profile], prefix)


KAFKA = Oracle("kafka", programs, level_of, open_lab, IDS)
