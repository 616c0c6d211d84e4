"""The engine in a program's hands: its nodes, what is under way, and time.

Messages are delivered until nothing is under way. Time passes when somebody waits, and fires what
is due; so a program that waits for a deadline meets it at once. One client of the engine stands for
all of a program's, since the notebook knows who asked; one who ends a transaction by its id alone
is another, since that call may take long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mqlab.kernel import Choice, Outcome, World
from mqlab.kernel.moves import initial, list_choices
from mqlab.kernel.simulate import Untold
from mqlab.pulsar import PulsarSystem
from mqlab.real.program import NotOffered, RealBrokerError

from .driver import Thrown

MISSING = "elsewhere-0"
#: a program's client, and those that come after it when it is gone; those that end by an id
CLIENTS, ENDERS = ("app", "again", "last"), ("ender", "second", "third", "fourth")
PAUSE_S, PATIENCE = 0.1, 900
#: what a program's broker may be set to, and the engine's option
OPTIONS = {
    "brokerDeduplicationEnabled": ("dedup", {"true": 1}),
    "maxActiveTransactionsPerCoordinator": ("max_active", {"2": 2}),
}


@dataclass
class Engine:
    """`settings`: of the program's broker. Raises NotOffered for one that the engine lacks."""

    settings: dict[str, str] = field(default_factory=dict)
    run: Untold = field(init=False)
    at_ms: int = field(init=False)
    client: str = field(init=False)
    _due: dict[tuple[str, str, int], int] = field(init=False)

    def __post_init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """A world in which nothing has happened."""
        self.at_ms, self.client, self._due = 0, CLIENTS[0], {}
        unknown = self.settings.keys() - OPTIONS.keys()
        if unknown:
            raise NotOffered(", ".join(sorted(unknown)))
        more: dict[str, Any] = {
            OPTIONS[name][0]: OPTIONS[name][1][value] for name, value in self.settings.items()
        }
        system = PulsarSystem(
            topic="orders,payments,stock,income,dead",
            missing=(MISSING,),
            clients=(*CLIENTS, *ENDERS),
            operation_ms=60_000,
            **more,
        )
        self.run = Untold(system, initial(system))
        self.settle()

    # -- the world -----------------------------------------------------------------------

    @property
    def world(self) -> World:
        return self.run.world

    def role(self, node: str) -> Any:
        return self.world.nodes[node].roles[0]

    def do(self, choice: Choice) -> None:
        self.run.do(str(choice), self.at_ms)

    def settle(self) -> None:
        """Deliver until nothing is under way, one of each connection in turn."""
        while ready := [c for c in list_choices(self.run.system, self.world) if c.kind != "fire"]:
            for choice in ready:
                if choice in list_choices(self.run.system, self.world):
                    self.do(choice)
        self._see_timers()

    def pause(self, seconds: float) -> None:
        """Time passes: timers fire that are due, in their order."""
        end = self.at_ms + round(seconds * 1000)
        while True:
            ripe = min(((at, key) for key, at in self._due.items()), default=(end + 1, ("", "", 0)))
            if ripe[0] > end:
                break
            at, (node, timer, _) = ripe
            self.at_ms = max(self.at_ms, at)
            del self._due[ripe[1]]
            self.do(Choice("fire", node, timer))
            self.settle()
        self.at_ms = end

    def _see_timers(self) -> None:
        """A timer is due so long after it was seen first; one that is gone never."""
        there = {
            (name, timer, ms)
            for name, node in self.world.nodes.items()
            for _, timer, ms in node.timers
            if node.up
        }
        self._due = {key: self._due.get(key, self.at_ms + key[2]) for key in sorted(there)}

    # -- calls ---------------------------------------------------------------------------

    def call(self, words: str) -> str:
        """What a call of the program's client returns. Raises Thrown for an exception."""
        return self.wait_for(self.client, self.begin(words, self.client))

    def begin(self, words: str, node: str) -> int:
        """Make a call and go on; the number of its result."""
        before = len(self._results(node))
        self.do(Choice("run", node, words))
        return before

    def _results(self, node: str) -> tuple[Outcome, ...]:
        app = self.world.nodes[node].app
        assert app is not None
        return app.results

    def wait_for(self, node: str, place: int) -> str:
        """The result of that number, once it is there."""
        self.settle()
        for _ in range(PATIENCE):
            if len(self._results(node)) > place:
                break
            self.pause(PAUSE_S)
        else:
            raise RealBrokerError(f"{node} was never answered")
        outcome = self._results(node)[place]
        if not outcome.ok:
            raise Thrown(outcome.detail.split(" ")[0])
        return outcome.detail

    # -- a hand on the broker --------------------------------------------------------------

    def nodes(self) -> list[str]:
        """The broker's: every node that is no client."""
        return [name for name in self.world.nodes if name not in (*CLIENTS, *ENDERS)]

    def kill(self) -> None:
        """kill -9 of the broker: of all its roles."""
        for node in self.nodes():
            self.do(Choice("kill", node))
        self.settle()

    #: what is written is on the disk with the step that writes it, so a stop is no other
    stop = kill

    def start(self) -> None:
        for node in self.nodes():
            self.do(Choice("restart", node))
        self.settle()

    def replace_client(self) -> None:
        """The client is gone, and with it what only it knew; another one comes."""
        self.do(Choice("kill", self.client))
        self.client = CLIENTS[CLIENTS.index(self.client) + 1]
        self.settle()

    def reload(self, node: str) -> None:
        """What unloading and loading it is in Pulsar."""
        self.do(Choice("kill", node))
        self.do(Choice("restart", node))
        self.settle()
