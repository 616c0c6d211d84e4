"""A saga on nodes of its own.

system saga services=orders,money,stock 'app=start T1'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from ...kernel import NodeSpec, Snapshot, World
from ...kernel.claims import Claim
from ..client import Client
from ..model import Model, check_among
from . import words
from .claims import ENDS_WELL, KEPT, ORCHESTRATOR, UNKEPT
from .config import SAFEGUARDS
from .messages import StartSaga
from .orchestrator import Orchestrator
from .picture import draw
from .service import Service


@dataclass(frozen=True)
class SagaSystem(Model):
    """`services`: in the order of their steps. `refuses`: those of them whose step cannot be
    done."""

    services: tuple[str, ...] = ("orders", "money", "stock")
    refuses: tuple[str, ...] = ()

    name = "saga"
    retrying = ("retry",)
    title = words.TITLE
    guards = SAFEGUARDS
    kept = (*KEPT, ENDS_WELL)
    unkept = UNKEPT
    calls: ClassVar = {"start SAGA": StartSaga}
    whys = words.WHYS

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

    def draw(self, world: World) -> Snapshot:
        return draw(self, world)

    def chosen(self) -> tuple[Claim[Any], ...]:
        """Where a step cannot be done, no saga ends well."""
        return KEPT if self.refuses else self.kept
