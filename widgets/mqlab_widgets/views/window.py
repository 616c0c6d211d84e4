"""Which part of something long is drawn: a browser cannot hold two thousand rows."""

from __future__ import annotations


def window(step: int, n: int, total: int | None = None) -> range:
    """`n` indices around `step`, which stays at two thirds, within 0 … `total` - 1.

    The window scrolls with the step and stops at both ends.
    """
    first = max(0, step - (2 * n) // 3)
    if total is not None:
        first = max(0, min(first, total - n))
        return range(first, min(first + n, total))
    return range(first, first + n)
