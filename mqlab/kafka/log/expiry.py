"""Producers that nobody hears of any more.

A leader that remembered every producer for ever would grow for ever. So a timer runs as long
as there is somebody to forget, and what was idle for `pid_expiration_ms` is dropped, except
producers whose transaction is open (ProducerStateManager#removeExpiredProducers, Kafka 4.3).
"""

from __future__ import annotations

from ...kernel import Effects, SetTimer, replace
from ..config import KafkaConfig
from .partition import Partition
from .role import R

EXPIRE = "expire producers"


def schedule_expiry(config: KafkaConfig, old: Partition | None, new: Partition) -> Effects:
    """The timer that looks for idle producers, once there is somebody to forget; `old` None:
    none is running."""
    begins = new.remembers and (old is None or not old.remembers)
    if not config.pid_expiration_ms or not begins:
        return ()
    return (SetTimer(EXPIRE, config.pid_sweep_ms),)


def forget_idle(role: R, at_ms: int) -> tuple[R, Effects]:
    """The timer has fired; it is set again while somebody is left."""
    part = role.part.without_expired(at_ms)
    return replace(role, part=part), schedule_expiry(role.config, None, part)
