"""Layer 2: Pulsar's transactions, as pure roles.

At this top is only what all packages use: states, messages, errors, config. README.md says which
role is where, who calls whom, and where each part is in Pulsar.
"""

from .config import SAFEGUARDS, PulsarConfig
from .system import PulsarSystem

__all__ = ["SAFEGUARDS", "PulsarConfig", "PulsarSystem"]
