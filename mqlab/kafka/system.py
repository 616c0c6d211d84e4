"""The Kafka lesson system: each role on a node of its own.

    system kafka transaction_version=2 client=v2 partitions=2 producers=app readers=reader

A client is `legacy` (librdkafka) or `v2` (Java 4.x); the three real combinations with the
cluster's transaction.version are (0, legacy), (2, legacy), (2, v2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Self

from ..kernel import (
    Disk,
    Effect,
    Effects,
    Event,
    Fact,
    Map,
    Named,
    NodeSpec,
    Program,
    Property,
    Snapshot,
    System,
    Telling,
    Text,
    Words,
    World,
)
from ..kernel.claims import check_named, select_lights
from ..kernel.options import LISTED, SORTED, Most, Order, Pairs, Programs, Rules, fill
from ..kernel.text import BadValue, shorten, tr
from ..kernel.usages import Usages, any_text, bare, number, one_of
from .claims import CLAIMS, properties, replicated_claims
from .clients.admin import (
    AbortHanging,
    Admin,
    AdminConfig,
    ChangeTopic,
    DeleteOneGroup,
    DeletePositions,
    DeleteTo,
    Describe,
    FindHanging,
    List,
    Producers,
)
from .clients.admin import Fence as FenceProducers
from .clients.calls import (
    Abort,
    Begin,
    Commit,
    CommitOffsets,
    Committed,
    EndOffset,
    Flush,
    GroupMetadata,
    Init,
    Lag,
    Poll,
    PositionOf,
    ReinitProducerId,
    ResumeTransaction,
    Seek,
    SendOffsets,
    SendRecord,
    Subscribe,
    Unsubscribe,
)
from .clients.consumer import Consumer, ConsumerConfig
from .clients.producer import Producer
from .clients.producer.flight import ProducerConfig
from .clients.worker import Worker
from .config import SAFEGUARDS, KafkaConfig, txn_log
from .coordinator import Coordinator
from .group import GroupCoordinator
from .leader import Leader
from .messages import READ_COMMITTED, Position
from .picture.snapshot import draw_snapshot
from .picture.telling import annotate, find_kind, name_effect
from .picture.view import Cluster
from .picture.why import UNGUARDED, explain_fact
from .picture.words import TERMS
from .replication import Elect, Fence, Leadership, Replica, ReplicaConfig, Router, RouterConfig
from .replication.controller import start_controller
from .replication.replica import Lead, TakingOver

# What the applications of a scenario may call: `run app: init, begin, send orders-0 a`


def _poll(partition: str, isolation: str) -> Poll:
    return Poll(partition, isolation or READ_COMMITTED)


def _end_offset(partition: str, isolation: str) -> EndOffset:
    return EndOffset(partition, isolation or READ_COMMITTED)


def _seek(where: Position) -> Seek:
    return Seek(where.partition, where.offset)


def _abort_hanging(where: Position) -> AbortHanging:
    return AbortHanging(where.partition, where.offset)


#: max.request.size: the Java client refuses more by itself, and librdkafka little less
MOST_BYTES = 1_000_000


def _send(partition: str, value: str, **options: Any) -> SendRecord:
    if (size := options.get("bytes", 0)) > MOST_BYTES:
        raise BadValue(
            "bytes={}: a client sends {:,} at most; for one that its broker refuses write "
            "max_message_bytes=1000 in the system line",
            size,
            MOST_BYTES,
        )
    return SendRecord(partition, value, **options)


def _committed(group: str, partitions: tuple[str, ...], require_stable: str = "yes") -> Committed:
    if require_stable not in ("yes", "no"):
        raise BadValue("require_stable={}: expected yes or no", require_stable)
    return Committed(group, partitions, require_stable == "yes")


def _change_topic(verb: str) -> Callable[[tuple[str, ...]], ChangeTopic]:
    return lambda partitions: ChangeTopic(verb, partitions[0].rpartition("-")[0], partitions)


def _delete_to(where: Position) -> DeleteTo:
    return DeleteTo(where.partition, where.offset)


def _terminate(txn_id: str) -> FenceProducers:
    return FenceProducers(txn_id, "force-terminate-transaction")


CALLS = Usages(
    {
        "init": Init,
        "begin": Begin,
        "send TOPIC-PARTITION VALUE [key=KEY headers=NAME:VALUE bytes=BYTES]": _send,
        "send-offsets GROUP TOPIC-PARTITION@OFFSET … [member=M generation=N]": SendOffsets,
        "flush": Flush,
        "commit": Commit,
        "abort": Abort,
        "init-producer-id": ReinitProducerId,
        "resume-transaction PID EPOCH": ResumeTransaction,
        "poll [TOPIC-PARTITION] [read_committed | read_uncommitted]": _poll,
        "committed GROUP TOPIC-PARTITION … [require_stable=no]": _committed,
        "subscribe GROUP TOPIC … [group_instance_id=NAME auto_offset_reset=RESET]": Subscribe,
        "unsubscribe": Unsubscribe,
        "commit-offsets GROUP [TOPIC-PARTITION@OFFSET …]": CommitOffsets,
        "position TOPIC-PARTITION": PositionOf,
        "end-offset TOPIC-PARTITION [read_committed | read_uncommitted]": _end_offset,
        "lag TOPIC-PARTITION": Lag,
        "seek TOPIC-PARTITION@OFFSET": _seek,
        "group-metadata": GroupMetadata,
        "list": List,
        "describe TRANSACTIONAL-ID": Describe,
        "producers TOPIC-PARTITION": Producers,
        "find-hanging TOPIC-PARTITION": FindHanging,
        "abort-hanging TOPIC-PARTITION@OFFSET": _abort_hanging,
        "fence-producers TRANSACTIONAL-ID": FenceProducers,
        "force-terminate-transaction TRANSACTIONAL-ID": _terminate,
        "delete-topic TOPIC-NAME": _change_topic("delete-topic"),
        "create-topic TOPIC-NAME": _change_topic("create-topic"),
        "create-partitions TOPIC-WITH-SPARE": _change_topic("create-partitions"),
        "delete-records TOPIC-PARTITION@OFFSET": _delete_to,
        "delete-group GROUP": DeleteOneGroup,
        "delete-offsets GROUP TOPIC-PARTITION …": DeletePositions,
        "elect PARTITION REPLICA": Elect,
        "fence PARTITION REPLICA": Fence,
    }
)


def parse_call(
    words: tuple[str, ...],
    partitions: tuple[str, ...],
    groups: tuple[str, ...],
    led: tuple[str, ...],
    spares: tuple[str, ...] = (),
) -> Any:
    """Make a call from the words of a line, for example `send orders-0 a`. `partitions`: those that
    may be written and read; `groups`: those that have coordinators; `led`: those whose leader can
    be elected; `spares`: those that do not exist at first. Raises ValueError with advice."""
    check_partition = one_of("partition", partitions)

    def read_position(text: str) -> Position:
        partition, _, offset = text.partition("@")
        at = number(offset)
        if at is None:
            raise BadValue("{!r} is no position; expected TOPIC-PARTITION@OFFSET", text)
        return Position(check_partition(partition), at)

    topics = list(dict.fromkeys(p.rpartition("-")[0] for p in partitions))
    check_topic = one_of("topic", topics)

    def read_partitions(topic: str, among: tuple[str, ...] = partitions) -> tuple[str, ...]:
        topic = check_topic(topic)
        return tuple(p for p in among if p.rpartition("-")[0] == topic)

    def read_spares(topic: str) -> tuple[str, ...]:
        if not spares:
            raise BadValue("{} has no further partitions; write spare=1 in the system line", topic)
        return read_partitions(topic, spares)

    def read_present(topic: str) -> tuple[str, ...]:
        return read_partitions(topic, tuple(p for p in partitions if p not in spares))

    # by the kind of an argument in a usage: what turns its word into a value
    readers = {
        "TOPIC-PARTITION": check_partition,
        "TOPIC-PARTITION@OFFSET": read_position,
        "TOPIC": check_topic,
        "TOPIC-NAME": read_present,
        "TOPIC-WITH-SPARE": read_spares,
        "GROUP": bare if groups else _refuse_group,
        "M": bare,  # a member's id
        "VALUE": any_text,
        "KEY": any_text,
        "NAME:VALUE": any_text,
        "N": _read_generation,
        "PARTITION": one_of("partition", led),
        "PID": number,
        "EPOCH": number,
        "RESET": one_of("offset reset", ("earliest", "latest")),
        "REPLICA": number,
    }
    return CALLS.read(words, readers)


def _read_generation(text: str) -> int | None:
    """-1 is none."""
    return -1 if text == "-1" else number(text)


def _refuse_group(name: str) -> str:
    raise BadValue("this system has no group {!r}; write groups=1 in its line", name)


# ---- Which role is on which node -----------------------------------------------------
#
# With one replica every role is a node of its own, called by what it leads: `coordinator`,
# `orders-0`. With several, each *copy* is one: `orders-0@1`, `orders-0@2`, `coordinator@1` …; a
# `controller` says who leads, and clients find their way by a router.


def client(role: Any, disk: Disk, at_ms: int) -> tuple[Any, Effects]:
    """A client starts with nothing but its configuration."""
    return role, ()


def nodes(system: KafkaSystem) -> tuple[NodeSpec, ...]:
    programs = dict(system.programs)
    specs = [_client(system, *made, programs) for made in _producers(system, system.producers)]
    for name, key, producer in _producers(system, system.workers):
        worker = Worker(Consumer(_consumer(system, name)), producer)
        specs.append(_client(system, name, key, worker, programs))
    specs += _brokers(system) if system.replicas == 1 else _replicas(system, programs)
    for name in system.readers:
        consumer = Consumer(_consumer(system, name))
        specs.append(_client(system, name, "", consumer, programs))
    for name in system.admins:
        admin = Admin(AdminConfig(cluster=system.config, groups=system.cluster.groups))
        specs.append(_client(system, name, "", admin, programs))
    return tuple(specs)


def _consumer(system: KafkaSystem, name: str) -> ConsumerConfig:
    known = tuple(name for name in system.cluster.partitions if name not in system.spares)
    return ConsumerConfig(cluster=system.config, name=name, partitions=known)


def _producers(
    system: KafkaSystem, named: tuple[tuple[str, str], ...]
) -> list[tuple[str, str, Producer]]:
    out = []
    for node, txn_id in named:
        config = producer_config(system, txn_id)
        out.append((node, config.txn_id or "", Producer(config)))
    return out


def producer_config(system: KafkaSystem, txn_id: str) -> ProducerConfig:
    """Raise ConfigException for what Java refuses to build, unless the check is switched off."""
    return fill(
        ProducerConfig,
        system,
        order=(),  # the system's is about its brokers
        cluster=system.config,
        txn_id=None if txn_id in ("-", "plain") else txn_id,
        idempotent=txn_id != "plain",
        checked=system.config_check == "on",
    )


def _client(
    system: KafkaSystem, name: str, key: str, role: Any, programs: dict[str, Program]
) -> NodeSpec:
    if system.replicas > 1:
        brokers = system.cluster.copies(system.config.coordinator)  # they know of every leader
        role = Router(RouterConfig(cluster=system.config, brokers=brokers, key=key), role)
    return NodeSpec(name, ((name, partial(client, role)),), programs.get(name, ()))


def _brokers(system: KafkaSystem) -> list[NodeSpec]:
    config, cluster = system.config, system.cluster
    tc = config.coordinator
    specs = [NodeSpec(tc, ((tc, partial(Coordinator.recover, config)),))]
    for name in cluster.partitions:
        recover = partial(Leader.recover, config, name, spare=name in system.spares)
        specs.append(NodeSpec(name, ((name, recover),)))
    for name in cluster.groups:
        specs.append(NodeSpec(name, ((name, partial(GroupCoordinator.recover, config, name)),)))
    return specs


# ---- several replicas ------------------------------------------------------------------


def leaders_of(system: KafkaSystem) -> tuple[str, ...]:
    """What has a leader: the coordinator's log and every partition."""
    cluster = system.cluster
    return (system.config.coordinator, *cluster.partitions, *cluster.groups)


