"""Two-phase commit as Gray and Lamport specify it ("Consensus on Transaction Commit").

Messages are never consumed, every resource manager may prepare or abort on its own, and
nobody crashes: the model has exactly 288 states with three resource managers, 8,832 with
five and 296,448 with seven. It is the explorer's oracle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from mqlab.kernel import NodeSpec, Property, Quiet, Request, Send, System, Text, World


@dataclass(frozen=True, slots=True)
class Manager(Quiet):
    """The transaction manager: init, committed or aborted; who has prepared."""

    managers: tuple[str, ...]
    state: str = "init"
    prepared: tuple[str, ...] = ()

    def step(self, event, disk):
        match event:
            case Request(body="prepared", caller=caller) if self.state == "init":
                return replace(self, prepared=tuple(sorted({*self.prepared, caller.name}))), ()
            case Request(body="commit?") if self.state == "init" and self.prepared == self.managers:
                return self._decide("committed", "commit")
            case Request(body="abort?") if self.state == "init":
                return self._decide("aborted", "abort")
        return self, ()

    def _decide(self, state, order):
        return replace(self, state=state), tuple(Send(rm, order) for rm in self.managers)


@dataclass(frozen=True, slots=True)
class Resource(Quiet):
    """A resource manager: working, prepared, committed or aborted."""

    state: str = "working"

    def step(self, event, disk):
        match event.body:
            case "prepare?" if self.state == "working":
                return Resource("prepared"), (Send("tm", "prepared"),)
            case "abort?" if self.state == "working":
                return Resource("aborted"), ()
            case "commit":
                return Resource("committed"), ()
            case "abort":
                return Resource("aborted"), ()
        return self, ()


@dataclass(frozen=True, slots=True)
class Urge(Quiet):
    """Whatever moves the others of their own accord: its messages are always there."""

    managers: tuple[str, ...]

    @staticmethod
    def recover(managers, disk, at_ms):
        urges = [Send(rm, urge) for rm in managers for urge in ("prepare?", "abort?")]
        return Urge(managers), (*urges, Send("tm", "commit?"), Send("tm", "abort?"))

    def step(self, event, disk):
        return self, ()


@dataclass(frozen=True)
class TwoPhase(System):
    managers: int = 3

    network = "set"

    def line(self) -> str:
        return f"two_phase managers={self.managers}"

    def nodes(self) -> tuple[NodeSpec, ...]:
        names = tuple(f"rm{i}" for i in range(self.managers))
        tm = NodeSpec("tm", (("tm", lambda disk, at: (Manager(names), ())),))
        rms = tuple(NodeSpec(n, ((n, lambda disk, at: (Resource(), ())),)) for n in names)
        return (tm, *rms, NodeSpec("urge", (("urge", partial(Urge.recover, names)),)))

    def properties(self) -> tuple[Property, ...]:
        def states(world: World) -> set[str]:
            return {world.role(f"rm{i}").state for i in range(self.managers)}

        return (
            Property(
                "consistent",
                Text("no resource manager commits while another aborts"),
                lambda w: not {"committed", "aborted"} <= states(w),
                reads=resource_state,
            ),
            Property(
                "commits",
                Text("all can commit"),
                lambda w: states(w) == {"committed"},
                kind="sometimes",
                reads=resource_state,
            ),
        )


def resource_state(name, node):
    """The properties look at the resource managers only."""
    return node.roles[0].state if name.startswith("rm") else None
