"""Kafka, and a client that sends a transaction coordinator whatever it is told to.

    system asking producers=app:order-service,hand:raw
    run app: init, begin, send orders-0 a
    run hand: InitProducerId, EndTxn commit pid=0 epoch=0 v=4

Under a producer "raw" one request is sent as it is written and its answer noted; nothing is
asked again. The transactional id is the first producer's, or `id=…`. With a learner's rule
of lab 06 (`admit`) the coordinator is watched: the first answer that does harm is a light.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from ....kafka import KafkaSystem
from ....kafka.coordinator import Coordinator
from ....kafka.errors import Error
from ....kafka.messages import AddPartitionsToTxn, EndTxn
from ....kafka.picture.cluster import Cluster
from ....kernel import (
    Disk,
    Effects,
    Event,
    Lane,
    NodeSpec,
    Property,
    Reply,
    Request,
    Snapshot,
    Text,
    Words,
    World,
)
from ....kernel.world import NodeState, Recover
from ...roles import put_roles, recover_as
from .raw_requests import hand, parse_request
from .ruled import AdmittingCoordinator

RAW = "raw"
BY_HAND = Words("requests by hand")
SENTENCES = {
    "no stranger": Words("only the holder of the latest producer id and epoch goes on"),
    "spared": Words("the holder is never refused for good"),
    "goes on": Words("the holder is let in when nothing is under way"),
    "one at a time": Words("nothing is begun while a record is being written"),
    "told": Words("a stranger is not told to ask again"),
    "named": Words("a refusal gives its true reason"),
}


@dataclass(frozen=True, slots=True)
class WatchedCoordinator(AdmittingCoordinator):
    """`breach`: the sentence that its first harmful answer breaks; "" for none yet."""

    breach: str = ""

    def step(self, event: Event, disk: Disk) -> tuple[WatchedCoordinator, Effects]:
        new, effects = Coordinator.step(self, event, disk)
        assert isinstance(new, WatchedCoordinator)
        return replace(new, breach=self.breach or breach(self, event, effects)), effects


def breach(tc: Coordinator, event: Event, effects: Effects) -> str:
    """Which sentence the answer to a request breaks, judged by what was known before it."""
    match event:
        case Request(body=AddPartitionsToTxn(verify_only=False, implicit=False) as ask):
            pass
        case Request(body=EndTxn(v2=False) as ask):
            pass
        case _:
            return ""
    entry = tc.entries.get(ask.txn_id)
    error = next((e.body.error for e in effects if isinstance(e, Reply)), Error.NONE)
    # Let in, it may still be refused: by the table of states, or because nothing can begin.
    let_in = error in (Error.NONE, Error.INVALID_TXN_STATE, Error.UNKNOWN_SERVER_ERROR)
    wait = error is Error.CONCURRENT_TRANSACTIONS
    busy = tc.busy(ask.txn_id)
    if entry is not None and (entry.pid, entry.epoch) == (ask.pid, ask.epoch):
        if let_in or wait:
            return "" if busy is wait else "goes on" if wait else "one at a time"
        return "spared"
    if let_in:
        return "no stranger"
    if wait:
        return "" if busy else "told"
    same = entry is not None and entry.pid == ask.pid
    right = Error.PRODUCER_FENCED if same else Error.INVALID_PRODUCER_ID_MAPPING
    return "" if error is right else "named"


@dataclass(frozen=True)
class AskingSystem(KafkaSystem):
    """Kafka with clients by hand; `rules` ("admit", …) puts its coordinator under watch."""

    name = "asking"

    @cached_property
    def _raw(self) -> tuple[str, ...]:
        return tuple(node for node, kind in self.producers if kind == RAW)

    @cached_property
    def _watches(self) -> bool:
        return "admit" in dict(self.rules)

    @cached_property
    def cluster(self) -> Cluster:
        """Without the clients by hand: no promise is about them."""
        seen = super().cluster
        return replace(seen, producers=tuple(p for p in seen.producers if p[0] not in self._raw))

    def nodes(self) -> tuple[NodeSpec, ...]:
        roles: dict[str, Recover] = dict.fromkeys(self._raw, hand)
        if self._watches:
            more = {"rule": dict(self.rules)["admit"]}
            roles[self.config.coordinator] = partial(
                recover_as, WatchedCoordinator, Coordinator.recover, more, self.config
            )
        return put_roles(super().nodes(), roles)

    def call(self, words: tuple[str, ...]) -> Any:
        whose = (*self.cluster.ids, "order-service")[0]
        request = parse_request(words, whose, self.config.coordinator, self.cluster.partitions)
        return super().call(words) if request is None else request

    def snapshot(self, world: World) -> Snapshot:
        seen = super().snapshot(world)
        mine = tuple(Lane(n, Text(n), BY_HAND(), world.nodes[n].up) for n in self._raw)
        return replace(seen, lanes=(*mine, *seen.lanes))

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        kept = super()._properties
        if not self._watches:
            return kept
        return (
            *(
                Property(name, words(), partial(self._unbroken, name), "always", self._reads)
                for name, words in SENTENCES.items()
            ),
            *kept,
        )

    def _unbroken(self, name: str, world: World) -> bool:
        tc = world.role(self.config.coordinator)
        return not isinstance(tc, WatchedCoordinator) or tc.breach != name

    def _reads(self, name: str, node: NodeState) -> Hashable:
        return node.roles[0].breach if name == self.config.coordinator and node.up else None
