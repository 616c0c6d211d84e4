"""Two-phase commit as Gray and Lamport specify it ("Consensus on Transaction Commit", 2006).

Messages are a set and never consumed, every resource manager may prepare or abort of its own
accord, and no process crashes. Nothing is written to a disk, for there is nothing to recover. So
the model has exactly 288 states with three resource managers, 8,832 with five and 296,448 with
seven, and a search that finds another number is wrong: it is the explorer's oracle. The two-phase
commit that one can break is beside it, in `roles.py`.

Their specification in TLA+ is `TwoPhase.tla`; `tests/models/two_phase.pml` says the same to
the model checker Spin.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from ...kernel import (
    Disk,
    Effects,
    Event,
    NodeSpec,
    Quiet,
    Request,
    Send,
    Snapshot,
    Table,
    Words,
    World,
    frozen,
    replace,
    tr,
)
from ...kernel.claims import Claim
from ...kernel.options import Most
from ...kernel.world import NodeState
from ..model import Model
from ..picture import draw_lanes

MANAGER = Words("transaction manager")
RESOURCE = Words("resource manager")
URGE = Words("their own accord")
STATES = Words("States")
CONSISTENT = Words("no resource manager commits while another aborts")
COMMITS = Words("all can commit")


@frozen
class Manager(Quiet):
    """The transaction manager: init, committed or aborted; who has prepared."""

    managers: tuple[str, ...]
    state: str = "init"
    prepared: tuple[str, ...] = ()

    def step(self, event: Event, disk: Disk) -> tuple[Manager, Effects]:
        match event:
            case Request(body="prepared", caller=caller) if self.state == "init":
                return replace(self, prepared=tuple(sorted({*self.prepared, caller.name}))), ()
            case Request(body="commit?") if self.state == "init" and self.prepared == self.managers:
                return self._decide("committed", "commit")
            case Request(body="abort?") if self.state == "init":
                return self._decide("aborted", "abort")
        return self, ()  # decided: what was said before may still be read

    def _decide(self, state: str, order: str) -> tuple[Manager, Effects]:
        return replace(self, state=state), tuple(Send(rm, order) for rm in self.managers)


@frozen
class Resource(Quiet):
    """A resource manager: working, prepared, committed or aborted."""

    state: str = "working"

    def step(self, event: Event, disk: Disk) -> tuple[Resource, Effects]:
        match event:
            case Request(body="prepare?") if self.state == "working":
                return Resource("prepared"), (Send("tm", "prepared"),)
            case Request(body="abort?") if self.state == "working":
                return Resource("aborted"), ()
            case Request(body="commit"):
                return Resource("committed"), ()
            case Request(body="abort"):
                return Resource("aborted"), ()
        return self, ()  # it has prepared or ended, so it is too late to choose


@frozen
class Urge(Quiet):
    """Whatever moves the others of their own accord: its messages are always there."""

    @staticmethod
    def recover(managers: tuple[str, ...], disk: Disk, at_ms: int) -> tuple[Urge, Effects]:
        urges = [Send(rm, urge) for rm in managers for urge in ("prepare?", "abort?")]
        return Urge(), (*urges, Send("tm", "commit?"), Send("tm", "abort?"))

    def step(self, event: Event, disk: Disk) -> tuple[Urge, Effects]:
        return self, ()


def list_states(system: TwoPhaseSet, world: World) -> list[str]:
    return [world.role(name).state for name in system.resources]


def read_state(system: TwoPhaseSet, name: str, node: NodeState) -> Hashable:
    """The claims look at the resource managers only."""
    return node.roles[0].state if name.startswith("rm") else None


def is_consistent(system: TwoPhaseSet, world: World) -> bool:
    return not {"committed", "aborted"} <= {*list_states(system, world)}


def has_committed(system: TwoPhaseSet, world: World) -> bool:
    return {*list_states(system, world)} == {"committed"}


@dataclass(frozen=True)
class TwoPhaseSet(Model):
    """system two_phase_set managers=3"""

    managers: Annotated[int, Most(100, tr("a picture has room for 100"))] = 3

    name = "two_phase_set"
    network = "set"
    kept = (
        Claim("consistent", CONSISTENT, is_consistent, reads=read_state),
        Claim("commits", COMMITS, has_committed, "sometimes", read_state),
    )
    title = tr("Two-phase commit · messages are a set")

    @property
    def resources(self) -> tuple[str, ...]:
        return tuple(f"rm{i}" for i in range(self.managers))

    @property
    def symmetric(self) -> tuple[str, ...]:
        return self.resources

    def nodes(self) -> tuple[NodeSpec, ...]:
        names = self.resources

        def start(role: Any) -> Any:
            return lambda disk, at_ms: (role, ())

        return (
            NodeSpec("tm", (("tm", start(Manager(names))),)),
            *(NodeSpec(name, ((name, start(Resource())),)) for name in names),
            NodeSpec("urge", (("urge", partial(Urge.recover, names)),)),
        )

    def draw(self, world: World) -> Snapshot:
        managers = ((name, RESOURCE()) for name in self.resources)
        titles = (("tm", MANAGER()), *managers, ("urge", URGE()))
        rows = tuple((n, world.role(n).state) for n in ("tm", *self.resources) if world.role(n))
        table = Table(STATES(), ("", "state"), rows)
        return Snapshot(lanes=draw_lanes(world, titles), tables=(table,))
