"""Parsons exercises: put the pieces of a protocol step into order; every schedule judges.

    order = ["b", "a", "c"]
    verdict = judge(EXERCISE, order)        # or EXERCISE.widget() in a notebook

There is no model answer to compare with. The order is built into a role, and the explorer
looks at every schedule of a small system: whatever keeps all promises is right, so several
orders may be, and each wrong one gets the shortest execution that breaks a promise with *it*.
What must be reachable (`sometimes`) keeps an order that does nothing from passing.

Pieces may be the effect groups of one step (`mqlab.kernel.Config.order`) or span several;
a distractor is a piece that no correct program has, with the belief behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ..explore import Budget, explore
from ..kernel import Property, System, Text, Words, World, replay, tr
from ..kernel.world import NodeState
from .verdict import Verdict

if TYPE_CHECKING:
    from mqlab_widgets.ordering import Ordering

Systems = Callable[[tuple[str, ...]], tuple[tuple[System, Budget], ...]]
Order = Sequence[str]

NOTHING_MOVED = tr("no piece is in your list yet: move the pieces above, then run this cell again")
NOT_KEPT = tr(
    "your order is on the screen only: run the cell with the pieces once more, which writes it "
    "into the notebook"
)
UNKNOWN = Words("no piece {key!r}; there are: {known}")
NO_LIST = tr("an order is a list of pieces")
RIGHT = tr("no schedule breaks a promise with this order")


@dataclass(frozen=True)
class Piece:
    """`key` is what an order is written with. `belief`: of a distractor, why it belongs
    into no program; `misconception` is its number or name."""

    key: str
    text: Text
    belief: Text | None = None
    misconception: str = ""


@dataclass(frozen=True)
class Parsons:
    """`pieces` in the order they are offered. `systems`: an order built into the systems it
    is tried in, with the faults of each. `messages`: the promises an order is judged by, by
    the name of the property; each says what is true where the learner seems to believe
    otherwise. `right`: what is said of one correct order; all others get `RIGHT`."""

    name: str
    question: Text
    pieces: tuple[Piece, ...]
    systems: Systems
    messages: Mapping[str, Text]
    right: Mapping[tuple[str, ...], Text] = field(default_factory=dict)

    def judge(self, order: Order) -> Verdict:
        """The same as `judge(self, order)`."""
        return judge(self, order)

    def check(self, order: Any, graded: bool = False) -> Verdict:
        """Judge what is in a cell: a list of keys, or the widget with the pieces."""
        if getattr(order, "kept", True) is False:
            return Verdict(False, NOT_KEPT)
        keys = getattr(order, "order", order)
        if not isinstance(keys, Sequence) or isinstance(keys, str):
            return Verdict(False, NO_LIST)
        known = [piece.key for piece in self.pieces]
        unknown = [key for key in keys if key not in known]
        if unknown:
            return Verdict(False, UNKNOWN(key=unknown[0], known=", ".join(known)))
        if not keys:
            return Verdict(False, NOTHING_MOVED)
        return self.judge(keys)

    def widget(self, **look: Any) -> Ordering:
        """A list to be put into order, the verdict, and the trace that refutes it. Takes
        what a player takes (lang, scale, panels); needs anywidget."""
        from mqlab_widgets import Ordering

        return Ordering(self, **look)

    def arrange(self, order: Order = (), **look: Any) -> Ordering:
        """Show the pieces, those of `order` already in the list, and give the widget. In a
        notebook the call is the answer: each move is written between its brackets, so what one
        sees is what is saved and graded. An editor in which the widget cannot write keeps the
        moves when the cell is run again."""
        from mqlab_widgets import Ordering

        before = _SHOWN.get(self.name)
        if before is not None and not before.kept and write_order(before.order):
            order = before.order
        shown = _SHOWN[self.name] = Ordering(self, order, cell=True, **look)
        shown._ipython_display_()
        return shown

    def __str__(self) -> str:
        width = max(len(piece.key) for piece in self.pieces)
        lines = [str(self.question)]
        lines += [f"  {piece.key:<{width}}  {piece.text}" for piece in self.pieces]
        return "\n".join(lines)


#: the last arrangement of each exercise in this kernel
_SHOWN: dict[str, Ordering] = {}
CALL = re.compile(r"\barrange\(\s*\[[^\]]*\]\s*\)")


def write_order(order: Order) -> bool:
    """Put an order into the `arrange` call of the notebook's cell that is being run; False
    where there is no such cell."""
    from IPython import get_ipython

    shell = get_ipython()
    if not hasattr(shell, "get_parent"):
        return False
    code = shell.get_parent().get("content", {}).get("code", "")
    keys = ", ".join(f'"{key}"' for key in order)
    text, times = CALL.subn(f"arrange([{keys}])", code)
    if times:
        shell.set_next_input(text, replace=True)
    return bool(times)


def judge(parsons: Parsons, order: Order) -> Verdict:
    """Judge the order in which a learner has put the pieces, given by their keys: a key that is
    there twice, a piece that is a wrong belief, or a search that breaks a promise, says what is
    wrong. ValueError for an unknown key."""
    chosen = tuple(order)
    known = {piece.key: piece for piece in parsons.pieces}
    for key in chosen:
        if key not in known:
            raise ValueError(str(UNKNOWN(key=key, known=", ".join(known))))
        if chosen.count(key) > 1:
            return Verdict(False, Words("“{key}” is there twice")(key=key))
    for key in chosen:
        if (belief := known[key].belief) is not None:
            return Verdict(False, belief, known[key].misconception or key)
    for system, budget in parsons.systems(chosen):
        verdict = _search(parsons, system, budget)
        if verdict is not None:
            return verdict
    return Verdict(True, parsons.right.get(chosen, RIGHT))


def _search(parsons: Parsons, system: System, budget: Budget) -> Verdict | None:
    """Search the system that an order of pieces makes, and return what is wrong with it; None where
    nothing is. First without faults (what must happen happens), then with those of the budget.
    ValueError where nothing was found, and the searches were not complete."""
    claims = [p for p in system.properties() if p.name in parsons.messages]
    must_happen = tuple(p for p in claims if p.kind == "sometimes")
    faultless = explore(system, Budget(states=budget.states), must_happen)
    if faultless.missing:
        name = next(name for name in parsons.messages if name in faultless.missing)
        return Verdict(False, parsons.messages[name], name, light=name)
    must_hold = tuple(p for p in claims if p.kind == "always")
    stay_possible = tuple(p for p in claims if p.kind == "can_always")
    verdict = explore(system, budget, (_together(must_hold), *stay_possible))
    examples = sorted(verdict.counterexamples.values(), key=lambda one: len(one.schedule))
    for example in examples:  # the shortest, if there is one
        broken = _broken(system, example.schedule)
        name = next(name for name in parsons.messages if name in broken)
        return Verdict(False, parsons.messages[name], name, example.schedule, system, name)
    if not (faultless.complete and verdict.complete):
        raise ValueError(f"{parsons.name}: {verdict}; give the exercise a smaller system")
    return None


def _together(claims: tuple[Property, ...]) -> Property:
    """All claims as one, so that a search ends at the first that breaks."""

    def reads(name: str, node: NodeState) -> tuple[object, ...]:
        return tuple(claim.reads(name, node) for claim in claims)

    sentence = tr("every promise is kept")
    return Property("promises", sentence, partial(_all_hold, claims), "always", reads)


def _all_hold(claims: tuple[Property, ...], world: World) -> bool:
    return all(claim.holds(world) for claim in claims)


def _broken(system: System, schedule: tuple[str, ...]) -> list[str]:
    lights = replay(system, schedule).snapshot(-1).lights
    return [light.name for light in lights if not light.ok]
