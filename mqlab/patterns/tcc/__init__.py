"""TCC: Try, Confirm, Cancel. Two phases that an application writes itself, without a lock held.

Each service offers three operations. **Try** checks and reserves: one piece of stock is set aside,
an amount is frozen. **Confirm** uses what was reserved, **Cancel** gives it back. Each is one
local transaction that commits at once, so no database waits for a coordinator. When every Try has
succeeded the coordinator confirms, else it cancels; Confirm and Cancel are repeated until they are
acknowledged, and so must not fail. (Articles that read the first C as "Commit" mean the same.)

What is durable: at a service its ledger (`tried`, `confirmed`, `cancelled`, `empty`), one
entry a local transaction; at the coordinator `begun` before any Try leaves, the decision
before any Confirm or Cancel leaves, and `end`.

What can go wrong, and every service must be written for it:

    twice           a Confirm or Cancel is repeated: the second must change nothing
    empty cancel    a Cancel comes for a Try that never arrived: it succeeds, and gives nothing back
    suspended try   that Try arrives after its Cancel: it would never be ended, so it is refused

What TCC gives up is isolation. Between two confirmations a reader sees a part of an order.

Left out: a Confirm that cannot succeed (then a person must help), participants that call others.

Read on: Helland, "Life beyond Distributed Transactions", CIDR 2007, for tentative operations;
Pardon and Pautasso, "Atomic Distributed Transactions: a RESTful Design", 2014, for the phases;
Apache Seata's TCC mode and its fence, for the three traps.
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
from .claims import KEPT, SAFEGUARDS, TM, UNKEPT, can_confirm
from .picture import draw as draw_world
from .roles import Coordinator, PlaceOrder, Service


@dataclass(frozen=True)
class Tcc(Model):
    """TCC on nodes of its own.

        system tcc services=stock,money 'app=order T1'

    `services`: each has two pieces in the beginning. `lacking`: those of them that have none left
    to reserve.
    """

    services: tuple[str, ...] = ("stock", "money")
    lacking: tuple[str, ...] = ()

    name = "tcc"
    retrying = ("retry",)
    title = tr("TCC: Try, Confirm, Cancel")
    guards = SAFEGUARDS
    kept = (*KEPT, can_confirm)
    unkept = UNKEPT
    calls: ClassVar = {"order TRANSACTION": PlaceOrder}
    sentences = read_model(__file__)
    draw = draw_world

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

    def chosen(self) -> tuple[Claim[Any], ...]:
        """Where a service has nothing, nothing can be confirmed."""
        return KEPT if self.lacking else self.kept
