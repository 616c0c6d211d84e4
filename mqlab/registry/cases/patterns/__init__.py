"""The systems of the classical models that are searched: what each keeps, what each safeguard is
for, and what even the correct model does not promise. Data only; `registry/searches.py` searches.

    mqlab explore tcc                        one model's lesson, by the name of its system
    mqlab explore patterns --table           the lessons of all models
    mqlab explore patterns --off NAME        a case; --safeguards: all of them
    mqlab explore patterns --claim NAME      what is not promised

Every system is as small as its point allows, as Kafka's are (`registry/cases/kafka.py`).
"""

from __future__ import annotations

from ...searches import Searched, Searches
from . import (
    barriers,
    delivery,
    message_transaction,
    micro_batches,
    outbox,
    saga,
    tcc,
    three_phase,
    two_phase,
)

#: a module each, with LESSON, SYSTEMS, SAFEGUARDS and CLAIMS
MODELS = (
    delivery,
    two_phase,
    three_phase,
    tcc,
    saga,
    message_transaction,
    outbox,
    barriers,
    micro_batches,
)
#: the model whose states are known, for three, five and seven resource managers
SET = tuple(Searched(f"two_phase_set, {n}", f"two_phase_set managers={n}") for n in (3, 5, 7))

SEARCHES = Searches(
    lesson=two_phase.LESSON,
    systems=(*(searched for model in MODELS for searched in model.SYSTEMS), *SET),
    safeguards={case.off: case for model in MODELS for case in model.SAFEGUARDS},
    claims={case.name: case for model in MODELS for case in model.CLAIMS},
    models={**{m.LESSON.name: m.LESSON for m in MODELS}, "two_phase_set": SET[0]},
)
