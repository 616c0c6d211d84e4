"""Entering an error state: only an abort is left, or nothing at all.

Source: TransactionManager#transitionToAbortableError, #transitionToFatalError (clients,
Kafka 4.3).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ....kernel import FAILED, Effects
from ...states import ProducerState, producer_may_enter
from .calling import return_call
from .errors import ILLEGAL_STATE, Kind, Trouble

if TYPE_CHECKING:
    from . import Producer

Result = tuple["Producer", Effects]
_S = ProducerState


def enter_abortable_error(p: Producer, trouble: Trouble) -> Result:
    """Only an abort is left. What was not sent yet never will be."""
    if p.state is _S.ABORTING:
        return p, ()
    if not producer_may_enter(_S.ABORTABLE_ERROR, p.state):
        # A stray record was given up between transactions: the client poisons itself.
        why = f"{ILLEGAL_STATE}: {p.state} → {_S.ABORTABLE_ERROR}"
        return enter_fatal_error(p, Trouble(why, Kind.FATAL, own=True))
    p = replace(p.enter(_S.ABORTABLE_ERROR), error=trouble)
    p = drop_unsent(p)
    if p.request is not None and not p.request.sent:
        p = replace(p, request=None)
    return return_call(p, FAILED, str(trouble), trouble.meaning)


def drop_unsent(p: Producer) -> Producer:
    """Batches that never left are forgotten."""
    return replace(p, flights=tuple(f for f in p.flights if f.number >= 0))


def enter_fatal_error(p: Producer, trouble: Trouble) -> Result:
    """Every call fails from now on; only a new producer helps."""
    p = replace(p.enter(_S.FATAL_ERROR), error=trouble, flights=(), request=None)
    return return_call(p, FAILED, str(trouble), trouble.meaning)
