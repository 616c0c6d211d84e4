"""What a transaction costs a real broker: frames on its connections, appends to its logs, flushes.

    datasets/recordings/costs/kafka-4.3.1.json

`mqlab real NAME cost` counts it, m orders for n partitions as in the engine's own count
(`mqlab/registry/prices.py`), and `mqlab matrix --prices` puts both into one table. Each size is
counted in several rounds. At the end messages and appends must be equal in all of them. Of what is
there when the client has its answer, and of flushes, the fewest count: no client waits for what
some round does without, and a broker also flushes when a timer says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ..places import RECORDINGS

FOLDER = RECORDINGS / "costs"
#: files that a timer writes whether there is a transaction or not
OTHERS = "other files"
MOMENTS = TOLD, SEEN, FORGOTTEN = "told", "seen", "forgotten"


@dataclass(frozen=True, slots=True)
class Spent:
    """Counts by name. `flushes` None: they could not be counted; those of OTHERS are in no sum.
    `messages`: by request; `writes`: by log."""

    messages: Mapping[str, int]
    writes: Mapping[str, int]
    flushes: Mapping[str, int] | None

    def __str__(self) -> str:
        flushes = self.count_flushes()
        flushed = "?" if flushes is None else str(flushes)
        return f"{sum(self.messages.values())} / {sum(self.writes.values())} / {flushed}"

    def count_flushes(self) -> int | None:
        """Of the logs that the transaction writes to; None where they could not be counted."""
        if self.flushes is None:
            return None
        return sum(count for name, count in self.flushes.items() if name != OTHERS)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of `orders` orders for `partitions` partitions: until the client has its last answer, until a
    reader has every order (its own requests do not count), and until nothing is left to do. `told`,
    `seen`, `forgotten`: what was spent until each of these moments."""

    partitions: int
    orders: int
    told: Spent
    seen: Spent
    forgotten: Spent


@dataclass(frozen=True, slots=True)
class Costs:
    """`broker`: "kafka-4.3.1"; `settings`: what differs from the other recordings' settings; `why`:
    why flushes were not counted, "" where they were. `rows`: one for each number of partitions and
    orders."""

    broker: str
    settings: Mapping[str, str]
    rows: tuple[Cost, ...]
    why: str = ""


# ---- files -----------------------------------------------------------------------------


def save(costs: Costs, folder: Path = FOLDER) -> Path:
    path = folder / f"{costs.broker}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(costs), indent=1) + "\n", "utf-8")
    return path


def load(path: Path) -> Costs:
    """Raises ValueError where the file holds no costs."""
    try:
        data = json.loads(path.read_text("utf-8"))
        rows = tuple(
            Cost(
                row["partitions"],
                row["orders"],
                **{moment: Spent(**row[moment]) for moment in MOMENTS},
            )
            for row in data.pop("rows")
        )
        return Costs(**data, rows=rows)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no costs: count them again") from error


def load_costs(folder: Path = FOLDER) -> dict[str, Costs]:
    """By the broker's name without its version, as `mqlab real` takes it."""
    costs = [load(path) for path in sorted(folder.glob("*.json"))]
    return {one.broker.partition("-")[0]: one for one in costs}
