"""One choice being worked out at one node: what becomes of the node's links, and which
number it adds to the world."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from ..kernel.maps import replace
from ..kernel.world import NodeState, Note, notice_break
from .links import Link, Pair
from .packed import Fields, NodeField


class Message(NamedTuple):
    """A message in flight, or about to leave: "q" (request) or "r" (answer), its link, its
    connection and its number. Never compared with anything else."""

    kind: str
    pair: Pair
    conn: int
    note: int


Arriving = tuple[tuple[Pair, tuple[Note, ...]], ...]
"""Answers that still arrive from a node that stops, by link; of a link always all of them."""


class PeerBreak(dict[int, int]):
    """What a peer whose connections break because another node stops adds to the world: a cache by
    the worth of the peer's state. `number`: its place among the peers of the node that stops;
    `answers`: what still arrives before the break."""

    __slots__ = ("_answers", "_roles", "_stopped", "field", "mask", "number")

    def __init__(
        self,
        field: NodeField,
        roles: Mapping[str, int],
        stopped: Mapping[str, int],
        number: int,
        answers: Arriving,
    ) -> None:
        super().__init__()
        self.field, self._roles, self._stopped = field, roles, stopped
        self.mask, self.number, self._answers = field.mask, number, dict(answers)

    def __missing__(self, worth: int) -> int:
        node: NodeState = self.field.value(worth)
        for pair in node.conns:
            if pair[1] in self._stopped:
                answers = self._answers.get(pair, ())
                node = notice_break(node, self._roles[pair[0]], pair, answers=answers)
        self[worth] = self.field.worth(node) - worth
        return self[worth]


class Change:
    """Links as they become, over the neighbourhood `key` in which the choice is made."""

    __slots__ = ("_fields", "_key", "_links", "_once")

    def __init__(self, fields: Fields, key: int) -> None:
        self._fields, self._key = fields, key
        self._once = fields.system.network == "set"
        self._links: dict[Pair, Link] = {}

    @property
    def mask(self) -> int:
        """Of the links that it changes."""
        return sum(self._fields.links[pair].mask for pair in self._links)

    def link(self, pair: Pair) -> Link:
        changed = self._links.get(pair)
        return self._before(pair) if changed is None else changed

    def _before(self, pair: Pair) -> Link:
        field = self._fields.links.get(pair)
        return Link() if field is None else field.value(self._key)

    def put(self, pair: Pair, link: Link) -> None:
        self._links[pair] = link

    def take(self, message: Message) -> None:
        """It has arrived; in a network that is a set of messages it stays there."""
        if not self._once:
            link = self.link(message.pair)
            rest = link.take_request(message.conn) if message.kind == "q" else link.take_answer()
            self._links[message.pair] = rest

    def send(self, sent: tuple[Message, ...]) -> None:
        for kind, pair, conn, note in sent:
            link = self.link(pair)
            leave = link.add_request if kind == "q" else link.add_answer
            self._links[pair] = leave(conn, note, self._once)

    def stop_clients(self, node: NodeState) -> None:
        """The node stops, and with it the connections it opened."""
        for pair in node.conns:
            self._links[pair] = self.link(pair).stop_client()

    def lose_clients(
        self, pairs: Iterable[Pair], mine: Mapping[str, int], arrive: Container[str]
    ) -> dict[Pair, tuple[Note, ...]]:
        """The node (its roles are `mine`) stops, and with it the connections others have to
        it. Returns the links whose clients hear of it, each with the answers that these hear
        before: what is in flight to the clients in `arrive`."""
        out: dict[Pair, tuple[Note, ...]] = {}
        for pair in pairs:
            link = self.link(pair)
            if pair[1] in mine and link.open:
                answers = link.answers if pair[0] in arrive else ()
                out[pair] = tuple(self._fields.notes[note] for note in answers)
                self._links[pair] = link.break_connection(server_gone=True)
        return out

    def connect(self, node: NodeState) -> None:
        """The node is up: where it was connected before, it may send again."""
        for pair in node.conns:
            self._links[pair] = replace(self.link(pair), open=True)

    def total(self, field: NodeField, worth: int) -> int:
        """What is added to the world; `worth` is the node's afterwards."""
        added = worth - (self._key & field.mask)
        for pair, link in self._links.items():
            link_field = self._fields.link(pair)
            added += link_field.worth(link) - (self._key & link_field.mask)
        return added
