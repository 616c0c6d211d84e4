"""The pieces of one step, in an order that somebody chose (`order.STEP=` in a system line)."""

from __future__ import annotations

from ....kernel.options import Order


def check_pieces(order: Order, step: str, pieces: tuple[str, ...], whose: str) -> None:
    """Raises ValueError for another step, and for a piece that this one does not have."""
    for name, chosen in order:
        if name != step:
            raise ValueError(f"no step {name!r} in pieces; there is: {step}")
        unknown = sorted(set(chosen) - set(pieces))
        if unknown:
            raise ValueError(f"no piece {unknown[0]!r}; {whose} has: {', '.join(pieces)}")
