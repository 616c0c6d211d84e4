"""Entries under way: appended, and not safe yet."""

from __future__ import annotations

from dataclasses import dataclass

from ...kernel import Caller
from ..messages import LedgerEntry


@dataclass(frozen=True, slots=True)
class Unsafe:
    """An entry that was appended and is not safe yet, and who hears when it is. `caller` None:
    nobody, for a watermark asked for it. `low_watermark`: what came with a marker."""

    entry: LedgerEntry
    caller: Caller | None = None
    low_watermark: int | None = None
