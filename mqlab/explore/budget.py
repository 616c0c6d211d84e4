"""What a search may do to a system: the bounds are part of every verdict."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """How many faults and timers one run may contain, and how many states to look at.

    `kills` and `power_cuts` are stops of the nodes in `killable` (None: of any);
    a stopped node may restart at any later moment. `breaks`: connections broken.
    """

    kills: int = 0
    power_cuts: int = 0
    breaks: int = 0
    timers: int = 0
    states: int = 1_000_000
    killable: tuple[str, ...] | None = None

    def __str__(self) -> str:
        parts = [
            f"{n} {name}{'' if n == 1 else 's'}"
            for n, name in (
                (self.kills, "kill"),
                (self.power_cuts, "power cut"),
                (self.breaks, "broken connection"),
                (self.timers, "timer"),
            )
            if n
        ]
        return ", ".join(parts) or "no faults, no timers"
