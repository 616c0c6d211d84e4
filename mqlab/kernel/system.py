"""A System: which nodes there are, what a scenario may say, and how to draw a world."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

from .disk import MemoryDisk
from .maps import frozen
from .options import UNWRITTEN, Written
from .reasons import Unguarded
from .role import Effect, Event
from .snapshot import Snapshot
from .stops import Named, name_plainly
from .story import Stage, Story
from .text import NOTHING, Text, Words
from .trace import Fact
from .world import NodeState, World

OFF = Words("{label} · off: {off}", context="label")


@frozen
class Telling:
    """What a system adds to a fact: its transaction, whether it may be folded, a short
    label for the chart and one sentence why. `hide`: bookkeeping that is not narrated at all;
    `show`: no bookkeeping, though facts of its kind are (a row of an application's own table).
    `stage` and `story`: see `story.py`; `record`: what is written or read here, as its log labels
    it."""

    txn: str = ""
    fold: bool = False
    label: Text = NOTHING
    why: Text = NOTHING
    hide: bool = False
    show: bool = False
    stage: Stage | None = None
    story: Story | None = None
    record: Text = NOTHING


def _whole(name: str, node: NodeState) -> Hashable:
    return node


@frozen
class Property:
    """`always` must hold in every reachable state, `sometimes` in one at least, and
    `can_always` must stay reachable from every reachable state.

    `reads(name, node)` is the part of a node's state that `holds` looks at: where all parts
    are the same, the answer is. A property never reads messages in flight.
    """

    name: str
    sentence: Text
    holds: Callable[[World], bool]
    kind: str = "always"
    reads: Callable[[str, NodeState], Hashable] = _whole


@dataclass(frozen=True)
class System(Written):
    """A broker with its clients, ready to run. Subclasses are frozen dataclasses, whose fields
    are the options of their system line (see `options.py`).

    `network`: "tcp" (connections: in order, nothing lost inside one) or "set" (messages
    are never consumed; only for the two-phase-commit oracle). `both_ways`: what two nodes ask of
    each other goes over one connection, so both hear that it broke. `retrying`: the first words
    of the names of timers that only ask again, as "retry" of `retry o-0`. `judged_between_steps`:
    lights are judged when a step is over, as a search does, and not after each of its effects: for
    a role that knows how far a step will have come before it has done it. `disks`: what nodes find
    on their disks when they start for the first time; no line can say that. `synced`: a power cut
    takes nothing from its disks, as each write is flushed before it counts. `unguards`: which
    sentences why rest on a safeguard, and what is true while it is off; `glossary`: the broker's
    own words that a picture of it shows, with one sentence each.
    """

    disks: Annotated[tuple[tuple[str, MemoryDisk], ...], UNWRITTEN] = field(
        default=(), kw_only=True, repr=False
    )

    network = "tcp"
    both_ways: ClassVar[bool] = False
    retrying: ClassVar[tuple[str, ...]] = ()
    judged_between_steps: ClassVar[bool] = False
    synced: ClassVar[bool] = False
    unguards: ClassVar[Unguarded] = {}
    glossary: ClassVar[Mapping[Text, Text]] = {}

    def label(self) -> Text:
        """How a picture names the system; the system line where nothing shorter is said."""
        return Text(self.line())

    def with_missing(self, label: Text) -> Text:
        """A label that also names the safeguards which are off, if any."""
        off = getattr(self, "off", ())
        return OFF(label=label, off=", ".join(off)) if off else label

    def terms(self) -> tuple[tuple[Text, Text], ...]:
        """The words of its glossary, each with its sentence."""
        return tuple(self.glossary.items())

    @property
    def symmetric(self) -> tuple[str, ...]:
        """Nodes that are equal but for their names, so that a search may change them."""
        return ()

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Every function that a user wrote into this system: programs, those in the field `rules`
        where there is one, and what subclasses add."""
        programs = tuple(spec.program for spec in self.nodes() if callable(spec.program))
        return (*programs, *(rule for _, rule in getattr(self, "rules", ())))

    def snapshot(self, world: World) -> Snapshot:
        return Snapshot()

    def annotate(
        self, world: World, role: str, event: Event | None, effect: Effect | None
    ) -> Telling:
        return Telling()

    def explain(self, fact: Fact) -> Text:
        """One sentence why, of a fact for which `annotate` has none."""
        return NOTHING

    def name_record(self, label: Text) -> Text:
        """What a record is for a reader who does not know how the application writes it down."""
        return label

    def unguarded(self) -> Unguarded:
        """Which sentences why rest on a safeguard, and what is true while it is off."""
        return self.unguards

    def name_effect(self, role: str, effect: Effect) -> Named | None:
        """What an effect of a role is called where a stop shows if it was done; None: left out."""
        return name_plainly(effect)

    def properties(self) -> tuple[Property, ...]:
        """What a search checks; made once, by `_properties`."""
        return self._properties

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        return ()

    def is_refused(self, client: str, server: str) -> bool:
        """Whether this client hears it when `server` is down; others ask until it is back."""
        return False

    def only_repeats(self, timer: str) -> bool:
        """Whether a timer of this name does no more, when it runs out, than ask again."""
        return timer.split(" ")[0] in self.retrying
