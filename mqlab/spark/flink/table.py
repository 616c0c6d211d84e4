"""What came of killing both jobs: one line a trial, as text, and as a file that is kept."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from ...places import RECORDINGS

#: what a real run has found, committed for lab 11, which needs no Flink
RECORDING = RECORDINGS / "flink-2.2.1" / "kills.json"


class Instant(StrEnum):
    """When the job dies, said of both. The value is what the table prints.

    *Decided* means something else in each: Spark's sink has committed its transaction and
    `commits/N` is not written; Flink's checkpoint is durable and its transaction is open."""

    NEVER = "never"
    OUT = "rows out, nothing decided"
    DECIDED = "decided, one side not told"
    DONE = "both told"


@dataclass(frozen=True, slots=True)
class Trial:
    """One run. `error`: of the income that a reader of committed records adds up, "" where it is
    exact; `twice` and `seen`: the minutes that are there more than once, for a reader of committed
    records and for one of everything; `seconds`: from the start of the job, of the second one after
    a kill, until a reader of committed records has every minute."""

    job: str
    sink: str
    killed: Instant
    error: str
    twice: int
    seen: int
    seconds: float

    @property
    def as_expected(self) -> bool:
        """At least once is wrong where rows were out; exactly once nowhere."""
        return bool(self.error) == (self.sink == "at-least-once" and self.killed is Instant.OUT)


HEAD = ("job", "sink", "killed", "income", "twice", "seen twice", "seconds")
WIDTHS = (13, 14, 27, 9, 6, 11, 8)
NOTES = """\
income, twice: what a reader of committed records adds up, and minutes that it gets twice
seen twice: minutes that a reader of everything (read_uncommitted) gets twice
seconds: from the start, or the kill, until a reader of committed records has every minute"""


@dataclass(frozen=True, slots=True)
class Table:
    """All trials over so many order lines; prints as a table."""

    orders: int
    trials: tuple[Trial, ...]

    @property
    def as_expected(self) -> bool:
        return all(trial.as_expected for trial in self.trials)

    def __str__(self) -> str:
        rows = [_line(HEAD)]
        for trial in self.trials:
            income = (trial.error or "ok") + ("" if trial.as_expected else " !")
            cells = trial.job, trial.sink, trial.killed, income
            rows.append(
                _line((*cells, *map(str, (trial.twice, trial.seen)), f"{trial.seconds:.1f}"))
            )
        verdict = "as it must be" if self.as_expected else "cells marked ! are not as expected"
        return "\n".join([*rows, f"{self.orders:,} order lines: {verdict}", NOTES])

    def to_json(self) -> str:
        """The file that is kept: a head, then one trial a line."""
        trials = [json.dumps(asdict(trial), ensure_ascii=False) for trial in self.trials]
        return f'{{"orders": {self.orders}, "trials": [\n' + ",\n".join(trials) + "\n]}\n"

    @staticmethod
    def from_json(text: str) -> Table:
        """Raises ValueError where the text is no such file."""
        try:
            given = json.loads(text)
            trials = [
                Trial(**trial | {"killed": Instant(trial["killed"])}) for trial in given["trials"]
            ]
            return Table(int(given["orders"]), tuple(trials))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a table of trials: {error}") from error


def _line(cells: tuple[str, ...]) -> str:
    """Texts to the left, numbers to the right."""
    texts = [f"{cell:{width}}" for cell, width in zip(cells[:3], WIDTHS[:3], strict=True)]
    numbers = [f"{cell:>{width}}" for cell, width in zip(cells[3:], WIDTHS[3:], strict=True)]
    return "".join(texts + numbers).rstrip()
