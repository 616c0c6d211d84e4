"""Every sink by its name: those of `sinks.py`, those into a database, the two-phase one."""

from __future__ import annotations

from .databases import DATABASES
from .kills import NEVER, Kill
from .sinks import AtLeastOnce, Encode, ExactlyOnce, Rule, Sink, SparksOwn, Target, Transactions
from .two_phase import TwoPhase

SINKS: dict[str, type[Sink]] = {
    "at-least-once": AtLeastOnce,
    "transactions": Transactions,
    "exactly-once": ExactlyOnce,
}
OWN = "Spark's own"  # needs its connector (connector.py)
TWO_PHASE = "two-phase"


def make_sink(
    name: str, target: Target, encode: Encode, kill: Kill = NEVER, rule: Rule | None = None
) -> Sink:
    """The sink of that name; `rule` stands in for `decide`, or for `resume` of the two-phase
    one, where there is one."""
    if name == OWN:
        return SparksOwn(target, encode, kill)
    if name == TWO_PHASE:
        return TwoPhase(target, encode, kill, rule)
    if name == "exactly-once":
        return ExactlyOnce(target, encode, kill, rule)
    return (SINKS | DATABASES)[name](target, encode, kill)
