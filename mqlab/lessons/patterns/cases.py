"""The systems of the classical models that are searched. Data only; `lessons/searches.py`
searches them.

    mqlab explore two_phase_set              one model's lesson
    mqlab explore patterns --table           those of all models
"""

from __future__ import annotations

from ..searches import Searched, Searches

SET = Searched("two_phase_set", "two_phase_set")

MODELS = {"two_phase_set": SET}
SEARCHES = Searches(
    lesson=SET,
    systems=tuple(MODELS.values()),
    safeguards={},
    claims={},
    models=MODELS,
)