def hears(system: KafkaSystem) -> Map[str, tuple[str, ...]]:
    """By partition, the copies that are sent news of its leader: its own and the coordinator's,
    which sends markers everywhere; for the coordinator all copies, since every leader asks it."""
    tc, copies = system.config.coordinator, system.cluster.copies
    everywhere = tuple(c for partition in leaders_of(system) for c in copies(partition))
    return Map(
        (p, everywhere if p == tc else (*copies(tc), *copies(p))) for p in leaders_of(system)
    )


def first_leaders(system: KafkaSystem) -> tuple[Leadership, ...]:
    """A new cluster begins with all replicas in sync and the first replica leading."""
    return tuple(
        Leadership(partition, 1, 0, system.cluster.numbers(partition))
        for partition in leaders_of(system)
    )


def _replicas(system: KafkaSystem, programs: dict[str, Program]) -> list[NodeSpec]:
    """Make the nodes of a cluster with replication: one for each copy of each partition, and the
    controller. `programs`: by node, the calls of its application."""
    # hears_of: by partition, the copies that are sent news of its leader
    leaders, hears_of = first_leaders(system), hears(system)
    specs = []
    for partition in leaders_of(system):
        for copy, name in enumerate(system.cluster.copies(partition), 1):
            config = ReplicaConfig(
                partition=partition,
                number=copy,
                logs=_logs(system, partition),
                lead=_lead(system, partition, copy),  # makes the role inside while it leads
                first=tuple(led for led in leaders if name in hears_of[led.partition]),
                loads=partition not in system.cluster.partitions,  # it leads a coordinator's log
                min_isr=system.min_isr,
                skip_leaderless_marker=system.config.skip_leaderless_marker,
            )
            specs.append(NodeSpec(name, ((name, partial(Replica.recover, config)),)))
    start = partial(start_controller, hears_of, leaders)
    specs.append(NodeSpec("controller", (("controller", start),), programs.get("controller", ())))
    return specs


