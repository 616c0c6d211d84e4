"""What the systems of lessons put in a role's place: a role of another kind, or the pieces of one
step in an order that somebody chose (`order.STEP=` in a system line)."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar, cast

from ....kernel.options import Order

T = TypeVar("T")


def become(role: Any, kind: type[T], **more: Any) -> T:
    """The same role as one of another kind, with what the two have in common and some more."""
    names = [one.name for one in fields(cast(Any, kind))]
    kept = {name: getattr(role, name) for name in names if hasattr(role, name)}
    return kind(**{**kept, **more})


def check_pieces(order: Order, step: str, pieces: tuple[str, ...], whose: str) -> None:
    """Raises ValueError for another step, and for a piece that this one does not have."""
    for name, chosen in order:
        if name != step:
            raise ValueError(f"no step {name!r} in pieces; there is: {step}")
        unknown = sorted(set(chosen) - set(pieces))
        if unknown:
            raise ValueError(f"no piece {unknown[0]!r}; {whose} has: {', '.join(pieces)}")
