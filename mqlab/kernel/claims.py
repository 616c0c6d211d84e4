"""Claims: what is said to be true of a correct broker, in words and as a function.

A claim is about a *cluster* (a broker's own class: which names there are, how it is configured)
and a world. A broker keeps lists of claims. For one cluster they become the properties that a
search checks, and some of those are lights in every picture. Others a system line names first
(`claims=whole_read`), because only a search needs them or because the real broker breaks them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import partial, wraps
from typing import Any, Generic, TypeVar

from .maps import frozen
from .system import Property
from .text import Words, say_unknown
from .world import NodeState, World

C = TypeVar("C")
V = TypeVar("V")
KEPT = 4096  # answers of one function


def whole_node(cluster: Any, name: str, node: NodeState) -> Hashable:
    """What a claim looks at where nothing less is said."""
    return node


@frozen
class Claim(Generic[C]):
    """A claim as a learner meets it: its name, its sentence, whether it holds, and how much.

    `kind` and `reads` are those of `Property`: `always`, `sometimes` or `can_always`, and the
    part of a node's state on which the answer depends.
    """

    name: str
    words: Words
    holds: Callable[[C, World], bool]
    kind: str = "always"
    reads: Callable[[C, str, NodeState], Hashable] = whole_node

    @property
    def key(self) -> str:
        """Its name as one word of a system line."""
        return self.name.replace(" ", "_")

    def of(self, cluster: C) -> Property:
        """The claim about this cluster, as a property over worlds."""
        holds, reads = partial(self.holds, cluster), partial(self.reads, cluster)
        return Property(self.name, self.words(), holds, self.kind, reads)


def claim(
    name: str,
    words: Words,
    kind: str = "always",
    reads: Callable[[Any, str, NodeState], Hashable] = whole_node,
) -> Callable[[Callable[[C, World], bool]], Claim[C]]:
    """Makes a claim of the function below it, which says whether it holds."""
    return lambda holds: Claim(name, words, holds, kind, reads)


def claims_by_key(claims: Iterable[Claim[C]]) -> dict[str, Claim[C]]:
    """What a system line may name, in the order given."""
    return {claim.key: claim for claim in claims}


def check_named(named: Iterable[str], nameable: Iterable[str], where: str = "") -> None:
    """ValueError for a name in a system line that is no claim; `where`: among which claims."""
    known = tuple(nameable)
    for name in named:
        if name not in known:
            raise ValueError(say_unknown("claim", name, known, where))


def list_properties(
    cluster: C,
    kept: Iterable[Claim[C]],
    named: Iterable[Claim[C]],
    reached: Iterable[Claim[C]] = (),
) -> tuple[Property, ...]:
    """What a search of this cluster checks, each claim once: those that it keeps, those that its
    system line has named, and what must be reachable."""
    return tuple(claim.of(cluster) for claim in dict.fromkeys((*kept, *named, *reached)))


def select_lights(
    properties: Iterable[Property], nameable: Mapping[str, Claim[Any]], named: Collection[str]
) -> tuple[Property, ...]:
    """Those of a system's properties that its picture shows: what must merely be reachable has
    no light, and a claim that a system line may name has one where it is `named` (by keys)."""
    dark = {claim.name for key, claim in nameable.items() if key not in named}
    return tuple(p for p in properties if p.kind != "sometimes" and p.name not in dark)


def keep_answers(read: Callable[..., V]) -> Callable[..., V]:
    """Cache the results of a function of one or more objects, by the identity of these objects. In
    a search thousands of worlds share one node's state, and to compare two states costs more than
    to read one, so an ordinary cache by equality would be slower than none. When the cache has
    KEPT results, it is emptied."""
    cache: dict[tuple[int, ...], tuple[V, tuple[Any, ...]]] = {}

    @wraps(read)
    def kept(*items: Any) -> V:
        key = tuple(map(id, items))
        answer = cache.get(key)
        if answer is None:
            if len(cache) >= KEPT:
                cache.clear()
            # the objects are stored too: while they live, no other object can get the same id
            answer = cache[key] = (read(*items), items)
        return answer[0]

    return kept


def keep_last_world(read: Callable[[C, World], V]) -> Callable[[C, World], V]:
    """The function, with its last answer kept. Every light of a picture and every claim of a
    search asks about one world before the next one comes; worlds are distinguished by identity,
    for comparing two is more expensive than reading one."""
    last: tuple[C, World, V] | None = None

    @wraps(read)
    def kept(cluster: C, world: World) -> V:
        nonlocal last
        now = last
        if now is None or now[0] is not cluster or now[1] is not world:
            last = now = (cluster, world, read(cluster, world))
        return now[2]

    return kept
