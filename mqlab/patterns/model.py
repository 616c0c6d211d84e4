"""What the systems of all classical models have in common: safeguards, claims, programs.

A model's own class adds its options as fields, its nodes, its calls, and what a world of it
looks like. What it claims is in three lists. `kept` is true of the model with everything
switched on, and shown as lights. A claim of `unkept` is what one might expect and the model
does not promise: a system line names it (`claims=whole_read`) to be shown the execution that
refutes it. What must merely be reachable, or stay so, has no light unless it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

from ..kernel import (
    Config,
    Effect,
    Event,
    Fact,
    Light,
    Program,
    Property,
    Snapshot,
    System,
    Telling,
    Text,
    World,
)
from ..kernel.claims import Claim, check_named, claims_by_key, list_properties, select_lights
from ..kernel.options import SORTED, Programs
from ..kernel.reasons import Unguarded
from ..kernel.text import BadValue
from ..kernel.usages import Reader, Usages
from .picture import NO_SENTENCES, Sentences, explain, explain_fault


@dataclass(frozen=True)
class Model(System):
    """`off`: safeguards that are missing. `programs`: (node, what its application calls).
    `claims`: those that get a light although the model need not keep them."""

    off: Annotated[tuple[str, ...], SORTED] = ()
    programs: Programs = ()
    claims: tuple[str, ...] = ()

    title: ClassVar[Text]
    kept: ClassVar[tuple[Claim[Any], ...]] = ()
    unkept: ClassVar[tuple[Claim[Any], ...]] = ()
    #: what an application may call, by its usage (see `kernel/usages.py`)
    calls: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    #: what its words mean, by kind
    readers: ClassVar[Mapping[str, Reader]] = {}
    #: why its steps happen
    sentences: ClassVar[Sentences] = NO_SENTENCES

    def __post_init__(self) -> None:
        super().__post_init__()
        check_named(self.claims, self.nameable())

    @classmethod
    def nameable(cls) -> dict[str, Claim[Any]]:
        """The claims that a system line may name."""
        dark = (claim for claim in cls.kept if claim.kind == "can_always")
        return claims_by_key((*dark, *cls.unkept))

    def label(self) -> Text:
        """How a picture names the system."""
        return self.with_missing(self.title)

    @cached_property
    def config(self) -> Config:
        return Config(on=frozenset(self.guards) - {*self.off})

    def program(self, node: str) -> Program:
        """What the application at a node calls."""
        return dict(self.programs).get(node, ())

    def usages(self) -> Usages:
        return Usages(self.calls)

    def call(self, words: tuple[str, ...]) -> Any:
        return self.usages().read(words, self.readers)

    # -- pictures and claims ---------------------------------------------------------------

    def draw(self, world: World) -> Snapshot:
        """What a world looks like; the lights are added."""
        raise NotImplementedError

    def snapshot(self, world: World) -> Snapshot:
        lit = select_lights(self.properties(), self.nameable(), self.claims)
        lights = tuple(Light(p.name, p.sentence, p.holds(world)) for p in lit)
        return replace(self.draw(world), lights=lights)

    def annotate(
        self, world: World, role: str, event: Event | None, effect: Effect | None
    ) -> Telling:
        return explain(self, self.sentences, world, role, event, effect)

    def explain(self, fact: Fact) -> Text:
        return explain_fault(fact)

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        claims = self.nameable()
        return list_properties(self, self.chosen(), (claims[name] for name in self.claims))

    def chosen(self) -> tuple[Claim[Any], ...]:
        """The claims that a correct model keeps with these options."""
        return self.kept

    def unguarded(self) -> Unguarded:
        return self.sentences.unguarded


def check_among(field: str, names: tuple[str, ...], of: str, known: tuple[str, ...]) -> None:
    """ValueError where a field names a party that there is not, or where there is none at all."""
    unknown = [name for name in names if name not in known]
    if unknown or not known:
        raise BadValue(
            "{}={}: expected some of {}={}, of which there must be one at least",
            field,
            ",".join(unknown),
            of,
            ",".join(known),
        )
