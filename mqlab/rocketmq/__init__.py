"""Layer 2: RocketMQ's transactional messages, as pure roles.

Read in this order: `states.py` and `messages.py`; `log.py` (one commit log, queues that point into
it), `check.py` (the round that asks), `broker/` (who stores and ends), `producer.py` and
`application.py` (the half, the row, the end). Then `system.py` puts roles on nodes, `picture/`
draws what they do, and `claims.py` says what must be true of it. README.md says where each is in
RocketMQ.
"""

from .config import SAFEGUARDS, RocketMQConfig
from .system import RocketMQSystem

__all__ = ["SAFEGUARDS", "RocketMQConfig", "RocketMQSystem"]
