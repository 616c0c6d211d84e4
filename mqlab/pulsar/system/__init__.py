"""The Pulsar lesson system: coordinators, partitions and clients, each on a node of its own.

    system pulsar partitions=2 clients=app,shop

A client has transactions, producers and consumers; `app` and `shop` are two processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from ...kernel import (
    Effect,
    Event,
    Fact,
    Named,
    NodeSpec,
    Property,
    Snapshot,
    System,
    Telling,
    Text,
    World,
)
from ...kernel.claims import check_named, select_lights
from ...kernel.options import LISTED, SORTED, Most, Programs
from ...kernel.reasons import Unguarded
from ..claims.invariants import CLAIMS, properties
from ..client.calls import Commit
from ..config import SAFEGUARDS, PulsarConfig
from ..picture.cluster import Cluster
from ..picture.effects import name_effect
from ..picture.meaning import annotate
from ..picture.snapshot import draw_snapshot
from ..picture.terms import TERMS
from ..picture.unguarded import UNGUARDED
from ..picture.why import explain_fact, find_kind
from . import verbs, wiring

PARTITIONS = Most(100, "a picture has room for 100")
COORDINATORS = Most(16, "a cluster has 16 of them")


@dataclass(frozen=True)
class PulsarSystem(System):
    """`topic`: its name, or several with commas, of `partitions` each. `clients`: processes with a
    PulsarClient. `coordinators`: 1, as in a standalone broker, as many as a cluster has, or 0,
    where transactions are switched off, as they are by default.
    `missing`: further partitions, whose namespace does not exist.

    `timeout_ms`: of a transaction whose builder was given none; `operation_ms`: how long a client
    waits for a coordinator. `max_active`: maxActiveTransactionsPerCoordinator. `snapshot_count`
    and `snapshot_ms`: when a buffer writes a snapshot (0: not by time). `dedup` 1: the broker
    knows duplicates. `batch_index_ack` 0, the default before 4.1: messages of a batch are
    acknowledged together only.
    `claims`: properties that a search is to check too (`invariants.CLAIMS`)."""

    topic: Annotated[str, LISTED] = "orders"
    partitions: Annotated[int, PARTITIONS] = 1
    clients: tuple[str, ...] = ("app",)
    coordinators: Annotated[int, COORDINATORS] = 1
    missing: tuple[str, ...] = ()
    timeout_ms: int = 60_000
    operation_ms: int = 30_000
    max_active: int = 0
    snapshot_count: int = 1_000
    snapshot_ms: int = 0
    dedup: int = 0
    batch_index_ack: int = 1
    off: Annotated[tuple[str, ...], SORTED] = ()
    programs: Programs = ()
    claims: tuple[str, ...] = ()

    name = "pulsar"
    retrying = ("retry",)

    def __post_init__(self) -> None:
        super().__post_init__()
        PARTITIONS.check("partitions of all topics", len(self.topic.split(",")) * self.partitions)
        for name in ("dedup", "batch_index_ack"):
            if getattr(self, name) not in (0, 1):
                raise ValueError(f"{name}={getattr(self, name)}: expected 0 or 1")
        if self.snapshot_count < 1:
            raise ValueError(f"snapshot_count={self.snapshot_count}: expected at least 1")
        check_named(self.claims, CLAIMS)

    def label(self) -> Text:
        """How a picture names the system."""
        return Text(f"Pulsar{self.label_missing()}")

    def terms(self) -> tuple[tuple[Text, Text], ...]:
        return TERMS

    @cached_property
    def config(self) -> PulsarConfig:
        topics = self.topic.split(",")
        partitions = tuple(f"{topic}-{i}" for topic in topics for i in range(self.partitions))
        return PulsarConfig(
            on=frozenset(SAFEGUARDS) - frozenset(self.off),
            partitions=(*partitions, *self.missing),
            missing=self.missing,
            coordinators=self.coordinators,
            max_active=self.max_active,
            snapshot_count=self.snapshot_count,
            snapshot_ms=self.snapshot_ms,
            dedup=self.dedup,
            batch_index_ack=self.batch_index_ack,
        )

    @cached_property
    def cluster(self) -> Cluster:
        return Cluster(self.config, self.clients)

    def nodes(self) -> tuple[NodeSpec, ...]:
        return wiring.nodes(self)

    def call(self, words: tuple[str, ...]) -> Any:
        return verbs.parse_call(words, self.config)

    def snapshot(self, world: World) -> Snapshot:
        lights = select_lights(self.properties(), CLAIMS, self.claims)
        return draw_snapshot(self.cluster, world, lights)

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        return properties(self.cluster, self.claims, self._may_commit())

    def _may_commit(self) -> bool:
        """Whether it is left open what applications do, or one of them commits."""
        programs = [program for _, program in self.programs]
        lists = [program for program in programs if isinstance(program, tuple)]
        calls = [call for program in lists for call in program]
        return len(lists) < len(programs) or not calls or any(isinstance(c, Commit) for c in calls)

    def safeguards(self) -> Mapping[str, Text]:
        return SAFEGUARDS

    def annotate(
        self, world: World, role: str, event: Event | None, effect: Effect | None
    ) -> Telling:
        return annotate(self.cluster, world, role, event, effect)

    def explain(self, fact: Fact) -> Text:
        return explain_fact(fact, find_kind(self.cluster, fact.node))

    def unguarded(self) -> Unguarded:
        return UNGUARDED

    def name_effect(self, role: str, effect: Effect) -> Named | None:
        return name_effect(effect)
