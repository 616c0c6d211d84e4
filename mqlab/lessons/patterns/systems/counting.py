"""The delivery system whose accounting asks a learner's rule whether it counts an order.

The rule is given how far the books say that the queue was read, the numbers in the books, the
offset and the number of the order, and whether the queue hands it out again; it says "count" or
"skip".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from ....kernel import Disk, NodeSpec
from ....kernel.options import Rules
from ....patterns.delivery import DeliverySystem
from ....patterns.delivery.roles import ACCOUNTING, BOOKS, Accounting, FetchResponse
from ...roles import put_roles, recover_as

Rule = Callable[[int, tuple[str, ...], int, str, bool], str]


@dataclass(frozen=True, slots=True)
class RuledAccounting(Accounting):
    """`rule` says whether an order is counted."""

    rule: Rule = field(kw_only=True)

    def decide(self, given: FetchResponse, disk: Disk) -> str:
        booked = tuple(entry.order.number for entry in disk.log(BOOKS).read(0))
        return self.rule(self.position, booked, given.offset, given.order.number, given.again)


@dataclass(frozen=True)
class Counting(DeliverySystem):
    """`rules`: what a learner writes, by slot ("count")."""

    rules: Rules = ()

    def nodes(self) -> tuple[NodeSpec, ...]:
        more = {"rule": dict(self.rules)["count"]}
        recover = partial(recover_as, RuledAccounting, Accounting.recover, more, self.config)
        return put_roles(super().nodes(), {ACCOUNTING: recover})
