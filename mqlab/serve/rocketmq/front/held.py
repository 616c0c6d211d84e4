"""Pulls that wait, so ordered that a message finds those that want it.

A thousand consumers may wait at one queue, each for a tag of its own. A message that comes in
touches only those that want its tag, or any: the others sleep on, and it costs them nothing.

Source: PullRequestHoldService#notifyMessageArriving, ManyPullRequest (5.5.0). The real one keeps
a list for each queue and compares the tag's hash code with each pull in it; the same are woken.
"""

from __future__ import annotations

from collections.abc import Iterable

from ....kernel import Caller, Map, frozen, replace
from ..wire.answers import PullMessage
from .clients import ALL, Subscription

Arrival = tuple[str, str | None]  # the queue of a message that has come, and its tag
Numbers = Map[int, bool]  # a set: kernel maps have keys in order
NONE: Numbers = Map()


@frozen
class Held:
    """A pull that waits: who asks, for what, in which queue, of which tags."""

    caller: Caller
    body: PullMessage
    queue: str
    wanted: Subscription

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Where it is in the index: once for each of its tags."""
        tags = [ALL] if self.wanted.text == ALL else sorted(self.wanted.tags)
        return tuple((self.queue, tag) for tag in tags)


@frozen
class HeldPulls:
    """`pulls`: by number; `index`: the numbers by queue and tag, `clients`: by connection."""

    pulls: Map[int, Held] = Map()
    index: Map[tuple[str, str], Numbers] = Map()
    clients: Map[str, Numbers] = Map()

    def add(self, number: int, held: Held) -> HeldPulls:
        index = self.index
        for place in held.places:
            index = index.set(place, index.get(place, NONE).set(number, True))
        mine = self.clients.get(held.caller.name, NONE).set(number, True)
        return HeldPulls(
            self.pulls.set(number, held), index, self.clients.set(held.caller.name, mine)
        )

    def remove(self, number: int) -> HeldPulls:
        held, index = self.pulls[number], self.index
        for place in held.places:
            left = index[place].remove(number)
            index = index.set(place, left) if left else index.remove(place)
        left = self.clients[held.caller.name].remove(number)
        name, clients = held.caller.name, self.clients
        clients = clients.set(name, left) if left else clients.remove(name)
        return replace(self, pulls=self.pulls.remove(number), index=index, clients=clients)

    def is_awaited(self, arrival: Arrival) -> bool:
        return any(place in self.index for place in _places(arrival))

    def find(self, arrivals: Iterable[Arrival]) -> tuple[int, ...]:
        """The pulls that wait for one of these messages, the longest waiting first."""
        places = {place for arrival in arrivals for place in _places(arrival)}
        return tuple(sorted({n for place in places for n in self.index.get(place, NONE)}))

    def list_of(self, client: str) -> tuple[int, ...]:
        """The pulls of one connection."""
        return tuple(sorted(self.clients.get(client, NONE)))


def _places(arrival: Arrival) -> tuple[tuple[str, str], ...]:
    queue, tag = arrival
    return ((queue, ALL),) if tag is None else ((queue, ALL), (queue, tag))
