"""Lab 03's local transaction: an order that is kept in two rows, one of which decides.

    execute(order, db, memory)      writes the order's row and that of its goods

The shop's check is given: it looks for the row under the order's number and for nothing else. So
that row is the decision, and what the warehouse needs must be there before it.
"""

from __future__ import annotations

from typing import Any

from ....explore import Budget
from ....kernel import tr
from ....rocketmq import application
from ...check import list_beliefs
from ...exercises import read_hints
from ..endings import Death
from ..goods import goods_of, list_orders
from .listener import (
    BELIEFS,
    DYING,
    FAULTS,
    ORDER,
    ListenerExercise,
    Pair,
    Ways,
    take_listener,
)
from .listener import TWIN as PLACING_TWIN

TWIN = PLACING_TWIN.replace("order_service ", "order_with_goods ", 1)
#: the beliefs of `placing` that are about `execute`
INHERITED = (
    "nobody is let in",
    "ROLLBACK undoes the row",
    "RocketMQ writes the row",
    "an exception means that nothing was written",
    "an exception can be passed over",
)


def _has_order(ways: Ways) -> bool:
    return ORDER in ways.calm.rows


def _has_goods(ways: Ways) -> bool:
    return goods_of(ORDER) in ways.calm.rows


def _can_be_half(ways: Ways) -> bool:
    """Whether it can end between the two rows, with the order's own row written."""
    return any(ORDER in way.rows and goods_of(ORDER) not in way.rows for way in ways.lost)


ABOUT_TWO_ROWS = list_beliefs(
    "03 keeping",
    {
        "the order's row is all there is": lambda ways: _has_order(ways) and not _has_goods(ways),
        "any row will do": lambda ways: _has_goods(ways) and not _has_order(ways),
        "the order's own row comes first": _can_be_half,
    },
)


class KeepingExercise(ListenerExercise):
    """A listener of which only `execute` is asked for."""

    def take(self, answer: Any) -> Pair:
        execute, _ = take_listener((answer, application.check))
        return execute, application.check

    def is_parted(self, death: Death) -> bool:
        return set(list_orders(death.rows)) != set(death.delivered)


KEEPING = KeepingExercise(
    name="keeping",
    order=ORDER,
    tried=tuple((TWIN.format(ORDER), budget) for budget in FAULTS),
    beliefs=(*(one for one in BELIEFS if one.name in INHERITED), *ABOUT_TWO_ROWS),
    hints=read_hints("03 keeping"),
    unseen=(
        (TWIN.format("580539"), Budget(kills=1, timers=1, killable=("app",))),
        (TWIN.format("580540"), Budget(breaks=1, timers=1)),
    ),
    dying=DYING.replace("order_service ", "order_with_goods ", 1),
    right=tr("killed at each of its calls, cut off from its database, asked while it was still at "
             "work: no order loses its message, and no parcel is empty"),
)  # fmt: skip

#: what of this is graded, and what an answer to it is (`lessons/course/graded.py`)
GRADED = {"keeping": (KEEPING, "execute")}
