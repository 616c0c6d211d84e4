"""TCC whose services ask a learner's rule what to do with a Try, a Confirm and a Cancel.

The rule is given the call and the last entry of the ledger for this order ("" for none), and says
which entry is written now: "tried", "confirmed", "cancelled", "empty"; "" for none, the call
is then acknowledged all the same; or "refuse": nothing is written, and the call fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from ....kernel import (
    Caller,
    Config,
    Disk,
    Effects,
    Event,
    Property,
    Reply,
    Request,
    Words,
    World,
)
from ....kernel.options import Rules
from ....patterns.claims import reads_running
from ....patterns.records import force
from ....patterns.tcc import Tcc
from ....patterns.tcc.claims import TM
from ....patterns.tcc.roles import (
    LOG,
    Cancel,
    CancelResponse,
    Confirm,
    ConfirmResponse,
    Service,
    Try,
    TryResponse,
)

Fence = Callable[[str, str], str]
TRY, CONFIRM, CANCEL = "try", "confirm", "cancel"
REFUSE = "refuse"
ANSWERS = ("tried", "confirmed", "cancelled", "empty", "", REFUSE)
OVER = Words("every order comes to an end")


@dataclass(frozen=True, slots=True)
class Fenced(Service):
    """A service with somebody else's rule; `lacks` is still its own affair."""

    fence: Fence | None = None

    @staticmethod
    def start(
        config: Config, fence: Fence, lacks: bool, disk: Disk, at_ms: int
    ) -> tuple[Fenced, Effects]:
        return Fenced(config, lacks, fence), ()

    def step(self, event: Event, disk: Disk) -> tuple[Service, Effects]:
        match event:
            case Request(caller=caller, body=Try(txn)) if self.lacks:
                return self, (Reply(caller, TryResponse(txn, False)),)
            case Request(caller=caller, body=Try(txn) | Confirm(txn) | Cancel(txn) as body):
                return self, self._ask(disk, caller, body, txn)
        return self, ()

    def _ask(self, disk: Disk, caller: Caller, body: Try | Confirm | Cancel, txn: str) -> Effects:
        assert self.fence is not None
        decision = self.fence(type(body).__name__.lower(), self._last(disk, txn))
        written = force(disk, LOG, decision, txn) if decision and decision != REFUSE else ()
        match body:
            case Try():
                return (*written, Reply(caller, TryResponse(txn, decision != REFUSE)))
            case Confirm() if decision != REFUSE:
                return (*written, Reply(caller, ConfirmResponse(txn)))
            case Cancel() if decision != REFUSE:
                return (*written, Reply(caller, CancelResponse(txn)))
        return ()  # a coordinator that is refused asks again, for ever


@dataclass(frozen=True)
class FencedTcc(Tcc):
    """`rules`: what a learner writes, by slot ("fence")."""

    rules: Rules = ()

    def _service(self, name: str) -> Any:
        rule = dict(self.rules)["fence"]
        return partial(Fenced.start, self.config, rule, name in self.lacking)

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        over = Property("over", OVER(), self._is_over, "can_always", self._reads)
        return (*super()._properties, over)

    def _is_over(self, world: World) -> bool:
        tm = world.role(TM)
        return tm is not None and not tm.txns

    def _reads(self, name: str, node: Any) -> Any:
        return node.up and node.roles[0].txns if name == TM else reads_running(self, name, node)


def fence_with(made: Tcc, rule: Fence) -> FencedTcc:
    """The same system with a learner's rule in its services."""
    return FencedTcc(
        off=made.off,
        programs=made.programs,
        claims=made.claims,
        services=made.services,
        lacking=made.lacking,
        rules=(("fence", rule),),
    )