def _logs(system: KafkaSystem, partition: str) -> tuple[str, ...]:
    if partition != system.config.coordinator:
        return (partition,)
    return tuple(sorted({txn_log(i, system.config) for i in system.cluster.ids}))


def _lead(system: KafkaSystem, partition: str, number: int) -> Lead:
    """How the role inside a replica is recovered when it begins to lead."""
    config = system.config
    if partition == config.coordinator:
        return partial(_lead_coordinator, config, number, system.replicas)
    if partition in system.cluster.groups:
        return partial(_lead_group, config, partition)
    return partial(_lead_partition, config, partition)


def _lead_coordinator(
    config: KafkaConfig, number: int, replicas: int, disk: Disk, at_ms: int, over: TakingOver
) -> tuple[Coordinator, Effects]:
    return Coordinator.begin_leading(
        config, disk, at_ms, over.epoch, first_block=number - 1, stride=replicas
    )


def _lead_partition(
    config: KafkaConfig, name: str, disk: Disk, at_ms: int, over: TakingOver
) -> tuple[Leader, Effects]:
    return Leader.recover(config, name, disk, at_ms, over.hw.get(name, 0), over.since.get(name))


def _lead_group(
    config: KafkaConfig, name: str, disk: Disk, at_ms: int, over: TakingOver
) -> tuple[GroupCoordinator, Effects]:
    return GroupCoordinator.recover(config, name, disk, at_ms, over.hw.get(name, 0), over.epoch)


