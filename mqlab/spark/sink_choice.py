"""Every sink by its name: those of `sinks.py`, those into a database, the two-phase one."""

from __future__ import annotations

from .databases import DATABASES
from .sinks import AtLeastOnce, ExactlyOnce, Sink, SparksOwn, Transactions
from .two_phase import TwoPhase

SINKS: dict[str, type[Sink]] = {
    "at-least-once": AtLeastOnce,
    "transactions": Transactions,
    "exactly-once": ExactlyOnce,
}
OWN = "Spark's own"  # needs its connector (connector.py)
TWO_PHASE = "two-phase"
EVERY: dict[str, type[Sink]] = {**SINKS, **DATABASES, OWN: SparksOwn, TWO_PHASE: TwoPhase}
