"""What the house of recordings is handed about RocketMQ."""

from __future__ import annotations

from mqlab.rocketmq.evidence import IDS

from ..oracle import Oracle
from .client import PROFILES, Lab, Target
from .programs import programs


def level_of(profile: str) -> int:
    """The release line of a profile as a number."""
    return PROFILES[profile].level


def open_lab(target: Target, profile: str, prefix: str) -> Lab:
    return Lab(target, PROFILES[profile], prefix)


ROCKETMQ = Oracle("rocketmq", programs, level_of, open_lab, IDS)
