"""Floor 2: Kafka's transactions, as pure roles.

Read in this order: `states.py` (the tables), `messages.py`, `coordinator/` (who decides),
`leader/` and `partition.py` (who orders, and how far one may read), `group/`,
`producer/`, `consumer/`, `invariants.py`. README.md says where each is in Kafka.
"""

from .config import SAFEGUARDS, KafkaConfig
from .system import KafkaSystem

__all__ = ["SAFEGUARDS", "KafkaConfig", "KafkaSystem"]
