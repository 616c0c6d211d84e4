"""The futures that a learner has tried, as a small tree: a node after each choice, a row for each
future, in the order in which they were tried."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from mqlab.kernel.text import Lang, Words, tr
from mqlab.kernel.trace import Trace

BEGIN = tr("the beginning")
NODE = Words("after {n}: {choice}")
BROKEN = Words("{said} (the goal is reached)")

Choices = tuple[str, ...]


class Tried(Protocol):
    """What a tree needs of a play."""

    start: Choices

    @property
    def choices(self) -> Choices: ...
    @property
    def visited(self) -> tuple[Choices, ...]: ...
    def find_trace(self, choices: Choices) -> Trace: ...


def list_visited(play: Tried) -> list[Choices]:
    """The lists of choices that the play was at since where it begins."""
    given = len(play.start)
    return [choices for choices in play.visited if choices[:given] == play.start]


def draw_branches(play: Tried, broken: Collection[Choices], lang: Lang) -> dict[str, Any]:
    """Nodes with their parent's number, place and words; which of them is open; how many rows and
    columns there are. `broken`: the lists of choices after which the goal is reached."""
    visited = list_visited(play)
    rows = _rows(visited)
    given, number = len(play.start), {choices: i for i, choices in enumerate(visited)}
    nodes = []
    for choices in visited:
        depth, title = len(choices) - given, BEGIN
        if depth:
            title = NODE(n=depth, choice=say_choice(play, choices, lang))
        red = choices in broken
        nodes.append(
            {
                "parent": number.get(choices[:-1], -1) if depth else -1,
                "column": depth,
                "row": rows[choices],
                "red": red,
                "title": (BROKEN(said=title) if red else title).of(lang),
            }
        )
    columns = max(len(choices) for choices in visited) - given
    now = number[play.choices]
    return {"nodes": nodes, "now": now, "rows": max(rows.values()) + 1, "columns": columns}


def say_choice(play: Tried, choices: Choices, lang: Lang) -> str:
    """What the last choice has come to: its last fact; where it has none, the choice itself."""
    facts = play.find_trace(choices).facts
    if facts and facts[-1].step == len(choices):
        return " ".join(facts[-1].line(lang).split())
    return choices[-1]


def _rows(visited: Sequence[Choices]) -> dict[Choices, int]:
    """The first choice that was tried goes on in the row of what is before it; each other one
    begins a new row."""
    rows: dict[Choices, int] = {}
    went_on: set[Choices] = set()
    for choices in visited:
        before = choices[:-1]
        if before in rows and before not in went_on:
            went_on.add(before)
            rows[choices] = rows[before]
        else:
            rows[choices] = max(rows.values(), default=-1) + 1
    return rows
