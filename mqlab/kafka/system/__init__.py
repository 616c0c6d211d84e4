"""The Kafka lesson system: each role on a node of its own.

    system kafka transaction_version=2 client=v2 partitions=2 producers=app readers=reader

A client is `legacy` (librdkafka) or `v2` (Java 4.x); the three real combinations with the
cluster's transaction.version are (0, legacy), (2, legacy), (2, v2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Self

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
from ...kernel.options import LISTED, SORTED, Most, Order, Pairs, Programs, Rules
from ...kernel.reasons import Unguarded
from ..claims.invariants import CLAIMS, properties, replicated_claims
from ..config import SAFEGUARDS, KafkaConfig
from ..picture.cluster import Cluster
from ..picture.effects import name_effect
from ..picture.snapshot import draw_snapshot
from ..picture.telling import annotate, find_kind
from ..picture.terms import TERMS
from ..picture.unguarded import UNGUARDED
from ..picture.why import explain_fact
from . import verbs, wiring

# a role, a lane and a log each
PARTITIONS = Most(100, "a picture has room for 100")
INTERNAL = ("__consumer_offsets", "__transaction_state")
GROUPS = Most(50, "a picture has room for 50")


@dataclass(frozen=True)
class KafkaSystem(System):
    """`topic`: its name, or several with commas, of `partitions` each. `producers`: (node,
    transactional id); an id of "-" is a producer without transactions, "plain" one without
    idempotence either. Two nodes with one id are a producer and its restarted twin.
    `workers`: (node, transactional id) of processes that consume and produce; `admins`:
    administrators' clients. `programs`: (node, what its application does).

    `replicas` of every log, of which `min_isr` must be in sync for an append; `topic_replicas` of
    those of topics and groups, where they have fewer (0: as many). `retries`
    None: as often as need be; `delivery_timeout_ms` and `max_block_ms` 0: for ever;
    `config_check` "off" builds producers that Java refuses to (`max_in_flight` 6 with
    idempotence). `rules`: what a learner writes; a lesson says into which role it goes.
    `claims`: properties that get a light of their own (`invariants.CLAIMS`)."""

    transaction_version: int = 2
    client: str = "v2"
    release: str = "4.3"
    topic: Annotated[str, LISTED] = "orders"
    partitions: Annotated[int, PARTITIONS] = 2
    producers: Pairs = (("app", "order-service"),)
    readers: tuple[str, ...] = ()
    workers: Pairs = ()
    admins: tuple[str, ...] = ()
    groups: Annotated[int, GROUPS] = 0
    replicas: int = 1
    topic_replicas: int = 0
    min_isr: int = 1
    timeout_ms: int = 60_000
    max_in_flight: int = 5
    retries: int | None = None
    delivery_timeout_ms: int = 0
    max_block_ms: int = 0
    config_check: str = "on"
    segment_records: int = 0
    skip_leaderless_marker: int = 0
    id_expiration_ms: int = 0
    pid_expiration_ms: int = 0
    off: Annotated[tuple[str, ...], SORTED] = ()
    programs: Programs = ()
    order: Order = ()
    rules: Rules = ()
    claims: tuple[str, ...] = ()

    name = "kafka"
    retrying = ("retry", "add")
    orderable: ClassVar = {"prepared": ("reply", "markers")}
    most_replicas: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if (self.transaction_version, self.client) not in ((0, "legacy"), (2, "legacy"), (2, "v2")):
            raise ValueError(
                f"no real Kafka has transaction_version={self.transaction_version} with a "
                f"{self.client} client; use (0, legacy), (2, legacy) or (2, v2)"
            )
        if self.release not in ("4.2", "4.3"):
            raise ValueError(f"release={self.release}: expected 4.2 or 4.3")
        if not 1 <= self.replicas <= self.most_replicas:
            several = "" if self.most_replicas > 1 else "; for several take `system kafka`"
            expected = "1" if self.most_replicas == 1 else f"1 to {self.most_replicas}"
            raise ValueError(f"replicas={self.replicas}: expected {expected}{several}")
        if not 1 <= self.min_isr <= self.replicas:
            raise ValueError(
                f"min_isr={self.min_isr}: expected 1 to {self.replicas}, as many as there are"
            )
        if self.topic_replicas and not self.min_isr <= self.topic_replicas <= self.replicas:
            raise ValueError(
                f"topic_replicas={self.topic_replicas}: expected {self.min_isr} (min_isr) to "
                f"{self.replicas} (replicas), or 0 for as many"
            )
        super().__post_init__()
        topics = self.topic.split(",")
        for topic in topics:
            if topic in INTERNAL:
                raise ValueError(f"topic={topic}: this one is Kafka's own; choose another name")
        PARTITIONS.check("partitions of all topics", len(topics) * self.partitions)
        if self.config_check not in ("on", "off"):
            raise ValueError(f"config_check={self.config_check}: expected on or off")
        for _, txn_id in (*self.producers, *self.workers):
            wiring.producer_config(self, txn_id)  # refuses what Java would
        if self.replicas == 1:
            check_named(self.claims, CLAIMS)
        else:
            check_named(self.claims, replicated_claims(), " with several replicas")

    @classmethod
    def from_options(cls, given: Mapping[str, str]) -> Self:
        """As the fields say, and the client of an older cluster is a legacy one."""
        older = {"client": "legacy"} if given.get("transaction_version") == "0" else {}
        return super().from_options({**older, **given})

    def label(self) -> Text:
        """How a picture names the system."""
        client = "" if self.transaction_version == 0 else f" · {self.client} client"
        return Text(
            f"Kafka · transaction.version {self.transaction_version}{client}{self.label_missing()}"
        )

    def terms(self) -> tuple[tuple[Text, Text], ...]:
        return TERMS

    # -- nodes ---------------------------------------------------------------------------

    @cached_property
    def config(self) -> KafkaConfig:
        on = frozenset(SAFEGUARDS) - frozenset(self.off)
        return KafkaConfig(
            on=on,
            order=self.order,
            transaction_version=self.transaction_version,
            offsets_partitions=max(1, self.groups),
            release=self.release,
            segment_records=self.segment_records,
            id_expiration_ms=self.id_expiration_ms,
            pid_expiration_ms=self.pid_expiration_ms,
            skip_leaderless_marker=self.skip_leaderless_marker,
        )

    @cached_property
    def cluster(self) -> Cluster:
        return Cluster(
            config=self.config,
            producers=tuple(
                (node, "" if txn_id in ("-", "plain") else txn_id)
                for node, txn_id in (*self.producers, *self.workers)
            ),
            partitions=tuple(
                f"{topic}-{i}" for topic in self.topic.split(",") for i in range(self.partitions)
            ),
            readers=self.readers,
            workers=tuple(node for node, _ in self.workers),
            groups=tuple(f"__consumer_offsets-{i}" for i in range(self.groups)),
            admins=self.admins,
            replicas=self.replicas,
            topic_replicas=self.topic_replicas or self.replicas,
        )

    def nodes(self) -> tuple[NodeSpec, ...]:
        return wiring.nodes(self)

    # -- what a scenario may say -----------------------------------------------------------

    def call(self, words: tuple[str, ...]) -> Any:
        cluster = self.cluster
        return verbs.parse_call(words, cluster.partitions, cluster.groups, wiring.leaders_of(self))

    # -- pictures and claims ---------------------------------------------------------------

    def snapshot(self, world: World) -> Snapshot:
        lights = select_lights(self.properties(), CLAIMS, self.claims)
        return draw_snapshot(self.cluster, world, lights)

    def annotate(
        self, world: World, role: str, event: Event | None, effect: Effect | None
    ) -> Telling:
        return annotate(self.cluster, world, role, event, effect)

    def explain(self, fact: Fact) -> Text:
        return explain_fact(fact, partial(find_kind, self.cluster))

    def unguarded(self) -> Unguarded:
        return UNGUARDED

    def name_effect(self, role: str, effect: Effect) -> Named | None:
        return name_effect(role, effect)

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        return properties(self.cluster, self.client, self.claims)

    def safeguards(self) -> Mapping[str, Text]:
        return SAFEGUARDS
