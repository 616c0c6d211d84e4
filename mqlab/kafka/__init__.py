"""Layer 2: Kafka's transactions, as pure roles.

Read in this order: `states.py` (the tables), `messages.py`, `coordinator/` (who decides),
`log/` and `leader.py` (who orders, and how far one may read), `group/`, `clients/`,
`replication/` (several copies of each log). Then `system.py` puts roles on nodes, `picture/`
draws what they do, and `claims.py` says what must be true of it. At this top is only what all
packages use: states, messages, errors, config. README.md says where each is in Kafka.
"""

from .config import SAFEGUARDS, KafkaConfig
from .system import KafkaSystem

__all__ = ["SAFEGUARDS", "KafkaConfig", "KafkaSystem"]
