"""A system that a learner's file is searched in, or run in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...explore import Budget
from ...kernel import Effect, Event, Fact, Snapshot, Text, Words, World, tr
from ...kernel.system import Telling
from ...kernel.world import NodeState


@dataclass(frozen=True)
class Timed:
    """Runs in simulated time in place of a search, one from each of `seeds`: to `until_ms`, while
    an application makes its next call within `call_ms`. The node of the learner's file is killed
    at each time of `kills` (milliseconds), and starts again `DOWN_MS` later. A connection from this
    node to a server that it asks breaks at a message with the probability `loss`."""

    until_ms: int
    seeds: int = 1
    call_ms: float = 1
    kills: tuple[int, ...] = ()
    loss: float = 0


DOWN_MS = 40


@dataclass(frozen=True)
class Trial:
    """`name`: what it is about; `line`: its system, without the broker's name; `budget`: what may
    happen in it, and how often; `dropped`: claims that are not asked in it; `timed`: how it is
    run, where it is not searched."""

    name: str
    line: str
    budget: Budget = Budget()
    dropped: tuple[str, ...] = ()
    timed: Timed | None = None

    @property
    def title(self) -> Text:
        """The name in words."""
        return tr(self.name, "trial")


BREAKS = Words("your code breaks: {why}")
BROKEN = Words("your code has stopped with an error")
DIES = Words(
    "An exception ends the process. Undo goes back to before it; a crash and a restart begin again "
    "with what is on disk."
)


class Built:
    """A system some of whose roles are a learner's: a node whose code has broken is drawn as one
    that has died, and the step that broke it is not folded. Its light `runs` says why."""

    def find_broken(self, world: World) -> Text | None:
        """Why the code does no more, on any of its nodes; None while it does."""
        raise NotImplementedError

    def find_fault(self, world: World) -> Text | None:
        """The same; also what breaks in a step that is only tried."""
        return self.find_broken(world)

    def _runs(self, world: World) -> bool:
        return not self.find_broken(world)

    def annotate(
        self, world: World, role: str, event: Event | None, effect: Effect | None
    ) -> Telling:
        telling: Telling = super().annotate(world, role, event, effect)  # type: ignore[misc]
        if effect is not None or not find_broken(world.nodes.get(role)):
            return telling
        return replace(telling, fold=False, show=True, label=BROKEN(), why=DIES())

    def explain(self, fact: Fact) -> Text:
        told: Text = super().explain(fact)  # type: ignore[misc]
        return DIES() if BREAKS.has_made(fact.text) else told

    def snapshot(self, world: World) -> Snapshot:
        shown: Snapshot = super().snapshot(world)  # type: ignore[misc]
        why = {lane.name: find_broken(world.nodes.get(lane.name)) for lane in shown.lanes}
        broken = next(filter(None, why.values()), None)
        if broken is None:
            return shown
        lanes = (replace(lane, up=False) if why[lane.name] else lane for lane in shown.lanes)
        lights = (
            replace(light, sentence=BREAKS(why=broken)) if light.name == "runs" else light
            for light in shown.lights
        )
        return replace(shown, lanes=tuple(lanes), lights=tuple(lights))


def say_death(old: Any, new: Any) -> tuple[Text, ...]:
    """Why the code of a role does no more since `old`, or since a start (None)."""
    died = new.broken and not getattr(old, "broken", None)
    return (BREAKS(why=new.broken),) if died else ()


def find_broken(node: NodeState | None) -> Text | None:
    """Why a node's code does no more; None while it does, and where there is no such node."""
    role = node.roles[0] if node is not None and node.up else None
    broken: Text | None = getattr(getattr(role, "role", role), "broken", None)
    return broken