# a role, a lane and a log each
PARTITIONS = Most(100, tr("a picture has room for 100"))
INTERNAL = ("__consumer_offsets", "__transaction_state")
TOPIC = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")  # Topic#validate
GROUPS = Most(50, tr("a picture has room for 50"))
CLIENT = Words("{label} · {client} client", context="label")


@dataclass(frozen=True)
class KafkaSystem(System):
    """`topic`: its name, or several with commas, of `partitions` each; as many as `spare` more
    come with `create-partitions`, and members of a group do not look for them. `producers`: (node,
    transactional id); an id of "-" is a producer without transactions, "plain" one without
    idempotence either. Two nodes with one id are a producer and its restarted second instance.
    `workers`: (node, transactional id) of processes that consume and produce; `admins`:
    administrators' clients. `programs`: (node, what its application does).

    `replicas` of every log, of which `min_isr` must be in sync for an append; `topic_replicas` of
    those of topics and groups, where they have fewer (0: as many). `retries` None: as often as need
    be; `delivery_timeout_ms` and `max_block_ms` 0: for ever; `config_check` "off" builds producers
    that Java refuses to (`max_in_flight` 6 with idempotence). `max_message_bytes`: of a batch that
    a topic takes; `max_ahead_ms`: how far its stamp may be ahead of the broker's clock. `rules`:
    what a learner writes; a lesson says into which role it goes. `claims`: properties that get a
    light of their own (`invariants.CLAIMS`). `transaction_version`: the cluster's feature level;
    `release`: "4.2" or "4.3"; `readers`: consumers without a group; `segment_records`,
    `skip_leaderless_marker`, `id_expiration_ms`, `pid_expiration_ms`: see `KafkaConfig`; `order`:
    pieces of a role's step in another order (`orderable`)."""

    transaction_version: int = 2
    client: str = "v2"
    release: str = "4.3"
    topic: Annotated[str, LISTED] = "orders"
    partitions: Annotated[int, PARTITIONS] = 2
    spare: Annotated[int, PARTITIONS] = 0
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
    max_message_bytes: int = 1_048_588
    max_ahead_ms: int = 3_600_000
    off: Annotated[tuple[str, ...], SORTED] = ()
    programs: Programs = ()
    order: Order = ()
    rules: Rules = ()
    claims: tuple[str, ...] = ()

    name = "kafka"
    guards = SAFEGUARDS
    unguards = UNGUARDED
    glossary = TERMS
    verbs = CALLS
    retrying = ("retry", "add")
    orderable: ClassVar = {"prepared": ("reply", "markers")}
    most_replicas: ClassVar[int] = 3

    def __post_init__(self) -> None:
        """Refuse, with a BadValue that says what is expected, options that no real Kafka has
        together or that the picture has no room for."""
        if (self.transaction_version, self.client) not in ((0, "legacy"), (2, "legacy"), (2, "v2")):
            raise BadValue(
                "no real Kafka has transaction_version={} with a {} client; use (0, legacy), (2, "
                "legacy) or (2, v2)",
                self.transaction_version,
                self.client,
            )
        if self.release not in ("4.2", "4.3"):
            raise BadValue("release={}: expected 4.2 or 4.3", self.release)
        if not 1 <= self.replicas <= self.most_replicas:
            if self.most_replicas == 1:
                raise BadValue(
                    "replicas={}: expected 1; for several take `system kafka`", self.replicas
                )
            raise BadValue("replicas={}: expected 1 to {}", self.replicas, self.most_replicas)
        if not 1 <= self.min_isr <= self.replicas:
            raise BadValue(
                "min_isr={}: expected 1 to {}, as many as there are",
                self.min_isr,
                self.replicas,
            )
        if self.topic_replicas and not self.min_isr <= self.topic_replicas <= self.replicas:
            raise BadValue(
                "topic_replicas={}: expected {} (min_isr) to {} (replicas), or 0 for as many",
                self.topic_replicas,
                self.min_isr,
                self.replicas,
            )
        super().__post_init__()
        topics = self.topic.split(",")
        for topic in topics:
            if topic in INTERNAL:
                raise BadValue("topic={}: this one is Kafka's own; choose another name", topic)
            if not TOPIC.fullmatch(topic):
                raise BadValue(
                    "topic={}: Kafka takes at most 249 of a-z, A-Z, 0-9 . _ - and neither . nor ..",
                    shorten(topic, 40),
                )
        PARTITIONS.check("partitions of all topics", len(topics) * (self.partitions + self.spare))
        if self.spare and self.replicas > 1:
            raise BadValue("spare={}: expected 0 with several replicas", self.spare)
        if self.config_check not in ("on", "off"):
            raise BadValue("config_check={}: expected on or off", self.config_check)
        for _, txn_id in (*self.producers, *self.workers):
            producer_config(self, txn_id)  # refuses what Java would
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
        label = Text(f"Kafka · transaction.version {self.transaction_version}")
        if self.transaction_version:
            label = CLIENT(label=label, client=self.client)
        return self.with_missing(label)

    # -- nodes ---------------------------------------------------------------------------

    @cached_property
    def config(self) -> KafkaConfig:
        on = frozenset(SAFEGUARDS) - frozenset(self.off)
        return fill(KafkaConfig, self, on=on, offsets_partitions=max(1, self.groups))

    @property
    def spares(self) -> tuple[str, ...]:
        """The partitions that there are not at first."""
        last = range(self.partitions, self.partitions + self.spare)
        return tuple(f"{topic}-{i}" for topic in self.topic.split(",") for i in last)

    @cached_property
    def cluster(self) -> Cluster:
        """The names and numbers of this cluster that the picture and the claims need."""
        return Cluster(
            config=self.config,
            producers=tuple(
                # "-", "plain": a producer without a transactional id
                (node, "" if txn_id in ("-", "plain") else txn_id)
                for node, txn_id in (*self.producers, *self.workers)
            ),
            partitions=tuple(
                f"{topic}-{i}"
                for topic in self.topic.split(",")
                for i in range(self.partitions + self.spare)
            ),
            readers=self.readers,
            workers=tuple(node for node, _ in self.workers),
            groups=tuple(f"__consumer_offsets-{i}" for i in range(self.groups)),
            admins=self.admins,
            replicas=self.replicas,
            topic_replicas=self.topic_replicas or self.replicas,
        )

    def nodes(self) -> tuple[NodeSpec, ...]:
        return nodes(self)

    # -- what a scenario may say -----------------------------------------------------------

    def call(self, words: tuple[str, ...]) -> Any:
        cluster = self.cluster
        led = leaders_of(self)
        return parse_call(words, cluster.partitions, cluster.groups, led, self.spares)

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

    def name_effect(self, role: str, effect: Effect) -> Named | None:
        return name_effect(role, effect)

    @cached_property
    def _properties(self) -> tuple[Property, ...]:
        return properties(self.cluster, self.client, self.claims)
