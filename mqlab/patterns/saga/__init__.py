"""Saga: a long transaction as a sequence of short ones, each with a step that takes it back.

An order is taken, money is charged, a parcel is booked: each step is a local transaction of one
service and commits at once. If a later step cannot be done, the steps before it are *compensated*
in reverse order: money is paid back, the order is struck out. A compensation does not undo a step,
as a rollback would; it does something else that makes up for it, and all readers may have seen
the step meanwhile.

What is durable: at a service its ledger (`done`, `undone`); at the orchestrator the saga log:
`begun`, a `done` for each step before the next begins, `undo` when it turns round, `undone`, `end`.

What can go wrong: an answer is lost, so a step or compensation is asked for again, and the second
must change nothing; a step that was asked for twice arrives once more **after** its compensation,
and must be refused; the orchestrator stops between two steps and must go on, forward
or backward, from what its log says. A compensation must not fail; it is repeated until it is done.

What a saga gives up is isolation: a part of a saga can be seen, and a saga that is taken back as
well.

Left out: steps without a compensation (after a pivot one can only go forward), parallel steps,
choreography (services that react to each other's messages, without an orchestrator).

Read on: Garcia-Molina and Salem, "Sagas", SIGMOD 1987.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from ...kernel import NodeSpec, tr
from ...kernel.claims import Claim
from ..client import Client
from ..model import Model, check_among
from ..picture import read_model
from .claims import KEPT, ORCHESTRATOR, SAFEGUARDS, UNKEPT, can_end_well
from .picture import draw as draw_world
from .roles import Orchestrator, Service, StartSaga


@dataclass(frozen=True)
class SagaSystem(Model):
    """A saga on nodes of its own.

        system saga services=orders,money,stock 'app=start T1'

    `services`: in the order of their steps. `refuses`: those of them whose step cannot be done.
    """

    services: tuple[str, ...] = ("orders", "money", "stock")
    refuses: tuple[str, ...] = ()

    name = "saga"
    retrying = ("retry",)
    title = tr("Saga with compensation")
    guards = SAFEGUARDS
    kept = (*KEPT, can_end_well)
    unkept = UNKEPT
    calls: ClassVar = {"start SAGA": StartSaga}
    sentences = read_model(__file__)
    draw = draw_world

    def __post_init__(self) -> None:
        super().__post_init__()
        check_among("refuses", self.refuses, "services", self.services)

    def nodes(self) -> tuple[NodeSpec, ...]:
        leads = partial(Orchestrator.recover, self.config, self.services)
        ask = partial(Client.recover, ORCHESTRATOR)
        return (
            NodeSpec("app", (("app", ask),), self.program("app")),
            NodeSpec(ORCHESTRATOR, ((ORCHESTRATOR, leads),)),
            *(NodeSpec(name, ((name, self._service(name)),)) for name in self.services),
        )

    def _service(self, name: str) -> Any:
        return partial(Service.recover, self.config, name in self.refuses)

    def chosen(self) -> tuple[Claim[Any], ...]:
        """Where a step cannot be done, no saga ends well."""
        return KEPT if self.refuses else self.kept
