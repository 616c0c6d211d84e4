"""Lab 00, start here: its scenarios in words, its maps, its timeline and its glossary."""

from __future__ import annotations

from mqlab_widgets.payment import Payment

from ..kafka.clients.calls import Init
from ..kafka.log import Batch
from ..kernel import FactKind, Outcome, Trace
from .atlas.map_panel import broker_map as broker_map
from .atlas.map_panel import broker_maps as broker_maps
from .atlas.map_panel import map_table as map_table
from .atlas.timeline import timeline as timeline
from .kafka.exercises.booked_twice import BOOKED_TWICE as BOOKED_TWICE
from .kafka.systems.shop import balances as balances
from .payment import read_payment
from .steps import find_red_step as find_red_step
from .steps import first as first


def payment() -> Payment:
    """The first playground."""
    return Payment(read_payment())


def cost(trace: Trace) -> tuple[int, int, int, int]:
    """What an execution with one coordinator has cost since its producer has its identity: records
    of the application, markers, records of the coordinator, messages with their answers."""
    start = max((fact.index for fact in trace if _is_known(fact.body)), default=0)
    facts = [fact for fact in trace if fact.index > start]
    written = [fact for fact in facts if fact.kind is FactKind.APPEND]
    markers = sum(isinstance(fact.body, Batch) and fact.body.control != "" for fact in written)
    decided = sum(fact.node == "coordinator" for fact in written)
    messages = sum(fact.kind in (FactKind.SEND, FactKind.REPLY) for fact in facts)
    return len(written) - markers - decided, markers, decided, messages


def _is_known(body: object) -> bool:
    """Whether this is what `init` has given: the producer has its identity."""
    return isinstance(body, Outcome) and isinstance(body.call, Init)
