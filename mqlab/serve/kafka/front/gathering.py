"""A request that waits for the parts of its answer."""

from __future__ import annotations

from typing import Any

from ....kernel import Caller, Map, frozen
from ..wire.api import Ask


@frozen
class Gathering:
    """`plan`: what its answer is made from, by the module that handles it; `left`: how many
    parts are missing; `got`: the others, by their place."""

    caller: Caller
    ask: Ask
    plan: Any
    left: int
    got: Map[int, Any] = Map()
