"""TCC on nodes of its own.

system tcc services=stock,money 'app=order T1'
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
from .claims import CONFIRMS, KEPT, TM, UNKEPT
from .config import SAFEGUARDS
from .coordinator import Coordinator
from .messages import PlaceOrder
from .picture import draw
from .service import Service


@dataclass(frozen=True)
class Tcc(Model):
    """`services`: each has two pieces in the beginning. `lacking`: those of them that have none
    left to reserve."""

    services: tuple[str, ...] = ("stock", "money")
    lacking: tuple[str, ...] = ()

    name = "tcc"
    retrying = ("retry",)
    title = words.TITLE
    guards = SAFEGUARDS
    kept = (*KEPT, CONFIRMS)
    unkept = UNKEPT
    calls: ClassVar = {"order TRANSACTION": PlaceOrder}
    whys = words.WHYS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_among("lacking", self.lacking, "services", self.services)

    def nodes(self) -> tuple[NodeSpec, ...]:
        manager = partial(Coordinator.recover, self.config, self.services)
        return (
            NodeSpec("app", (("app", partial(Client.recover, TM)),), self.program("app")),
            NodeSpec(TM, ((TM, manager),)),
            *(NodeSpec(name, ((name, self._service(name)),)) for name in self.services),
        )

    def _service(self, name: str) -> Any:
        return partial(Service.recover, self.config, name in self.lacking)

    def draw(self, world: World) -> Snapshot:
        return draw(self, world)

    def chosen(self) -> tuple[Claim[Any], ...]:
        """Where a service has nothing, nothing can be confirmed."""
        return KEPT if self.lacking else self.kept
