"""Floor 2: RocketMQ's transactional messages, as pure roles.

Read in this order: `states.py` and `messages.py`; `log/` (one commit log, queues that point into
it), `check/` (the round that asks), `broker/` (who stores and ends), `producer/` and
`application/` (the half, the row, the end). Then `system/` puts roles on nodes, `picture/` draws
what they do, and `claims/` says what must be true of it. At this top lies only what all rooms use:
states, messages, errors, config. README.md says where each is in RocketMQ.
"""

from .config import SAFEGUARDS, RocketMQConfig
from .system import RocketMQSystem

__all__ = ["SAFEGUARDS", "RocketMQConfig", "RocketMQSystem"]
