"""The order desk: an order service that tells its customers what became of their orders.

    system order_desk 'app=send-in-transaction orders-0 580538'

`sendMessageInTransaction` returns two words, how the half message was stored and what the local
transaction came to. A rule makes one answer out of them, as the last line of `createOrder` does:
"placed", "not placed" or "not known". The light *told* is red where a customer was told what is not
so: placed, and there is no row; not placed, and there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from ...kernel import Property, Snapshot, Table, Words, World, replace
from ...kernel.options import UNWRITTEN
from ...kernel.world import NodeState
from ...rocketmq.application.database import TABLE
from ...rocketmq.producer.calls import SendInTransaction
from .systems import OrderServiceSystem

PLACED, NOT_PLACED, NOT_KNOWN = ANSWERS = ("placed", "not placed", "not known")
Rule = Callable[[str, str], str]

TOLD = Words("what customers were told is so")
FOR_CERTAIN = Words("some customer is told for certain")
CUSTOMERS = Words("what customers were told")
COLUMNS = ("order", "told")


def answer(send_status: str, local_state: str) -> str:
    """What the two words mean for a customer. The first is about the half message alone."""
    known = {"COMMIT_MESSAGE": PLACED, "ROLLBACK_MESSAGE": NOT_PLACED}
    return known.get(local_state, NOT_KNOWN)


@dataclass(frozen=True)
class OrderDeskSystem(OrderServiceSystem):
    """`service`: here one that refuses cancellations, if nothing else is said. `answer`: the
    rule."""

    service: str = "refusing"
    answer: Annotated[Rule, UNWRITTEN] = answer

    name = "order_desk"

    def functions(self) -> tuple[Callable[..., Any], ...]:
        return (*super().functions(), self.answer)

    def snapshot(self, world: World) -> Snapshot:
        seen = super().snapshot(world)
        answers = Table(CUSTOMERS(), COLUMNS, tuple(sorted(self.list_answers(world))))
        return replace(seen, tables=(answers, *seen.tables))

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        kept = (claim for claim in super()._properties if claim.kind != "sometimes")
        return (
            Property("told", TOLD(), self._is_so, "always", self._looks_at),
            *kept,
            Property("certain", FOR_CERTAIN(), self._is_certain, "sometimes", self._looks_at),
        )

    def _is_so(self, world: World) -> bool:
        rows = world.disk(self.config.database).table(TABLE)
        return all(
            answer == NOT_KNOWN or (answer == PLACED) == (order in rows)
            for order, answer in self.list_answers(world)
        )

    def _is_certain(self, world: World) -> bool:
        return any(answer != NOT_KNOWN for _, answer in self.list_answers(world))

    def _looks_at(self, name: str, node: NodeState) -> Hashable:
        if name == self.config.database:
            return node.disk
        return node.app.results if node.app is not None else None

    def list_answers(self, world: World) -> Iterator[tuple[str, str]]:
        """Each order whose call has returned, with what its customer was told."""
        for node, _ in self.producers:
            app = world.nodes[node].app
            for got in app.results if app is not None else ():
                if isinstance(got.call, SendInTransaction) and got.ok:
                    yield got.call.order, self.answer(*got.detail.split())
